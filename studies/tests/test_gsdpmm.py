"""The study of GSDPMM: its plan, its page and what it makes of made-up figures."""

from __future__ import annotations

import pytest

from textmix_studies import gsdpmm
from textmix_studies.gsdpmm import STUDY, read_table_3
from textmix_studies.gsdpmm_cells import ALPHAS, BETAS, SWEEPS, lda_steps
from textmix_studies.study import Result, Results


def results_by(make, cells=None) -> Results:
    """Results of all cells, values made from part and arguments; None for a cell that was not computed."""
    chosen = STUDY.plan(False) if cells is None else cells
    return Results(Result(cell, make(cell.part, **cell.arguments), 1.0, "not at hand") for cell in chosen)


METHODS = {"GSDPMM": 0.9, "GSDMM": 0.8, "LDA": 0.7, "K-means": 0.6, "LDA, α = 0.1": 0.7, "LDA, α = K/50": 0.7}
N_LDA = {n: len(lda_steps(n)) for n in (100, 500)}
SETS = {"20NG": -0.2, "Tweet": 0.0, "T": 0.0, "S": 0.05, "TS": 0.06}


HOCKEY = ["game", "team", "year", "player", "season"]


def as_the_paper_says(part, **a):
    if part == "data":
        return {"n_documents": 10, "n_classes": 2, "n_words": 5, "length": 3.0}
    if part == "compare":
        return {"nmi": METHODS[a["method"]] + SETS[a["collection"]] + a["k"] / 1e5 + a["seed"] / 1e4, "n_clusters": 5}
    if part == "converge":
        n = a["n_iterations"]
        nmi = METHODS[a["method"]] * (0.5 if n < 4 - (a["collection"] != "20NG") else 1.0)
        first, later = (20, 28) if a["collection"] == "20NG" else (300, 150)
        many = first if n == 1 else later
        return {
            "nmi": nmi,
            "homogeneity": min(n, 5) / 5,
            "completeness": 1 - min(n, 5) / 100,
            "clusters": [many if n else 1, 90, 80, 70],
        }
    if part == "converge-lda":
        late = a["collection"] == "20NG"
        return {"nmi": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6 if late else 0.7, 0.7, 0.7, 0.7][: N_LDA[a["n_iterations"]]]}
    if part == "scale":
        seconds = {"GSDPMM": 2.0, "GSDMM": 1.8, "LDA": 50.0, "K-means": 3.0}[a["method"]] * a["copies"]
        return {"n_documents": 100 * a["copies"], "fit_seconds": seconds}
    if part == "outliers":
        return {"found": 100, "others": 4}
    if part == "vary":
        steep = 0.0 if a["collection"] == "20NG" else 100.0
        clusters = 100 + steep * a["alpha"] - 200 * a["beta"]
        return {
            "nmi": 0.8,
            "homogeneity": 0.9 - a["beta"],
            "completeness": 0.5 + a["beta"],
            **{f"above_{t}": clusters if t == 0 else 50 for t in range(4)},
        }
    cluster = {"size": 900, "purity": 0.97, "words": HOCKEY}
    clusters = [{**cluster, "group": group} for group in ("rec.sport.hockey", "rec.sport.baseball")]
    clusters += [{**cluster, "group": "comp.graphics", "words": words} for words in (["imag", "jpeg"], ["3d", "ray"])]
    return {"clusters": clusters, "n_clusters": 30, "share": 0.9, "printed_stems": [HOCKEY] * 18}


def reversed_figures(part, **a):
    """Every claim is wrong of these."""
    if part == "compare":
        best = 0.1 if a["method"] == "GSDPMM" else 0.5
        return {"nmi": best - SETS[a["collection"]] - a["k"] / 1e4 + a["seed"] / 50, "n_clusters": 5}
    if part == "converge":
        n = a["n_iterations"]
        return {
            "nmi": 1 - n / 20 if a["collection"] == "S" else 1.0 if n > 1 and a["collection"] == "20NG" else n / 20,
            "homogeneity": 1 - n / 20,
            "completeness": n / 20,
            "clusters": [10 + 10 * n, 1, 1, 1],
        }
    if part == "converge-lda":
        return {"nmi": [0.9] * N_LDA[a["n_iterations"]]}
    if part == "scale":
        seconds = {"GSDPMM": 9.0, "GSDMM": 30.0, "LDA": 1.0, "K-means": 3.0}[a["method"]]
        return {"n_documents": 100 * a["copies"], "fit_seconds": seconds * (1 + (a["copies"] % 4))}
    if part == "outliers":
        return {"found": 50, "others": 40}
    if part == "vary":
        return {
            "nmi": 0.5 + a["alpha"],
            "homogeneity": a["beta"],
            "completeness": 1 - a["beta"],
            **{f"above_{t}": 100 - 100 * a["alpha"] + 100 * a["beta"] for t in range(4)},
        }
    if part == "words":
        cluster = {"size": 9, "purity": 0.4, "words": [], "group": "x"}
        return {"clusters": [cluster], "n_clusters": 9, "share": 0.1, "printed_stems": [HOCKEY] * 18}
    return as_the_paper_says(part, **a)


def test_the_plan_has_every_part_and_no_cell_twice():
    cells = STUDY.plan(False)
    assert {cell.part for cell in cells} == set(STUDY.parts)
    assert {cell.part for cell in STUDY.plan(True)} == set(STUDY.parts)
    names = [(cell.part, *sorted(cell.arguments.items())) for cell in cells]
    assert len(set(names)) == len(names)
    trials = [c for c in cells if c.part == "compare" and c.arguments["method"] == "GSDMM"]
    assert len(trials) == 5 * 3 * 20
    assert all(cell.alone for cell in cells if cell.part == "scale")


def test_the_printed_figures_are_all_there():
    printed = read_table_3()
    assert len(printed) == 5 * (1 + 5 * 3)
    assert printed["TS", "GSDMM", 200].mean == 0.910
    assert printed["T", "K-means", 100].deviation == 0.005


CONTRADICTED = "with all documents in one cluster homogeneity is 1 (and grows, which the paper says too)"
NOT_COMPUTED = "documents that are wrongly taken for outliers really differ from the others of their group"


def verdicts(claims) -> dict[str, bool | None]:
    return {claim.text: claim.holds for claim in claims}


def test_figures_like_the_paper_s_hold():
    found = verdicts(gsdpmm.claims(results_by(as_the_paper_says)))
    assert {text: holds for text, holds in found.items() if holds is not True} == {
        CONTRADICTED: False,
        NOT_COMPUTED: None,
    }
    assert len(found) > 25


def test_figures_that_are_the_reverse_do_not_hold():
    found = verdicts(gsdpmm.claims(results_by(reversed_figures)))
    assert {text: holds for text, holds in found.items() if holds is not False} == {
        CONTRADICTED: True,
        NOT_COMPUTED: None,
    }


def about_lda(text: str) -> bool:
    return any(word in text for word in ("LDA", "the four", "all four", "all methods"))


def test_what_needs_a_method_that_is_not_there_cannot_be_told():
    def without_lda(part, **arguments):
        if part == "converge-lda" or arguments.get("method", "").startswith("LDA"):
            return None
        return as_the_paper_says(part, **arguments)

    all_there = verdicts(gsdpmm.claims(results_by(as_the_paper_says)))
    found = verdicts(gsdpmm.claims(results_by(without_lda)))
    assert {text for text in all_there if found[text] != all_there[text]} == set(filter(about_lda, all_there))
    assert all(found[text] is None for text in filter(about_lda, all_there))


@pytest.mark.parametrize(
    "missing",
    [
        lambda cell: cell.collection == "T",
        lambda cell: cell.collection == "S" and cell.arguments.get("n_iterations") == 5,
        lambda cell: cell.part == "scale" and cell.arguments["method"] == "LDA" and cell.arguments["copies"] == 10,
        lambda cell: cell.collection == "20NG",
    ],
)
def test_a_page_of_which_a_part_is_missing_is_written(missing, tmp_path):
    results = Results(
        Result(cell, None if missing(cell) else as_the_paper_says(cell.part, **cell.arguments), 1.0, "lost")
        for cell in STUDY.plan(False)
    )
    gsdpmm.make_page(results).write(tmp_path, "gsdpmm", results)
    told = verdicts(gsdpmm.claims(results))
    assert [text for text, holds in told.items() if holds is False] == [CONTRADICTED]


def test_the_page_has_all_tables_and_figures():
    page = gsdpmm.make_page(results_by(as_the_paper_says))
    text = "\n".join(page.blocks)
    assert set(page.figures) == {f"fig-{n}" for n in (2, 3, 5, 6, 7, 8, 9, 10)}
    assert {"table-ii", "table-iii", "table-iv", "fig-4", "claims"} <= set(page.tables)
    assert "not computed" not in text
    lines = page.figures["fig-5"].panels[0].lines
    assert list(lines[0].x) == list(ALPHAS)
    assert list(page.figures["fig-9"].panels[0].lines[0].x) == list(BETAS)
    assert list(page.figures["fig-8"].panels[0].lines[0].x) == list(SWEEPS)


@pytest.mark.parametrize("quick", [False, True])
def test_a_page_without_any_results_says_why(quick, tmp_path):
    results = results_by(lambda part, **_: None, STUDY.plan(quick))
    page = gsdpmm.make_page(results)
    assert "not at hand" in "\n".join(page.blocks)
    assert all(claim.holds is None for claim in gsdpmm.claims(results))
    page.write(tmp_path, "gsdpmm", results)

"""The study of X-DMM: what it makes of made-up figures, and of a collection of a few words."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest

from textmix_studies import collections, xdmm_cells
from textmix_studies.figures import Line
from textmix_studies.study import Cell, Result, Results
from textmix_studies.xdmm import STUDY, make_page
from textmix_studies.xdmm_cells import BASELINES, COLLECTIONS, FULL, OURS, mixture
from textmix_studies.xdmm_claims import claims, converged_at, covered, largest_loss, read_table_5, trials
from textmix_studies.xdmm_times import DRAWN, MEAN, PARTS, measure_index, measure_run, measure_threads, time_claims

NAMES = {described.copy: name for name, described in COLLECTIONS.items()}


def around(mean: float, deviation: float, seed: int, n_trials: int = FULL.n_trials) -> float:
    """A trial of so many that have this mean and this standard deviation."""
    return mean + (-1) ** seed * deviation * math.sqrt((n_trials - 1) / n_trials)


def measured_as_the_paper_says(part, collection, k, method="", n_jobs=1, to_the_end=True, **_):
    if part == "index":
        return {"index_seconds": 0.2, "training_seconds": 40.0}
    if part == "threads":
        return {"sweep_seconds": 1.0 / n_jobs}
    metropolis = method == "X-DMM"
    n_iterations = 60 if metropolis else 30
    described = COLLECTIONS[NAMES[collection]]
    size = described.n_documents * described.length / 1e8
    whole = {"GSDMM": 20.0, "FGSDMM+": 18.0, "X-DMM": 11.5 / (1 + size), "X-DMM parallel": 1.0, MEAN: 1.0, DRAWN: 3.0}[
        method
    ]
    one = 0.1 if metropolis else 0.03 * k
    seconds = whole / n_iterations if not to_the_end else one
    log_joint = [-1e6 * (1 + 0.8**sweep) for sweep in range(n_iterations)]
    return {
        "fit_seconds": whole,
        "n_iterations": n_iterations,
        "settled": True,
        "sweep_seconds": one,
        "ends": [seconds * (sweep + 1) for sweep in range(n_iterations)],
        "log_joint": log_joint,
    }


def measured_in_reverse(part, collection, k, method="", n_jobs=1, **_):
    if part == "index":
        return {"index_seconds": 2.0, "training_seconds": 40.0}
    if part == "threads":
        return {"sweep_seconds": 1.0 * n_jobs}
    gibbs = method in ("GSDMM", "FGSDMM+", DRAWN)
    described = COLLECTIONS[NAMES[collection]]
    size = described.n_documents * described.length / 1e8
    whole = {"GSDMM": 1.0, "FGSDMM+": 1.0, "X-DMM": 2.0 + size, "X-DMM parallel": 9.0, MEAN: 9.0, DRAWN: 1.0}[method]
    return {
        "fit_seconds": whole,
        "n_iterations": 30,
        "settled": True,
        "sweep_seconds": 1.0 if gibbs else 1.0 + k,
        "ends": [0.1, 0.2] if gibbs else [1.0, 2.0],
        "log_joint": [-10.0, -5.0],
    }


def make_results(nmi_of, curve, quick: bool = False, measured=measured_as_the_paper_says) -> Results:
    """Results with the NMI of (name, k, method, seed), the method being "asymmetric" of that part."""

    def values(cell: Cell):
        arguments = cell.arguments
        if cell.part == "data":
            described = COLLECTIONS[NAMES[arguments["collection"]]]
            size = {"n_documents": described.n_documents, "length": described.length}
            return {**size, "n_classes": 2, "n_words": 5, "n_distinct": 8}
        if cell.part == "converge":
            return curve(arguments["n_iterations"])
        if cell.part in PARTS:
            return measured(cell.part, **arguments)
        method = arguments.get("method", "asymmetric")
        nmi = nmi_of(NAMES[arguments["collection"]], arguments["k"], method, arguments["seed"])
        if method in BASELINES:
            return {"nmi": nmi}
        return {"nmi": nmi, "n_clusters": 7, "n_sweeps": 30, "settled": arguments["seed"] % 2 == 0}

    return Results(Result(cell, values(cell), 1.0) for cell in STUDY.plan(quick))


def as_printed(name, k, method, seed):
    printed = read_table_5()[name, k, "X-DMM" if method == "asymmetric" else method]
    return around(*printed, seed)


def reversed_(name, k, method, seed):
    means = {"GSDMM": 0.5, "FGSDMM+": 0.6, "X-DMM": 0.3, "X-DMM parallel": 0.1, "K-means": 0.7, "LDA": 0.05}
    return around(means.get(method, 0.5), 0.03, seed)


def together(n):
    return {"nmi": 0.15 * (1 - 0.5**n), "perplexity": 4000 + 1000 * 0.5**n}


def apart(n):
    return {"nmi": 0.15 * (1 - 0.5**n), "perplexity": 4000 - n}


def test_claims_of_time_hold_of_times_like_the_paper_s():
    found = time_claims(make_results(as_printed, together))
    assert [c.text for c in found if c.holds is not True and not c.text.startswith("NYTimes")] == []
    assert len(found) == 13


def test_claims_of_time_do_not_hold_of_the_reverse():
    found = time_claims(make_results(as_printed, together, measured=measured_in_reverse))
    assert [c.text for c in found if c.holds is not False and not c.text.startswith("NYTimes")] == []


def test_runs_that_were_cut_short_tell_nothing_of_convergence():
    def cut_short(part, **arguments):
        found = measured_as_the_paper_says(part, **arguments)
        return {**found, "settled": False} if part == "timed" else found

    found = time_claims(make_results(as_printed, together, measured=cut_short))
    unknown = [claim.text for claim in found if claim.holds is None and not claim.text.startswith("NYTimes")]
    assert len(unknown) == 5
    assert any("many more iterations" in text for text in unknown)


def test_claims_of_time_cannot_be_told_without_times():
    assert {claim.holds for claim in time_claims(MISSING)} == {None}


@pytest.mark.parametrize(
    "missing",
    [
        lambda cell: cell.part == "data",
        lambda cell: cell.collection == "20NG",
        lambda cell: cell.part == "timed" and cell.arguments["method"] == "X-DMM",
        lambda cell: cell.part == "threads" and cell.arguments["n_jobs"] == 1,
        lambda cell: cell.arguments.get("method") == "GSDMM" and cell.arguments["k"] == 80,
        lambda cell: cell.part == "converge" and cell.arguments["n_iterations"] in (0, 50),
        lambda cell: cell.arguments.get("method") == "LDA",
    ],
)
def test_a_page_of_which_a_part_is_missing_is_written_and_refutes_nothing(missing, tmp_path):
    whole = make_results(as_printed, together)
    results = Results(
        Result(result.cell, None if missing(result.cell) else result.values, 1.0, "lost") for result in whole
    )
    make_page(results).write(tmp_path, "xdmm", results)

    def refuted(found):
        return {claim.text for claim in [*claims(found), *time_claims(found)] if claim.holds is False}

    assert refuted(results) <= refuted(whole)


MISSING = Results(
    Result(cell, None, reason=f"{cell.collection} is not at hand (no {cell.collection}.jsonl.gz)")
    for cell in STUDY.plan(False)
)


def test_table_5_is_complete():
    expected = {(name, k, m) for name, c in COLLECTIONS.items() for k in c.ks for m in (*OURS, *BASELINES)}
    assert set(read_table_5()) == expected
    assert len(expected) == 48
    assert read_table_5()["ohsumed", 92, "X-DMM parallel"] == (0.153, 0.002)
    assert largest_loss() == pytest.approx(0.015)


@pytest.mark.parametrize("quick", [False, True])
def test_no_cell_is_planned_twice_and_all_parts_are_planned(quick):
    cells = STUDY.plan(quick)
    assert len({json.dumps([cell.part, cell.arguments], sort_keys=True) for cell in cells}) == len(cells)
    assert {cell.part for cell in cells} == set(STUDY.parts)
    assert all(cell.arguments["collection"] == cell.collection for cell in cells)


def test_ours_have_the_papers_number_of_trials_and_baselines_five():
    cells = [cell.arguments for cell in STUDY.plan(False) if cell.part == "cluster"]
    for name, k, method in read_table_5():
        at = {"collection": COLLECTIONS[name].copy, "k": k, "method": method}
        seeds = [arguments["seed"] for arguments in cells if at.items() <= arguments.items()]
        assert seeds == list(range(20 if method in OURS else 5))


def test_all_claims_hold_of_the_printed_figures():
    found = claims(make_results(as_printed, together))
    assert [claim.text for claim in found if claim.holds is not True] == [
        "ohsumed: X-DMM is much better than K-means and LDA (by more than the two standard deviations together)"
    ]  # which its Table 5 contradicts


def test_no_claim_holds_of_the_reverse():
    found = claims(make_results(reversed_, apart))
    assert [claim.text for claim in found if claim.holds is not False] == []


def test_one_k_is_enough_to_refute_a_claim():
    def worse_at_80(name, k, method, seed):
        lower = 0.1 if (name, k, method) == ("20ng", 80, "X-DMM parallel") else 0.0
        return as_printed(name, k, method, seed) - lower

    refuted = [claim.text for claim in claims(make_results(worse_at_80, together)) if claim.holds is False]
    assert [text for text in refuted if text.startswith("20ng")] == [
        "20ng: X-DMM parallel loses little against X-DMM (at most 0.015, as in Table 5)"
    ]


def test_claims_about_what_is_missing_cannot_be_told():
    assert {claim.holds for claim in claims(MISSING)} == {None}
    assert {claim.evidence for claim in claims(MISSING)} == {
        f"{described.copy} is not at hand (no {described.copy}.jsonl.gz)" for described in COLLECTIONS.values()
    }
    some = [r for r in make_results(as_printed, together) if r.cell.collection != "QA"]
    missing = [r for r in MISSING if r.cell.collection == "QA"]
    told = {claim.text: claim.holds for claim in claims(Results([*some, *missing]))}
    assert all((holds is None) == text.startswith("QA") for text, holds in told.items())


def test_a_quick_run_tells_what_it_is_about():
    told = {claim.text: claim.holds for claim in claims(make_results(as_printed, together, quick=True))}
    known = {text for text, holds in told.items() if holds is not None}
    assert known == {text for text in told if text.startswith(("Reuters", "ohsumed: NMI"))}


def test_symmetric_trials_are_those_with_the_seeds_of_the_asymmetric_ones():
    results = make_results(lambda name, k, method, seed: seed, together)
    assert trials(results, "Reuters", 232, "symmetric prior") == list(range(10))
    assert trials(results, "Reuters", 232, "asymmetric prior") == list(range(10))
    assert trials(results, "Reuters", 232, "X-DMM") == list(range(20))


def test_a_curve_has_converged_when_it_has_covered_most_of_its_change():
    assert covered([10.0, 6.0, 2.0, 0.0]) == [0.0, 0.4, 0.8, 1.0]
    assert converged_at(Line("", [0, 1, 5, 9], [100.0, 50.0, 4.0, 0.0])) == 5
    assert converged_at(Line("", [0, 1, 5, 9], [0.0, 0.5, 0.9, 1.0])) == 9
    assert converged_at(Line("", [0, 1], [3.0, 3.0])) is None
    assert converged_at(Line("", [0, 1, 2], [math.nan, 1.0, 3.0])) is None


def test_the_page_has_all_tables_and_figures(tmp_path):
    results = make_results(as_printed, together)
    page = make_page(results)
    assert set(page.tables) == {
        *("table-4", "table-5", "endings", "distinct", "priors", "figure-4", "figure-6", "claims"),
        *("table-2", "table-3", "table-6", "figure-2", "figure-3", "figure-5"),
    }
    assert set(page.figures) == {"figure-2", "figure-3", "figure-4", "figure-6"}
    text = page.write(tmp_path, "xdmm", results).read_text(encoding="utf-8")
    assert "(../performance.md)" in text
    assert "20 trials, the last sample" in text
    assert "at most 300 iterations" in text
    assert "5 trials; the paper has 20" in text
    assert "| 20ng | 40 | X-DMM parallel | 0.682 ± 0.022 | 0.682 ± 0.022 † | +0.000 |" in text
    assert "| Reuters | 464 | X-DMM | 7.0 | 30.0 | 10 of 20 |" in text
    assert text.count("cannot be told") == 2  # of NYTimes
    assert "not part of this run" not in text
    assert len(page.tables["table-5"][1]) == 48
    assert len(page.tables["distinct"][1]) == 16


def test_the_page_says_why_figures_are_missing(tmp_path):
    page = make_page(MISSING)
    text = page.write(tmp_path, "xdmm", MISSING).read_text(encoding="utf-8")
    assert not page.figures
    for row in page.tables["table-5"][1]:
        assert row[-1] == f"{COLLECTIONS[row[0]].copy} is not at hand (no {COLLECTIONS[row[0]].copy}.jsonl.gz)"
    assert "Not computed: ohsumed20000 is not at hand" in text
    assert text.count("QA is not at hand") >= 12 + 8 + 2


def test_a_run_of_n_sweeps_is_the_beginning_of_a_longer_one():
    rng = np.random.default_rng(1)
    counts = rng.poisson(np.repeat(rng.gamma(0.3, 1.0, (6, 40)), 20, axis=0))
    longer = mixture("GSDMM", 9, 3, 6, tol=0).fit(counts)
    for n in range(1, 7):
        shorter = mixture("GSDMM", 9, 3, n, tol=0).fit(counts)
        assert shorter.log_joint_ == pytest.approx(longer.trace_["log_joint"][n - 1], rel=1e-12)


@pytest.fixture
def few_texts(tmp_path):
    """120 texts of three topics, sorted, each twice: under the label of its topic, and under another."""
    rng = np.random.default_rng(0)
    with gzip.open(tmp_path / "Reuters.jsonl.gz", "wt", encoding="utf-8") as file:
        for number in range(120):
            topic = "abc"[number // 40]
            text = " ".join(f"{topic}word{n}" for n in rng.integers(15, size=12))
            for label in (topic, "other"):
                file.write(json.dumps({"text": text, "label": label}) + "\n")
    collections.use(tmp_path)
    return "Reuters"


@pytest.mark.parametrize("method", OURS)
def test_samplers_find_topics(few_texts, method):
    found = xdmm_cells.cluster(few_texts, method, 6, 0, 15)
    alone = xdmm_cells.cluster_distinct(few_texts, method, 6, 0, 15)
    assert set(found) == set(alone) == {"nmi", "homogeneity", "completeness", "n_clusters", "n_sweeps", "settled"}
    assert alone == xdmm_cells.cluster_distinct(few_texts, method, 6, 0, 15)
    json.dumps([found, alone])
    # A half of all documents is labelled "other", so that clusters tell half of what there is to know.
    assert alone["n_clusters"] >= 3
    assert 0.25 < alone["nmi"] < 0.75


def test_other_cells_of_few_texts(few_texts):
    pytest.importorskip("tomotopy")
    for method in BASELINES:
        assert 0.0 < xdmm_cells.cluster(few_texts, method, 3, 0, 20)["nmi"] < 0.8
    assert 0.0 < xdmm_cells.cluster_asymmetric(few_texts, 6, 0, 15)["nmi"] < 0.8
    start, end = (xdmm_cells.converge(few_texts, 6, 0, n) for n in (0, 15))
    assert start["perplexity"] > end["perplexity"]
    assert start["nmi"] < end["nmi"]
    described = xdmm_cells.describe_data(few_texts)
    assert (described["n_documents"], described["n_classes"], described["n_distinct"]) == (240, 4, 120)
    assert described["length"] == 12.0


def test_documents_come_in_another_order_with_each_seed(few_texts):
    (first, labels), (second, _) = (xdmm_cells.shuffled(few_texts, seed) for seed in (0, 1))
    assert (first != second).nnz > 0
    of_topic_a = [word.startswith("a") for word in collections.load(few_texts).words]
    has_a = np.asarray(first[:, np.flatnonzero(of_topic_a)].sum(axis=1)).ravel() > 0
    assert not has_a[labels == "b"].any()
    assert has_a[labels == "a"].all()


def test_timed_cells_of_few_texts(few_texts):
    index = measure_index(few_texts, 6)
    assert 0.0 < index["index_seconds"] < index["training_seconds"]
    for method in (*OURS, MEAN, DRAWN):
        found = measure_run(few_texts, method, 6, 8, to_the_end=False)
        json.dumps(found)
        assert found["n_iterations"] == len(found["ends"]) == len(found["log_joint"]) == 8
        assert 0.0 < found["sweep_seconds"] < found["ends"][-1] <= found["fit_seconds"]
    assert measure_threads(few_texts, 6, 2)["sweep_seconds"] > 0.0

"""Li et al.'s experiments with X-DMM: methods, priors, NMI and perplexity by iteration, time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from textmix_studies.figures import Figure, Line, Panel, line_by
from textmix_studies.page import Compared, Page
from textmix_studies.study import Cell, Results, Study, Values
from textmix_studies.xdmm_cells import (
    BASELINES,
    COLLECTIONS,
    CURVES_K,
    CURVES_OF,
    FULL,
    OURS,
    QUICK,
    cluster,
    cluster_asymmetric,
    cluster_distinct,
    converge,
    describe_data,
    plan,
)
from textmix_studies.xdmm_claims import (
    ASYMMETRIC,
    SYMMETRIC,
    claims,
    covered,
    read_table_5,
    spread_of,
    trials,
    why_missing,
)
from textmix_studies.xdmm_times import PARTS, add_times, plan_times, time_claims


def make_page(results: Results) -> Page:
    """All tables and figures."""
    page = Page("X-DMM (Li et al. 2019), computed again")
    n_ours, n_baseline = (_listed(results, "seed", methods, count=True) for methods in (OURS, BASELINES))
    n_sweeps, k_means_iterations, lda_iterations = (
        _listed(results, "n_iterations", methods) for methods in (OURS, ("K-means",), ("LDA",))
    )
    page.add(
        "GSDMM is collapsed Gibbs sampling, FGSDMM+ the same from an online start, X-DMM Metropolis-Hastings after "
        "Gibbs, X-DMM parallel all documents side by side given the clusters that a sweep began with; α = β = 0.1, "
        f"{n_ours} trials, the last sample. How many iterations they had is not printed: here at most {n_sweeps} "
        "sweeps, fewer once log joint and moves have settled (textmix's tol = 0.001). Documents come in another order "
        "in each trial.",
        "K-means: scikit-learn's on TF-IDF vectors of unit length, from one random start (the paper names no number), "
        f"until it has converged, at most {k_means_iterations} iterations. LDA: tomotopy's, collapsed Gibbs sampling, "
        f"{lda_iterations} iterations, α = 50/K, β = 0.1, a document belongs to its most probable topic. Baselines "
        f"from libraries: {n_baseline} trials; the paper has 20.",
        "How long they take stands below; which sampler to take when, and how textmix compares with other programs, in "
        "[performance](../performance.md).",
    )
    _add_data(page, results)
    _add_table_5(page, results)
    _add_distinct(page, results)
    _add_figure_4(page, results)
    _add_figure_6(page, results)
    add_times(page, results)
    page.add("## What the paper says")
    page.add_claims([*claims(results), *time_claims(results)])
    return page


def _listed(results: Results, argument: str, methods: Sequence[str], count: bool = False) -> str:
    """The values that an argument takes for some methods, or how many there are."""
    found: list[Any] = []
    for method in methods:
        values = results.arguments(argument, "cluster", method=method)
        found += [len(values)] if count else values
    return " or ".join(map(str, dict.fromkeys(found)))


def _add_data(page: Page, results: Results) -> None:
    page.add(
        "## Table 4: the collections (paper / here)",
        "Texts in lower case, cut into words and freed of English stop words by textmix's defaults. ohsumed and "
        "Reuters have a text once for each of its labels; no method can tell such copies apart.",
    )
    rows = []
    for name, paper in COLLECTIONS.items():
        found: Values = next(iter(r.values for r in results.find("data", collection=paper.copy) if r.values), {})
        printed = (paper.n_documents, paper.n_classes, paper.n_words, paper.length)
        ours = [found.get(key) for key in ("n_documents", "n_classes", "n_words", "length")]
        both = [f"{_grouped(p)} / {_grouped(value)}" for p, value in zip(printed, ours, strict=True)]
        here = paper.copy if found else why_missing(results, "data", collection=paper.copy)
        rows.append([name, here, *both, _grouped(found.get("n_distinct"))])
    page.add_table(
        ["collection", "here", "documents", "classes", "words", "words a document", "different texts here"],
        rows,
        "table-4",
    )


def _grouped(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _add_table_5(page: Page, results: Results) -> None:
    page.add("## Table 5: NMI")
    page.add_comparison("table-5", ["collection", "K", "method"], _compared(results, "cluster"))
    page.add(
        "FGSDMM+ is below the paper wherever it is because it opens few clusters, which later sweeps seldom split: the "
        "table below has their numbers, [the online start](../decisions/x-dmm.md) what was looked at. What copies of "
        "texts do to the samplers stands under *Without copies*.",
        "How the runs of the four samplers ended, means of all trials:",
    )
    rows = [
        [name, k, method, *_ending(results, COLLECTIONS[name].copy, k, method)]
        for name, k, method in read_table_5()
        if method in OURS
    ]
    page.add_table(["collection", "K", "method", "clusters", "sweeps", "had settled"], rows, "endings")


def _compared(results: Results, part: str) -> list[Compared]:
    """The rows of Table 5 with the trials of a part."""
    rows = []
    for (name, k, method), printed in read_table_5().items():
        described = COLLECTIONS[name]
        at = {"collection": described.copy, "k": k, "method": method}
        ours = results.values("nmi", part, **at)
        reason = "" if ours else why_missing(results, part, **at)
        note = described.difference if ours else ""
        rows.append(Compared((name, f"{k}", method), printed, ours, same_data=False, reason=reason, note=note))
    return rows


def _ending(results: Results, copy: str, k: int, method: str) -> list[str]:
    """Clusters, sweeps, and how many runs stopped by themselves."""
    at = {"collection": copy, "k": k, "method": method}
    clusters, sweeps, settled = (results.values(n, "cluster", **at) for n in ("n_clusters", "n_sweeps", "settled"))
    if not settled:
        return ["", "", why_missing(results, "cluster", **at)]
    return [
        f"{statistics.fmean(clusters):.1f}",
        f"{statistics.fmean(sweeps):.1f}",
        f"{sum(settled)} of {len(settled)}",
    ]


def _add_distinct(page: Page, results: Results) -> None:
    page.add(
        "### Without copies",
        "A text and its copy make each other's words probable, which may hold both where they are: samplers move one "
        "document at a time. To see what that costs, here one copy of each text is clustered, and its cluster is then "
        "that of all copies, which are "
        f"scored as above; {len(results.arguments('seed', 'distinct'))} trials.",
    )
    rows = [row for row in _compared(results, "distinct") if COLLECTIONS[row.names[0]].has_repeats]
    rows = [row for row in rows if row.names[2] in OURS]
    page.add_comparison("distinct", ["collection", "K", "method"], rows)


def _add_figure_4(page: Page, results: Results) -> None:
    n_trials = len(results.arguments("seed", "asymmetric"))
    page.add(
        "## Fig. 4: symmetric and asymmetric priors",
        "NMI of X-DMM with the same β for all words, and with β in proportion to the words' frequencies in the "
        f"collection and the same sum; {n_trials} trials, of which the symmetric ones are the first of Table 5. The "
        "paper names no K: here the smaller of Table 5. Its figure has no numbers.",
    )
    rows, panels = [], []
    for name, described in COLLECTIONS.items():
        k = described.ks[0]
        found = [trials(results, name, k, prior) for prior in (SYMMETRIC, ASYMMETRIC)]
        symmetric, asymmetric = map(spread_of, found)
        if symmetric and asymmetric:
            rows.append([name, k, symmetric, asymmetric, f"{asymmetric.mean - symmetric.mean:+.3f}"])
            lines = [
                Line(prior, range(1, len(values) + 1), values)
                for prior, values in zip((SYMMETRIC, ASYMMETRIC), found, strict=True)
            ]
            panels.append(Panel(f"{name}, K = {k}", lines))
        else:
            reason = why_missing(results, "asymmetric", collection=described.copy)
            rows.append([name, k, symmetric or reason, asymmetric or reason, ""])
    page.add_table(["collection", "K", SYMMETRIC, ASYMMETRIC, "difference"], rows, "priors")
    if panels:
        page.add_figure("figure-4", Figure("Symmetric and asymmetric priors", "trial", "NMI", panels))


def _add_figure_6(page: Page, results: Results) -> None:
    n_curves = len(results.arguments("seed", "converge"))
    page.add(
        "## Fig. 6: NMI and perplexity by iteration",
        f"GSDMM on {CURVES_OF}, K = {CURVES_K} as in the paper's Table 4 (which K the figure has is not printed), "
        f"{n_curves} runs, from random clusters (0) on. Perplexity is that of the documents themselves, each left out "
        "of its own cluster. Right: how much of its change from the first to the last point each has behind it.",
    )
    if not results.values("nmi", "converge"):
        page.add(f"Not computed: {why_missing(results, 'converge')}.")
        return
    lines = [line_by(results, name, name.lower(), "converge", "n_iterations") for name in ("NMI", "perplexity")]
    shares = [Line(line.name, line.x, covered(line.means)) for line in lines]
    panels = [*(Panel(line.name, [line]) for line in lines), Panel("share of the change", shares)]
    page.add_figure("figure-6", Figure("NMI and perplexity by iteration", "iteration", "value", panels))


def plan_all(quick: bool) -> Sequence[Cell]:
    """All cells, the timed ones last."""
    return [*plan(quick), *plan_times((QUICK if quick else FULL).names, quick)]


STUDY = Study(
    "xdmm",
    "Li et al.: X-DMM, Fast and Scalable Model Based Text Clustering (AAAI 2019)",
    {
        "data": describe_data,
        "cluster": cluster,
        "distinct": cluster_distinct,
        "asymmetric": cluster_asymmetric,
        "converge": converge,
        **PARTS,
    },
    plan_all,
    make_page,
)

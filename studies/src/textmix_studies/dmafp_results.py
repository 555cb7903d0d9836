"""What the study of DMAFP compares, and how its results are looked up: all runs, or the start that is chosen."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from textmix_studies.printed import read_printed
from textmix_studies.study import Result, Results, Values

PARTITIONED = ("DMAFP", "DMA")  # they find the number of clusters
DMA_MEAN = "DMA, mean of all starts"  # the other way to read what is printed of it
ANNEALED = {"EM-MN": "damnls", "EDCM": "edcm"}  # names of algorithms
LIBRARY = ("K-means, counts", "K-means, unit vectors", "LDA")
FIXED = ("EM-MN", "K-means, counts", "K-means, unit vectors", "LDA", "EDCM")  # in the paper's order
PRINTED_AS = {method: method.partition(",")[0] for method in (*PARTITIONED, DMA_MEAN, *FIXED)}
LDA_ETA, LDA_ITERATIONS_SMALL, LDA_ITERATIONS_LARGE = 0.1, 500, 100
FEW_GROUPS, MANY_GROUPS = 3, 8  # at most, and at least: 6.3.4

N_TRUE_CLUSTERS, TRUE_SIZE, N_TRUE_WORDS = 6, 100, 200  # of synthetic data
SYNTHETIC: dict[str, Any] = {"alpha": 1.0, "omega": 0.01, "lam": 0.02, "beta": 4.0, "learn": None}  # 6.2.2


class Way(NamedTuple):
    """How clusters of synthetic data are sought, and what the paper found with it."""

    name: str
    settings: Values
    nmi: float | None
    n_words: int | None
    minutes: int | None  # for 20 runs


WAYS = {
    ("variational", "paper"): Way("variational, random φ (the paper's)", {"init": "random"}, 0.945, 375, 10),
    ("variational", "textmix"): Way("variational, nearly uniform φ", {}, None, None, None),
    ("gibbs", "paper"): Way(
        "Gibbs, one word in, R = 200 (the paper's)", {"init_words": "one", "n_flips": 200}, 0.979, 200, 180
    ),
    ("gibbs", "textmix"): Way("Gibbs, all words in, R = 2,000", {}, None, None, None),
}
FORMS: dict[str, Values] = {"paper": SYNTHETIC, "normalised": {"likelihood": "normalised"}}
CONTROLS = {  # words of a document of each group, N
    "the data of 6.2": ((200, 200), 30),
    "all documents in one cluster (N = 1)": ((200, 200), 1),
    "words of both groups equally frequent": ((40, 360), 30),
}


def printed_figures(figure: str) -> dict[tuple[str, str, int | None], float]:
    """What the paper prints, by set, method and K: NMI (Tables 2 and 4) or numbers of clusters (3 and 5)."""
    return {
        (row["set"], row["method"], int(row["k"]) if row["k"] else None): float(row["value"])
        for row in read_printed("dmafp")
        if row["figure"] == figure
    }


def best_start(results: list[Result], by: str = "merit") -> Values | None:
    """The values of the start that is best by E_q[log f], as the paper chooses, or by the bound."""
    found = [result.values for result in results if result.values is not None]
    return max(found, key=lambda values: float(values[by]), default=None)


def chosen_starts(results: Results, name: str, method: str, by: str = "merit") -> list[Values]:
    """The start that is chosen on each cut of a set."""
    cuts = results.arguments("cut", "partition", document_set=name, method=method)
    best = (best_start(results.find("partition", document_set=name, method=method, cut=cut), by) for cut in cuts)
    return [values for values in best if values is not None]


def chosen_of_synthetic(results: Results, start: str) -> list[Values]:
    """The start of variational inference that is chosen on each synthetic data set."""
    found = {"inference": "variational", "start": start}
    seeds = results.arguments("data_seed", "synthetic", **found)
    best = (best_start(results.find("synthetic", **found, data_seed=seed)) for seed in seeds)
    return [values for values in best if values is not None]


def runs_of_synthetic(results: Results, inference: str, start: str) -> list[Values]:
    """The starts that are chosen, or all runs of Gibbs sampling."""
    if inference == "variational":
        return chosen_of_synthetic(results, start)
    return [r.values for r in results.find("synthetic", inference=inference, start=start) if r.values is not None]


def scores_of(results: Results, name: str, method: str, k: int | None) -> list[float]:
    """NMI of a method: of the starts that are chosen, of all starts, or of all runs with K clusters."""
    if method == DMA_MEAN:
        return results.values("nmi", "partition", document_set=name, method="DMA")
    if k is None:
        return [values["nmi"] for values in chosen_starts(results, name, method)]
    return results.values("nmi", "fixed", document_set=name, method=method, k=k)


def spread_of(results: Results, name: str, method: str, value: str) -> list[float]:
    """A value of all starts on a set of one cut, where a single start is chosen; else nothing."""
    if method not in PARTITIONED or len(results.arguments("cut", "partition", document_set=name)) > 1:
        return []
    return results.values(value, "partition", document_set=name, method=method)


def about_set(results: Results, name: str) -> Values | None:
    """How large a set is, by its first cut that is there."""
    return next((r.values for r in results.find("data", document_set=name) if r.values is not None), None)


def mean_of(values: list[float]) -> float:
    """NaN if there are none."""
    return statistics.fmean(values) if values else math.nan


def why_not(results: Results, part: str, **arguments: Any) -> str:
    """Why there are no values of these cells."""
    found = results.find(part, **arguments)
    return found[0].reason if found else "left out of a quick run"


def with_range(values: Sequence[float], digits: int = 0) -> str:
    """Mean, smallest and largest."""
    if not values:
        return ""
    least, most = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return least if least == most else f"{statistics.fmean(values):.{max(digits, 1)}f} ({least} – {most})"

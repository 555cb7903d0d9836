"""Zhong and Ghosh's methods and collections, the figures they print, and the scores of our runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from textmix_studies.page import Printed
from textmix_studies.printed import read_printed
from textmix_studies.study import Result, Results
from textmix_studies.t_tests import ZHONG_GHOSH, Hypothesis, paired_t_test, t_test_table

MODELS = {
    "Bernoulli": ("kberns", "skberns", "mixberns", "daberns"),
    "multinomial": ("kmnls", "skmnls", "mixmnls", "damnls"),
    "vMF": ("kvmfs", "skvmfs", "softvmfs", "davmfs"),
}
ALGORITHMS = tuple(chain.from_iterable(MODELS.values()))
CO_CLUSTER, BISECTING, CLUTO = "co-cluster", "bisecting k-means", "CLUTO"
METHODS = (*ALGORITHMS, CO_CLUSTER, BISECTING)
NO_CLUTO = "closed software: printed figures only"
SELECTIONS = ("none", "frequency", "variance")
SELECTION_TESTED = ("kmnls", "damnls", "kvmfs", "davmfs", CO_CLUSTER)  # Tables 13 and 18
HYPOTHESES = {test.name: test for test in ZHONG_GHOSH}

SIGNIFICANT = 0.05
SMALLEST_DIFFERENCE = 0.01  # that printed means can show

# How the paper divides its tables of NMI.
COLUMNS = (
    ("NG20", "NG17-19", "classic", "ohscal", "hitech"),
    ("reviews", "sports", "la1", "la12", "la2"),
    ("k1b", "tr11", "tr23", "tr41", "tr45"),
)
COLLECTIONS = tuple(chain.from_iterable(COLUMNS))
CUT_FROM_20NG = ("NG20", "NG17-19")


class PrintedCollection(NamedTuple):
    """A row of Tables 1, 6 and 8."""

    n_classes: int
    sizes: Mapping[str, tuple[int, int]]  # documents and words, by selection
    best_three: tuple[str, ...]
    gains: Mapping[str, float]  # of annealing, in per cent, by model


@cache
def printed_nmi() -> dict[tuple[str, str, str], Printed]:
    """Tables 2 to 4, 9 to 11 and 14 to 16, by selection, collection and method."""
    return {
        (row["selection"], row["collection"], row["method"]): Printed(float(row["mean"]), float(row["sd"]))
        for row in read_printed("zhong_ghosh_nmi")
    }


@cache
def printed_p_values() -> dict[tuple[str, str, str], str]:
    """Tables 5, 12 and 17, and as "METHOD fs>nfs" 13 and 18, by selection, collection and hypothesis."""
    return {
        (row["selection"], row["collection"], row["hypothesis"]): row["p"]
        for row in read_printed("zhong_ghosh_t_tests")
    }


@cache
def printed_times() -> dict[tuple[str, int], Printed]:
    """Table 7: seconds by method and number of clusters."""
    return {
        (row["method"], int(row["n_clusters"])): Printed(float(row["mean"]), float(row["sd"]))
        for row in read_printed("zhong_ghosh_times")
    }


@cache
def printed_collections() -> dict[str, PrintedCollection]:
    """Tables 1, 6 and 8."""
    return {
        row["collection"]: PrintedCollection(
            int(row["n_classes"]),
            {
                "none": (int(row["n_documents"]), int(row["n_words"])),
                "frequency": (int(row["frequency_documents"]), int(row["frequency_words"])),
                "variance": (int(row["variance_documents"]), int(row["variance_words"])),
            },
            tuple(row["best_three"].split()),
            {"multinomial": float(row["gain_mnls"]), "vMF": float(row["gain_vmfs"])},
        )
        for row in read_printed("zhong_ghosh_collections")
    }


def selection_test(method: str) -> str:
    """The name of the hypothesis that a method does better with selected words than with all."""
    return f"{method} fs>nfs"


def verdict(p: float) -> int:
    """1: significant for a hypothesis, -1: for its reverse, 0: neither."""
    return 1 if p <= SIGNIFICANT else -1 if p >= 1.0 - SIGNIFICANT else 0


def as_number(p: str) -> float:
    """A printed p-value; "<0.001" and ">0.999" as their bounds."""
    return float(p.strip("<>"))


def contradicted() -> list[tuple[str, str, str, str, float]]:
    """Significant p-values of the paper whose printed means differ in the other direction.

    Selection, collection, hypothesis, p, and by how much the mean of the one that is said to be better is higher.
    """
    found = []
    for (selection, collection, name), p in printed_p_values().items():
        difference = _printed_difference(selection, collection, name)
        if verdict(as_number(p)) * difference < -0.99 * SMALLEST_DIFFERENCE:
            found.append((selection, collection, name, p, difference))
    return found


def gains_contradicted() -> list[tuple[str, str, float, float]]:
    """Gains of Table 6 that are more than two points off those of the printed means.

    Collection, model, the printed gain and that of the means, in per cent.
    """
    found = []
    for collection, printed in printed_collections().items():
        for model, gain in printed.gains.items():
            soft, annealed = (printed_nmi()["none", collection, name].mean for name in MODELS[model][2:])
            from_means = 100.0 * (annealed - soft) / soft
            if abs(gain - from_means) > 2.0:
                found.append((collection, model, gain, from_means))
    return found


def _printed_difference(selection: str, collection: str, hypothesis: str) -> float:
    """The printed mean of the better one less that of the worse."""

    def mean(method: str, words: str = selection) -> float:
        return printed_nmi()[words, collection, method].mean

    if hypothesis.endswith(" fs>nfs"):
        method = hypothesis.removesuffix(" fs>nfs")
        return mean(method) - mean(method, "none")
    if hypothesis.endswith(">cluto"):
        return mean({"dav": "davmfs", "dam": "damnls"}[hypothesis.removesuffix(">cluto")]) - mean(CLUTO)
    test = HYPOTHESES[hypothesis]
    worse = [mean(name) for name in test.worse]
    return max(mean(name) for name in test.better) - (min(worse) if test.worst else max(worse))


class Scores:
    """The runs of the study by selection, collection and method."""

    def __init__(self, results: Results) -> None:
        self._results: dict[tuple[str, str, str], list[Result]] = {}
        for result in results.find("run"):
            arguments = result.cell.arguments
            key = (arguments["selection"], arguments["collection"], arguments["method"])
            self._results.setdefault(key, []).append(result)

    @property
    def collections(self) -> list[str]:
        """Those that were to be computed, in the paper's order."""
        there = {collection for _, collection, _ in self._results}
        return [name for name in COLLECTIONS if name in there]

    def n_runs(self, methods: Iterable[str]) -> int:
        """How many runs were wanted of each of these methods."""
        return max((len(r) for (_, _, method), r in self._results.items() if method in methods), default=0)

    def values(self, name: str, selection: str, collection: str, method: str) -> list[float]:
        """One value of each run that was computed."""
        found = self._results.get((selection, collection, method), [])
        return [result.values[name] for result in found if result.values is not None]

    def reason(self, selection: str, collection: str, method: str) -> str:
        """Why there are no runs."""
        return next((r.reason for r in self._results.get((selection, collection, method), []) if r.reason), "")

    def nmi(self, selection: str, collection: str, method: str) -> list[float]:
        """NMI of each run."""
        return self.values("nmi", selection, collection, method)

    def mean(self, selection: str, collection: str, method: str) -> float:
        """Mean NMI; NaN without runs."""
        found = self.nmi(selection, collection, method)
        return statistics.fmean(found) if found else math.nan

    def best(self, selection: str, collection: str, methods: Sequence[str]) -> float:
        """The highest mean NMI of several methods."""
        return max(self.mean(selection, collection, method) for method in methods)

    def sets(self, methods: Sequence[str], selections: Sequence[str] = ("none",)) -> list[str]:
        """The collections on which each of these methods has runs with all of these selections."""
        return [
            collection
            for collection in self.collections
            if all(self.nmi(selection, collection, method) for selection in selections for method in methods)
        ]

    def average(self, selection: str, sets: Sequence[str], method: str) -> float:
        """Mean NMI over several collections; NaN over none."""
        return statistics.fmean(self.mean(selection, name, method) for name in sets) if sets else math.nan

    def p_values(self, selection: str, test: Hypothesis) -> dict[str, float]:
        """p of a hypothesis on each collection where it can be tested."""
        methods = dict.fromkeys((*test.better, *test.worse))
        found = {}
        for collection in self.collections:
            paired = self._paired([(selection, collection, method) for method in methods])
            if paired:
                [row] = t_test_table({collection: dict(zip(methods, paired, strict=True))}, [test])
                found[collection] = float(row[test.name])
        return found

    def selection_p_values(self, selection: str, method: str) -> dict[str, float]:
        """p of "better with selected words than with all" on each collection where it can be tested."""
        found = {}
        for collection in self.collections:
            paired = self._paired([(selection, collection, method), ("none", collection, method)])
            if paired:
                found[collection] = paired_t_test(*paired)
        return found

    def _paired(self, keys: Sequence[tuple[str, str, str]]) -> list[list[float]]:
        """NMI by seed for each key, of the seeds that all of them have; nothing if these are fewer than two."""
        by_seed = [
            {r.cell.arguments["seed"]: r.values["nmi"] for r in self._results.get(key, []) if r.values is not None}
            for key in keys
        ]
        shared = [seed for seed in by_seed[0] if all(seed in others for others in by_seed)]
        return [[scores[seed] for seed in shared] for scores in by_seed] if len(shared) > 1 else []

"""What the paper on X-DMM says of its figures, and whether it is so of ours."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from textmix_studies.figures import Line, line_by
from textmix_studies.page import Printed
from textmix_studies.printed import read_printed
from textmix_studies.study import Claim, Results
from textmix_studies.xdmm_cells import BASELINES, COLLECTIONS, CURVES_OF

SYMMETRIC, ASYMMETRIC = "symmetric prior", "asymmetric prior"
NOT_PLANNED = "not part of this run"
COVERED = 0.95  # of its change: a curve has converged
ROUNDING = 0.0005  # printed figures have three digits


class Spread(NamedTuple):
    """Mean and standard deviation of trials."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.deviation:.3f}"


def spread_of(values: Sequence[float]) -> Spread | None:
    """That of some trials, None if there are none; one trial has no deviation."""
    if not values:
        return None
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


def trials(results: Results, name: str, k: int, method: str) -> list[float]:
    """NMI of all trials of a method, or of X-DMM with one of the two priors, on one of the paper's collections."""
    problem = {"collection": COLLECTIONS[name].copy, "k": k}
    if method == ASYMMETRIC:
        return results.values("nmi", "asymmetric", **problem)
    if method == SYMMETRIC:
        seeds = results.arguments("seed", "asymmetric", **problem)
        return [v for seed in seeds for v in results.values("nmi", "cluster", method="X-DMM", seed=seed, **problem)]
    return results.values("nmi", "cluster", method=method, **problem)


def why_missing(results: Results, part: str, **arguments: Any) -> str:
    """Why there are no values of some cells."""
    return next((r.reason for r in results.find(part, **arguments) if r.values is None), NOT_PLANNED)


def read_table_5() -> dict[tuple[str, int, str], Printed]:
    """Table 5 by collection, K and method."""
    return {
        (row["collection"], int(row["k"]), row["method"]): Printed(float(row["mean"]), float(row["sd"]))
        for row in read_printed("xdmm")
    }


def largest_loss() -> float:
    """Of X-DMM parallel against X-DMM, in Table 5: what the paper calls slight."""
    printed = read_table_5()
    problems = [at[:2] for at in printed if at[2] == "X-DMM"]
    return max(printed[*at, "X-DMM"].mean - printed[*at, "X-DMM parallel"].mean for at in problems)


def are_similar(spreads: Mapping[str, Spread]) -> bool:
    """Whether two means differ by at most twice the larger standard deviation."""
    one, other = spreads.values()
    return abs(one.mean - other.mean) <= 2.0 * max(one.deviation, other.deviation)


def are_better(spreads: Mapping[str, Spread]) -> bool:
    """Whether X-DMM is above each baseline by more than both deviations."""
    ours = spreads["X-DMM"]
    return all(ours.mean - ours.deviation > spreads[method].mean + spreads[method].deviation for method in BASELINES)


Test = Callable[[Mapping[str, Spread]], bool]


def claims(results: Results) -> list[Claim]:
    """All, collection by collection."""
    loss = largest_loss()
    tests: list[tuple[str, Sequence[str], Test]] = [
        (
            f"X-DMM has about the NMI of {other} (means differ by at most twice the larger standard deviation)",
            ("X-DMM", other),
            are_similar,
        )
        for other in ("GSDMM", "FGSDMM+")
    ]
    tests += [
        (
            f"X-DMM parallel loses little against X-DMM (at most {loss:.3f}, as in Table 5)",
            ("X-DMM", "X-DMM parallel"),
            lambda at: at["X-DMM"].mean - at["X-DMM parallel"].mean <= loss + ROUNDING,
        ),
        (
            "X-DMM is much better than K-means and LDA (by more than the two standard deviations together)",
            ("X-DMM", *BASELINES),
            are_better,
        ),
        (
            "which of the two priors makes little difference (means differ by at most twice the larger standard "
            "deviation)",
            (SYMMETRIC, ASYMMETRIC),
            are_similar,
        ),
    ]
    found = [claim_of(results, name, text, methods, test) for text, methods, test in tests for name in COLLECTIONS]
    return [*found, claim_of_convergence(results)]


def claim_of(results: Results, name: str, text: str, methods: Sequence[str], test: Test) -> Claim:
    """A claim about methods on one collection: it holds if it does at each K that the run has."""
    copy = COLLECTIONS[name].copy
    part = "asymmetric" if ASYMMETRIC in methods else "cluster"
    answers, evidence = [], []
    for k in results.arguments("k", part, collection=copy):
        spreads = {method: spread_of(trials(results, name, k, method)) for method in methods}
        there = {method: spread for method, spread in spreads.items() if spread is not None}
        if len(there) < len(spreads):
            part = part if SYMMETRIC in there else "cluster"
            return Claim(f"{name}: {text}", None, why_missing(results, part, collection=copy, k=k))
        answers.append(test(there))
        evidence.append(f"K = {k}: " + ", ".join(f"{method} {spread}" for method, spread in there.items()))
    return Claim(f"{name}: {text}", all(answers) if answers else None, "; ".join(evidence) or NOT_PLANNED)


def covered(values: Sequence[float]) -> list[float]:
    """How much of the change from the first to the last value there has been by each; NaN if there is none."""
    change = values[-1] - values[0]
    return [(value - values[0]) / change if change else float("nan") for value in values]


def converged_at(line: Line) -> int | None:
    """Where a curve has covered 95 % of its change; None if it has not changed, or lacks its ends."""
    return next((x for x, share in zip(line.x, covered(line.means), strict=True) if share >= COVERED), None)


def claim_of_convergence(results: Results) -> Claim:
    """NMI and perplexity of Fig. 6."""
    last = max(results.arguments("n_iterations", "converge"), default=0)
    text = (
        f"{CURVES_OF}: NMI and perplexity converge at nearly the same rate (95 % of the change in {last} iterations: "
        "one after at most twice as many as the other)"
    )
    if not results.values("nmi", "converge"):
        return Claim(text, None, why_missing(results, "converge"))
    nmi_at, perplexity_at = (
        converged_at(line_by(results, value, value, "converge", "n_iterations")) for value in ("nmi", "perplexity")
    )
    if nmi_at is None or perplexity_at is None:
        return Claim(text, None, "a curve does not change, or lacks its ends")
    evidence = f"NMI at {nmi_at}, perplexity at {perplexity_at}"
    return Claim(text, max(nmi_at, perplexity_at) <= 2 * min(nmi_at, perplexity_at), evidence)

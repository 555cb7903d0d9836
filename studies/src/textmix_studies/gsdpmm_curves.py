"""What Yin and Wang say of curves: convergence, numbers of clusters by iteration, running time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from textmix_studies.gsdpmm_cells import BETAS, LIKE_T, METHODS, SHOWN, TRUE_K, lda_steps
from textmix_studies.study import Claim, Results, if_known

NEAR = 0.98  # of the last NMI: a curve is there
LINEAR = (0.85, 1.15)  # exponents of the number of documents


def shown_of(results: Results, part: str) -> list[str]:
    """The collections of which the figures show a part."""
    return [name for name in results.arguments("collection", part) if name in SHOWN]


def by_argument(results: Results, collection: str, value: str, argument: str, values: Sequence[float]) -> list[float]:
    """Means of a value by α or β, the other one as it is by default."""
    fixed = {"beta": 0.02} if argument == "alpha" else {"alpha": 0.1}
    return [results.mean(value, "vary", collection=collection, **{**fixed, argument: v}) for v in values]


def _nmi_curve(results: Results, collection: str, method: str) -> dict[int, float]:
    """The mean NMI by iteration; of LDA nothing if a run is missing."""
    if method == "LDA":
        curves = results.values("nmi", "converge-lda", collection=collection)
        steps = lda_steps(max(results.arguments("n_iterations", "converge-lda", collection=collection), default=0))
        return dict(zip(steps, np.mean(curves, axis=0).tolist(), strict=True)) if curves else {}
    steps = [n for n in results.arguments("n_iterations", "converge", collection=collection, method=method) if n]
    at = {"collection": collection, "method": method}
    return {n: results.mean("nmi", "converge", **at, n_iterations=n) for n in steps}


def _clusters_curve(results: Results, collection: str) -> dict[int, float]:
    """Mean numbers of clusters of GSDPMM, by iteration."""
    steps = results.arguments("n_iterations", "converge", collection=collection, method="GSDPMM")
    return {n: _mean_clusters(results, collection, n) for n in steps}


def _mean_clusters(results: Results, collection: str, n: int) -> float:
    runs = results.values("clusters", "converge", collection=collection, method="GSDPMM", n_iterations=n)
    return float(np.mean([run[0] for run in runs])) if runs else math.nan


def _iterations_to_converge(results: Results, collection: str, method: str) -> float:
    """The first iteration with 98 % of the last NMI; infinite if that is the last one, NaN if there is none."""
    curve = _nmi_curve(results, collection, method)
    if not curve:
        return math.nan
    *_, last = curve
    first = next(n for n, value in curve.items() if value >= NEAR * curve[last])
    return first if first < last else math.inf


def claims_of_convergence(results: Results) -> list[Claim]:
    """Fig. 2, 7 and 8."""
    return [*_claims_of_speed(results), *_claims_of_scores(results), *_claims_of_clusters(results)]


def _claims_of_speed(results: Results) -> list[Claim]:
    names = shown_of(results, "converge")
    speed = {name: {m: _iterations_to_converge(results, name, m) for m in METHODS} for name in names}
    every = [value for by_method in speed.values() for value in by_method.values()]
    rule = f"iterations to {NEAR:.0%} of the last NMI: "

    def listed(methods: Sequence[str]) -> str:
        return "; ".join(f"{n}: " + ", ".join(f"{m} {_steps(speed[n][m])}" for m in methods) for n in names)

    found = [
        Claim(
            "GSDPMM, K-means and GSDMM converge faster than LDA",
            if_known(all(speed[n][m] < speed[n]["LDA"] for n in names for m in METHODS if m != "LDA"), every),
            rule + listed(METHODS),
        ),
        Claim(
            "LDA needs about 100 iterations (50 to 200)",
            if_known(all(50 <= speed[n]["LDA"] <= 200 for n in names), every),
            rule + listed(["LDA"]),
        ),
    ]
    if "20NG" in names and len(names) > 1:
        slower = [f"{m} on {n}" for n in names if n != "20NG" for m in METHODS if not speed[n][m] < speed["20NG"][m]]
        found.append(
            Claim(
                "all methods converge faster on short texts than on 20NG",
                if_known(not slower, every),
                "all" if not slower else f"not {', '.join(slower)}",
            )
        )
    return found


def _steps(n: float) -> str:
    return "not by the last" if math.isinf(n) else f"{n}"


def _claims_of_scores(results: Results) -> list[Claim]:
    names = shown_of(results, "converge")
    later = [n for n in results.arguments("n_iterations", "converge") if n >= 5]

    def at(name: str, score: str, n: int) -> float:
        return results.mean(score, "converge", collection=name, method="GSDPMM", n_iterations=n)

    changes = {
        n: max(
            abs(at(n, score, i) - at(n, score, 5)) for score in ("nmi", "homogeneity", "completeness") for i in later
        )
        for n in names
    }
    first = {n: [at(n, score, i) for score in ("homogeneity", "completeness") for i in (0, 1)] for n in names}
    every = [value for values in first.values() for value in values]
    return [
        Claim(
            "the scores of GSDPMM are stable after about five iterations (within .03)",
            if_known(all(change <= 0.03 for change in changes.values()), list(changes.values())),
            f"largest change of NMI, homogeneity or completeness from the fifth to the {max(later, default=0)}th: "
            + ", ".join(f"{n} {change:.3f}" for n, change in changes.items()),
        ),
        Claim(
            "with all documents in one cluster homogeneity is 1 (and grows, which the paper says too)",
            if_known(all(values[0] == 1.0 for values in first.values()), every),
            ", ".join(f"{n} {values[0]:.0f}" for n, values in first.items()),
        ),
        Claim(
            "after the first iteration homogeneity has grown and completeness fallen",
            if_known(
                all(h0 < h1 and c0 > c1 for h0, h1, c0, c1 in first.values()), [v for vs in first.values() for v in vs]
            ),
            "; ".join(f"{n}: {h0:.2f} to {h1:.2f}, {c0:.2f} to {c1:.2f}" for n, (h0, h1, c0, c1) in first.items()),
        ),
    ]


def _claims_of_clusters(results: Results) -> list[Claim]:
    names = shown_of(results, "converge")
    curves = {name: _clusters_curve(results, name) for name in names}
    every = [value for curve in curves.values() for value in curve.values()]
    last = max((n for curve in curves.values() for n in curve), default=0)
    later = {name: [value for n, value in curve.items() if n >= 5] for name, curve in curves.items()}
    short = [n for n in names if n != "20NG"]
    found = [
        Claim(
            "on Tweet and T the number of clusters jumps up in the first iteration, then falls",
            if_known(all(curves[n].get(1, 0) > curves[n][last] for n in short), every if short else []),
            ", ".join(f"{n} {curves[n].get(1, math.nan):.0f}, at the end {curves[n][last]:.0f}" for n in short),
        ),
        Claim(
            "the number of clusters is stable after several iterations (within 15 % from the fifth on)",
            if_known(all(max(v) / min(v) - 1 <= 0.15 for v in later.values()), every),
            ", ".join(f"{n} {values[0]:.0f} to {values[-1]:.0f}" for n, values in later.items()),
        ),
        Claim(
            "the number of clusters is inferred: it grows to a reasonable level (within a factor of two)",
            if_known(all(TRUE_K[n] / 2 <= curves[n][last] <= 2 * TRUE_K[n] for n in names), every),
            ", ".join(f"{n} {curves[n][last]:.0f} for {TRUE_K[n]}" for n in names),
        ),
    ]
    if "20NG" in names:
        first, fifth = (curves["20NG"].get(n, math.nan) for n in (1, 5))
        found.append(
            Claim(
                "on 20NG the number of clusters grows slightly in the first iterations (by at most a half)",
                if_known(first < fifth <= 1.5 * first, [first, fifth]),
                f"{first:.0f} after the first, {fifth:.0f} after the fifth",
            )
        )
    return found


def claims_of_scalability(results: Results) -> list[Claim]:
    """Fig. 3."""
    times: dict[str, dict[str, dict[int, float]]] = {}
    for r in results.find("scale"):
        if r.values is not None:
            by_size = times.setdefault(r.cell.arguments["set"], {}).setdefault(r.cell.arguments["method"], {})
            by_size[r.values["n_documents"]] = r.values["fit_seconds"]
    complete = {set: by_method for set, by_method in times.items() if len(by_method) == len(METHODS)}
    exponents = {
        (set, method): float(np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)[0])
        for set, by_method in complete.items()
        for method, points in by_method.items()
        if len(points) > 2
    }

    def ratio(set: str, method: str, other: str) -> float:
        """Of the times for the largest number of documents that both have."""
        one, two = (times.get(set, {}).get(m, {}) for m in (method, other))
        size = max(one.keys() & two.keys(), default=None)
        return one[size] / two[size] if size is not None else math.nan

    slower = {set: ratio(set, "LDA", "GSDPMM") for set in times}
    return [
        Claim(
            "the running time of all four is linear in the number of documents (exponents of "
            f"{LINEAR[0]} to {LINEAR[1]})",
            if_known(all(LINEAR[0] <= value <= LINEAR[1] for value in exponents.values()), list(exponents.values())),
            ", ".join(f"{set} {method} {value:.2f}" for (set, method), value in exponents.items()),
        ),
        Claim(
            "LDA is much slower than GSDPMM (five times at least)",
            if_known(all(value >= 5 for value in slower.values()), list(slower.values())),
            ", ".join(f"{set} {value:.0f} times" for set, value in slower.items()),
        ),
        *(
            Claim(text, if_known(low <= value <= high, [value]), f"{value:.2f} times its time")
            for text, low, high, value in (
                (
                    "on LongSet GSDPMM takes about as long as GSDMM (within a factor of 1.5)",
                    *(1 / 1.5, 1.5),
                    ratio("LongSet", "GSDPMM", "GSDMM"),
                ),
                ("on ShortSet GSDPMM is slower than GSDMM", 1.0, math.inf, ratio("ShortSet", "GSDPMM", "GSDMM")),
            )
        ),
    ]


def claim_of_similar_sets(results: Results) -> Claim:
    """What is shown of T is said to be similar on S and TS (Fig. 2, 7 and 9)."""
    kinds: dict[str, Callable[[str], Mapping[Any, float]]] = {
        "NMI by iteration": lambda name: {
            (m, n): value for m in METHODS for n, value in _nmi_curve(results, name, m).items()
        },
        "clusters by iteration": lambda name: _clusters_curve(results, name),
        "clusters by β": lambda name: dict(
            zip(BETAS, by_argument(results, name, "above_0", "beta", BETAS), strict=True)
        ),
    }
    there = [name for name in ("T", *LIKE_T) if results.values("nmi", "converge", collection=name)]
    others = [name for name in there if name != "T"] if "T" in there else []
    likeness = {
        kind: min((_correlation(curve("T"), curve(name)) for name in others), default=math.nan)
        for kind, curve in kinds.items()
    }
    return Claim(
        "results on S and TS are similar to those on T: convergence, number of clusters by iteration and by β "
        "(curves correlate by .9 at least)",
        if_known(all(value >= 0.9 for value in likeness.values()), list(likeness.values())),
        "lowest correlations: " + ", ".join(f"{kind} {value:.3f}" for kind, value in likeness.items()),
    )


def _correlation(one: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """Of two curves where both have a point."""
    places = [place for place in one if place in other]
    pairs = np.array([(one[place], other[place]) for place in places])
    return float(np.corrcoef(pairs.T)[0, 1]) if len(places) > 2 else math.nan

"""What Yin and Wang say of GSDPMM's figures, and whether it is so of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.studies.gsdpmm_cells import ALPHAS, BETAS, KS, LDA_STEPS, LIKE_T, METHODS, OTHER_LDA, PURITY, SHOWN
from textmix.studies.study import Claim, Results, if_known

RIVALS = (*METHODS[1:], OTHER_LDA)
SHARED_WORDS = ("game", "team", "year", "player")  # of hockey and baseball (Table IV), stemmed as they are here


def claims(results: Results) -> list[Claim]:
    """What the paper says of its figures."""
    results = results.computed()
    return [
        *_claims_of_comparison(results),
        *_claims_of_convergence(results),
        *_claims_of_scalability(results),
        *_claims_of_outliers(results),
        *_claims_of_alpha(results),
        *_claims_of_beta(results),
        _claim_of_similar_sets(results),
        *_claims_of_words(results),
    ]


def _shown(results: Results, part: str) -> list[str]:
    """The collections of which the figures show a part."""
    return [name for name in results.arguments("collection", part) if name in SHOWN]


def _mean(results: Results, collection: str, method: str, k: int) -> float:
    return results.mean("nmi", "compare", collection=collection, method=method, k=k)


def _claims_of_comparison(results: Results) -> list[Claim]:
    names = results.arguments("collection", "compare")
    best = {
        name: {m: [_mean(results, name, m, k) for k in KS[name]] for m in RIVALS}
        | {"GSDPMM": [_mean(results, name, "GSDPMM", 1)] * 3}
        for name in names
    }
    losses = [
        f"{name} K={k}: {m} {best[name][m][i]:.3f}, GSDPMM {best[name]['GSDPMM'][i]:.3f}"
        for name in names
        for m in RIVALS
        for i, k in enumerate(KS[name])
        if not best[name]["GSDPMM"][i] > best[name][m][i]
    ]
    n_cells = 3 * len(RIVALS) * len(names)
    deviations = {
        name: float(np.std(v, ddof=1))
        for name in names
        if len(v := results.values("nmi", "compare", collection=name, method="GSDPMM")) > 1
    }
    found = [
        Claim(
            "GSDPMM has the highest NMI of the four on every set, whatever K the others get (LDA with both α)",
            if_known(not losses, names),
            f"above in {n_cells - len(losses)} of {n_cells}" + ("; not: " + "; ".join(losses) if losses else ""),
        ),
        Claim(
            "the standard deviation of GSDPMM is small (up to .01)",
            if_known(max(deviations.values(), default=math.nan) <= 0.01, list(deviations)),
            ", ".join(f"{name} {value:.4f}" for name, value in deviations.items()),
        ),
    ]
    short = [name for name in names if name != "20NG"]
    if "20NG" in names:
        worse = [
            m for m in METHODS if not min(max(best[n][m]) for n in short) > max(best["20NG"][m])
        ]  # by the best K of each
        found.append(
            Claim(
                "all methods do better on the short texts than on 20NG",
                not worse,
                "all" if not worse else f"not {', '.join(worse)}",
            )
        )
    if {"S", "TS"} <= set(names):
        worse = [f"{m} on {n}" for m in METHODS for n in ("S", "TS") if not max(best[n][m]) > max(best["T"][m])]
        found.append(
            Claim("all methods do better on S and TS than on T", not worse, "all" if not worse else "; ".join(worse))
        )
    falls = [
        f"{m} on {n} ({best[n][m][1]:.3f} to {best[n][m][2]:.3f})"
        for n in names
        for m in METHODS[1:]
        if not best[n][m][2] > best[n][m][1]
    ]
    found.append(
        Claim(
            "K-means, LDA and GSDMM do better with a K above the number of classes",
            if_known(not falls, names),
            f"in {3 * len(names) - len(falls)} of {3 * len(names)}" + ("; not: " + "; ".join(falls) if falls else ""),
        )
    )
    return found


def _nmi_curve(results: Results, collection: str, method: str) -> tuple[Sequence[int], NDArray[np.float64]]:
    """Iterations, and the mean NMI after each of them."""
    if method == "LDA":
        curves = results.values("nmi", "converge-lda", collection=collection)
        return LDA_STEPS, np.mean(curves, axis=0) if curves else np.array([math.nan])
    steps = [n for n in results.arguments("n_iterations", "converge", collection=collection, method=method) if n]
    at = {"collection": collection, "method": method}
    return steps, np.array([results.mean("nmi", "converge", **at, n_iterations=n) for n in steps])


def _clusters_curve(results: Results, collection: str) -> list[float]:
    """Mean numbers of clusters of GSDPMM, by iteration."""
    steps = results.arguments("n_iterations", "converge", collection=collection, method="GSDPMM")
    return [_mean_clusters(results, collection, n) for n in steps]


def _mean_clusters(results: Results, collection: str, n: int) -> float:
    runs = results.values("clusters", "converge", collection=collection, method="GSDPMM", n_iterations=n)
    return float(np.mean([run[0] for run in runs])) if runs else math.nan


def _iterations_to_converge(results: Results, collection: str, method: str) -> int:
    """The first iteration with 98 % of the NMI of the last one."""
    steps, means = _nmi_curve(results, collection, method)
    reached = np.flatnonzero(means >= 0.98 * means[-1])
    return steps[int(reached[0])] if reached.size else steps[-1]


def _claims_of_convergence(results: Results) -> list[Claim]:
    names = _shown(results, "converge")
    speed = {name: {m: _iterations_to_converge(results, name, m) for m in METHODS} for name in names}
    listed = "; ".join(f"{n}: " + ", ".join(f"{m} {speed[n][m]}" for m in METHODS) for n in names)
    rule = "iterations to 98 % of the last NMI: "
    found = [
        Claim(
            "GSDPMM, K-means and GSDMM converge faster than LDA",
            if_known(all(speed[n][m] < speed[n]["LDA"] for n in names for m in ("GSDPMM", "GSDMM", "K-means")), names),
            rule + listed,
        ),
        Claim(
            "LDA needs about 100 iterations (50 at least)",
            if_known(all(speed[n]["LDA"] >= 50 for n in names), names),
            rule + ", ".join(f"{n} {speed[n]['LDA']}" for n in names),
        ),
    ]
    if "20NG" in names:
        found.append(
            Claim(
                "all methods converge faster on short texts than on 20NG (or as fast)",
                all(speed[n][m] <= speed["20NG"][m] for n in names for m in METHODS),
                rule + listed,
            )
        )

    def at(name: str, value: str, n: int) -> float:
        return results.mean(value, "converge", collection=name, method="GSDPMM", n_iterations=n)

    def clusters(name: str, n: int) -> float:
        return _mean_clusters(results, name, n)

    last = max(results.arguments("n_iterations", "converge"), default=0)
    later = [n for n in results.arguments("n_iterations", "converge") if n >= 5]
    changes = {
        n: max(
            abs(at(n, score, i) - at(n, score, 5)) for score in ("nmi", "homogeneity", "completeness") for i in later
        )
        for n in names
    }
    found.append(
        Claim(
            "the scores of GSDPMM are stable after about five iterations (within .03)",
            if_known(all(change <= 0.03 for change in changes.values()), names),
            f"largest change of NMI, homogeneity or completeness from the fifth to the {last}th: "
            + ", ".join(f"{n} {changes[n]:.3f}" for n in names),
        )
    )
    found.append(
        Claim(
            "after the first iteration homogeneity has grown and completeness fallen",
            if_known(
                all(
                    at(n, "homogeneity", 1) > at(n, "homogeneity", 0)
                    and at(n, "completeness", 1) < at(n, "completeness", 0)
                    for n in names
                ),
                names,
            ),
            "; ".join(
                f"{n}: {at(n, 'homogeneity', 0):.2f} to {at(n, 'homogeneity', 1):.2f}, "
                f"{at(n, 'completeness', 0):.2f} to {at(n, 'completeness', 1):.2f}"
                for n in names
            )
            + " (the paper prints 1 for the homogeneity of one cluster; it is 0)",
        )
    )
    short = [n for n in names if n != "20NG"]
    found.append(
        Claim(
            "on Tweet and T the number of clusters jumps up in the first iteration, then falls",
            if_known(all(clusters(n, 1) > clusters(n, last) for n in short), short),
            ", ".join(f"{n} {clusters(n, 1):.0f}, at the end {clusters(n, last):.0f}" for n in short),
        )
    )
    if "20NG" in names:
        found.append(
            Claim(
                "on 20NG the number of clusters grows slightly in the first iterations (by at most a half)",
                clusters("20NG", 1) < clusters("20NG", 5) <= 1.5 * clusters("20NG", 1),
                f"{clusters('20NG', 1):.0f} after the first, {clusters('20NG', 5):.0f} after the fifth",
            )
        )
    stable = {n: max(abs(clusters(n, i) / clusters(n, 5) - 1) for i in later) for n in names}
    found.append(
        Claim(
            "the number of clusters is stable after several iterations (within 15 % from the fifth on)",
            if_known(all(change <= 0.15 for change in stable.values()), names),
            ", ".join(f"{n} {clusters(n, 5):.0f} to {clusters(n, last):.0f}" for n in names),
        )
    )
    return found


def _claims_of_scalability(results: Results) -> list[Claim]:
    found = []
    times: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for r in results.find("scale"):
        if r.values is not None:
            key = (r.cell.arguments["set"], r.cell.arguments["method"])
            times.setdefault(key, []).append((r.values["n_documents"], r.values["fit_seconds"]))
    fits = {}
    for key, points in times.items():
        if len(points) > 2:
            x, y = np.array(points).T
            fits[key] = float(np.corrcoef(x, y)[0, 1] ** 2)
    found.append(
        Claim(
            "the running time of all four is linear in the number of documents (R² at least .97)",
            if_known(all(fit >= 0.97 for fit in fits.values()), list(fits)),
            ", ".join(f"{set} {method} {fit:.3f}" for (set, method), fit in fits.items()),
        )
    )
    last = {key: points[-1][1] for key, points in times.items()}
    sets = list(dict.fromkeys(set for set, _ in times))
    complete = [set for set in sets if all((set, m) in last for m in METHODS)]
    found.append(
        Claim(
            "LDA is much slower than GSDPMM (five times at least)",
            if_known(all(last[s, "LDA"] >= 5 * last[s, "GSDPMM"] for s in complete), complete),
            ", ".join(f"{s} {last[s, 'LDA'] / last[s, 'GSDPMM']:.0f} times" for s in complete),
        )
    )
    for set, text, low, high in (
        ("LongSet", "on LongSet GSDPMM takes about as long as GSDMM (within a factor of 1.5)", 1 / 1.5, 1.5),
        ("ShortSet", "on ShortSet GSDPMM is slower than GSDMM", 1.0, math.inf),
    ):
        ratio = last[set, "GSDPMM"] / last[set, "GSDMM"] if set in complete else math.nan
        found.append(
            Claim(text, if_known(low <= ratio <= high, [set] * (set in complete)), f"{ratio:.2f} times its time")
        )
    return found


def _claims_of_outliers(results: Results) -> list[Claim]:
    alphas = results.arguments("alpha", "outliers")
    found = {a: results.mean("found", "outliers", alpha=a) for a in alphas}
    others = {a: results.mean("others", "outliers", alpha=a) for a in alphas}
    computed = [a for a in alphas if not math.isnan(found[a])]
    return [
        Claim(
            "almost all of the 100 outliers are found (95 at least)",
            if_known(all(found[a] >= 95 for a in computed), computed),
            ", ".join(f"α = {a} D: {found[a]:.1f}" for a in computed),
        ),
        Claim(
            "fewer than ten other documents are taken for outliers",
            if_known(all(others[a] < 10 for a in computed), computed),
            ", ".join(f"α = {a} D: {others[a]:.1f}" for a in computed),
        ),
    ]


def _by(results: Results, collection: str, value: str, argument: str, values: Sequence[float]) -> list[float]:
    fixed = {"beta": 0.02} if argument == "alpha" else {"alpha": 0.1}
    return [results.mean(value, "vary", collection=collection, **{**fixed, argument: v}) for v in values]


def _growth(values: Sequence[float]) -> float:
    return values[-1] / values[0] - 1


def _claims_of_alpha(results: Results) -> list[Claim]:
    names = _shown(results, "vary")
    short = [n for n in names if n != "20NG"]
    clusters = {n: _by(results, n, "above_0", "alpha", ALPHAS) for n in names}
    larger = {n: _by(results, n, "above_1", "alpha", ALPHAS) for n in names}
    nmis = {n: _by(results, n, "nmi", "alpha", ALPHAS) for n in names}

    def ends(values: dict[str, list[float]], chosen: Sequence[str], digits: int = 0) -> str:
        return ", ".join(f"{n} {values[n][0]:.{digits}f} to {values[n][-1]:.{digits}f}" for n in chosen)

    found = [
        Claim(
            "on Tweet and T the number of clusters grows with α",
            if_known(all(_rises(clusters[n]) for n in short), short),
            f"α = {ALPHAS[0]} D to {ALPHAS[-1]} D: " + ends(clusters, short),
        ),
        Claim(
            "on Tweet and T NMI is stable (within .02)",
            if_known(all(max(nmis[n]) - min(nmis[n]) <= 0.02 for n in short), short),
            ", ".join(f"{n} {min(nmis[n]):.3f} to {max(nmis[n]):.3f}" for n in short),
        ),
        Claim(
            "without clusters of one document the number of clusters is stable on all sets (within 15 %)",
            if_known(all(abs(_growth(larger[n])) <= 0.15 for n in names), names),
            ends(larger, names),
        ),
    ]
    if "20NG" in names:
        found.append(
            Claim(
                "on 20NG the number of clusters does not depend on α (within 15 %)",
                abs(_growth(clusters["20NG"])) <= 0.15,
                ends(clusters, ["20NG"]),
            )
        )
    return found


def _rises(values: Sequence[float]) -> bool:
    return all(after > before for before, after in pairwise(values))


def _claims_of_beta(results: Results) -> list[Claim]:
    names = _shown(results, "vary")
    found = []
    for text, value, sign in (
        ("the number of clusters falls as β rises", "above_0", -1),
        ("completeness is larger with larger β", "completeness", 1),
        ("homogeneity is larger with smaller β", "homogeneity", -1),
    ):
        by_name = {n: _by(results, n, value, "beta", BETAS) for n in names}
        digits = 0 if value == "above_0" else 2
        found.append(
            Claim(
                text,
                if_known(all(_rises([sign * v for v in by_name[n]]) for n in names), names),
                "; ".join(f"{n} " + ", ".join(f"{v:.{digits}f}" for v in by_name[n]) for n in names),
            )
        )
    return found


def _claim_of_similar_sets(results: Results) -> Claim:
    """What is shown of T is said to be similar on S and TS (Fig. 2, 7 and 9)."""
    there = [n for n in LIKE_T if results.values("nmi", "converge", collection=n)]
    curves: dict[str, Callable[[str], Sequence[float]]] = {
        "NMI by iteration": lambda name: [v for method in METHODS for v in _nmi_curve(results, name, method)[1]],
        "clusters by iteration": lambda name: _clusters_curve(results, name),
        "clusters by β": lambda name: _by(results, name, "above_0", "beta", BETAS),
    }
    likeness = {
        kind: min((float(np.corrcoef(curve("T"), curve(name))[0, 1]) for name in there), default=math.nan)
        for kind, curve in curves.items()
    }
    return Claim(
        "results on S and TS are similar to those on T: convergence, number of clusters by iteration and by β "
        "(curves correlate by .9 at least)",
        if_known(all(value >= 0.9 for value in likeness.values()), there),
        "lowest correlations: " + ", ".join(f"{kind} {value:.3f}" for kind, value in likeness.items()),
    )


def _claims_of_words(results: Results) -> list[Claim]:
    clusters: list[dict[str, Any]] = next(iter(results.values("clusters", "words")), [])
    share = results.mean("share", "words")
    found = [
        Claim(
            "the 18 clusters shown hold most of 20NG (the paper: 86.3 %)",
            if_known(share >= 0.8, clusters),
            f"{share:.1%} (80 % asked)",
        )
    ]
    largest_of = {
        group: max((c for c in clusters if c["group"] == group), key=lambda c: c["size"], default=None)
        for group in PURITY
    }
    common = [w for w in SHARED_WORDS if all(c is not None and w in c["words"] for c in largest_of.values())]
    graphics = [c["words"] for c in clusters if c["group"] == "comp.graphics"]
    shared = [len(set(one) & set(other)) for i, one in enumerate(graphics) for other in graphics[:i]]
    found += [
        Claim(
            f"the clusters of hockey and baseball have {', '.join(SHARED_WORDS)} in common",
            if_known(len(common) == len(SHARED_WORDS), clusters),
            f"of their ten words: {', '.join(common) or 'none'}",
        ),
        Claim(
            "there are two clusters of comp.graphics whose words differ (at most three of ten in common)",
            if_known(bool(shared) and min(shared) <= 3, clusters),
            f"{len(graphics)} of the clusters shown are mostly comp.graphics"
            + (f"; two have {min(shared)} words in common" if shared else ""),
        ),
    ]
    for group, printed in PURITY.items():
        largest = largest_of[group]
        found.append(
            Claim(
                f"there is a cluster of {group}, nearly pure (the paper: {printed:.1%}; 90 % asked)",
                if_known(largest is not None and largest["purity"] >= 0.9, clusters),
                "none" if largest is None else f"{largest['size']:,} documents, {largest['purity']:.1%}",
            )
        )
    return found

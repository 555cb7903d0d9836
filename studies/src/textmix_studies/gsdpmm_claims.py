"""What Yin and Wang say of GSDPMM's figures, and whether it is so of ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from textmix_studies.gsdpmm_cells import ALPHAS, BETAS, KS, LDAS, METHODS, PURITY
from textmix_studies.gsdpmm_curves import (
    by_argument,
    claim_of_similar_sets,
    claims_of_convergence,
    claims_of_scalability,
    shown_of,
)
from textmix_studies.study import Claim, Results, Values, if_known

RIVALS = (*METHODS[1:], *LDAS[1:])
WORDS_IN_COMMON = 5  # of ten, for a cluster to be like one of the paper's
SHARED_WORDS = ("game", "team", "year", "player")  # of hockey and baseball (Table IV), stemmed as they are here


def claims(results: Results) -> list[Claim]:
    """What the paper says of its figures."""
    results = results.computed()
    return [
        *_claims_of_comparison(results),
        *claims_of_convergence(results),
        *claims_of_scalability(results),
        *_claims_of_outliers(results),
        *_claims_of_alpha(results),
        *_claims_of_beta(results),
        claim_of_similar_sets(results),
        *_claims_of_words(results),
    ]


def _mean(results: Results, collection: str, method: str, k: int) -> float:
    return results.mean("nmi", "compare", collection=collection, method=method, k=k)


def _claims_of_comparison(results: Results) -> list[Claim]:
    names = results.arguments("collection", "compare")
    best = {
        name: {m: [_mean(results, name, m, k) for k in KS[name]] for m in RIVALS}
        | {"GSDPMM": [_mean(results, name, "GSDPMM", 1)] * 3}
        for name in names
    }

    def numbers(chosen: Sequence[str], methods: Sequence[str] = METHODS) -> list[float]:
        return [value for name in chosen for method in methods for value in best[name][method]]

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
    falls = [
        f"{m} on {n} ({best[n][m][1]:.3f} to {best[n][m][2]:.3f})"
        for n in names
        for m in METHODS[1:]
        if not best[n][m][2] > best[n][m][1]
    ]
    found = [
        Claim(
            "GSDPMM has the highest NMI of the four on every set, whatever K the others get (LDA with all three α)",
            if_known(not losses, numbers(names, RIVALS)),
            f"above in {n_cells - len(losses)} of {n_cells}" + ("; not: " + "; ".join(losses) if losses else ""),
        ),
        Claim(
            "the standard deviation of GSDPMM is small (up to .01)",
            if_known(max(deviations.values(), default=math.nan) <= 0.01, list(deviations)),
            ", ".join(f"{name} {value:.4f}" for name, value in deviations.items()),
        ),
        Claim(
            "K-means, LDA and GSDMM do better with a K above the number of classes",
            if_known(not falls, numbers(names, METHODS[1:])),
            f"in {3 * len(names) - len(falls)} of {3 * len(names)}" + ("; not: " + "; ".join(falls) if falls else ""),
        ),
    ]
    if "20NG" in names and len(names) > 1:
        short = [name for name in names if name != "20NG"]
        worse = [
            m for m in METHODS if not min(max(best[n][m]) for n in short) > max(best["20NG"][m])
        ]  # by the best K of each
        found.append(
            Claim(
                "all methods do better on the short texts than on 20NG",
                if_known(not worse, numbers(names)),
                "all" if not worse else f"not {', '.join(worse)}",
            )
        )
    if {"S", "TS", "T"} <= set(names):
        worse = [f"{m} on {n}" for m in METHODS for n in ("S", "TS") if not max(best[n][m]) > max(best["T"][m])]
        found.append(
            Claim(
                "all methods do better on S and TS than on T",
                if_known(not worse, numbers(("S", "TS", "T"))),
                "all" if not worse else f"not {'; '.join(worse)}",
            )
        )
    return found


def _claims_of_outliers(results: Results) -> list[Claim]:
    alphas = results.arguments("alpha", "outliers")
    found = {a: results.mean("found", "outliers", alpha=a) for a in alphas}
    others = {a: results.mean("others", "outliers", alpha=a) for a in alphas}
    computed = [a for a in alphas if not math.isnan(found[a])]
    precision = {a: found[a] / (found[a] + others[a]) for a in computed if found[a] > 0}
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
        Claim(
            "recall and precision are really high (95 % at least)",
            if_known(all(min(found[a] / 100, precision[a]) >= 0.95 for a in computed), computed),
            ", ".join(f"α = {a} D: {found[a]:.0f} % and {precision[a]:.1%}" for a in computed),
        ),
        Claim(
            "documents that are wrongly taken for outliers really differ from the others of their group",
            None,
            "the paper looked at them; there is no rule to compute it by",
        ),
    ]


def _variation(values: Sequence[float]) -> float:
    """By how much the largest is above the smallest."""
    return max(values) / min(values) - 1


def _claims_of_alpha(results: Results) -> list[Claim]:
    names = shown_of(results, "vary")
    short = [n for n in names if n != "20NG"]
    clusters = {n: by_argument(results, n, "above_0", "alpha", ALPHAS) for n in names}
    larger = {n: by_argument(results, n, "above_1", "alpha", ALPHAS) for n in names}
    nmis = {n: by_argument(results, n, "nmi", "alpha", ALPHAS) for n in names}

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
            if_known(all(_variation(larger[n]) <= 0.15 for n in names), names),
            ends(larger, names),
        ),
    ]
    if "20NG" in names:
        found.append(
            Claim(
                "on 20NG the number of clusters does not depend on α (within 15 %)",
                _variation(clusters["20NG"]) <= 0.15,
                ends(clusters, ["20NG"]),
            )
        )
    return found


def _rises(values: Sequence[float]) -> bool:
    return all(after > before for before, after in pairwise(values))


def _claims_of_beta(results: Results) -> list[Claim]:
    names = shown_of(results, "vary")
    found = []
    for text, value, sign in (
        ("the number of clusters falls as β rises", "above_0", -1),
        ("completeness is larger with larger β", "completeness", 1),
        ("homogeneity is larger with smaller β", "homogeneity", -1),
    ):
        by_name = {n: by_argument(results, n, value, "beta", BETAS) for n in names}
        digits = 0 if value == "above_0" else 2
        found.append(
            Claim(
                text,
                if_known(all(_rises([sign * v for v in by_name[n]]) for n in names), names),
                "; ".join(f"{n} " + ", ".join(f"{v:.{digits}f}" for v in by_name[n]) for n in names),
            )
        )
    return found


def _claims_of_words(results: Results) -> list[Claim]:
    values: Values = next((r.values for r in results.find("words") if r.values), {})
    clusters: list[dict[str, Any]] = values.get("clusters", [])
    share = results.mean("share", "words")
    matched = [n_common for _, n_common in match_printed(values)] if clusters else []
    n_alike = sum(n_common >= WORDS_IN_COMMON for n_common in matched)
    found = [
        Claim(
            "the ten most frequent words represent the clusters perfectly (each of the paper's clusters has one here "
            f"with {WORDS_IN_COMMON} of its words at least)",
            if_known(n_alike == len(matched), matched),
            f"{n_alike} of {len(matched)} have",
        ),
        Claim(
            "the 18 clusters shown hold most of 20NG (the paper: 86.3 %)",
            if_known(share >= 0.8, clusters),
            f"{share:.1%} (80 % asked)",
        ),
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


def match_printed(words: Values) -> list[tuple[dict[str, Any], int]]:
    """For each of the paper's clusters ours with most of its words, and how many that are."""
    return [
        max(
            ((cluster, len(set(stems) & set(cluster["words"]))) for cluster in words["clusters"]),
            key=lambda pair: pair[1],
        )
        for stems in words["printed_stems"]
    ]

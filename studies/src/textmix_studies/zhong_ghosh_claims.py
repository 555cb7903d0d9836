"""What Zhong and Ghosh say of their figures, and whether it is so of ours."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from textmix_studies.study import Claim, Results
from textmix_studies.t_tests import Hypothesis
from textmix_studies.zhong_ghosh_counted import (
    NOT_COMPUTED,
    against,
    at_least,
    at_most,
    in_favour,
    listed_of,
    majority,
    no_cluto,
)
from textmix_studies.zhong_ghosh_numbers import (
    ALGORITHMS,
    BISECTING,
    CLUTO,
    CO_CLUSTER,
    HYPOTHESES,
    METHODS,
    MODELS,
    Scores,
    printed_collections,
    printed_nmi,
    printed_times,
    verdict,
)
from textmix_studies.zhong_ghosh_selection import best_two, selection_claims

SMALL = 3000  # documents: up to these a collection is medium to small
SMALL_SETS = ("NG17-19", "k1b", "hitech", "tr11", "tr23", "tr41", "tr45")  # named by the paper
SLIGHTLY = 0.02  # NMI
VERY_POOR = 0.05  # NMI

_BERNOULLI, _MULTINOMIAL, _VMF = MODELS.values()
_WITHOUT_ANNEALING = tuple(name for names in MODELS.values() for name in names[:3])


def claims(scores: Scores, results: Results) -> list[Claim]:
    """All of sections 4.4 and 4.5 that can be read off the tables."""
    return [
        *_models(scores),
        *_assignments(scores),
        *_annealing(scores),
        *_others(scores),
        *_times(results),
        *selection_claims(scores),
    ]


def _models(scores: Scores) -> list[Claim]:
    worse = {
        name: scores.p_values("none", Hypothesis(name, _BERNOULLI, MODELS[name])) for name in ("multinomial", "vMF")
    }
    tested = [name for name in worse["vMF"] if name in worse["multinomial"]]
    worst = [name for name in tested if all(verdict(p[name]) < 0 for p in worse.values())]
    sets = [name for name in tested if name != "ohscal"]
    compared = scores.sets((*_MULTINOMIAL, *_VMF))
    leads = {name: scores.best("none", name, _VMF) - scores.best("none", name, _MULTINOMIAL) for name in compared}
    on_small, on_large = ([leads[n] for n in compared if (n in SMALL_SETS) is small] for small in (True, False))
    known = bool(on_small and on_large)
    davmfs = scores.p_values("none", HYPOTHESES["dav>dam"])
    return [
        Claim(
            "Bernoulli is significantly worse than the other two models on all sets but ohscal",
            set(worst) >= set(sets) if sets else None,
            f"{listed_of(worst, tested)}, by the best algorithm of each model; holds if on all but ohscal"
            if sets
            else NOT_COMPUTED,
        ),
        majority(
            "vMF is better than multinomial on the whole",
            [name for name in compared if leads[name] > 0.0],
            compared,
            "by the best algorithm of each model",
        ),
        Claim(
            "above all on the smaller sets (NG17-19, k1b, hitech, tr11 to tr45)",
            statistics.fmean(on_small) > statistics.fmean(on_large) if known else None,
            f"by {statistics.fmean(on_small):+.3f} NMI, on the others by {statistics.fmean(on_large):+.3f}"
            if known
            else NOT_COMPUTED,
        ),
        at_least("davmfs is significantly better than damnls on 12 of 15 sets", in_favour(davmfs), davmfs, 12),
        at_most("davmfs is significantly worse than damnls on only one", against(davmfs), davmfs, 1),
    ]


def _assignments(scores: Scores) -> list[Claim]:
    found = []
    for test, said, n_printed in (
        ("bb>wb", "the best of kberns, skberns, mixberns is significantly better than the worst on none of 15", 0),
        ("bm>wm", "the best of kmnls, skmnls, mixmnls is significantly better than the worst on one of 15", 1),
        ("bv>wv", "the best of kvmfs, skvmfs, softvmfs is significantly better than the worst on five of 15", 5),
    ):
        p_values = scores.p_values("none", HYPOTHESES[test])
        found.append(at_most(said, in_favour(p_values), p_values, n_printed))
    sets = scores.sets(_WITHOUT_ANNEALING)
    gains = [
        scores.mean("none", name, soft)
        - (scores.mean("none", name, hard) + scores.mean("none", name, stochastic)) / 2.0
        for name in sets
        for hard, stochastic, soft, _ in MODELS.values()
    ]
    gain = statistics.fmean(gains) if gains else math.nan
    converged = [
        value
        for name in sets
        for method in _WITHOUT_ANNEALING
        for value in scores.values("converged", "none", name, method)
    ]
    share = statistics.fmean(converged) if converged else math.nan
    return [
        *found,
        Claim(
            "soft assignment is only slightly better than hard and stochastic assignment",
            0.0 < gain < SLIGHTLY if gains else None,
            f"by {gain:+.3f} NMI, mean of all sets and models; holds if above 0 and below {SLIGHTLY}"
            if gains
            else NOT_COMPUTED,
        ),
        Claim(
            "most runs converge within 20 iterations",
            share > 0.5 if converged else None,
            f"{share:.0%} of the runs without annealing, on all words" if converged else NOT_COMPUTED,
        ),
    ]


def _annealing(scores: Scores) -> list[Claim]:
    multinomial = scores.p_values("none", HYPOTHESES["dam>bm"])
    vmf = scores.p_values("none", HYPOTHESES["dav>bv"])
    soft, annealed = _BERNOULLI[2:]
    sets = scores.sets((soft, annealed))

    def mean(value: str, name: str, method: str) -> float:
        return statistics.fmean(scores.values(value, "none", name, method))

    lower = [name for name in sets if scores.mean("none", name, annealed) < scores.mean("none", name, soft)]
    likelier = [name for name in sets if mean("objective", name, annealed) > mean("objective", name, soft)]
    lumped = [name for name in sets if mean("largest", name, annealed) > 0.5]
    return [
        at_least(
            "damnls is significantly better than the best of kmnls, skmnls, mixmnls on 12 of 15",
            in_favour(multinomial),
            multinomial,
            12,
        ),
        at_least("davmfs is significantly better than the best of its own three on 7 of 15", in_favour(vmf), vmf, 7),
        *(_above_soft(scores, model) for model in ("multinomial", "vMF")),
        _gains_by_size(scores),
        majority("annealing makes Bernoulli worse: daberns below mixberns", lower, sets),
        majority(
            "annealing raises the objective of Bernoullis all the same",
            likelier,
            sets,
            "weights are learned by mixberns only",
        ),
        majority(
            "annealed Bernoullis put most documents into one cluster", lumped, sets, "more than half of the documents"
        ),
        _best_of_model(scores),
        best_two(scores, "none"),
    ]


def _above_soft(scores: Scores, model: str) -> Claim:
    soft, annealed = MODELS[model][2:]
    sets = scores.sets((soft, annealed))
    above = [name for name in sets if scores.mean("none", name, annealed) > scores.mean("none", name, soft)]
    return majority(f"annealing improves on soft assignment: {annealed} above {soft}", above, sets)


def _best_of_model(scores: Scores) -> Claim:
    text = "annealing is the best way of assigning for multinomials and vMFs"
    sets = scores.sets((*_MULTINOMIAL, *_VMF))
    if not sets:
        return Claim(text, None, NOT_COMPUTED)
    average = {method: scores.average("none", sets, method) for method in (*_MULTINOMIAL, *_VMF)}
    best = [max(methods, key=lambda method: average[method]) for methods in (_MULTINOMIAL, _VMF)]
    shown = ", ".join(f"{method} {value:.3f}" for method, value in average.items())
    return Claim(text, best == ["damnls", "davmfs"], f"{shown}: mean NMI over {len(sets)} sets")


def gain(scores: Scores, collection: str, model: str) -> float:
    """By how many per cent annealing is better than soft assignment (Table 6)."""
    soft, annealed = (scores.mean("none", collection, name) for name in MODELS[model][2:])
    return 100.0 * (annealed - soft) / soft


def _gains_by_size(scores: Scores) -> Claim:
    text = f"annealing gains more on sets of up to {SMALL:,} documents"
    sets = scores.sets((*_MULTINOMIAL[2:], *_VMF[2:]))
    small = [name for name in sets if printed_collections()[name].sizes["none"][0] <= SMALL]
    large = [name for name in sets if name not in small]
    if not small or not large:
        return Claim(text, None, NOT_COMPUTED)
    gains = {
        model: [statistics.fmean(gain(scores, name, model) for name in names) for names in (small, large)]
        for model in ("multinomial", "vMF")
    }
    shown = "; ".join(
        f"{model} {on_small:+.1f} % and {on_large:+.1f} %" for model, (on_small, on_large) in gains.items()
    )
    holds = all(on_small > on_large for on_small, on_large in gains.values())
    return Claim(text, holds, f"{shown}: mean of {len(small)} small and of {len(large)} large sets; holds if both so")


def _others(scores: Scores) -> list[Claim]:
    sets = scores.sets((*_VMF, CO_CLUSTER))
    below = [
        name
        for name in sets
        if scores.mean("none", name, CO_CLUSTER) < min(scores.mean("none", name, method) for method in _VMF)
    ]
    poor = [
        name
        for name in sets
        if scores.mean("none", name, CO_CLUSTER) < VERY_POOR
        and statistics.fmean(scores.values("largest", "none", name, CO_CLUSTER)) > 0.5
    ]
    return [
        majority("co-clustering is mostly below the vMF algorithms", below, sets, "below all four of them"),
        Claim(
            "sometimes co-clustering gives very poor results: most documents in one cluster, NMI near 0",
            bool(poor) if sets else None,
            f"{listed_of(poor, sets)}: mean NMI below {VERY_POOR}, more than half of the documents in a cluster"
            if sets
            else NOT_COMPUTED,
        ),
        no_cluto("CLUTO is significantly better than davmfs on 7 of 15 sets and worse on five"),
        no_cluto("CLUTO is much better than co-clustering"),
        *_deviations(scores),
    ]


def _deviations(scores: Scores) -> list[Claim]:
    text = "the results of the models vary much more from run to run than CLUTO's"
    moderate = "the results of annealing still vary from run to run (half as much as those of all twelve at least)"
    sets = scores.sets(METHODS)
    if not sets or scores.n_runs(ALGORITHMS) < 2:
        return [Claim(text, None, NOT_COMPUTED), Claim(moderate, None, NOT_COMPUTED)]
    cluto = statistics.fmean(printed_nmi()["none", name, CLUTO].deviation or 0.0 for name in sets)

    def deviation(methods: Sequence[str]) -> float:
        runs = [scores.nmi("none", name, method) for name in sets for method in methods]
        return statistics.fmean(statistics.stdev(values) for values in runs if len(values) > 1)

    ours, annealed = deviation(ALGORITHMS), deviation(["damnls", "davmfs"])
    return [
        Claim(
            text,
            ours > 2.0 * cluto,
            f"mean standard deviation {ours:.3f}, CLUTO's as printed {cluto:.3f}, that of {BISECTING} "
            f"{deviation([BISECTING]):.3f}; holds if more than twice CLUTO's",
        ),
        Claim(moderate, annealed >= 0.5 * ours, f"damnls and davmfs {annealed:.3f}, all twelve {ours:.3f}"),
    ]


def _times(results: Results) -> list[Claim]:
    """Of Table 7."""
    n_clusters = results.arguments("n_clusters", "time")
    seconds = {
        (method, k): results.mean("fit_seconds", "time", method=method, n_clusters=k)
        for method in METHODS
        for k in n_clusters
    }
    computed = bool(seconds) and not any(math.isnan(value) for value in seconds.values())

    def claim(text: str, is_so: Callable[[int], bool], evidence: str) -> Claim:
        if not computed:
            return Claim(text, None, NOT_COMPUTED)
        so = [k for k in n_clusters if is_so(k)]
        return Claim(
            text, len(so) == len(n_clusters), f"{evidence}: at {len(so)} of {len(n_clusters)} K; holds if at all"
        )

    fastest = {k: min(METHODS, key=lambda method: seconds[method, k]) for k in n_clusters} if computed else {}
    return [
        claim(
            "soft assignment takes longer than hard assignment",
            lambda k: all(seconds[names[2], k] > seconds[names[0], k] for names in MODELS.values()),
            "in each of the three models",
        ),
        claim(
            "kvmfs is the fastest",
            lambda k: fastest[k] == "kvmfs",
            "fastest: " + ", ".join(f"{name} (K = {k})" for k, name in fastest.items()),
        ),
        claim(
            "annealing is the most expensive",
            lambda k: all(seconds[names[3], k] > max(seconds[n, k] for n in names[:3]) for names in MODELS.values()),
            "the slowest of its model in each of the three",
        ),
        claim(
            "all but the annealed algorithms are faster than co-clustering",
            lambda k: all(seconds[name, k] < seconds[CO_CLUSTER, k] for name in _WITHOUT_ANNEALING),
            "each of the nine; the paper's Table 7 has mixberns slower at K = 20",
        ),
        _compiled(seconds if computed else {}),
    ]


def _compiled(seconds: Mapping[tuple[str, int], float]) -> Claim:
    text = "most of the models' algorithms would be faster than CLUTO if they were compiled"
    times = {method: value for (method, k), value in seconds.items() if k == 20 and method in ALGORITHMS}
    if not times:
        return Claim(text, None, f"CLUTO is {NOT_COMPUTED}")
    cluto = printed_times()[CLUTO, 20].mean
    n_faster = sum(value < cluto for value in times.values())
    return Claim(
        text,
        None,
        f"CLUTO is {NOT_COMPUTED} here, and machines differ: ours are compiled, and {n_faster} of {len(times)} take "
        f"less than the {cluto} s that are printed for CLUTO at K = 20",
    )

"""What Zhong and Ghosh say of selected words (section 4.5), and whether it is so of our figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from textmix_studies.study import Claim
from textmix_studies.zhong_ghosh_counted import (
    NOT_COMPUTED,
    against,
    at_least,
    at_most,
    in_favour,
    least_of,
    listed_of,
    majority,
    most_of,
    no_cluto,
)
from textmix_studies.zhong_ghosh_numbers import ALGORITHMS, CO_CLUSTER, HYPOTHESES, MODELS, Scores

SELECTED = ("frequency", "variance")
VERY_GOOD = 0.85  # NMI

_BERNOULLI, _MULTINOMIAL, _VMF = MODELS.values()


def selection_claims(scores: Scores) -> list[Claim]:
    """All of section 4.5 that can be read off the tables."""
    return [*_selection_of_models(scores), *_selection_tests(scores)]


def _selection_of_models(scores: Scores) -> list[Claim]:
    text = f"kberns, skberns, mixberns do very well on selected classic: above {VERY_GOOD}, and above the other models"
    if "classic" in scores.sets(ALGORITHMS, SELECTED):
        least = {s: min(scores.mean(s, "classic", method) for method in _BERNOULLI[:3]) for s in SELECTED}
        most = {s: scores.best(s, "classic", (*_MULTINOMIAL, *_VMF)) for s in SELECTED}
        evidence = "; ".join(f"{s}: at least {least[s]:.3f}, the others up to {most[s]:.3f}" for s in SELECTED)
        classic = Claim(text, all(least[s] > max(VERY_GOOD, most[s]) for s in SELECTED), evidence)
    else:
        classic = Claim(text, None, f"classic {NOT_COMPUTED}")
    still_worst = []
    for selection in SELECTED:
        sets = scores.sets(ALGORITHMS, [selection])
        worst = [
            name
            for name in sets
            if scores.best(selection, name, _BERNOULLI)
            < min(scores.best(selection, name, _MULTINOMIAL), scores.best(selection, name, _VMF))
        ]
        said = f"in general Bernoulli is still the worst model ({selection} selection)"
        still_worst.append(majority(said, worst, sets, "by the best algorithm of each model"))
    return [
        classic,
        *still_worst,
        _moved(scores, _MULTINOMIAL, "multinomial algorithms are generally better on selected words", rises=True),
        _moved(scores, _VMF, "vMF algorithms are lower on most sets of selected words", rises=False),
    ]


def _moved(scores: Scores, methods: Sequence[str], text: str, *, rises: bool) -> Claim:
    """Whether selection raises or lowers the mean NMI in most cases."""
    sets = scores.sets(methods, ("none", *SELECTED))
    changes = [
        scores.mean(selection, name, method) - scores.mean("none", name, method)
        for selection in SELECTED
        for name in sets
        for method in methods
    ]
    if not changes:
        return Claim(text, None, NOT_COMPUTED)
    so = [change for change in changes if (change > 0.0 if rises else change < 0.0)]
    word = "higher" if rises else "lower"
    return Claim(
        text,
        len(so) > len(changes) / 2.0,
        f"{word} in {len(so)} of {len(changes)} cases (four algorithms, {len(sets)} sets, two selections), by "
        f"{statistics.fmean(changes):+.3f} in the mean of all; holds if in more than half",
    )


def _selection_tests(scores: Scores) -> list[Claim]:
    frequency = scores.selection_p_values("frequency", "damnls")
    variance = scores.selection_p_values("variance", "damnls")
    spectral = scores.selection_p_values("variance", CO_CLUSTER)
    found = [
        at_least(
            "frequency selection makes damnls significantly better on 12 of 15", in_favour(frequency), frequency, 12
        ),
        at_least("variance selection makes damnls significantly better on 14 of 15", in_favour(variance), variance, 14),
    ]
    for selection, n_better, n_worse in (("frequency", 6, 3), ("variance", 13, 2)):
        text = (
            f"with {selection} selection it is the other way round: damnls is significantly better than davmfs on "
            f"{n_better} and worse on {n_worse} of 15"
        )
        if selection == "frequency":
            text += " (on two by its Table 12)"
        p_values = scores.p_values(selection, HYPOTHESES["dav>dam"])
        better, worse = against(p_values), in_favour(p_values)
        if not p_values:
            found.append(Claim(text, None, NOT_COMPUTED))
            continue
        least, most = least_of(n_better, p_values), most_of(n_worse, p_values)
        evidence = (
            f"better on {listed_of(better, p_values)}, worse on {listed_of(worse, p_values)}; holds if better on at "
            f"least {least} and worse on at most {most}, the paper's shares"
        )
        found.append(Claim(text, len(better) >= least and len(worse) <= most, evidence))
    found += [
        at_least(
            "variance selection makes co-clustering significantly better on 9 of 15", in_favour(spectral), spectral, 9
        ),
        at_most(
            "variance selection makes co-clustering significantly worse on two of 15", against(spectral), spectral, 2
        ),
        no_cluto("variance selection makes CLUTO significantly better on three of 15 sets and worse on six"),
    ]
    for selection in SELECTED:
        sets = scores.sets((CO_CLUSTER,), ("none", selection))
        better = [s for s in sets if scores.mean(selection, s, CO_CLUSTER) > scores.mean("none", s, CO_CLUSTER)]
        found.append(majority(f"{selection} selection makes co-clustering better on most sets", better, sets))
    found.append(no_cluto("CLUTO is lower on most sets of selected words"))
    return [*found, *(best_two(scores, selection) for selection in SELECTED)]


def best_two(scores: Scores, selection: str) -> Claim:
    """Whether the annealed algorithms are the best of all that were computed."""
    words = "all words" if selection == "none" else f"{selection} selection"
    text = f"with {words} damnls and davmfs (and CLUTO) are the best"
    methods = (*ALGORITHMS, CO_CLUSTER)
    sets = scores.sets(methods, [selection])
    if not sets:
        return Claim(text, None, NOT_COMPUTED)
    ranked = sorted(methods, key=lambda method: -scores.average(selection, sets, method))
    shown = ", ".join(f"{method} {scores.average(selection, sets, method):.3f}" for method in ranked[:4])
    return Claim(text, set(ranked[:2]) == {"damnls", "davmfs"}, f"{shown}: mean NMI over {len(sets)} sets")

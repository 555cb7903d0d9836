"""What the paper says of DMAFP's figures, and whether it is so of ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textmix_studies.dmafp_results import (
    DMA_MEAN,
    FIXED,
    LIBRARY,
    N_TRUE_CLUSTERS,
    N_TRUE_WORDS,
    PARTITIONED,
    about_set,
    chosen_of_synthetic,
    chosen_starts,
    mean_of,
    runs_of_synthetic,
    scores_of,
)
from textmix_studies.dmafp_sets import LARGE, SETS, SMALL
from textmix_studies.study import Claim, Results, Values

MOST = 0.9  # of all runs, for what the paper found in its own
SETTLED_AFTER = 300  # sweeps
FEW_CLUSTERS, FEW_WORDS = 1.0, 0.05  # changes that are none: clusters, and a share of the words
COMPARABLE_SMALL, COMPARABLE_LARGE = 0.1, 0.05  # differences of NMI
MUCH_WORSE = 0.5  # times as high
CLEARLY = 0.1  # a loss, as a share of what there was
WELL = 0.4  # NMI of DMA
K_MEANS = [method for method in LIBRARY if method.startswith("K-means")]


def claims(results: Results) -> list[Claim]:
    """All of them: of synthetic data, of each set, of small and of large sets, of the words."""
    return [
        *_of_synthetic_clusters(results),
        *_of_synthetic_words(results),
        *_of_sampling(results),
        *(claim for name in SETS for claim in _of_set(results, name)),
        *_of_small_sets(results),
        *_of_large_sets(results),
        *_of_words(results),
        _of_choice(results),
    ]


def _claim(text: str, numbers: Sequence[float], holds: bool, evidence: str) -> Claim:
    """It cannot be told if one of the numbers that it is about is not there."""
    known = bool(numbers) and not any(math.isnan(number) for number in numbers)
    return Claim(text, bool(holds) if known else None, evidence if known else "")


def _share(runs: Sequence[Values], name: str, value: int) -> float:
    """How many of the runs have this value; NaN if there are none."""
    return mean_of([float(run[name] == value) for run in runs])


def _of_synthetic_clusters(results: Results) -> list[Claim]:
    chosen = chosen_of_synthetic(results, "paper")
    runs = runs_of_synthetic(results, "gibbs", "paper")
    six = _share(chosen, "n_large", N_TRUE_CLUSTERS)
    small = [run["n_clusters"] - run["n_large"] for run in chosen]
    scores = [mean_of([run["nmi"] for run in found]) for found in (chosen, runs)]
    seconds = [
        mean_of(results.values("fit_seconds", "synthetic", inference=inference, start="paper", data_seed=0))
        for inference in ("variational", "gibbs")
    ]
    return [
        _claim(
            "synthetic data: variational inference finds the six clusters",
            [six],
            six >= MOST,
            f"six clusters of more than 50 documents in {six:.0%} of the chosen starts",
        ),
        _claim(
            "and a few small ones beside",
            [float(n) for n in small],
            mean_of([float(n > 0) for n in small]) >= MOST,
            f"{mean_of(small):.1f} of them",
        ),
        _claim(
            "variational inference is comparable in accuracy with Gibbs sampling",
            scores,
            abs(scores[1] - scores[0]) <= COMPARABLE_SMALL,
            f"NMI {scores[0]:.3f} and {scores[1]:.3f}, both from the paper's starts; comparable: within "
            f"{COMPARABLE_SMALL}",
        ),
        _claim(
            "Gibbs sampling is slightly more accurate than variational inference",
            scores,
            0.0 < scores[1] - scores[0] <= COMPARABLE_SMALL,
            f"NMI {scores[1]:.3f} and {scores[0]:.3f}, both from the paper's starts; slightly: by up to "
            f"{COMPARABLE_SMALL}",
        ),
        _claim(
            "Gibbs sampling takes longer than variational inference",
            seconds,
            seconds[1] > seconds[0],
            f"{seconds[1]:.2f} s and {seconds[0]:.2f} s a run",
        ),
    ]


def _of_synthetic_words(results: Results) -> list[Claim]:
    chosen = chosen_of_synthetic(results, "paper")
    all_found = _share(chosen, "n_true", N_TRUE_WORDS)
    n_false = mean_of([float(run["n_false"]) for run in chosen])
    runs = runs_of_synthetic(results, "gibbs", "paper")
    exact = mean_of([float(run["n_true"] == N_TRUE_WORDS and run["n_false"] == 0) for run in runs])
    n_wrong = mean_of([float(N_TRUE_WORDS - run["n_true"] + run["n_false"]) for run in runs])
    return [
        _claim(
            "variational inference finds all 200 discriminative words",
            [all_found],
            all_found == 1.0,
            f"in {all_found:.0%} of the chosen starts",
        ),
        _claim("and takes others for discriminative too", [n_false], n_false > 0, f"{n_false:.0f} of 1,800"),
        _claim(
            "Gibbs sampling finds exactly the discriminative words",
            [exact],
            exact >= MOST,
            f"in {exact:.0%} of all runs; {n_wrong:.1f} of 2,000 words are wrong on average",
        ),
    ]


def _of_sampling(results: Results) -> list[Claim]:
    """What the traces show (Fig. 8 and 9), from the paper's start."""
    curves, last = {}, 0
    for name in ("clusters_by_sweep", "words_by_sweep"):
        runs = results.values(name, "synthetic", inference="gibbs", start="paper")
        curves[name] = [mean_of([float(n) for n in at]) for at in zip(*runs, strict=True)]
        last = len(curves[name])
    clusters, words = curves["clusters_by_sweep"], curves["words_by_sweep"]
    if last <= SETTLED_AFTER:
        clusters = words = [math.nan] * (SETTLED_AFTER + 1)
    changes = [abs(curve[-1] - curve[SETTLED_AFTER - 1]) for curve in (clusters, words)]
    falls = [clusters[0] - clusters[99], clusters[SETTLED_AFTER - 1] - clusters[-1]]
    return [
        _claim(
            f"sampling is stable after about {SETTLED_AFTER} iterations",
            changes,
            changes[0] < FEW_CLUSTERS and changes[1] < FEW_WORDS * words[-1],
            f"from there to the end the mean of all runs changes by {changes[0]:.1f} clusters and {changes[1]:.1f} "
            "words",
        ),
        _claim(
            "the number of clusters falls very slowly as it comes near the true one",
            falls,
            falls[1] < 0.1 * falls[0],
            f"by {falls[0]:.1f} in the first hundred iterations, by {falls[1]:.1f} in the last",
        ),
    ]


def _of_set(results: Results, name: str) -> list[Claim]:
    described = SETS[name]
    ours = {method: mean_of(scores_of(results, name, method, None)) for method in PARTITIONED}
    dmafp, dma, dma_mean = ours["DMAFP"], ours["DMA"], mean_of(scores_of(results, name, DMA_MEAN, None))
    told = {(m, k): mean_of(scores_of(results, name, m, k)) for m in FIXED for k in described.ks}
    wrong = {at: score for at, score in told.items() if at[1] in described.wrong_ks}
    k_means = {at: score for at, score in told.items() if at[0] in K_MEANS}
    clusters = {
        method: mean_of([float(start["n_clusters"]) for start in chosen_starts(results, name, method)])
        for method in PARTITIONED
    }
    errors = [abs(clusters[method] - described.n_classes) for method in PARTITIONED]
    numbers = f"{clusters['DMAFP']:.1f} and {clusters['DMA']:.1f}; the true number is {described.n_classes}"
    return [
        _claim(
            f"{name}: DMAFP is above DMA, whichever way DMA is read",
            [dmafp, dma, dma_mean],
            dmafp > max(dma, dma_mean),
            f"{dmafp:.3f}; DMA {dma:.3f}, mean of its starts {dma_mean:.3f}",
        ),
        _above_all(f"{name}: DMAFP is above K-means", dmafp, k_means),
        _above_all(f"{name}: DMAFP is above all others where these are told a wrong K", dmafp, wrong),
        _claim(
            f"{name}: more clusters are found than there are",
            list(clusters.values()),
            all(n > described.n_classes for n in clusters.values()),
            f"DMAFP and DMA: {numbers}",
        ),
        _claim(f"{name}: DMAFP's number of clusters is nearer than DMA's", errors, errors[0] < errors[1], numbers),
    ]


def _above_all(text: str, score: float, others: dict[tuple[str, int], float]) -> Claim:
    (method, k), best = max(others.items(), key=lambda other: -math.inf if math.isnan(other[1]) else other[1])
    evidence = f"{score:.3f}; best of the others {best:.3f} ({method}, K = {k})"
    return _claim(text, [score, *others.values()], score > best, evidence)


def _of_small_sets(results: Results) -> list[Claim]:
    ours = {(name, method): mean_of(scores_of(results, name, method, None)) for name in SMALL for method in PARTITIONED}
    dma = {name: ours[name, "DMA"] for name in SMALL}
    gains = {name: ours[name, "DMAFP"] - ours[name, "DMA"] for name in SMALL}
    others = [name for name in SMALL if name != "News-similar-3"]
    listed = ", ".join(f"{name} {dma[name]:.3f}" for name in SMALL)
    gained = ", ".join(f"{name} {gains[name]:+.3f}" for name in SMALL)
    return [
        *(
            _above_all(
                f"{name}: DMAFP is above all others whatever K they are told",
                ours[name, "DMAFP"],
                {(m, k): mean_of(scores_of(results, name, m, k)) for m in FIXED for k in SMALL[name].ks},
            )
            for name in SMALL
        ),
        *(_comparable(results, name, "the others", FIXED, COMPARABLE_SMALL) for name in SMALL),
        _worse_with_wrong_k(
            results, "small sets: with a wrong K the others are mostly much worse than with the true one"
        ),
        _claim(
            "DMA does well on News-different-3 and Classic400, and is much worse on News-similar-3",
            list(dma.values()),
            all(dma[name] >= WELL and dma["News-similar-3"] < MUCH_WORSE * dma[name] for name in others),
            f"{listed}; well: {WELL} at least; much worse: less than half",
        ),
        _claim(
            "the partition of words is most useful on News-similar-3",
            list(gains.values()),
            gains["News-similar-3"] > 0 and all(gains["News-similar-3"] > gains[name] for name in others),
            f"DMAFP less DMA: {gained}",
        ),
    ]


def _comparable(results: Results, name: str, called: str, methods: Sequence[str], tolerance: float) -> Claim:
    k = SETS[name].n_classes
    score = mean_of(scores_of(results, name, "DMAFP", None))
    differences = {method: mean_of(scores_of(results, name, method, k)) - score for method in methods}
    return _claim(
        f"{name}: told the true K, {called} are comparable with DMAFP",
        list(differences.values()),
        all(abs(difference) <= tolerance for difference in differences.values()),
        "; ".join(f"{method} {difference:+.3f}" for method, difference in differences.items())
        + f"; comparable: within {tolerance}",
    )


def _worse_with_wrong_k(results: Results, text: str) -> Claim:
    losses = []
    for name, described in SMALL.items():
        for method in FIXED:
            right = mean_of(scores_of(results, name, method, described.n_classes))
            losses += [1.0 - mean_of(scores_of(results, name, method, k)) / right for k in described.wrong_ks]
    n_worse, n_much = (sum(loss > least for loss in losses) for least in (0.0, CLEARLY))
    evidence = (
        f"worse in {n_worse} of {len(losses)} cases, in {n_much} of them by more than {CLEARLY:.0%}, which counts"
    )
    return _claim(text, losses, n_much > len(losses) / 2, evidence)


def _of_large_sets(results: Results) -> list[Claim]:
    rows: list[tuple[str, int | None]] = [(method, None) for method in PARTITIONED]
    rows += [(method, k) for method in FIXED for k in LARGE["News-all-20"].ks]
    every = {(name, *row): mean_of(scores_of(results, name, *row)) for name in LARGE for row in rows}
    losses = [every["News-all-20", *row] - every["News-complete-20", *row] for row in rows]
    mean_loss = math.nan if any(map(math.isnan, losses)) else mean_of([abs(loss) for loss in losses])
    dmafp, dma = (every["News-all-20", method, None] for method in PARTITIONED)
    lda = every["News-all-20", "LDA", LARGE["News-all-20"].n_classes]
    said = []
    for name in LARGE:
        score = every[name, "DMAFP", None]
        others = [every[name, *row] for row in rows if row[0] != "DMAFP"]
        n_below = sum(other < score for other in others)
        said.append(
            _claim(
                f"{name}: DMAFP is above most of the others",
                [score, *others],
                n_below > len(others) / 2,
                f"above {n_below} of {len(others)}",
            )
        )
    return [
        *said,
        _comparable(results, "News-all-20", "EM-MN, LDA and EDCM", ("EM-MN", "LDA", "EDCM"), COMPARABLE_LARGE),
        _claim(
            f"News-all-20: DMA is much worse than DMAFP (by {CLEARLY:.0%} at least)",
            [dmafp, dma],
            dma <= (1 - CLEARLY) * dmafp,
            f"{dma:.3f} and {dmafp:.3f}",
        ),
        _claim(
            "News-all-20: LDA with the true K is slightly above DMAFP",
            [lda, dmafp],
            dmafp < lda <= dmafp + COMPARABLE_LARGE,
            f"{lda:.3f} and {dmafp:.3f}; slightly: by up to {COMPARABLE_LARGE}",
        ),
        _claim(
            "all methods are worse on News-complete-20 than on News-all-20",
            losses,
            all(loss > 0 for loss in losses),
            f"{sum(loss > 0 for loss in losses)} of {len(losses)} are",
        ),
        _claim(
            "the differences between the two are small",
            [mean_loss],
            mean_loss <= COMPARABLE_LARGE,
            f"{mean_loss:.3f} on average; small: up to {COMPARABLE_LARGE}",
        ),
    ]


def _of_choice(results: Results) -> Claim:
    """By what a start is chosen (section 5)."""
    means = [
        [mean_of([start["nmi"] for start in chosen_starts(results, name, "DMAFP", by)]) for name in SETS]
        for by in ("merit", "bound")
    ]
    known = [(merit, bound) for merit, bound in zip(*means, strict=True) if not math.isnan(merit)]
    merit, bound = (mean_of([pair[i] for pair in known]) for i in (0, 1))
    return _claim(
        "E_q[log f] chooses better starts than the bound does",
        [merit, bound],
        merit > bound,
        f"NMI {merit:.3f} and {bound:.3f}, DMAFP, mean of {len(known)} sets",
    )


def _of_words(results: Results) -> list[Claim]:
    start: Values = next(iter(chosen_starts(results, "News-all-20", "DMAFP")), {})
    data = about_set(results, "News-all-20") or {}
    n_discriminative, n_background = start.get("n_discriminative", 0), start.get("n_background", 0)
    few = start["n_discriminative_in_few"] / n_discriminative if n_discriminative else math.nan
    many = start["n_background_in_many"] / n_background if n_background else math.nan
    all_few, all_many = (data[name] / data["n_words"] if data else math.nan for name in ("n_few", "n_many"))
    n_words = n_discriminative + n_background
    return [
        _claim(
            "News-all-20: most words are discriminative",
            [n_words or math.nan],
            n_discriminative > n_background,
            f"{n_discriminative:,} of {n_words:,}",
        ),
        _claim(
            "most discriminative words stand in at most three groups",
            [few, all_few],
            few > 0.5,
            f"{few:.0%}; of all words {all_few:.0%}",
        ),
        _claim(
            "most of the others stand in at least eight",
            [many, all_many],
            many > 0.5,
            f"{many:.0%}; of all words {all_many:.0%}",
        ),
    ]

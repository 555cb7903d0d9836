"""DMAFP's experiments computed again: synthetic data (6.2), cuts of the 20 Newsgroups (6.3), and two controls.

`python feature_partition.py PART …` with parts synthetic, controls, news and all; without a part, the first three.
The part `all` is News-all-20, 20 starts of some 40 s each for DMAFP and 20 s for DMA; `samples` are five random samples
of nine tenths of its posts, at most 100 iterations.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from common import nmi, print_table, read
from textmix import FeaturePartitionMixture
from textmix.datasets import PartitionedDocuments, cut_newsgroups, make_partitioned

DATA_SEEDS = range(5)
N_STARTS = 20
GIBBS_RUNS = 5  # on each data set; 20 on the first, which is timed
SYNTHETIC = {"alpha": 1.0, "omega": 0.01, "lam": 0.02, "beta": 4.0, "learn": None}  # 6.2.2
PRINTED = {
    "News-different-3": (0.801, 0.724),
    "News-similar-3": (0.261, 0.093),
    "News-all-20": (0.534, 0.512),
}


class Outcome(NamedTuple):
    """One fit."""

    nmi: float
    n_clusters: int
    n_true: int  # words found that are discriminative
    n_false: int
    seconds: float


def fit(data: PartitionedDocuments, seed: int, **settings: Any) -> Outcome:
    """Fit and score."""
    started = time.perf_counter()
    model = FeaturePartitionMixture(30, random_state=seed, n_jobs=2, **settings).fit(data.counts)
    seconds = time.perf_counter() - started
    found = model.discriminative_words_
    n_true = int(np.count_nonzero(found & data.discriminative))
    n_false = int(np.count_nonzero(found & ~data.discriminative))
    return Outcome(nmi(data.labels, model.labels_), model.n_clusters_, n_true, n_false, seconds)


def describe(outcomes: list[Outcome]) -> list[str]:
    """Columns of a table."""
    scores = [outcome.nmi for outcome in outcomes]
    return [
        f"{statistics.mean(scores):.3f} ({min(scores):.3f} to {max(scores):.3f})",
        f"{statistics.mean(o.n_clusters for o in outcomes):.1f}",
        f"{min(o.n_true for o in outcomes)} to {max(o.n_true for o in outcomes)}",
        f"{min(o.n_false for o in outcomes)} to {max(o.n_false for o in outcomes)}",
        f"{statistics.mean(o.seconds for o in outcomes):.1f}",
    ]


def synthetic() -> None:
    """600 points, 2,000 features, 200 discriminative."""
    fit(make_partitioned(), 0, **SYNTHETIC, n_init=1)  # compiled before the clock runs
    fit(make_partitioned(), 0, inference="gibbs", **SYNTHETIC, n_sweeps=2)
    ways: dict[str, tuple[dict[str, Any], str]] = {
        f"variational, best of {N_STARTS}": ({**SYNTHETIC, "n_init": N_STARTS}, ".945, 375 words"),
        "the same, chosen by the bound": ({**SYNTHETIC, "n_init": N_STARTS, "choice": "bound"}, ""),
        "the same, the paper's random φ": ({**SYNTHETIC, "n_init": N_STARTS, "init": "random"}, ".945, 375 words"),
        "Gibbs": ({**SYNTHETIC, "inference": "gibbs"}, ".979, exact"),
        "Gibbs, the paper's start (one word, R = 200)": (
            {**SYNTHETIC, "inference": "gibbs", "init_words": "one", "n_flips": 200},
            ".979, exact",
        ),
        "Gibbs, hyperparameters drawn": ({"inference": "gibbs"}, ""),
        "Gibbs, normalised form, best of 5": ({"inference": "gibbs", "likelihood": "normalised"}, ""),
    }
    rows, forty = [], 0.0
    for name, (settings, printed) in ways.items():
        outcomes = []
        for data_seed in DATA_SEEDS:
            data = make_partitioned(random_state=data_seed)
            one_by_one = settings.get("inference") == "gibbs" and "likelihood" not in settings
            n_runs = (N_STARTS if data_seed == 0 and name == "Gibbs" else GIBBS_RUNS) if one_by_one else 1
            runs = [fit(data, 100 * data_seed + run, **settings) for run in range(n_runs)]
            if data_seed == 0 and (name == "Gibbs" or name.startswith("variational")):
                forty += sum(run.seconds for run in runs)
            outcomes += runs
        rows.append([name, printed, *describe(outcomes)])
        print(rows[-1], flush=True)
    print_table(
        "Synthetic, five data sets", ["way", "paper", "NMI", "clusters", "true words", "false", "s a fit"], rows
    )
    print(f"20 variational starts and 20 Gibbs runs on one data set: {forty:.0f} s\n", flush=True)


def controls() -> None:
    """What the partition finds where there is nothing to tell apart, and where frequency tells nothing."""
    rows = []
    for form in ("paper", "normalised"):
        settings = {"inference": "gibbs", "likelihood": form, **(SYNTHETIC if form == "paper" else {})}
        for name, lengths, n_clusters in (
            ("all documents in one cluster (N = 1)", (200, 200), 1),
            ("words of both groups equally frequent", (40, 360), 30),
        ):
            outcomes = []
            for data_seed in range(3):
                data = make_partitioned(
                    discriminative_length=lengths[0], background_length=lengths[1], random_state=data_seed
                )
                model = FeaturePartitionMixture(n_clusters, n_jobs=2, **settings).fit(data.counts)
                found = model.discriminative_words_
                n_true = int(np.count_nonzero(found & data.discriminative))
                score = nmi(data.labels, model.labels_)
                outcomes.append(Outcome(score, model.n_clusters_, n_true, int(found.sum()) - n_true, 0.0))
            rows.append([f"{form}: {name}", *describe(outcomes)[:-1]])
    print_table("Controls, Gibbs, three data sets", ["control", "NMI", "clusters", "true words of 200", "false"], rows)


def news(cuts: Iterable[str], seeds: Iterable[int], n_clusters: int, share: float = 1.0, max_iter: int = 500) -> None:
    """DMAFP and DMA, hyperparameters learned, from N_STARTS starts each; every start is scored."""
    texts, labels = read("20NG")
    rows = []
    for cut in cuts:
        for partition in (True, False):
            chosen: dict[str, list[float]] = {"expected": [], "bound": []}
            scores, clusters, words, shares, seconds = [], [], [], [], []
            for seed in seeds:
                n_posts = int(share * len(texts))
                posts = np.sort(np.random.default_rng(seed).choice(len(texts), n_posts, replace=False))
                data = cut_newsgroups([texts[post] for post in posts], labels[posts], cut, random_state=seed)
                used = np.diff(data.counts.indptr) > 0
                counts, groups = data.counts[used], data.labels[used].astype(str)
                merits = []
                for start in range(N_STARTS):
                    begun = time.perf_counter()
                    model = FeaturePartitionMixture(
                        n_clusters,
                        partition=partition,
                        n_init=1,
                        max_iter=max_iter,
                        random_state=1000 * seed + start,
                        n_jobs=2,
                    ).fit(counts)
                    seconds.append(time.perf_counter() - begun)
                    merits.append((nmi(groups, model.labels_), model.merit_, model.objective_, model))
                best = max(merits, key=lambda run: run[1])
                chosen["expected"].append(best[0])
                chosen["bound"].append(max(merits, key=lambda run: run[2])[0])
                scores += [run[0] for run in merits]
                clusters.append(best[3].n_clusters_)
                words.append(int(best[3].discriminative_words_.sum()))
                shares.append(share_in_few_groups(counts, groups, best[3].discriminative_words_))
            printed = PRINTED[cut][0 if partition else 1]
            rows.append(
                [
                    f"{cut}, {'DMAFP' if partition else 'DMA'}",
                    f"{printed:.3f}",
                    f"{statistics.mean(chosen['expected']):.3f} ({spread(chosen['expected'])})",
                    f"{statistics.mean(chosen['bound']):.3f} ({spread(chosen['bound'])})",
                    f"{statistics.mean(scores):.3f}, {max(scores):.3f}",
                    f"{statistics.mean(clusters):.1f}",
                    f"{statistics.mean(words):,.0f}",
                    f"{statistics.mean(shares):.0%}",
                    f"{statistics.mean(seconds):.1f}",
                ]
            )
            print(rows[-1], flush=True)
    columns = ["set", "paper", "NMI by E[log f]", "by the bound", "mean, best start", "clusters", "words"]
    print_table(f"{N_STARTS} starts each", [*columns, "in ≤ 3 groups", "s a start"], rows)


def spread(values: list[float]) -> str:
    """Smallest to largest."""
    return f"{min(values):.3f} to {max(values):.3f}"


def share_in_few_groups(counts: Any, groups: np.ndarray, chosen: np.ndarray) -> float:
    """How many of the chosen words stand in at most three groups (6.3.4)."""
    present = np.array(
        [np.asarray((counts[groups == group] > 0).sum(axis=0)).ravel() > 0 for group in np.unique(groups)]
    )
    return float(np.mean(present.sum(axis=0)[chosen] <= 3)) if chosen.any() else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["synthetic", "controls", "news"])
    for part in parser.parse_args().parts:
        if part == "synthetic":
            synthetic()
        elif part == "controls":
            controls()
        elif part == "news":
            news(("News-different-3", "News-similar-3"), DATA_SEEDS, 30)
        elif part == "all":
            news(("News-all-20",), [0], 80)
        elif part == "samples":
            news(("News-all-20",), DATA_SEEDS, 80, share=0.9, max_iter=100)
        else:
            parser.error(f"there is no part {part!r}")


if __name__ == "__main__":
    main()

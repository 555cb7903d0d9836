"""No settings: textmix.cluster on labelled collections, beside algorithms that are told the number of classes.

NMI (geometric) and AMI are means over seeds, seconds those of clustering alone, the shortest of the fits.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.metrics import adjusted_mutual_info_score

import textmix
from common import DATA, nmi, print_table
from textmix_studies import collections

SHORT = ("Tweet", "T", "S", "TS", "StackOverflow")
LONG = ("20NG", "R8", "R52", "classic3", "la12", "k1b", "reviews", "hitech", "tr11", "tr41", "tr45")
TOLD = ("davmfs", "softvmfs", "kvmfs", "damnls", "mixmnls", "kmnls")  # the best of the twelve of Zhong and Ghosh


def counts_of(name: str) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Texts as textmix.cluster counts them, or the counts that the collection has; and the labels."""
    try:
        texts, labels = collections.read(name)
    except ValueError:
        collection = collections.load(name)
        return collection.counts, collection.labels
    return textmix.Corpus.from_texts(texts).counts, labels


def measure(
    make: Callable[[int], Any], counts: Any, labels: np.ndarray, seeds: Sequence[int]
) -> dict[str, list[float]]:
    """Of a fit with each seed: NMI, AMI, clusters of more than one document, seconds, CPU seconds."""
    found: dict[str, list[float]] = {name: [] for name in ("nmi", "ami", "clusters", "seconds", "cpu")}
    for seed in seeds:
        model = make(seed)
        started, cpu = time.perf_counter(), time.process_time()
        model.fit(counts)
        found["seconds"].append(time.perf_counter() - started)
        found["cpu"].append(time.process_time() - cpu)
        found["nmi"].append(nmi(labels, model.labels_))
        found["ami"].append(adjusted_mutual_info_score(labels, model.labels_))
        found["clusters"].append(int((np.bincount(model.labels_[model.labels_ >= 0]) > 1).sum()))
    return found


def spread(values: Sequence[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{deviation}"


def row_of(name: str, labels: np.ndarray, found: dict[str, list[float]]) -> list[Any]:
    clusters = found["clusters"]
    return [
        name,
        np.unique(labels).size,
        spread(found["nmi"]),
        f"{min(found['nmi']):.3f}",
        spread(found["ami"]),
        f"{statistics.fmean(clusters):.0f} ({min(clusters)} to {max(clusters)})",
        f"{min(found['seconds']):.2f}",
        f"{min(found['cpu']):.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--told-seeds", type=int, default=3, help="of the algorithms that are told the number; 0: none")
    parser.add_argument("--told", nargs="*", default=TOLD, help="which of them")
    parser.add_argument("--sets", nargs="*", default=[*SHORT, *LONG])
    parser.add_argument("--keep", type=Path, help="append all figures to this file, as JSON lines")
    arguments = parser.parse_args()
    collections.use(DATA)
    textmix.ConsensusMixture(n_runs=2).fit(np.eye(3, dtype=int))  # compiled
    rows, told = [], []
    for name in arguments.sets:
        counts, labels = counts_of(name)
        found = measure(
            lambda seed: textmix.ConsensusMixture(random_state=seed, progress=False),
            counts,
            labels,
            range(arguments.seeds),
        )
        rows.append(row_of(name, labels, found))
        kept = {"no settings": found}
        if name in LONG and arguments.told_seeds:
            n_classes = np.unique(labels).size
            for algorithm in arguments.told:
                kept[algorithm] = measure(
                    lambda seed, algorithm=algorithm, n=n_classes: textmix.algorithm(
                        algorithm, n_clusters=n, random_state=seed
                    ),
                    counts,
                    labels,
                    range(arguments.told_seeds),
                )
            told.append([name, *(f"{statistics.fmean(kept[a]['ami']):.3f}" for a in ("no settings", *arguments.told))])
        print(*rows[-1], *(told[-1][1:] if name in LONG and told else []), sep="  ", flush=True)
        if arguments.keep is not None:
            with arguments.keep.open("a") as file:
                file.write(json.dumps({"set": name, **kept}) + os.linesep)
    header = ["collection", "classes", "NMI", "least", "AMI", "clusters of several", "seconds", "CPU seconds"]
    print_table(f"No settings, {arguments.seeds} seeds", header, rows)
    if told:
        means = [f"{np.mean([float(row[i]) for row in told]):.3f}" for i in range(1, len(told[0]))]
        print_table(
            f"AMI beside algorithms told the number of classes ({arguments.told_seeds} seeds)",
            ["collection", "no settings", *arguments.told],
            [*told, ["mean", *means]],
        )


if __name__ == "__main__":
    main()

"""Hard von Mises-Fisher clustering (spherical k-means) beside scikit-learn's KMeans: one thread each, ten iterations.

The same matrix for both, TF-IDF of 20NG as scikit-learn makes it; runs in turn, each with another seed.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

from common import load, nmi, print_table
from textmix import VonMisesFisherMixture

N_CLUSTERS, N_ITERATIONS = 20, 10


def ours(matrix: scipy.sparse.csr_array, seed: int) -> np.ndarray:
    model = VonMisesFisherMixture(
        N_CLUSTERS, assignment="hard", max_iter=N_ITERATIONS, tol=0, random_state=seed, progress=False
    )
    return model.fit(matrix).labels_


def theirs(matrix: scipy.sparse.csr_array, seed: int) -> np.ndarray:
    model = KMeans(N_CLUSTERS, n_init=1, algorithm="lloyd", max_iter=N_ITERATIONS, tol=0, random_state=seed)
    return model.fit(matrix).labels_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="seeds that medians and means are taken over")
    arguments = parser.parse_args()
    collection = load("20NG")
    matrix = TfidfTransformer().fit_transform(collection.counts)
    ours(matrix, 0)
    times: dict[str, list[float]] = {"textmix": [], "scikit-learn": []}
    scores: dict[str, list[float]] = {"textmix": [], "scikit-learn": []}
    with threadpool_limits(1):
        for seed in range(arguments.seeds):
            for name, program in (("textmix", ours), ("scikit-learn", theirs)):
                started = time.perf_counter()
                labels = program(matrix, seed)
                times[name].append(time.perf_counter() - started)
                scores[name].append(nmi(collection.labels, labels))
    slow = statistics.median(times["scikit-learn"])
    rows = [
        [name, statistics.median(times[name]), f"{slow / statistics.median(times[name]):.1f} ×", np.mean(scores[name])]
        for name in times
    ]
    print_table(f"Spherical k-means on 20NG, K={N_CLUSTERS}", ["program", "s", "speed", "NMI"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

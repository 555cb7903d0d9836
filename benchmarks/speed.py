"""textmix beside topica (GSDMM in Rust): the same documents, K, α, β and sweeps, one thread each, runs in turn.

Timed is `fit` from counts (textmix) or from lists of words (topica), warm, without polishing or early stop.
"""

from __future__ import annotations

import os

os.environ["RAYON_NUM_THREADS"] = "1"

import argparse
import statistics
import warnings

import numpy as np

from common import Collection, alternate, csr_bytes, load, nmi, peak_growth, print_table
from textmix import DirichletMultinomialMixture

CASES = [("T", 300, 10), ("T", 3000, 10), ("TS", 200, 10), ("StackOverflow", 100, 10), ("20NG", 50, 3)]


def ours(collection: Collection, n_clusters: int, n_sweeps: int, seed: int) -> np.ndarray:
    model = DirichletMultinomialMixture(
        n_clusters, alpha=0.1, beta=0.1, n_sweeps=n_sweeps, tol=0, polish=False, random_state=seed, progress=False
    )
    return model.fit(collection.counts).labels_


def theirs(collection: Collection, n_clusters: int, n_sweeps: int, seed: int) -> np.ndarray:
    import topica

    model = topica.GSDMM(num_topics=n_clusters, alpha=0.1, beta=0.1, seed=seed)
    model.fit(collection.words, iters=n_sweeps)
    return np.asarray(model.doc_cluster)


HEADER = ["collection", "sweeps", "textmix s", "topica s", "ratio", "NMI textmix", "NMI topica", "memory / counts"]


def compare(name: str, n_clusters: int, n_sweeps: int, n_runs: int, n_seeds: int) -> list[object]:
    """One row of the table."""
    collection = load(name)
    ours(collection, n_clusters, n_sweeps, 0)
    growth = peak_growth(lambda: ours(collection, n_clusters, n_sweeps, 0)) / csr_bytes(collection.counts)
    fast, slow = alternate(
        lambda: ours(collection, n_clusters, n_sweeps, 1), lambda: theirs(collection, n_clusters, n_sweeps, 1), n_runs
    )
    scores = [
        statistics.mean(nmi(collection.labels, program(collection, n_clusters, 10, seed)) for seed in range(n_seeds))
        for program in (ours, theirs)
    ]
    ratio = f"**{slow / fast:.1f}**"
    return [f"{name}, K={n_clusters}", n_sweeps, fast, slow, ratio, *scores, f"{growth:.1f} ×"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each program that the medians are taken of")
    parser.add_argument("--seeds", type=int, default=10, help="seeds that the mean NMI is taken over")
    parser.add_argument("--only", nargs="*", help="collections to run")
    arguments = parser.parse_args()
    rows = []
    for case in CASES:
        if not arguments.only or case[0] in arguments.only:
            rows.append(compare(*case, arguments.runs, arguments.seeds))
            print("|", *(f"{cell} |" for cell in rows[-1]), flush=True)
    print_table("GSDMM: textmix beside topica", HEADER, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

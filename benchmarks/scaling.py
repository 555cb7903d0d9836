"""How time and memory grow: T copied ten and a hundred times, with few and with many starting clusters."""

from __future__ import annotations

import statistics
import time

import numpy as np
import scipy.sparse

from common import csr_bytes, load, peak_growth, print_table, repeated, seconds
from textmix import DirichletMultinomialMixture
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import prepare_documents
from textmix.inference.seeds import START, generator
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.finite_dirichlet import finite_dirichlet

N_SWEEPS = 10


def fit(counts: scipy.sparse.csr_array, n_clusters: int) -> DirichletMultinomialMixture:
    model = DirichletMultinomialMixture(
        n_clusters, n_sweeps=N_SWEEPS, tol=0, polish=False, random_state=0, progress=False
    )
    return model.fit(counts)


def nanoseconds_a_pair(counts: scipy.sparse.csr_array, n_clusters: int) -> tuple[float, float]:
    """Sampling time for each (word of a document, cluster that holds the word) pair, and pairs a document and sweep."""
    prepared = prepare_documents(counts, 0.1, True)
    model = dirichlet_multinomial(0.1, counts.shape[1], prepared.unit, prepared.max_word_total)
    labels = generator(0, START).integers(n_clusters, size=counts.shape[0], dtype=np.int32)
    labels[prepared.documents.lengths == 0] = -1
    state = GibbsState(prepared, labels, model, finite_dirichlet(n_clusters, 0.1))
    frequencies = np.diff(prepared.list_starts)
    pairs, spent = 0, 0.0
    for sweep in range(N_SWEEPS):
        clusters_of_word = state.clusters.list_lengths.astype(np.int64)
        n_rows = state.clusters.rows.shape[0]
        clusters_of_word[:n_rows] = np.count_nonzero(state.clusters.rows, axis=1)
        pairs += int(frequencies @ clusters_of_word)
        started = time.perf_counter()
        state.sample(generator(0, sweep), lambda _: None)
        spent += time.perf_counter() - started
    return 1e9 * spent / pairs, pairs / (N_SWEEPS * counts.shape[0])


def main() -> None:
    counts = load("T").counts
    fit(counts, 50)
    rows = []
    ten = repeated(counts, 10)
    times = {k: statistics.median(seconds(lambda k=k: fit(ten, k)) for _ in range(3)) for k in (500, 5000)}
    for k, spent in times.items():
        rows.append([f"T × 10, {k:,} starting clusters", f"{spent:.2f} s", f"{spent / times[500]:.2f} ×"])
    print_table("Ten sweeps by the number of starting clusters", ["corpus", "time", "beside 500"], rows)

    rows, first = [], 0.0
    for times_over in (10, 100):
        copied = repeated(counts, times_over)
        nanoseconds, per_document = nanoseconds_a_pair(copied, 500)
        first = first or nanoseconds
        rows.append(
            [f"{copied.shape[0]:,}", f"{nanoseconds:.2f}", f"{nanoseconds / first:.2f} ×", f"{per_document:.0f}"]
        )
    header = ["documents", "ns a pair", "beside the first", "pairs a document"]
    print_table("Sampling time for a touched (word, cluster) pair", header, rows)

    rows = []
    for times_over in (1, 10, 100):
        copied = repeated(counts, times_over)
        growth = peak_growth(lambda copied=copied: fit(copied, 500))
        size = csr_bytes(copied)
        rows.append(
            [f"T × {times_over}", f"{size / 2**20:.1f} MB", f"{growth / 2**20:.1f} MB", f"{growth / size:.2f} ×"]
        )
    header = ["corpus", "counts in CSR", "growth of the peak", "ratio"]
    print_table("Memory during a warm fit", header, rows)


if __name__ == "__main__":
    main()

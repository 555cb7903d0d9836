"""The meaning of documents: runs of a von Mises-Fisher mixture on unit vectors, each on half of the dimensions.

Directions of clusters are integrated out (models/collapsed_directions.py), so that clusters that nothing holds together
empty themselves; a run starts from as many as runs on words have found. A vector that is the mean of many word vectors
says little, and an encoder sees no more than the beginning of a long text: a run sees documents of many words only now
and then (docs/decisions/views.md has what was tried, with figures).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmix.inference.known_clusters import GuidedDocuments, release_misfits, start_labels
from textmix.inference.ordering import order_by_size
from textmix.inference.pooling import cosines_with
from textmix.inference.progress import Progress, ProgressTask
from textmix.inference.seeds import START, generator
from textmix.inference.views.view import ViewRun
from textmix.kernels.directions import DirectionModel, sweep_block
from textmix.models.collapsed_directions import collapsed_directions, sum_directions

CONCENTRATION = 0.5  # κ for each dimension that a run sees
ALPHA = 0.1  # pseudo-count of a cluster
N_SWEEPS, N_GREEDY = 4, 2  # documents hardly move any more after three
N_START_CLUSTERS = 100  # where there are no runs on words
SHORT = 10  # distinct words; a run sees a document of more with probability SHORT / their number, ...
LEAST_SEEN = 0.2  # ... but at least this
LEAST_LENGTH = 0.1  # of a vector in the dimensions that a run sees; what is left of a shorter one is no direction
ROUNDING = 1e-5  # of means of cosines: where all documents are alike, all fit
_BLOCK = 64  # documents whose products are made together
_SEEN, _DIMENSIONS, _SWEEPS = 4, 5, 6  # what random numbers are for


class VectorView:
    """Unit vectors; a row of zeros is a document without one, which no run sees."""

    uses_blas = True

    def __init__(
        self, documents: GuidedDocuments, vectors: NDArray[np.float32], n_runs: int, n_start_clusters: int
    ) -> None:
        self.n_runs, self.n_start_clusters = n_runs, max(2, n_start_clusters)
        n_documents = vectors.shape[0] + (documents.n_free if documents.known.size else 0)
        self.n_visits = (N_SWEEPS + N_GREEDY) * n_documents
        self._documents, self._vectors = documents, vectors
        self._chances = chances_by_length(np.diff(documents.counts.indptr))
        if documents.chances is not None:
            self._chances *= documents.chances
        self._chances[documents.n_free :] = 1.0
        self._chances[~vectors.any(axis=1)] = 0.0

    @property
    def sees_any(self) -> bool:
        """Whether there is a document with a vector."""
        return bool(self._chances.any())

    def sample(self, number: int, seed: int, progress: Progress) -> ViewRun:
        """See View."""
        documents = self._documents
        rows = np.flatnonzero(generator(seed, _SEEN, number).random(self._chances.size) < self._chances)
        labels = np.full(self._chances.size, -1, np.int32)
        if rows.size:
            own = int(generator(seed, _SWEEPS, number).integers(2**63))
            vectors = half_of_dimensions(self._vectors, rows, generator(seed, _DIMENSIONS, number))
            has_direction = vectors.any(axis=1)  # a vector may be zero in this half
            rows, vectors = rows[has_direction], vectors[has_direction]
            with progress.task("sampling", total=self.n_visits) as task:
                found = fit_directions(documents.take(rows), vectors, self.n_start_clusters, own, task)
            labels[rows] = order_by_size(found)
        return ViewRun(labels, {})


def chances_by_length(n_words: NDArray[np.integer]) -> NDArray[np.float64]:
    """The probability with which a run sees documents of this many distinct words."""
    return np.asarray(np.clip(SHORT / np.maximum(n_words, 1), LEAST_SEEN, 1.0))


def half_of_dimensions(
    vectors: NDArray[np.float32], rows: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float32]:
    """These rows in a random half of the dimensions, of length 1 again; zeros where next to nothing is in this half."""
    n_dimensions = vectors.shape[1]
    chosen = np.sort(rng.permutation(n_dimensions)[: max(2, n_dimensions // 2)])
    half = vectors[rows[:, np.newaxis], chosen]
    lengths = np.sqrt(np.einsum("ij,ij->i", half, half))
    half[lengths < LEAST_LENGTH] = 0.0
    half /= np.maximum(lengths, LEAST_LENGTH)[:, np.newaxis]
    return half


def fit_directions(
    documents: GuidedDocuments, vectors: NDArray[np.float32], n_start_clusters: int, seed: int, task: ProgressTask
) -> NDArray[np.int32]:
    """One run from random clusters; where clusters are known, a second one from what the first has found.

    Documents of known clusters, 0 … n_known − 1, come last; in the second run they stay there.
    """
    n_documents, n_dimensions = vectors.shape
    model = collapsed_directions(CONCENTRATION * n_dimensions, n_dimensions, ALPHA)
    n_slots = min(n_start_clusters, n_documents)
    labels: NDArray[np.int32] = generator(seed, START).integers(n_slots, size=n_documents, dtype=np.int32)
    among = products_within_blocks(vectors)
    _sweep(vectors, among, labels, n_documents, n_slots, model, seed, 0, task)
    if documents.known.size == 0:
        return labels
    directions = sum_directions(vectors[documents.n_free :], documents.known, model, documents.n_known).sums

    def choose(rows: NDArray[np.int64], allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
        cosines = cosines_with(vectors[rows], directions)
        return np.asarray(np.where(allowed, cosines, -np.inf).argmax(axis=1), dtype=np.int32)

    labels = start_labels(documents, labels, choose)
    _sweep(vectors, among, labels, documents.n_free, documents.n_known + n_slots, model, seed, N_SWEEPS, task)
    return release_unrelated(labels, documents, vectors)


def release_unrelated(
    labels: NDArray[np.int32], documents: GuidedDocuments, vectors: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Labels with what has come to a known cluster by chance in a cluster of its own; see `release_misfits`.

    A document fits if it is more like the known documents than halfway between what it is like all documents and what
    it is like the others that came, or what known documents are like each other if that is less: by means of cosines.
    """
    of_all, all_known = vectors.mean(axis=0), vectors[documents.n_free :]

    def fits(known: int, came: NDArray[np.int64]) -> NDArray[np.bool_]:
        own, examples = vectors[came], all_known[documents.known == known]
        expected = (own @ own.sum(axis=0) - 1.0) / max(came.size - 1, 1)  # 0 if no others came
        if len(examples) > 1:
            total, n_pairs = examples.sum(axis=0), len(examples) * (len(examples) - 1)
            expected = np.minimum(expected, (total @ total - len(examples)) / n_pairs)
        return np.asarray(own @ examples.mean(axis=0) > (own @ of_all + expected) / 2.0 - ROUNDING)

    return release_misfits(labels, documents, fits)


def _sweep(
    vectors: NDArray[np.float32],
    among: list[NDArray[np.floating]],
    labels: NDArray[np.int32],
    n_free: int,
    n_slots: int,
    model: DirectionModel,
    seed: int,
    first_sweep: int,
    task: ProgressTask,
) -> None:
    """Sample the labels of the first documents, then put each into its most probable cluster; others stay."""
    for sweep in range(first_sweep, first_sweep + N_SWEEPS):
        sweep_directions(vectors, among, labels, n_slots, model, generator(seed, sweep).random(n_free), task)
    for _ in range(N_GREEDY):
        sweep_directions(vectors, among, labels, n_slots, model, np.full(n_free, -1.0), task)


def products_within_blocks(vectors: NDArray[np.floating], block: int = _BLOCK) -> list[NDArray[np.floating]]:
    """Products of the documents of each block with each other, which stay the same from sweep to sweep."""
    return [own @ own.T for own in (vectors[first : first + block] for first in range(0, vectors.shape[0], block))]


def sweep_directions(
    vectors: NDArray[np.floating],
    among: list[NDArray[np.floating]],
    labels: NDArray[np.int32],
    n_slots: int,
    model: DirectionModel,
    draws: NDArray[np.float64],
    task: ProgressTask,
) -> int:
    """Visit the first documents, one for each draw, and return how many have moved; see `sweep_block`."""
    clusters, log_weights = sum_directions(vectors, labels, model, n_slots), np.empty(n_slots)
    n_moved = first = 0
    for products in among:
        last = min(first + products.shape[0], draws.size)
        if first >= last:
            break
        own = vectors[first:last]
        n_moved += sweep_block(
            own, labels[first:last], own @ clusters.sums.T, products, clusters, model, draws[first:last], log_weights
        )
        task.advance(last - first)
        first = last
    return n_moved

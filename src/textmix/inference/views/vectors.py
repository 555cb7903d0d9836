"""The meaning of documents: runs of a mixture of unit vectors and words, each on half of the vectors' dimensions.

A cluster is a von Mises-Fisher distribution of vectors times a Dirichlet-multinomial of words, both with their
parameters integrated out (models/collapsed_directions.py), so that clusters that nothing holds together empty
themselves; a run starts from as many as runs on words have found. A vector that is the mean of many word vectors says
little, and an encoder sees no more than the beginning of a long text: a run sees documents of many words only now and
then (docs/decisions/views.md has what was tried, with figures).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.known_clusters import GuidedDocuments, release_misfits, start_labels
from textmix.inference.ordering import order_by_size
from textmix.inference.pooling import cosines_with
from textmix.inference.progress import Progress, ProgressTask
from textmix.inference.seeds import START, generator
from textmix.inference.views.view import ViewRun
from textmix.inference.views.words import WordSettings, keep_columns, limit_words
from textmix.kernels.directions import DirectionModel, DocumentWords, WordClusters, sweep_block
from textmix.kernels.elementary import make_scratch
from textmix.models.collapsed_directions import collapsed_directions, list_words, sum_directions, sum_words
from textmix.vectors.source import VectorSource, blocks

CONCENTRATION, LEAST_CONCENTRATION = 0.5, 32.0  # κ for each dimension that a run sees; κ at least
N_SWEEPS, N_GREEDY = 2, 2  # in the first sweep all documents move, in the second one in six, then one in twenty
MAX_START_CLUSTERS = 300  # more cost more than they bring
N_START_CLUSTERS = 100  # where there are no runs on words
SHORT = 10  # distinct words; a run sees a document of more with probability SHORT / their number, ...
LEAST_SEEN = 0.2  # ... but at least this
LEAST_LENGTH = 0.1  # of a vector in the dimensions that a run sees; what is left of a shorter one is no direction
ROUNDING = 1e-5  # of means of cosines: where all documents are alike, all fit
N_WORDS = 6  # that a run sees of a document, at the most: with more they drown what the vector says
MAX_COUNTS = 4_000_000  # of words in clusters; with more clusters a run sees fewer words, the most widespread ones
_BLOCK = 64  # documents whose products are made together
_SEEN, _DIMENSIONS, _SWEEPS, _WORDS = 4, 5, 6, 7  # what random numbers are for


class VectorView:
    """Unit vectors, and the words beside them where counts are whole numbers.

    A row of zeros is a document without a vector, which no run sees.
    """

    uses_blas = True

    def __init__(
        self,
        documents: GuidedDocuments,
        whole: bool,
        vectors: VectorSource,
        settings: WordSettings,
        n_start_clusters: int,
    ) -> None:
        self.n_runs, self.n_start_clusters = settings.n_runs, min(max(2, n_start_clusters), MAX_START_CLUSTERS)
        n_documents = vectors.n_documents + (documents.n_free if documents.known.size else 0)
        self.n_visits = (N_SWEEPS + N_GREEDY) * n_documents
        self._documents, self._whole, self._vectors, self._settings = documents, whole, vectors, settings
        self._chances = chances_by_length(np.diff(documents.counts.indptr))
        if documents.chances is not None:
            self._chances *= documents.chances
        self._chances[documents.n_free :] = 1.0
        for block in blocks(vectors.n_documents):
            self._chances[block][~vectors.rows(np.arange(block.start, block.stop)).any(axis=1)] = 0.0

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
            if not has_direction.all():  # as a rule all have one, and a copy would take as much memory again
                rows, vectors = rows[has_direction], vectors[has_direction]
            seen = documents.take(rows)
            seen = seen._replace(counts=self._words_seen(seen, generator(seed, _WORDS, number)))
            with progress.task("sampling", total=self.n_visits) as task:
                found = fit_directions(seen, vectors, self._settings, self.n_start_clusters, own, task)
            labels[rows] = order_by_size(found)
        return ViewRun(labels, {})

    def _words_seen(self, documents: GuidedDocuments, rng: np.random.Generator) -> scipy.sparse.csr_array:
        """Words that a run sees of these documents."""
        if not self._whole:
            nothing = np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(documents.counts.shape[0] + 1, np.int32)
            return scipy.sparse.csr_array(nothing, shape=(documents.counts.shape[0], 1))
        counts = limit_words(documents.counts, min(N_WORDS, self._settings.n_words), rng)
        n_kept = MAX_COUNTS // (documents.n_known + self.n_start_clusters)
        if counts.shape[1] <= n_kept:
            return counts
        by_frequency = np.argsort(-np.bincount(counts.indices, minlength=counts.shape[1]), kind="stable")
        return keep_columns(counts, np.isin(np.arange(counts.shape[1]), by_frequency[:n_kept]))


def chances_by_length(n_words: NDArray[np.integer]) -> NDArray[np.float64]:
    """The probability with which a run sees documents of this many distinct words."""
    return np.asarray(np.clip(SHORT / np.maximum(n_words, 1), LEAST_SEEN, 1.0))


def half_of_dimensions(vectors: VectorSource, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float32]:
    """These rows in a random half of the dimensions, of length 1 again; zeros where next to nothing is in this half."""
    n_dimensions = vectors.n_dimensions
    chosen = np.sort(rng.permutation(n_dimensions)[: max(2, n_dimensions // 2)])
    half = np.empty((rows.size, chosen.size), np.float32)
    for block in blocks(rows.size):
        half[block] = vectors.rows(rows[block])[:, chosen]
    lengths = np.sqrt(np.einsum("ij,ij->i", half, half))
    half[lengths < LEAST_LENGTH] = 0.0
    half /= np.maximum(lengths, LEAST_LENGTH)[:, np.newaxis]
    return half


def fit_directions(
    documents: GuidedDocuments,
    vectors: NDArray[np.float32],
    settings: WordSettings,
    n_start_clusters: int,
    seed: int,
    task: ProgressTask,
) -> NDArray[np.int32]:
    """One run from random clusters; where clusters are known, a second one from what the first has found.

    Documents of known clusters, 0 … n_known − 1, come last; in the second run they stay there.
    """
    n_documents, n_dimensions = vectors.shape
    kappa = max(CONCENTRATION * n_dimensions, LEAST_CONCENTRATION)
    model = collapsed_directions(kappa, n_dimensions, settings.alpha)
    n_slots = min(n_start_clusters, n_documents)
    labels: NDArray[np.int32] = generator(seed, START).integers(n_slots, size=n_documents, dtype=np.int32)
    sampler = _Sampler(vectors, documents.counts, model, settings.beta)
    sampler.run(labels, n_documents, n_slots, seed, 0, task)
    if documents.known.size == 0:
        return labels
    directions = sum_directions(vectors[documents.n_free :], documents.known, model, documents.n_known).sums

    def choose(rows: NDArray[np.int64], allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
        cosines = cosines_with(vectors[rows], directions)
        return np.asarray(np.where(allowed, cosines, -np.inf).argmax(axis=1), dtype=np.int32)

    labels = start_labels(documents, labels, choose)
    sampler.run(labels, documents.n_free, documents.n_known + n_slots, seed, N_SWEEPS, task)
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


class _Sampler:
    """Sweeps over documents, a block at a time."""

    def __init__(
        self, vectors: NDArray[np.floating], counts: scipy.sparse.csr_array, model: DirectionModel, beta: float
    ) -> None:
        self._vectors, self._counts, self._model, self._beta = vectors, counts, model, beta
        self._words = list_words(counts)

    def run(
        self, labels: NDArray[np.int32], n_free: int, n_slots: int, seed: int, first_sweep: int, task: ProgressTask
    ) -> None:
        """Sample the labels of the first documents, then put each into its most probable cluster; others stay."""
        words = sum_words(self._counts, labels, self._beta, n_slots)
        for sweep in range(first_sweep, first_sweep + N_SWEEPS):
            self._sweep(labels, words, generator(seed, sweep).random(n_free), task)
        for _ in range(N_GREEDY):
            self._sweep(labels, words, np.full(n_free, -1.0), task)

    def _sweep(
        self, labels: NDArray[np.int32], words: WordClusters, draws: NDArray[np.float64], task: ProgressTask
    ) -> None:
        """Visit the first documents, one for each draw; see `sweep_block`."""
        n_slots = words.totals.size
        clusters = sum_directions(self._vectors, labels, self._model, n_slots)  # anew: rounding adds up
        log_weights, scratch, starts = np.empty(n_slots), make_scratch(n_slots), self._words.starts
        for first in range(0, draws.size, _BLOCK):
            last = min(first + _BLOCK, draws.size)
            own = self._vectors[first:last]
            documents = DocumentWords(starts[first : last + 1], self._words.words, self._words.counts)
            sweep_block(
                *(own, documents, labels[first:last], own @ clusters.sums.T, own @ own.T),
                *(clusters, words, self._model, draws[first:last], log_weights, scratch),
            )
            task.advance(last - first)

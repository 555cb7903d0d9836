"""The words of documents: runs of a Dirichlet-multinomial mixture, each on some words of every document.

Long documents are so sure of their cluster, by a model that takes every word for independent of the others, that
clusters split again and again. With at most forty words of each, drawn anew for each run, they are not, and what one
run does not see others do (docs/decisions/no-settings.md has what was tried, with figures).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.known_clusters import (
    GuidedDocuments,
    best_known,
    known_gains,
    release_unsupported,
    start_labels,
)
from textmix.inference.partition import FittedPartition, SamplerSettings, fit_partition, score_labels
from textmix.inference.progress import Progress
from textmix.inference.seeds import START, generator
from textmix.inference.views.view import ViewRun
from textmix.kernels.counts import document_frequencies, draw_words
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet

_WORDS, _RUN, _SEEN = 0, 1, 3  # what random numbers are for


@dataclass(frozen=True)
class WordSettings:
    """Of the runs on words."""

    n_runs: int
    n_words: int  # that a run sees of a document
    n_start_clusters: int
    alpha: float
    beta: float
    n_sweeps: int


class WordView:
    """Counts of words. Of counts that are not whole numbers no words can be drawn: runs see all of them."""

    uses_blas = False

    def __init__(self, documents: GuidedDocuments, whole: bool, settings: WordSettings) -> None:
        self.documents = documents._replace(counts=drop_lone_words(documents.counts))
        self.n_runs = settings.n_runs
        self.n_visits = n_visits(self.documents, settings.n_sweeps)
        self._whole, self._settings = whole, settings
        self._prior = finite_dirichlet(n_start_clusters(self.documents, settings.n_start_clusters), settings.alpha)
        self._sampling = SamplerSettings(settings.n_sweeps, 0.0, "auto", polish=True)

    @property
    def shares_words(self) -> NDArray[np.bool_]:
        """Which documents have a word in common with another."""
        return np.asarray(np.diff(self.documents.counts.indptr) > 0)

    def sample(self, number: int, seed: int, progress: Progress) -> ViewRun:
        """See View."""
        documents, settings = self.documents, self._settings
        rows, seen = None, documents
        if documents.chances is not None:
            uniforms = generator(seed, _SEEN, number).random(documents.chances.size)
            rows = np.flatnonzero(uniforms < documents.chances)
            seen = documents.take(rows)
        if self._whole:
            seen = seen._replace(counts=limit_words(seen.counts, settings.n_words, generator(seed, _WORDS, number)))
        own = int(generator(seed, _RUN, number).integers(2**63))
        fitted = fit_documents(seen, self._whole, settings.beta, self._prior, self._sampling, own, progress)
        labels = fitted.labels
        if rows is not None:
            labels = np.full(documents.counts.shape[0], -1, np.int32)
            labels[rows] = fitted.labels
        return ViewRun(labels, fitted.trace)


def drop_lone_words(counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The counts without words of a single document, which tell nothing of what it has in common with others."""
    frequencies = document_frequencies(counts.indices, counts.data, counts.shape[1])
    return keep_columns(counts, frequencies > 1)


def keep_columns(counts: scipy.sparse.csr_array, kept: NDArray[np.bool_]) -> scipy.sparse.csr_array:
    """Some of the columns; an empty one if there are none."""
    if kept.all():
        return counts
    numbers = np.cumsum(kept, dtype=counts.indices.dtype) - 1
    entries = kept[counts.indices]
    starts = np.concatenate(([0], np.cumsum(entries, dtype=np.int64)))[counts.indptr]
    parts = counts.data[entries], numbers[counts.indices[entries]], starts.astype(counts.indptr.dtype)
    return scipy.sparse.csr_array(parts, shape=(counts.shape[0], max(int(np.count_nonzero(kept)), 1)))


def limit_words(counts: scipy.sparse.csr_array, n_words: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    """Documents of at most n_words words, drawn without replacement, and the columns of those words."""
    lengths = np.add.reduceat(np.append(counts.data, 0), counts.indptr[:-1]) * (np.diff(counts.indptr) > 0)
    n_long = int(np.count_nonzero(lengths > n_words))
    if n_long == 0:
        return counts
    seen = np.empty(counts.nnz, counts.data.dtype)
    draw_words(counts.indptr, counts.data, n_words, rng.random(n_long * n_words), seen)
    drawn = scipy.sparse.csr_array((seen, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
    drawn.eliminate_zeros()
    return keep_columns(drawn, np.bincount(drawn.indices, minlength=counts.shape[1]) > 0)


def n_start_clusters(documents: GuidedDocuments, most: int) -> int:
    """Clusters to start from: those that are known, and no more others than documents with words."""
    n_with_words = int(np.count_nonzero(np.diff(documents.counts.indptr)))
    return documents.n_known + max(1, min(most, n_with_words))


def fit_documents(
    documents: GuidedDocuments,
    whole: bool,
    beta: float,
    prior: Prior,
    sampling: SamplerSettings,
    seed: int,
    progress: Progress,
) -> FittedPartition:
    """One run from random clusters; where clusters are known, a second one from what the first has found."""
    n_fixed, n_others = documents.known.size, prior.max_clusters - documents.n_known
    start = generator(seed, START).integers(n_others, size=documents.counts.shape[0], dtype=np.int32)
    others = finite_dirichlet(n_others, prior.alpha)
    fitted = fit_partition(documents.counts, whole, start, beta, others, sampling, seed, progress)
    if n_fixed == 0:
        return fitted
    gains = known_gains(documents)
    counts = documents.counts
    start = start_labels(documents, fitted.labels, lambda rows, allowed: best_known(counts[rows], gains, allowed))
    own_seed = int(generator(seed, START, 1).integers(2**63))
    fitted = fit_partition(documents.counts, whole, start, beta, prior, sampling, own_seed, progress, n_fixed)
    labels = release_unsupported(fitted.labels, documents, gains)
    if np.array_equal(labels, fitted.labels):
        return fitted
    prior = prior._replace(max_clusters=max(prior.max_clusters, int(labels.max()) + 1))
    scored, _ = score_labels(documents.counts, whole, labels, beta, prior)
    return replace(fitted, labels=labels, log_joint=scored.log_joint, converged=False)


def n_visits(documents: GuidedDocuments, n_sweeps: int) -> int:
    """How many documents the sweeps of `fit_documents` visit."""
    return n_sweeps * (int(documents.counts.shape[0]) + (documents.n_free if documents.known.size else 0))

"""One partition from many short runs: what they agree on.

A run samples a Dirichlet-multinomial mixture of the documents, of which each shows at most some forty of its words,
drawn anew for each run. Long documents are so sure of their cluster, by a model that takes every word for independent
of the others, that clusters split again and again; with few words they are not, and what one run does not see others
do. The labels of all runs are then the "words" of the documents for the same model once more (docs/decisions/
no-settings.md has what was tried, with figures).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Lock

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.engines.threads import side_by_side
from textmix.inference.identical import count_identical, group_identical, join_identical
from textmix.inference.known_clusters import (
    GuidedDocuments,
    known_gains,
    labels_of_known,
    release_unsupported,
    start_labels,
)
from textmix.inference.ordering import order_by_size
from textmix.inference.partition import FittedPartition, SamplerSettings, fit_partition, score_labels
from textmix.inference.progress import Progress, ProgressTask
from textmix.inference.seeds import START, generator
from textmix.kernels.counts import document_frequencies, draw_words
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet

N_STARTS = 5  # of the second step: on short texts it costs about as much as the runs
MAX_AGREED = 1000  # clusters that the second step starts from
AGREED_SWEEPS = 30
_WORDS, _RUN, _CONSENSUS, _SEEN = range(4)  # what random numbers are for


@dataclass(frozen=True)
class ConsensusSettings:
    """Of the runs, and of what they are to agree on."""

    n_runs: int
    n_words: int  # that a run sees of a document
    n_start_clusters: int
    alpha: float
    beta: float
    n_sweeps: int
    granularity: float = 1.0  # more is finer
    n_clusters: int | None = None  # that there are to be at least, if that can be


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


def sample_runs(
    documents: GuidedDocuments,
    whole: bool,
    settings: ConsensusSettings,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
) -> list[FittedPartition]:
    """Runs side by side on threads; each is the same whichever thread it has.

    Of counts that are not whole numbers no words can be drawn: runs see all of them. A document that a run does not
    see has the label −1 there.

    Ctrl-C leaves out the runs that are not finished, unless there is none.
    """
    n_clusters = n_start_clusters(documents, settings.n_start_clusters)
    prior = finite_dirichlet(n_clusters, settings.alpha)
    sampling = SamplerSettings(settings.n_sweeps, 0.0, "auto", polish=True)

    def run(number: int) -> FittedPartition:
        rows, seen = None, documents
        if documents.chances is not None:
            uniforms = generator(seed, _SEEN, number).random(documents.chances.size)
            rows = np.flatnonzero(uniforms < documents.chances)
            seen = documents.take(rows)
        if whole:
            seen = seen._replace(counts=limit_words(seen.counts, settings.n_words, generator(seed, _WORDS, number)))
        own = int(generator(seed, _RUN, number).integers(2**63))
        fitted = fit_documents(seen, whole, settings.beta, prior, sampling, own, shared)
        return fitted if rows is None else extend_labels(fitted, rows, documents.counts.shape[0])

    with progress.task("sampling", total=settings.n_runs * n_visits(documents, settings.n_sweeps)) as task:
        shared = _SharedProgress(task)
        finished = side_by_side(run, settings.n_runs, n_jobs, shared.stop, keep_finished=True)
    if len(finished) < settings.n_runs:
        warnings.warn(
            f"sampling interrupted: this is what {len(finished)} of {settings.n_runs} runs agree on", stacklevel=2
        )
    return finished


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
    start = start_labels(documents, fitted.labels, gains)
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


def extend_labels(fitted: FittedPartition, rows: NDArray[np.int64], n_documents: int) -> FittedPartition:
    """The same with labels of all documents, −1 for those that were not fitted."""
    labels = np.full(n_documents, -1, np.int32)
    labels[rows] = fitted.labels
    return replace(fitted, labels=labels)


def mean_trace(runs: Sequence[FittedPartition]) -> dict[str, NDArray[np.float64]]:
    """The means over the runs, sweep by sweep."""
    return {name: np.mean([run.trace[name] for run in runs], axis=0) for name in runs[0].trace}


def find_consensus(
    labelled: GuidedDocuments, beta: float, seed: int, n_jobs: int | None, progress: Progress
) -> FittedPartition:
    """The same model once more, the documents' words being their labels: the most probable of some starts."""
    prior = finite_dirichlet(n_start_clusters(labelled, MAX_AGREED), 0.1)
    sampling = SamplerSettings(AGREED_SWEEPS, 0.0, "auto", polish=True)

    def start(number: int) -> FittedPartition:
        own = int(generator(seed, _CONSENSUS, number).integers(2**63))
        return fit_documents(labelled, True, beta, prior, sampling, own, shared)

    with progress.task("agreeing", total=N_STARTS * n_visits(labelled, AGREED_SWEEPS)) as task:
        shared = _SharedProgress(task)
        starts = side_by_side(start, N_STARTS, n_jobs, shared.stop, keep_finished=False)
    return max(starts, key=lambda fitted: fitted.log_joint)


def complete_labels(
    documents: GuidedDocuments, agreed: NDArray[np.int32], shares_words: NDArray[np.bool_], unit: float
) -> NDArray[np.int32]:
    """Labels of all documents that have words, in any order; counts are taken in this unit.

    Documents of a known cluster are in it. Those of no known one that share no word with others are alone in their
    clusters; identical documents are together.
    """
    labels, has_words = agreed.copy(), np.diff(documents.counts.indptr) > 0
    clusters = labels_of_known(labels, documents)
    missing = np.flatnonzero(clusters < 0)
    clusters[missing] = np.arange(missing.size) + labels.max(initial=-1) + 1
    labels[documents.n_free :] = np.where(has_words[documents.n_free :], clusters[documents.known], -1)
    alone = np.flatnonzero((labels < 0) & has_words & ~shares_words)
    labels[alone] = np.arange(alone.size) + max(labels.max(initial=-1), clusters.max(initial=-1)) + 1
    join_identical(documents.counts, unit, labels, count_identical(documents.counts, unit), documents.known.size)
    return labels


def split_off(
    counts: scipy.sparse.csr_array,
    labels: NDArray[np.int32],
    n_clusters: int,
    unit: float,
    known: NDArray[np.int32],
) -> NDArray[np.int32]:
    """As many clusters as are asked for, by giving documents that fit theirs least one of their own.

    There are as many different documents; identical ones are together and stay so, and those of a known cluster stay
    in it (`known` is not −1). A document fits by the mean of the logarithms of how frequent its words are among the
    others of its cluster.
    """
    groups = group_identical(counts, unit)
    with_words = np.flatnonzero(labels >= 0)
    rows = np.repeat(np.arange(labels.size), np.diff(counts.indptr))
    cells = np.unique(labels[rows].astype(np.int64) * counts.shape[1] + counts.indices, return_inverse=True)[1]
    among_others = np.bincount(cells, counts.data)[cells] - counts.data
    fits = np.bincount(rows, np.log(among_others + 1.0), labels.size) / np.maximum(np.diff(counts.indptr), 1)
    labels, n_found = labels.copy(), int(labels.max(initial=-1)) + 1
    n_different = np.bincount(np.unique(np.column_stack((labels, groups))[with_words], axis=0)[:, 0])  # in each cluster
    stays = np.isin(groups, groups[known >= 0])
    for document in with_words[np.argsort(fits[with_words], kind="stable")]:
        if n_found >= n_clusters:
            break
        own = labels[document]
        if own < n_different.size and n_different[own] > 1 and not stays[document]:
            labels[groups == groups[document]] = n_found
            n_different[own] -= 1
            n_found += 1
    return order_by_size(labels)


def check_number(counts: scipy.sparse.csr_array, n_clusters: int, unit: float, known: NDArray[np.int32]) -> None:
    """Raise ValueError if there cannot be so many clusters: too few different documents."""
    groups, has_words = group_identical(counts, unit), np.diff(counts.indptr) > 0
    own = np.unique(known[has_words & (known >= 0)])
    others = np.unique(groups[has_words & ~np.isin(groups, groups[known >= 0])])
    if n_clusters > own.size + others.size:
        what = "of the texts are different" if own.size == 0 else "can be kept apart, given what is known of the texts"
        raise ValueError(f"n_clusters is {n_clusters:,}, but only {own.size + others.size:,} {what}")


def labels_as_words(runs: NDArray[np.int32]) -> scipy.sparse.csr_array:
    """Documents × (run, cluster of that run): 1 where the document is in the cluster."""
    numbers = runs.max(axis=1, initial=-1) + 1
    columns = (runs + np.concatenate(([0], np.cumsum(numbers[:-1])))[:, np.newaxis]).T
    has_label = (runs >= 0).T
    starts = np.concatenate(([0], np.cumsum(has_label.sum(axis=1))))
    words = columns[has_label].astype(np.int32)
    shape = (runs.shape[1], max(int(numbers.sum()), 1))
    return scipy.sparse.csr_array((np.ones(words.size, np.int32), words, starts.astype(np.int32)), shape=shape)


def cluster_stabilities(labels: NDArray[np.int32], runs: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
    """How well the runs find each cluster: its Jaccard similarity with the most similar cluster of a run, the mean.

    1: every run has just this cluster (Hennig 2007, "Cluster-wise assessment of cluster stability"). A document without
    a label in any run, since it shares no word with others, is alone in each; in a run that has not seen it, it counts
    for nothing. NaN for a cluster of other documents.
    """
    alone = np.flatnonzero((runs < 0).all(axis=0))
    runs = runs.copy()
    runs[:, alone] = runs.max(axis=1, initial=-1)[:, np.newaxis] + 1 + np.arange(alone.size, dtype=np.int32)
    words = labels_as_words(runs)
    known = np.flatnonzero(labels >= 0)
    members = scipy.sparse.csr_array((np.ones(known.size), (labels[known], known)), shape=(n_clusters, labels.size))
    shared = (members @ words).tocoo()
    cluster, column = shared.coords
    run = np.repeat(np.arange(len(runs)), runs.max(axis=1, initial=-1) + 1)[column]
    sizes, found_sizes = members @ (runs >= 0).T, words.sum(axis=0)
    similarity = shared.data / (sizes[cluster, run] + found_sizes[column] - shared.data)
    best = np.full((n_clusters, len(runs)), np.nan)
    np.fmax.at(best, (cluster, run), similarity)
    seen = ~np.isnan(best)
    total = np.where(seen, best, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, seen.sum(axis=1), out=np.full(n_clusters, np.nan), where=seen.any(axis=1)))


class _StoppedError(Exception):
    """Ctrl-C, to a thread."""


class _SharedTask(ProgressTask):
    """What a thread tells of its progress goes to a task of all; it ends at the next block of documents if told to."""

    def __init__(self, shared: ProgressTask | None, lock: Lock, stop: Event) -> None:
        super().__init__("", 0, None)
        self._shared, self._lock, self._stop = shared, lock, stop

    def advance(self, amount: int) -> None:
        """So much more is done."""
        if self._stop.is_set():
            raise _StoppedError
        if self._shared is not None:
            with self._lock:
                self._shared.advance(amount)


class _SharedProgress(Progress):
    """Progress of several runs at once: their sweeps count, polishing does not."""

    def __init__(self, shared: ProgressTask) -> None:
        super().__init__(shown=False)
        self._shared, self._lock, self.stop = shared, Lock(), Event()

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[ProgressTask]:
        """Work of one of the runs."""
        yield _SharedTask(self._shared if name == "sampling" else None, self._lock, self.stop)

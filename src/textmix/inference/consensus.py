"""One partition from many short runs: what they agree on.

The runs are made on views of the documents (inference/views): their words, and their vectors where there are any. The
labels of all runs are then the "words" of the documents for a Dirichlet-multinomial mixture; its clusters are the
result. Views vote through their runs, so that no likelihood has to be weighed against another.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import Event, Lock

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from textmix.engines.threads import side_by_side
from textmix.inference.identical import count_identical, group_identical, join_identical
from textmix.inference.known_clusters import GuidedDocuments, labels_of_known
from textmix.inference.ordering import order_by_size
from textmix.inference.partition import FittedPartition, SamplerSettings
from textmix.inference.progress import Progress, ProgressTask
from textmix.inference.seeds import generator
from textmix.inference.views.view import View, ViewRun
from textmix.inference.views.words import fit_documents, n_start_clusters, n_visits
from textmix.priors.finite_dirichlet import finite_dirichlet

N_STARTS = 5  # of the second step: on short texts it costs about as much as the runs
MAX_AGREED = 1000  # clusters that the second step starts from
AGREED_SWEEPS = 30
AGREED_ALPHA = 0.1  # pseudo-count of a cluster
_CONSENSUS = 2  # what random numbers are for; views have others


def sample_runs(view: View, seed: int, n_jobs: int | None, progress: Progress) -> list[ViewRun]:
    """The runs of a view, side by side on threads; each is the same whichever thread it has.

    Ctrl-C leaves out the runs that are not finished, unless there is none.
    """

    def run(number: int) -> ViewRun:
        return view.sample(number, seed, shared)

    with progress.task("sampling", total=view.n_runs * view.n_visits) as task:
        shared = _SharedProgress(task)
        # Threads of BLAS within threads would wait for each other.
        with threadpool_limits(1, user_api="blas") if view.uses_blas else nullcontext():
            finished = side_by_side(run, view.n_runs, n_jobs, shared.stop, keep_finished=True)
    if len(finished) < view.n_runs:
        warnings.warn(
            f"sampling interrupted: this is what {len(finished)} of {view.n_runs} runs agree on", stacklevel=2
        )
    return finished


def mean_trace(runs: Sequence[ViewRun]) -> dict[str, NDArray[np.float64]]:
    """The means over the runs that have a trace, sweep by sweep."""
    traces = [run.trace for run in runs if run.trace]
    return {name: np.mean([trace[name] for trace in traces], axis=0) for name in traces[0]}


def find_consensus(
    labelled: GuidedDocuments, beta: float, seed: int, n_jobs: int | None, progress: Progress
) -> tuple[FittedPartition, NDArray[np.float64]]:
    """The same model once more, the documents' words being their labels: the most probable of some starts.

    And the numbers of clusters that the later half of the sweeps of all starts went through.
    """
    prior = finite_dirichlet(n_start_clusters(labelled, MAX_AGREED), AGREED_ALPHA)
    sampling = SamplerSettings(AGREED_SWEEPS, 0.0, "auto", polish=True)

    def start(number: int) -> FittedPartition:
        own = int(generator(seed, _CONSENSUS, number).integers(2**63))
        return fit_documents(labelled, True, beta, prior, sampling, own, shared)

    with progress.task("agreeing", total=N_STARTS * n_visits(labelled, AGREED_SWEEPS)) as task:
        shared = _SharedProgress(task)
        starts = side_by_side(start, N_STARTS, n_jobs, shared.stop, keep_finished=False)
    numbers = np.concatenate([fitted.trace["n_clusters"][AGREED_SWEEPS // 2 :] for fitted in starts])
    return max(starts, key=lambda fitted: fitted.log_joint), numbers


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
    labels[documents.n_free :] = clusters[documents.known]
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

"""Sampling all documents side by side, given the clusters as the sweep found them (X-DMM, Algorithm 3).

`means`: word probabilities at their posterior mean, and each document left out of its own cluster (unless that is
switched off, as the paper has it). An approximation: documents do not see what others do in the same sweep.
`sampled`: word probabilities drawn from their posterior, as Algorithm 3 is printed. `uncollapsed`: the weights of
clusters drawn too, which makes it an exact Gibbs sampler.

A step over a shard is a pure function of the shard, its labels, the statistics of all clusters and a key:
(seed, sweep, shard). It returns labels and what they change in the statistics. So it may run anywhere, and again.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.inference.layout import ROW_SHARE, build_scratch, check_labels_fit, make_clusters, tabulate_lengths
from textmix.inference.perplexity import make_logs
from textmix.inference.seeds import generator
from textmix.inference.sharded import select_documents
from textmix.kernels.gibbs import NEW
from textmix.kernels.parallel import DRAW, add_changes, list_changes, merge_changes, spread_rows, sweep_independently
from textmix.kernels.state import ClusterStatistics, Documents, LengthTable, Logs, Model, Prior
from textmix.priors.finite_dirichlet import of_occupied

ABSENT_SHARE = 1e-9  # of all β, below which a difference of sums is taken for rounding
FEWEST_MERGED = 1 << 18  # new pairs worth a pass over the statistics
WORD_PROBABILITIES = 2**32 - 2  # in place of a shard's number: random numbers for those of all clusters
MEANS, SAMPLED, UNCOLLAPSED = "means", "sampled", "uncollapsed"


class SweepStatistics(NamedTuple):
    """What is known of the clusters: all that documents are drawn from, whatever their labels have been before."""

    sizes: NDArray[np.int64]  # documents of each label
    totals: NDArray[np.int64]  # words
    starts: NDArray[np.int64]  # of each word's pairs
    labels: NDArray[np.int32]  # rising within a word
    counts: NDArray[Any]  # above 0


class SweepTask(NamedTuple):
    """What all shards of a sweep share."""

    run: int  # tells one run from another in a process that has seen several
    seed: int
    sweep: int
    form: str
    taken_out: bool
    mode: int  # DRAW, BEST or SCORE
    statistics: SweepStatistics
    model: Model
    prior: Prior
    n_with_words: int
    length_frequencies: NDArray[np.int64]


class Working(NamedTuple):
    """The statistics as kernels take them: clusters that hold documents in the slots 0, 1, …."""

    clusters: ClusterStatistics
    table: LengthTable
    logs: Logs
    prior: Prior
    occupied: NDArray[np.int32]  # the label in each slot
    empty: NDArray[np.int32]  # all other labels


Changes = tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[Any]]  # words, labels, counts


class ShardOutcome(NamedTuple):
    """What a step made of a shard."""

    labels: NDArray[np.int32]
    n_moved: int
    log_totals: float  # Σ log of the weights of all clusters together, a document relative to an empty cluster
    changes: Changes
    size_changes: NDArray[np.int64]
    total_changes: NDArray[np.int64]


class Improvement(NamedTuple):
    """What a greedy step made of a shard, and which documents would have gone elsewhere."""

    outcome: ShardOutcome
    discontent: NDArray[np.int64]


def no_statistics(n_labels: int, n_words: int, count_type: Any) -> SweepStatistics:
    """Those of no documents."""
    return SweepStatistics(
        np.zeros(n_labels, np.int64),
        np.zeros(n_labels, np.int64),
        np.zeros(n_words + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0, count_type),
    )


class Merger:
    """Statistics that follow the outcomes of shards.

    Changes of pairs that are there are added to them. New pairs wait until there are enough of them to be worth a pass
    over the statistics.
    """

    def __init__(self, statistics: SweepStatistics) -> None:
        sizes, totals, starts, labels, counts = statistics
        self._statistics = SweepStatistics(sizes.copy(), totals.copy(), starts, labels, counts.copy())
        self._waiting: list[Changes] = []
        self._n_waiting = 0

    def add(self, outcome: ShardOutcome) -> None:
        """Take what a shard changed; nothing of the outcome is kept."""
        sizes, totals, *pairs = self._statistics
        sizes += outcome.size_changes
        totals += outcome.total_changes
        left = add_changes(*pairs, *outcome.changes)
        self._waiting.append(left)
        self._n_waiting += left[0].size
        if self._n_waiting > max(self._statistics.counts.size // 4, FEWEST_MERGED):
            self.finish()

    def finish(self) -> SweepStatistics:
        """The statistics after all that was added."""
        sizes, totals, *pairs = self._statistics
        if self._n_waiting > 0 or not self._statistics.counts.all():
            columns = [np.concatenate(arrays) for arrays in zip(*self._waiting, strict=True)]
            self._waiting, self._n_waiting = [], 0
            self._statistics = SweepStatistics(sizes, totals, *merge_changes(*pairs, *columns, sizes.size))
        return self._statistics


def recount(documents: Documents, task: SweepTask, labels: NDArray[np.int32]) -> ShardOutcome:
    """A step that moves nothing: what these labels add to the statistics of no documents."""
    n_labels = task.statistics.sizes.size
    check_labels_fit(labels, documents.lengths.size, n_labels)
    nowhere = np.full(labels.size, -1, np.int32)
    return _outcome(documents, nowhere, labels, 0.0, n_labels)


def sweep_shard(documents: Documents, task: SweepTask, labels: NDArray[np.int32], shard: int) -> ShardOutcome:
    """A step: choose a label for every document of a shard."""
    rng = generator(task.seed, task.sweep, shard)
    after, log_totals = _choose(documents, task, labels, rng)
    return _outcome(documents, labels, after, log_totals, task.statistics.sizes.size)


def improve_shard(
    documents: Documents, task: SweepTask, labels: NDArray[np.int32], shard: int, rows: NDArray[np.int64] | None
) -> Improvement:
    """A greedy step over some documents (None: all): every other one of those that would rather be elsewhere moves.

    Not all at once: two documents that would each rather be where the other one is would change places for ever.
    """
    rng = generator(task.seed, task.sweep, shard)
    if rows is None:
        rows = np.arange(labels.size)
    else:
        documents = select_documents(documents, rows)
    before = labels[rows]
    best, log_totals = _choose(documents, task, before, rng)
    discontent = best != before
    after = np.where(rng.random(rows.size) < 0.5, best, before)
    outcome = _outcome(documents, before, after, log_totals, task.statistics.sizes.size)
    everywhere = labels.copy()
    everywhere[rows] = after
    return Improvement(outcome._replace(labels=everywhere), rows[discontent])


def _choose(
    documents: Documents, task: SweepTask, labels: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.int32], float]:
    """Labels for documents, and Σ log of their total weights."""
    working = working_of(task)
    slots = np.full(task.statistics.sizes.size + 1, -1, np.int32)  # one more, for the label −1
    slots[working.occupied] = np.arange(working.occupied.size, dtype=np.int32)
    chosen = np.full(labels.size, -2, np.int32)
    log_totals = sweep_independently(
        documents,
        working.clusters._replace(labels=slots[labels]),
        task.model,
        working.prior,
        working.table,
        working.logs,
        build_scratch(working.clusters, working.table),
        task.taken_out,
        task.mode,
        rng.random(labels.size) if task.mode == DRAW else np.empty(0),
        chosen,
    )
    after = labels.copy()
    known = chosen >= 0
    after[known] = working.occupied[chosen[known]]
    _open_clusters(after, np.flatnonzero(chosen == NEW), task, working, rng)
    return after, log_totals


def _open_clusters(
    labels: NDArray[np.int32], documents: NDArray[np.int64], task: SweepTask, working: Working, rng: np.random.Generator
) -> None:
    """Give documents that chose an empty cluster one of them, by its pseudo-count; one that is alone may stay."""
    if documents.size == 0:
        return
    pseudo_counts = np.broadcast_to(task.prior.pseudo_counts, task.statistics.sizes.shape)
    own = labels[documents]
    alone = (own >= 0) & (task.statistics.sizes[own] == 1) & task.taken_out
    bounds = np.cumsum(pseudo_counts[working.empty])
    room = float(bounds[-1]) if bounds.size > 0 else 0.0
    targets = rng.random(documents.size) * (room + np.where(alone, pseudo_counts[own], 0.0))
    places = np.searchsorted(bounds, targets, side="right")
    leaves = (places < bounds.size) | ~alone
    labels[documents[leaves]] = working.empty[np.minimum(places[leaves], bounds.size - 1)]


def _outcome(
    documents: Documents,
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    log_totals: float,
    n_labels: int,
) -> ShardOutcome:
    sizes, totals = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    changes = list_changes(documents, before, after, sizes, totals)
    return ShardOutcome(after, int(np.count_nonzero(before != after)), log_totals, changes, sizes, totals)


_lock = threading.Lock()
_latest: list[tuple[tuple[int, int, int], Working]] = []  # of this process; threads and steps share it


def working_of(task: SweepTask) -> Working:
    """The working form of a task's statistics, made once a process and sweep."""
    key = (task.run, task.sweep, task.mode)
    with _lock:
        if not _latest or _latest[0][0] != key:
            _latest.clear()
            _latest.append((key, _at_means(task) if task.form == MEANS else _drawn(task)))
        return _latest[0][1]


def forget_working() -> None:
    """Let the latest working form go."""
    with _lock:
        _latest.clear()


def _at_means(task: SweepTask) -> Working:
    sizes, totals, starts, labels, counts = task.statistics
    model = task.model
    occupied = np.flatnonzero(sizes > 0).astype(np.int32)
    slots = np.zeros(sizes.size, np.uint32)
    slots[occupied] = np.arange(occupied.size, dtype=np.uint32)
    n_slots = max(occupied.size, 1)
    n_pairs = np.diff(starts)
    n_rows = int(np.count_nonzero(n_pairs > ROW_SHARE * occupied.size))
    rows = np.empty((n_rows, n_slots), counts.dtype)
    pair_slots = slots[labels]
    spread_rows(starts, pair_slots, counts, rows)
    prior = of_occupied(task.prior, occupied.astype(np.int64))
    clusters = make_clusters(
        *(np.resize(sizes[occupied], n_slots), np.resize(totals[occupied], n_slots), starts, counts),
        rows=rows,
        pair_slots=pair_slots,
        n_clusters=occupied.size,
    )
    table = tabulate_lengths(task.length_frequencies.copy(), max(counts.size, 1 << 16), clusters, model, prior)
    n_plain = int(task.length_frequencies[table.lengths].sum())
    logs = Logs(np.empty(0), np.empty(0), np.empty((0, 0)), np.empty(0))
    if not task.taken_out or min(n_plain, int(sizes.sum())) < task.n_with_words:
        logs = make_logs(clusters, model, prior)
    empty = np.flatnonzero(sizes == 0).astype(np.int32)
    return Working(clusters, table, logs, prior, occupied, empty)


def _drawn(task: SweepTask) -> Working:
    """Word probabilities of all clusters, empty ones too, drawn from their posterior; a row for every word."""
    sizes, totals, starts, labels, counts = task.statistics
    model, n_labels, n_words = task.model, sizes.size, starts.size - 1
    rng = generator(task.seed, task.sweep, WORD_PROBABILITIES)
    betas = model.betas[np.minimum(np.arange(n_words), model.betas.size - 1)]
    shapes = np.empty((n_words, n_labels))
    shapes[:] = betas[:, np.newaxis]
    shapes[np.repeat(np.arange(n_words), np.diff(starts)), labels] += counts * model.unit
    log_rows = log_gammas(shapes, rng)
    highest = log_rows.max(axis=0, initial=-np.inf)
    sums = np.exp(log_rows - highest).sum(axis=0)
    absent = model.vocabulary_beta - float(betas.sum())
    if absent > ABSENT_SHARE * model.vocabulary_beta and n_words > 0:  # words of no document have their share too
        sums += np.exp(log_gammas(np.full(n_labels, absent), rng) - highest)
    if n_words > 0:
        log_rows -= highest + np.log(sums)
    pseudo_counts = np.broadcast_to(task.prior.pseudo_counts, n_labels)
    log_weights = np.log(sizes + pseudo_counts)
    if task.form == UNCOLLAPSED:
        log_weights = log_gammas(sizes + pseudo_counts, rng)
    log_rows *= model.unit
    logs = Logs(log_weights, np.zeros(n_labels), log_rows, np.empty(0))
    clusters = make_clusters(sizes, totals, starts, counts, list_lengths=np.zeros(n_words, np.int32))
    prior = task.prior._replace(labelled=True)
    table = tabulate_lengths(np.zeros(1, np.int64), 1, clusters, model, prior)
    return Working(clusters, table, logs, prior, np.arange(n_labels, dtype=np.int32), np.empty(0, np.int32))


def log_gammas(shapes: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Logarithms of gamma variates, as log of Gamma(a + 1) U^(1/a): those of small shapes are too small for floats."""
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shapes + 1.0)) + np.log1p(-rng.random(shapes.shape)) / shapes

"""One run of the parallel sampler from shards to a finished partition of the documents, which can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.shards import ShardedCorpus, deal_out
from textmix.engines.engine import Engine
from textmix.inference.freed import return_freed_memory
from textmix.inference.loop import Tick, Trace, run_moves
from textmix.inference.ordering import order_by_size, slots_in_order
from textmix.inference.parallel import MEANS, SweepStatistics
from textmix.inference.parallel_state import SAMPLE_SWEEPS, ParallelState, start_from_sample
from textmix.inference.partition import FittedPartition
from textmix.inference.progress import Progress
from textmix.inference.sharded import ShardedDocuments
from textmix.inference.stopping import settled_by_perplexity
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import of_occupied

MAX_GREEDY_PASSES = 30
COLUMNS = ("n_clusters", "n_moved", "perplexity", "log_joint", "seconds")


@dataclass(frozen=True)
class ParallelSettings:
    """How long to sample, in which form, and how to end."""

    n_sweeps: int
    tol: float
    polish: bool
    form: str = MEANS
    leave_out: bool = True


@dataclass
class Saved:
    """How far a run has come: labels by shard after so many sweeps and greedy passes."""

    labels: list[NDArray[np.int32]]
    trace: dict[str, list[float]]
    sampling: bool = True  # sweeps go on; False: greedy passes do
    n_passes: int = 0
    settled: bool = False
    polished: bool = False  # hardly a document would move any more


@dataclass(frozen=True)
class FittedParallel:
    """A fitted partition, and the statistics that its clusters have under the labels they had before."""

    partition: FittedPartition
    statistics: SweepStatistics
    slots: NDArray[np.int64]  # the former label of each cluster

    def count_words(self, corpus: ShardedCorpus) -> scipy.sparse.csr_array:
        """The word counts of each cluster; words of one document, which the statistics lack, are read from disk."""
        _, _, starts, labels, counts = self.statistics
        n_kept = starts.size - 1
        clusters = np.zeros(self.statistics.sizes.size, np.int64)
        clusters[self.slots] = np.arange(self.slots.size)
        columns = [np.repeat(np.arange(n_kept), np.diff(starts))]
        rows, values = [clusters[labels]], [counts.astype(np.int64)]
        for shard, own in enumerate(deal_out(self.partition.labels, corpus.n_shards)):
            row_starts, words, amounts = corpus.read_shard(shard)
            lone = words >= n_kept
            rows.append(np.repeat(own, np.diff(row_starts))[lone].astype(np.int64))
            columns.append(words[lone].astype(np.int64))
            values.append(amounts[lone].astype(np.int64))
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(self.slots.size, corpus.n_words)))


class Checkpoint(Protocol):
    """Where the state of a run is kept."""

    def load(self) -> Saved | None:
        """What was saved last, if anything."""

    def save(self, state: Saved) -> None:
        """Keep this instead; what was saved before stays until then."""


class NoCheckpoint:
    """A run that is not to be resumed."""

    def load(self) -> Saved | None:
        """Nothing."""
        return None

    def save(self, state: Saved) -> None:
        """Keep nothing."""


def fit_parallel(
    source: ShardedDocuments,
    start: NDArray[np.int32] | int | str,
    beta: float | NDArray[np.float64],
    prior: Prior,
    settings: ParallelSettings,
    seed: int,
    engine: Engine,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> FittedParallel:
    """Sample from a start, polish, and order the clusters by size.

    start: labels; or a number of random clusters, or "online", from which collapsed sweeps over a sample begin.
    """
    checkpoint = checkpoint or NoCheckpoint()
    saved = checkpoint.load()
    if saved is None:
        if isinstance(start, np.ndarray):
            labels = deal_out(start.astype(np.int32), source.n_shards)
        else:
            n_sweeps = min(SAMPLE_SWEEPS, settings.n_sweeps)
            with progress.task("starting", total=0) as task:
                labels = start_from_sample(source, start, beta, prior, seed, n_sweeps, task.advance)
            return_freed_memory()
        saved = Saved(labels, {name: [] for name in COLUMNS})
        checkpoint.save(saved)
    state = ParallelState(source, engine, saved.labels, beta, prior, seed, settings.form, settings.leave_out)
    converged = interrupted = False
    try:
        if saved.sampling:
            interrupted = _sample(state, settings, saved, checkpoint, progress)
        converged = saved.settled
        if settings.polish and not interrupted:
            converged, interrupted = _polish(state, settings, saved, checkpoint, progress)
        return_freed_memory()  # of the sweeps, before the results take theirs
        if state.n_unlabelled > 0:
            raise KeyboardInterrupt  # before the first sweep was over there is nothing to keep
        return _fitted(state, saved, converged, beta)
    finally:
        state.close()


def _fitted(state: ParallelState, saved: Saved, converged: bool, beta: float | NDArray[np.float64]) -> FittedParallel:
    """What a run has found, its clusters by size."""
    labels = state.labels_in_order()
    ordered = order_by_size(labels)
    slots = slots_in_order(labels, ordered)
    partition = FittedPartition(
        labels=ordered,
        n_identical=np.empty(0, np.int32),
        trace=Trace(saved.trace).arrays(),
        n_sweeps=len(saved.trace["n_moved"]),
        converged=converged,
        log_joint=state.log_joint(),
        unit=state.source.unit,
        beta=beta,
        prior=of_occupied(state.prior, slots),
    )
    return FittedParallel(partition, state.statistics, slots)


def _sample(
    state: ParallelState, settings: ParallelSettings, saved: Saved, checkpoint: Checkpoint, progress: Progress
) -> bool:
    """Sweep until settled; whether it was interrupted. `saved` follows."""
    source, n_done = state.source, len(saved.trace["n_moved"])

    def move(index: int, tick: Tick) -> Mapping[str, float]:
        outcome = state.sample(n_done + index, tick)
        return {
            "n_clusters": state.n_clusters,
            "n_moved": outcome.n_moved,
            "perplexity": outcome.perplexity,
            "log_joint": state.log_joint(),
        }

    settled = settled_by_perplexity(settings.tol, source.n_with_words, source.n_tokens * source.unit)

    def keep(trace: Trace) -> bool:
        saved.labels, saved.trace = state.labels, trace.columns
        saved.settled = settled(trace)
        saved.sampling = not saved.settled and len(trace.columns["n_moved"]) < settings.n_sweeps
        checkpoint.save(saved)
        return saved.settled

    outcome = run_moves(
        [move],
        n_sweeps=max(settings.n_sweeps, int(state.n_unlabelled > 0)) - n_done,
        n_documents=source.n_documents,
        settled=keep,
        progress=progress,
        name="sampling",
        columns=COLUMNS,
        earlier=saved.trace,
    )
    return outcome.interrupted


def _polish(
    state: ParallelState, settings: ParallelSettings, saved: Saved, checkpoint: Checkpoint, progress: Progress
) -> tuple[bool, bool]:
    """Greedy passes until hardly a document would move; whether that was reached, and whether it was interrupted.

    Hardly: a share of `tol`. To the last one of millions it would take many more passes than all sampling.
    """
    first, most_moved = saved.n_passes, settings.tol * state.source.n_with_words

    def greedy_move(index: int, tick: Tick) -> Mapping[str, float]:
        return {"n_moved": state.improve(first + index, tick)}

    def keep(trace: Trace) -> bool:
        saved.labels, saved.sampling = state.labels, False
        saved.n_passes = first + len(trace.columns["n_moved"])
        saved.polished = trace.columns["n_moved"][-1] <= most_moved
        checkpoint.save(saved)
        return saved.polished

    outcome = run_moves(
        [greedy_move],
        n_sweeps=0 if saved.polished else MAX_GREEDY_PASSES - first,
        n_documents=state.source.n_documents,
        settled=keep,
        progress=progress,
        name="polishing",
        columns=("n_moved",),
    )
    return saved.polished, outcome.interrupted

"""One run of a Gibbs sampler from counts to a finished partition."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.matrix import sum_by_cluster
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.hyperparameters import GammaPrior, LearnedPrior
from textmix.inference.identical import count_identical, join_identical
from textmix.inference.layout import betas_of_words, fixed_point_scale, prepare_documents
from textmix.inference.loop import RunOutcome, Tick, Trace, run_moves
from textmix.inference.metropolis import MetropolisSettings, MetropolisSweeps
from textmix.inference.ordering import order_by_size, slots_in_order
from textmix.inference.progress import Progress
from textmix.inference.scoring import log_joint
from textmix.inference.seeds import START, generator
from textmix.inference.stopping import WINDOW, no_document_moved, settled_sampler
from textmix.kernels.state import Prior
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.finite_dirichlet import of_occupied

MAX_PASSES = 100  # greedy passes before polishing gives up
FROZEN_PART = 10  # one in so many Metropolis-Hastings sweeps, at the end, has frozen proposals
LONGEST_WINDOW = 20  # sweeps that Metropolis-Hastings is watched over, as it moves less in each
FEW, HARDLY_ANY = 0.1, 0.01  # shares of the documents, at which Metropolis-Hastings takes over; see _few_move
LEVEL = 0.9


@dataclass(frozen=True)
class SamplerSettings:
    """How long to sample and how to end."""

    n_sweeps: int
    tol: float
    layout: str  # "auto", "sparse" or "dense": see lay_out_clusters
    polish: bool
    alpha_prior: GammaPrior | None = None  # None: α is held
    beta_prior: GammaPrior | None = None
    metropolis: MetropolisSettings | None = None  # None: Gibbs sweeps to the end


@dataclass(frozen=True)
class FittedPartition:
    """Labels 0, 1, … by falling size (−1: no words) and how they came about."""

    labels: NDArray[np.int32]
    n_identical: NDArray[np.int32]  # see count_identical; empty where the partition was not polished
    trace: dict[str, NDArray[np.float64]]
    n_sweeps: int
    converged: bool
    log_joint: float
    unit: float
    beta: float | NDArray[np.float64]  # as given, or the last that was drawn
    prior: Prior  # of the clusters in the order of their labels


def fit_partition(
    counts: scipy.sparse.csr_array,
    whole: bool,
    start: NDArray[np.int32] | int | str,
    beta: float | NDArray[np.float64],
    prior: Prior,
    settings: SamplerSettings,
    seed: int,
    progress: Progress,
    n_fixed: int = 0,
) -> FittedPartition:
    """Sample from a start, polish, and order the clusters by size.

    start: labels, a number of random clusters, or "online": documents come one by one. The last n_fixed documents keep
    the labels that they start with: sampling is then exact given these.
    """
    prepared = prepare_documents(counts, beta, whole)
    has_words = prepared.documents.lengths > 0
    if isinstance(start, str):
        labels = np.full(has_words.size, -1, np.int32)
    elif isinstance(start, int):
        # A process has no limit: whatever number is given, there are no more clusters than documents.
        n_start = start if prior.concentration > 0.0 else min(start, prior.max_clusters)
        labels = generator(seed, START).integers(n_start, size=has_words.size, dtype=np.int32)
    else:
        labels = start.astype(np.int32)
    labels[~has_words] = -1
    betas = betas_of_words(beta, prepared.words)
    model = dirichlet_multinomial(betas, counts.shape[1], prepared.unit, prepared.max_word_total)
    state = GibbsState(prepared, labels, model, prior, settings.layout, n_fixed)
    if isinstance(start, str):
        with progress.task("starting", total=has_words.size) as task:
            state.place_all(generator(seed, START), task.advance)
    learned = None
    if settings.alpha_prior is not None or settings.beta_prior is not None:
        learned = LearnedPrior(state, counts, settings.alpha_prior, settings.beta_prior)
    sampler = Sampler(state, learned, settings, seed)
    outcome = run_moves(
        [sampler.sweep],
        n_sweeps=settings.n_sweeps,
        n_documents=has_words.size,
        settled=sampler.settled,
        progress=progress,
        name="sampling",
        columns=_trace_columns(settings),
    )
    sampler.finish()
    converged, n_identical = outcome.stopped_by_itself, np.empty(0, np.int32)
    interrupted = outcome.interrupted
    if settings.polish and not interrupted:
        try:
            n_identical = count_identical(counts, prepared.unit)
            converged, interrupted = _polish(state, counts, n_identical, progress)
        except KeyboardInterrupt:
            warnings.warn("polishing interrupted: this is what had been reached", stacklevel=2)
            converged, interrupted = False, True
    if interrupted:
        state.lay_out()  # the labels are whole at any moment, the statistics need not be
    labels = order_by_size(state.labels)
    return FittedPartition(
        labels=labels,
        n_identical=n_identical,
        trace=outcome.trace.arrays(),
        n_sweeps=outcome.n_sweeps,
        converged=converged,
        log_joint=state.log_joint(),
        unit=prepared.unit,
        beta=state.model.beta if isinstance(beta, float) else beta,
        prior=of_occupied(state.prior, slots_in_order(state.labels, labels)),
    )


def score_labels(
    counts: scipy.sparse.csr_array,
    whole: bool,
    labels: NDArray[np.int32],
    beta: float | NDArray[np.float64],
    prior: Prior,
) -> tuple[FittedPartition, scipy.sparse.csr_array]:
    """A partition that is given, not sampled, and the word counts of its clusters; labels stay as they are."""
    labels = np.where(np.diff(counts.indptr) > 0, labels, -1).astype(np.int32)
    sizes = np.bincount(labels[labels >= 0])
    word_counts = sum_by_cluster(counts, labels, sizes.size)
    partition = FittedPartition(
        labels=labels,
        n_identical=np.empty(0, np.int32),
        trace={},
        n_sweeps=0,
        converged=False,
        log_joint=log_joint(sizes, word_counts, beta, prior),
        unit=1.0 / fixed_point_scale(float(counts.data.sum(dtype=np.float64)), whole),
        beta=beta,
        prior=prior,
    )
    return partition, word_counts


def _trace_columns(settings: SamplerSettings) -> list[str]:
    learned = [("alpha", settings.alpha_prior), ("beta", settings.beta_prior)]
    names = [name for name, prior in learned if prior is not None]
    names += ["log_joint"] if settings.metropolis is None else ["log_joint", "n_refreshed"]
    return ["n_clusters", "n_moved", *names, "seconds"]


class Sampler:
    """Sweeps over a state: Gibbs, or Metropolis-Hastings once few documents move, with when to stop."""

    def __init__(self, state: GibbsState, learned: LearnedPrior | None, settings: SamplerSettings, seed: int) -> None:
        self._state = state
        self._learned = learned
        self._settings = settings
        self._seed = seed
        self._metropolis: MetropolisSweeps | None = None
        self._moved: list[int] = []  # in Gibbs sweeps that are to be followed by others
        self._n_frozen = 0  # sweeps at the end whose proposals are not refreshed
        self._first_frozen = settings.n_sweeps
        self._has_levelled = False
        self._levelled = settled_sampler(settings.tol, state.n_documents)

    def sweep(self, index: int, tick: Tick) -> Mapping[str, float]:
        """One sweep, as loop.Move has it."""
        state, rng = self._state, generator(self._seed, index)
        if self._metropolis is not None:
            n_moved, n_refreshed = self._metropolis.sample(index, rng, tick, frozen=index >= self._first_frozen)
        else:
            n_moved, n_refreshed = state.sample(rng, tick), state.n_documents
            self._switch(index, n_moved)
        drawn = self._learned.draw(rng) if self._learned is not None else {}
        record = {"n_clusters": state.n_clusters, "n_moved": n_moved, **drawn, "log_joint": state.log_joint()}
        return record if self._settings.metropolis is None else {**record, "n_refreshed": n_refreshed}

    def finish(self) -> None:
        """Leave the state as polishing and results take it."""
        if self._metropolis is not None:
            self._metropolis.finish()

    def _switch(self, index: int, n_moved: int) -> None:
        wanted = self._settings.metropolis
        if wanted is None:
            return
        self._moved.append(n_moved)
        if self._few_move() if wanted.switch is None else index + 1 >= wanted.switch:
            period = wanted.period or max(self._state.n_clusters, 1)
            self._metropolis = MetropolisSweeps(self._state, period)
            self._n_frozen = min(period, self._settings.n_sweeps // FROZEN_PART)
            self._first_frozen -= self._n_frozen
            window = max(WINDOW, min(period, LONGEST_WINDOW))
            self._levelled = settled_sampler(self._settings.tol, self._state.n_documents, window)

    def _few_move(self) -> bool:
        """Whether fewer than a tenth of the documents move and that has stopped falling fast, or hardly any move."""
        share = self._moved[-1] / max(self._state.n_documents, 1)
        levelled = len(self._moved) > 3 and self._moved[-1] > LEVEL * self._moved[-4]
        return share < FEW and (levelled or share < HARDLY_ANY)

    def settled(self, trace: Trace) -> bool:
        """Whether to stop: Gibbs sweeps once they have levelled off, others after some sweeps more, frozen."""
        n_done = len(trace.columns["n_moved"])
        if not self._has_levelled and n_done <= self._first_frozen and self._levelled(trace):
            self._first_frozen, self._has_levelled = n_done, True
        return self._has_levelled and n_done >= self._first_frozen + self._n_frozen


def _polish(
    state: GibbsState, counts: scipy.sparse.csr_array, n_identical: NDArray[np.int32], progress: Progress
) -> tuple[bool, bool]:
    """Move documents to their most probable option until none moves; whether that was reached, or interrupted."""

    def greedy_move(sweep: int, tick: Tick) -> Mapping[str, float]:
        return {"n_moved": state.improve(n_identical, tick)}

    passes_left = MAX_PASSES
    while passes_left > 0:
        outcome: RunOutcome = run_moves(
            [greedy_move],
            n_sweeps=passes_left,
            n_documents=state.labels.size,
            settled=no_document_moved,
            progress=progress,
            name="polishing",
            columns=("n_moved",),
        )
        passes_left -= outcome.n_sweeps
        # Identical documents can only be apart here where each of them is alone, or for want of empty clusters.
        together = not join_identical(counts, state.prepared.unit, state.labels, n_identical, state.n_fixed)
        if together or outcome.interrupted:
            return outcome.stopped_by_itself, outcome.interrupted
        state.lay_out()
    return False, False

"""One run of a Gibbs sampler from counts to a finished partition."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.hyperparameters import GammaPrior
from textmix.inference.identical import count_twins, put_twins_together
from textmix.inference.layout import prepare_documents
from textmix.inference.learned_prior import LearnedPrior
from textmix.inference.ordering import order_by_size
from textmix.inference.progress import Progress
from textmix.inference.run import Outcome, Tick, run
from textmix.inference.seeds import START, generator
from textmix.inference.stopping import no_document_moved, settled_sampler
from textmix.kernels.state import Prior
from textmix.models.dirichlet_multinomial import dirichlet_multinomial

MAX_PASSES = 100  # greedy passes before polishing gives up


@dataclass(frozen=True)
class SamplerSettings:
    """How long to sample and how to end."""

    n_sweeps: int
    tol: float
    sampler: str
    polish: bool
    alpha_prior: GammaPrior | None = None  # None: α is held
    beta_prior: GammaPrior | None = None


@dataclass(frozen=True)
class FittedPartition:
    """Labels 0, 1, … by falling size (−1: no words) and how they came about."""

    labels: NDArray[np.int32]
    twins: NDArray[np.int32]  # see count_twins; empty where the partition was not polished
    trace: dict[str, NDArray[np.float64]]
    n_sweeps: int
    converged: bool
    log_joint: float
    unit: float
    beta: float  # as given, or the last that was drawn
    prior: Prior


def fit_partition(
    counts: scipy.sparse.csr_array,
    whole: bool,
    start: NDArray[np.int32] | int,
    beta: float,
    prior: Prior,
    settings: SamplerSettings,
    seed: int,
    progress: Progress,
) -> FittedPartition:
    """Sample from a start (labels, or a number of random clusters), polish, and order the clusters by size."""
    prepared = prepare_documents(counts, beta, whole)
    has_words = prepared.documents.lengths > 0
    if isinstance(start, int):
        labels = generator(seed, START).integers(start, size=has_words.size, dtype=np.int32)
    else:
        labels = start.astype(np.int32)
    labels[~has_words] = -1
    model = dirichlet_multinomial(beta, counts.shape[1], prepared.unit, prepared.max_word_total)
    state = GibbsState(prepared, labels, model, prior, settings.sampler)
    learned = None
    if settings.alpha_prior is not None or settings.beta_prior is not None:
        learned = LearnedPrior(state, counts, settings.alpha_prior, settings.beta_prior)
    outcome = run(
        [_sampling_move(state, learned, seed)],
        n_sweeps=settings.n_sweeps,
        n_documents=has_words.size,
        settled=settled_sampler(settings.tol, state.n_documents),
        progress=progress,
        name="sampling",
        columns=_trace_columns(settings),
    )
    converged, twins = outcome.stopped_by_itself, np.empty(0, np.int32)
    interrupted = outcome.interrupted
    if settings.polish and not interrupted:
        try:
            twins = count_twins(counts, prepared.unit)
            converged, interrupted = _polish(state, counts, twins, progress)
        except KeyboardInterrupt:
            warnings.warn("polishing interrupted: this is what had been reached", stacklevel=2)
            converged, interrupted = False, True
    if interrupted:
        state.lay_out()  # the labels are whole at any moment, the statistics need not be
    return FittedPartition(
        labels=order_by_size(state.labels),
        twins=twins,
        trace=outcome.trace.arrays(),
        n_sweeps=outcome.n_sweeps,
        converged=converged,
        log_joint=state.log_joint(),
        unit=prepared.unit,
        beta=state.model.beta,
        prior=state.prior,
    )


def _trace_columns(settings: SamplerSettings) -> list[str]:
    learned = [("alpha", settings.alpha_prior), ("beta", settings.beta_prior)]
    drawn = [name for name, prior in learned if prior is not None]
    return ["n_clusters", "n_moved", *drawn, "log_joint", "seconds"]


def _sampling_move(
    state: GibbsState, learned: LearnedPrior | None, seed: int
) -> Callable[[int, Tick], Mapping[str, float]]:
    def move(sweep: int, tick: Tick) -> Mapping[str, float]:
        rng = generator(seed, sweep)
        n_moved = state.sample(rng, tick)
        drawn = learned.draw(rng) if learned is not None else {}
        return {"n_clusters": state.n_clusters, "n_moved": n_moved, **drawn, "log_joint": state.log_joint()}

    return move


def _polish(
    state: GibbsState, counts: scipy.sparse.csr_array, twins: NDArray[np.int32], progress: Progress
) -> tuple[bool, bool]:
    """Move documents to their most probable option until none moves; whether that was reached, or interrupted."""

    def greedy_move(sweep: int, tick: Tick) -> Mapping[str, float]:
        return {"n_moved": state.improve(twins, tick)}

    passes_left = MAX_PASSES
    while passes_left > 0:
        outcome: Outcome = run(
            [greedy_move],
            n_sweeps=passes_left,
            n_documents=state.labels.size,
            settled=no_document_moved,
            progress=progress,
            name="polishing",
            columns=("n_moved",),
        )
        passes_left -= outcome.n_sweeps
        # Twins can only be apart here where each of them is alone, or for want of empty clusters.
        together = not put_twins_together(counts, state.prepared.unit, state.labels, twins)
        if together or outcome.interrupted:
            return outcome.stopped_by_itself, outcome.interrupted
        state.lay_out()
    return False, False

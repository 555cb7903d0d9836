"""Metropolis-Hastings sweeps over a partition, for the time when few documents move (X-DMM).

Each document proposes from its own conditional of up to `period` sweeps ago, drawn beforehand. Every acceptance step is
right, so with proposals that are never refreshed the sampler is exact; proposals refreshed from the chain's own past
make it adaptive, and its distribution is off by some hundredths (total variation) on corpora small enough to tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textmix.inference.collapsed_gibbs import BLOCK, GibbsState
from textmix.inference.loop import Tick
from textmix.kernels.metropolis import metropolis_sweep
from textmix.kernels.state import N_REFRESHED, Alias, Proposals

MAX_CANDIDATES = 32  # that a document keeps
FEWEST_CANDIDATES = 4


@dataclass(frozen=True)
class MetropolisSettings:
    """How Metropolis-Hastings sweeps follow on Gibbs sweeps."""

    period: int | None = None  # sweeps until a document is refreshed; None: as many as there are clusters at the switch
    switch: int | None = None  # Gibbs sweeps before; None: until few documents move


class MetropolisSweeps:
    """Proposals for the documents of a state that is otherwise sampled by Gibbs sweeps.

    Until `finish` every cluster of the finite prior has a slot of its own, empty or not, so that it keeps its name:
    the same distribution over partitions. A document keeps at most 32 candidates, and on average no more than it has
    words, so that they take at most twice the memory of the counts. Whatever else changes a label must be followed by
    `discard`.
    """

    def __init__(self, state: GibbsState, period: int, n_steps: int = 1) -> None:
        if state.prior.concentration > 0.0:
            raise ValueError("Metropolis-Hastings sweeps need a prior with a fixed number of clusters")
        self.state = state
        self.period = period
        self.n_steps = n_steps
        self._prior = state.prior
        state.prior = state.prior._replace(labelled=True)
        state.lay_out()
        documents = state.prepared.documents
        n_words = documents.words.size // max(state.n_documents, 1)
        n_kept = min(MAX_CANDIDATES, max(FEWEST_CANDIDATES, n_words), period * n_steps)
        n, n_items = documents.lengths.size, state.scratch.weights.size + 1
        self.proposals = Proposals(
            slots=np.zeros((n, n_kept), np.int32),
            log_q=np.zeros((n, n_kept)),
            gaps=np.zeros((n, n_kept + 1), np.int32),
            n_kept=np.zeros(n, np.int32),
            next_kept=np.zeros(n, np.int32),
            held=np.zeros(n, np.int32),
            log_q_held=np.zeros(n),
            log_q_own=np.zeros(n),
            counters=np.zeros(3, np.int64),
        )
        self.alias = Alias(
            np.empty(n_items), np.empty(n_items), np.empty(n_items, np.int32), np.empty(n_items, np.int32)
        )

    def discard(self) -> None:
        """Forget all candidates: their documents are refreshed when their turn comes next."""
        self.proposals.gaps[:] = 0
        self.proposals.n_kept[:] = 0
        self.proposals.next_kept[:] = 0

    def finish(self) -> None:
        """Leave the state as Gibbs sweeps have it."""
        self.state.prior = self._prior
        self.state.lay_out()

    def sample(self, sweep: int, rng: np.random.Generator, tick: Tick, *, frozen: bool = False) -> tuple[int, int]:
        """Propose to every document; return how many changed their cluster and how many were refreshed.

        frozen: no document is refreshed, and one whose candidates are used up stays.
        """
        state = self.state
        key = rng.integers(2**63, dtype=np.uint64)
        self.proposals.counters[:] = 0
        before = state.labels.copy()
        for first in range(0, before.size, BLOCK):
            last = min(first + BLOCK, before.size)
            metropolis_sweep(
                *state.for_kernels,
                self.proposals,
                self.alias,
                first,
                last,
                self.n_steps,
                sweep % self.period,
                0 if frozen else self.period,
                key,
                rng.random((last - first) * self.n_steps),
            )
            tick(last - first)
        return int(np.count_nonzero(before != state.labels)), int(self.proposals.counters[N_REFRESHED])

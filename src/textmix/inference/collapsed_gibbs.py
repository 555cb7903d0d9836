"""Collapsed Gibbs sampling over partitions (GSDMM, GSDPMM Algorithm 1), and greedy passes to a fixed point.

Sampling is exact: every document in turn is taken out and drawn anew from its conditional given all others. Greedy
passes are optimisation: a document moves to the most probable option, so the probability of the partition rises until
no document would move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from textmix.inference.layout import (
    Prepared,
    build_length_table,
    build_scratch,
    lay_out_clusters,
    n_active_clusters,
    roomy,
)
from textmix.kernels.gibbs import sweep
from textmix.kernels.state import N_MOVED, Model, Prior
from textmix.kernels.statistics import compact_labels, log_likelihood, log_prior

BLOCK = 4096  # documents between two looks at the clock and at Ctrl-C
MOVED_SHARE = 0.25  # the layout follows the clusters once so many documents have moved

_NO_TWINS = np.empty(0, np.int32)
_NO_UNIFORMS = np.empty(0)

Tick = Callable[[int], None]  # told of every block of documents done


class GibbsState:
    """A partition under a model and a prior, and the arrays that sampling it needs."""

    def __init__(
        self,
        prepared: Prepared,
        labels: NDArray[np.int32],
        model: Model,
        prior: Prior,
        sampler: str = "auto",
    ) -> None:
        self.prepared = prepared
        self.model = model
        self.prior = prior
        self.sampler = sampler
        self.n_documents = int(np.count_nonzero(prepared.documents.lengths))
        self._lay_out(labels, int(labels.max(initial=-1)) + 1, grow=1)

    @property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each document, −1 for documents without words; numbers may have gaps."""
        return self.clusters.labels

    @property
    def n_clusters(self) -> int:
        """How many clusters hold documents."""
        return n_active_clusters(self.clusters)

    def log_joint(self) -> float:
        """log p(labels, words), labels as a labelled partition into the prior's clusters."""
        likelihood = log_likelihood(self.clusters, self.model)
        return float(likelihood + log_prior(self.clusters, self.prior) + self.prepared.log_lone_words)

    def sample(self, rng: np.random.Generator, tick: Tick) -> int:
        """Draw a cluster for every document once; return how many changed theirs."""
        return self._pass_over(lambda n: rng.random(n), _NO_TWINS, tick)

    def improve(self, twins: NDArray[np.int32], tick: Tick) -> int:
        """Give every document once its most probable cluster; return how many changed theirs.

        `twins`: how many documents are identical to each (see identical.py), or empty.
        """
        return self._pass_over(lambda n: _NO_UNIFORMS, twins, tick)

    def _pass_over(
        self, uniforms_for: Callable[[int], NDArray[np.float64]], twins: NDArray[np.int32], tick: Tick
    ) -> int:
        n_documents = self.labels.size
        n_moved = 0
        for first in range(0, n_documents, BLOCK):
            last = min(first + BLOCK, n_documents)
            # Drawn here and not in the kernel: Numba leaks a generator that is passed without reference counting.
            uniforms = uniforms_for(last - first)
            before = self.clusters.counters[N_MOVED]
            position = first
            while position < last:
                position = sweep(
                    self.prepared.documents,
                    self.clusters,
                    self.model,
                    self.prior,
                    self.table,
                    self.scratch,
                    position,
                    last,
                    uniforms,
                    twins,
                )
                if position < last:
                    n_moved += int(self.clusters.counters[N_MOVED] - before)
                    before = 0
                    self._lay_out(self.labels, self.clusters.sizes.size, grow=2)
            n_moved += int(self.clusters.counters[N_MOVED] - before)
            tick(last - first)
        if self.clusters.counters[N_MOVED] > MOVED_SHARE * n_documents:
            self._lay_out(self.labels, self.clusters.sizes.size, grow=1)
        return n_moved

    def relabel(self, labels: NDArray[np.int32]) -> None:
        """Take another partition of the same documents."""
        self._lay_out(labels, int(labels.max(initial=-1)) + 1, grow=1)

    def _lay_out(self, labels: NDArray[np.int32], n_slots: int, grow: int) -> None:
        n_clusters = compact_labels(labels, n_slots)
        capacity = roomy(grow * n_clusters, self.prior.max_clusters)
        self.clusters = lay_out_clusters(self.prepared, labels, n_clusters, capacity, self.sampler)
        self.table = build_length_table(self.prepared, self.clusters, self.model, self.prior)
        self.scratch = build_scratch(self.clusters)

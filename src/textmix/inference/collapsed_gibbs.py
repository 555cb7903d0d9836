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
    build_pair_room,
    build_scratch,
    lay_out_clusters,
    n_active_clusters,
    roomy,
)
from textmix.inference.loop import Tick
from textmix.kernels.gibbs import place, sweep
from textmix.kernels.state import N_MOVED, ClusterStatistics, Documents, LengthTable, Model, Prior, Scratch
from textmix.kernels.statistics import compact_labels, log_likelihood, log_prior
from textmix.priors.finite_dirichlet import with_idle_cluster

BLOCK = 4096  # documents between two looks at the clock and at Ctrl-C
MOVED_SHARE = 0.25  # the layout follows the clusters once so many documents have moved

_NONE_IDENTICAL = np.empty(0, np.int32)
_NO_UNIFORMS = np.empty(0)


class GibbsState:
    """A partition under a model and a prior, and the arrays that sampling it needs."""

    def __init__(
        self,
        prepared: Prepared,
        labels: NDArray[np.int32],
        model: Model,
        prior: Prior,
        layout: str = "auto",
        n_fixed: int = 0,
    ) -> None:
        self.prepared = prepared
        self.model = model
        self.prior = prior
        self.layout = layout
        self.n_documents = int(np.count_nonzero(prepared.documents.lengths))
        self.labels = labels  # −1 for documents without words; numbers may have gaps
        self.n_fixed = n_fixed  # documents, the last ones, that no sweep moves
        self._pairs = build_pair_room(prepared.documents)
        self.lay_out()

    @property
    def for_kernels(self) -> tuple[Documents, ClusterStatistics, Model, Prior, LengthTable, Scratch]:
        """What every kernel of a sweep takes first; lay_out makes other clusters."""
        return self.prepared.documents, self.clusters, self.model, self.prior, self.table, self.scratch

    @property
    def n_clusters(self) -> int:
        """How many clusters hold documents."""
        return n_active_clusters(self.clusters)

    def log_joint(self) -> float:
        """log p(labels, words), labels as a labelled partition into the prior's clusters."""
        likelihood = log_likelihood(self.clusters, self.model)
        return float(likelihood + log_prior(self.clusters, self.prior, self.prior.mass) + self.prepared.log_lone_words)

    def sample(self, rng: np.random.Generator, tick: Tick) -> int:
        """Draw a cluster for every document once, but for the fixed ones; return how many changed theirs."""
        return self._pass_over(lambda n: rng.random(n), _NONE_IDENTICAL, tick)

    def place_all(self, rng: np.random.Generator, tick: Tick) -> None:
        """Give every document, in random order, a cluster given those that came before it (FGSDMM+)."""
        order = rng.permutation(self.labels.size).astype(np.int64)
        prior, laid_out = self.prior, 0
        if prior.labelled:
            self.prior = with_idle_cluster(prior)
        for first in range(0, order.size, BLOCK):
            last = min(first + BLOCK, order.size)
            uniforms = rng.random(last - first)
            position, wanting = first, first >= 2 * laid_out
            while position < last:
                if wanting:
                    self.lay_out(grow=2, spare=1)  # a document comes in a cluster of its own, if only for a moment
                    laid_out = position
                position = place(
                    *self.for_kernels,
                    order,
                    position,
                    last,
                    uniforms,
                )
                wanting = True  # it stopped for want of a slot
            tick(last - first)
        self.prior = prior
        self.lay_out()

    def improve(self, n_identical: NDArray[np.int32], tick: Tick) -> int:
        """Give every document once its most probable cluster; return how many changed theirs.

        `n_identical`: how many documents are identical to each (see identical.py), or empty.
        """
        return self._pass_over(lambda n: _NO_UNIFORMS, n_identical, tick)

    def _pass_over(
        self, uniforms_for: Callable[[int], NDArray[np.float64]], n_identical: NDArray[np.int32], tick: Tick
    ) -> int:
        n_documents = self.labels.size - self.n_fixed
        n_moved = 0
        for first in range(0, n_documents, BLOCK):
            last = min(first + BLOCK, n_documents)
            # Drawn here and not in the kernel: Numba leaks a generator that is passed without reference counting.
            uniforms = uniforms_for(last - first)
            before = self.clusters.counters[N_MOVED]
            position = first
            while position < last:
                position = sweep(
                    *self.for_kernels,
                    position,
                    last,
                    uniforms,
                    n_identical,
                )
                if position < last:
                    n_moved += int(self.clusters.counters[N_MOVED] - before)
                    before = 0
                    self.lay_out(grow=2)
            n_moved += int(self.clusters.counters[N_MOVED] - before)
            tick(last - first)
        if self.clusters.counters[N_MOVED] > MOVED_SHARE * n_documents:
            self.lay_out()
        return n_moved

    def change_parameters(self, model: Model, prior: Prior, log_lone_words: float) -> None:
        """Go on under another model and prior, with the same partition."""
        self.model, self.prior = model, prior
        self.prepared = self.prepared._replace(log_lone_words=log_lone_words)
        self._tabulate()

    def lay_out(self, grow: int = 1, spare: int = 0) -> None:
        """Make all statistics anew from the labels, with room for `grow` times as many clusters and some more.

        spare: slots beyond the number of clusters that the prior allows.
        """
        # The old ones go first: the two together would be the peak of a fit's memory.
        self.__dict__.pop("clusters", None)
        self.__dict__.pop("table", None)
        labelled, n_clusters = self.prior.labelled, self.prior.max_clusters
        capacity = n_clusters
        if not labelled:
            n_clusters = compact_labels(self.labels, int(self.labels.max(initial=-1)) + 1)
            if n_clusters > self.prior.max_clusters + spare:
                raise ValueError(f"labels are of {n_clusters:,} clusters, but the prior allows {capacity:,}")
            capacity = roomy(grow * n_clusters, self.prior.max_clusters) + spare
        self.clusters = lay_out_clusters(
            self.prepared, self.labels, n_clusters, capacity, self.layout, self._pairs, labelled
        )
        self._tabulate()

    def _tabulate(self) -> None:
        self.table = build_length_table(self.prepared, self.clusters, self.model, self.prior)
        self.scratch = build_scratch(self.clusters, self.table)

"""The moves of documents and clusters in a stream: documents come into clusters and go again, clusters become one.

The kernels of the collapsed Gibbs sampler work on the statistics as they are: a batch is the last rows of the documents
kept, and all rows before it are fixed, since no sweep visits them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.inference.layout import MAX_LENGTHS
from textmix.kernels.gibbs import place, sweep
from textmix.kernels.state import N_MOVED, N_SLOTS
from textmix.kernels.stream import gains_of_merging, join_clusters, take_out
from textmix.stream.statistics import StreamStatistics

GROWTH_TO_COMPARE = 2.0  # a cluster is compared with all others once it has grown by this factor
ARRIVED_TO_COMPARE = 0.5  # and all clusters are once so many documents have come, as a share of those kept
MAX_REMOVED = 0.25  # removed rows, as a share of the documents kept, before all is laid out anew
MAX_PASSES = 20  # greedy passes over a batch

_NONE_IDENTICAL = np.empty(0, np.int32)
_NO_UNIFORMS = np.empty(0)


class Merge(NamedTuple):
    """A cluster that became part of another one, by their ids, and the documents that it brought along."""

    cluster: int
    into: int
    size: int


class StreamMoves:
    """Changes which documents are kept and which cluster each is in; the statistics follow."""

    def __init__(self, statistics: StreamStatistics) -> None:
        self._statistics = statistics
        self._n_arrived = 0  # documents since all clusters were compared

    # ------------------------------------------------------------------ documents come

    def place_last(self, n_new: int, n_sweeps: int, merge: bool, rng: np.random.Generator) -> list[Merge]:
        """Give the last rows clusters, those that have none yet one by one; returns which clusters became one."""
        statistics = self._statistics
        self._n_arrived += n_new
        statistics.make_room_for(n_new)
        rows = statistics.documents.last_rows(n_new)
        self._place(rows, rng)
        for _ in range(n_sweeps):
            self._pass_over(rows, rng.random(n_new))
        for _ in range(MAX_PASSES if n_sweeps else 0):
            if self._pass_over(rows, _NO_UNIFORMS) == 0:
                break
        return self._merge() if merge else []

    def _place(self, rows: slice, rng: np.random.Generator) -> None:
        """Draw the cluster of each document without one, given those before it (eq. IV.29 and IV.44)."""
        statistics = self._statistics
        order = rows.start + np.flatnonzero(statistics.documents.slots[rows] < 0)
        uniforms = rng.random(order.size)
        position = 0
        while (position := place(*statistics.for_kernels, order, position, order.size, uniforms)) < order.size:
            statistics.enlarge_slots()

    def _pass_over(self, rows: slice, uniforms: NDArray[np.float64]) -> int:
        """Draw the cluster of each row anew, or without random numbers take the most probable; returns the moves."""
        statistics, position = self._statistics, rows.start
        before = int(statistics.clusters.counters[N_MOVED])
        while (position := sweep(*statistics.for_kernels, position, rows.stop, uniforms, _NONE_IDENTICAL)) < rows.stop:
            statistics.enlarge_slots()
        return int(statistics.clusters.counters[N_MOVED]) - before

    def number_new_clusters(self, rows: slice) -> NDArray[np.int64]:
        """Give clusters without an id theirs, in the order of their first document; returns the ids."""
        statistics = self._statistics
        slots = statistics.documents.slots[rows]
        new, first = np.unique(slots[statistics.ids_of(slots) < 0], return_index=True)
        new = new[np.argsort(first)]
        new = new[new >= 0]
        statistics.cluster_ids[new] = np.arange(statistics.next_cluster, statistics.next_cluster + new.size)
        statistics.next_cluster += new.size
        return statistics.cluster_ids[new]

    # ------------------------------------------------------------------ clusters become one

    def _merge(self) -> list[Merge]:
        """Join clusters of which one has grown, as long as that makes the partition more probable."""
        statistics, merges = self._statistics, list[Merge]()
        waiting = self._clusters_to_compare()
        while waiting:
            slot = waiting.pop(0)
            while statistics.clusters.sizes[slot] > 1:
                gains = self._gains_of(slot)
                other = int(np.argmax(gains))
                if not gains[other] > 0.0:
                    break
                kept, gone = self._order_of_merging(slot, other)
                if statistics.cluster_ids[gone] >= 0:
                    size = int(statistics.clusters.sizes[gone])
                    merges.append(Merge(int(statistics.cluster_ids[gone]), int(statistics.cluster_ids[kept]), size))
                self._join(gone, kept)
                statistics.release_slots(gone)
                waiting = [one for one in waiting if one not in (kept, gone)]
                slot = kept
            statistics.compared_sizes[slot] = statistics.clusters.sizes[slot]
        return merges

    def _join(self, gone: int, kept: int) -> None:
        """Put one cluster into another."""
        statistics = self._statistics
        with statistics.counted_words(gone) as words:
            join_clusters(*statistics.for_kernels[1:5], statistics.members(gone), words, gone, kept)

    def _clusters_to_compare(self) -> list[int]:
        """Slots of clusters of several documents, those that have grown, or now and then all; known ones first."""
        statistics = self._statistics
        all_are_due = self._n_arrived >= ARRIVED_TO_COMPARE * statistics.documents.n_kept
        if all_are_due:
            self._n_arrived = 0
        sizes = statistics.clusters.sizes
        has_grown = sizes >= GROWTH_TO_COMPARE * statistics.compared_sizes
        chosen = np.flatnonzero((sizes > 1) & (all_are_due | has_grown))
        ids = statistics.cluster_ids[chosen]
        return list(chosen[np.lexsort((chosen, np.where(ids < 0, statistics.next_cluster, ids)))].tolist())

    def _order_of_merging(self, one: int, other: int) -> tuple[int, int]:
        """Which of two clusters stays: one that has an id, the larger, the older."""
        ids, sizes = self._statistics.cluster_ids, self._statistics.clusters.sizes

        def rank(slot: int) -> tuple[bool, int, int]:
            return ids[slot] < 0, -int(sizes[slot]), int(ids[slot])

        kept, gone = sorted((one, other), key=rank)
        return kept, gone

    def _gains_of(self, slot: int) -> NDArray[np.float64]:
        """By how much the log joint rises when the cluster in a slot and each other one become one."""
        statistics = self._statistics
        gains = np.empty(int(statistics.clusters.counters[N_SLOTS]))
        with statistics.counted_words(slot) as words:
            counts = statistics.word_counts
            gains_of_merging(statistics.clusters, statistics.model, statistics.prior, slot, words, counts, gains)
        return gains

    # ------------------------------------------------------------------ labels that are given

    def set_labels(self, labels: NDArray[np.int64], cluster_ids: NDArray[np.int64]) -> None:
        """Put the documents kept into clusters 0, 1, …, which have these ids; −1: into none for now, none yet."""
        statistics = self._statistics
        statistics.documents.compact()
        statistics.documents.slots[:] = labels
        statistics.cluster_ids = cluster_ids
        statistics.compared_sizes = np.bincount(labels[labels >= 0], minlength=cluster_ids.size)
        self._n_arrived = 0
        statistics.next_cluster = max(statistics.next_cluster, int(cluster_ids.max(initial=-1)) + 1)
        statistics.lay_out()

    def set_cluster_ids(self, ids: Mapping[int, int]) -> None:
        """Give the clusters in these slots ids."""
        statistics = self._statistics
        for slot, cluster in ids.items():
            statistics.cluster_ids[slot] = cluster
        statistics.next_cluster = max(statistics.next_cluster, int(statistics.cluster_ids.max(initial=-1)) + 1)

    # ------------------------------------------------------------------ documents go

    def remove(self, rows: NDArray[np.int64]) -> tuple[list[str], list[int]]:
        """Take documents out; returns their ids and those of the clusters that are gone."""
        statistics, documents = self._statistics, self._statistics.documents
        if rows.size == documents.n_kept:
            return self._remove_all(rows)
        take_out(*statistics.for_kernels[:5], rows)
        statistics.words.subtract(*documents.entries(rows))
        ids = documents.remove(rows)
        gone = np.flatnonzero((statistics.clusters.sizes == 0) & (statistics.cluster_ids >= 0))
        clusters = np.sort(statistics.cluster_ids[gone]).tolist()
        statistics.release_slots(gone)
        if documents.n_rows > (1.0 + MAX_REMOVED) * documents.n_kept + MAX_LENGTHS:
            statistics.lay_out()
        elif statistics.vocabulary_has_changed():
            statistics.tabulate()
        return ids, clusters

    def _remove_all(self, rows: NDArray[np.int64]) -> tuple[list[str], list[int]]:
        """Without documents all is as new, but for the ids that were given."""
        statistics = self._statistics
        ids = [statistics.documents.ids[row] for row in rows.tolist()]
        clusters = statistics.cluster_ids[statistics.slots()].tolist()
        statistics.clear()
        self._n_arrived = 0
        return ids, clusters

"""The clusters of the documents that a stream keeps: statistics that follow every document that comes or goes.

The kernels of the collapsed Gibbs sampler work on them as they are: a batch is the last rows of the documents kept, and
all rows before it are fixed, since no sweep visits them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.inference.layout import (
    MAX_LENGTHS,
)
from textmix.kernels.conditionals import conditional_probabilities
from textmix.kernels.gibbs import place, sweep
from textmix.kernels.state import N_MOVED, N_SLOTS, Documents
from textmix.kernels.stream import (
    count_words_of,
    describe_documents,
    gains_of_merging,
    join_clusters,
    take_out,
)
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.results.words import ScoredWord, leading_words, telling_scores
from textmix.stream.statistics import ANY_NUMBER, NO_CLUSTER, StreamStatistics

GROWTH_TO_CHECK = 2.0  # a cluster is compared with all others once it has grown by this factor
ARRIVED_TO_CHECK = 0.5  # and all clusters are once so many documents have come, as a share of those kept
MOST_GONE = 0.25  # rows of documents that have gone, as a share of those kept, before all is laid out anew
MAX_PASSES = 20  # greedy passes over a batch
BLOCK_CELLS = 1 << 20  # documents × clusters whose probabilities are computed at a time

_NONE_IDENTICAL = np.empty(0, np.int32)
_NO_UNIFORMS = np.empty(0)


class Merge(NamedTuple):
    """A cluster that became part of another one, by their ids, and the documents that it brought along."""

    cluster: int
    into: int
    size: int


class Described(NamedTuple):
    """What each of some documents is to the clusters, itself left out."""

    probabilities: NDArray[np.float64]  # of its cluster
    log_odds_new: NDArray[np.float64]  # of a new cluster against all that there are
    slots: NDArray[np.int64]  # of its cluster, or of the most probable one if it has none; −1 where there is none


class StreamPartition(StreamStatistics):
    """Documents come into clusters and go again; clusters become one."""

    # ------------------------------------------------------------------ documents come

    def set_concentration(self, alpha: float) -> None:
        """α from now on."""
        self.prior = dirichlet_process(alpha, ANY_NUMBER)

    def add(self, n_new: int, n_sweeps: int, merge: bool, rng: np.random.Generator) -> list[Merge]:
        """Give the last rows clusters, those that have none yet one by one; returns which clusters became one."""
        self._n_arrived += n_new
        self.make_room_for(n_new)
        rows = self.last_rows(n_new)
        self._place(rows, rng)
        for _ in range(n_sweeps):
            self._pass_over(rows, rng.random(n_new))
        for _ in range(MAX_PASSES if n_sweeps else 0):
            if self._pass_over(rows, _NO_UNIFORMS) == 0:
                break
        return self._merge() if merge else []

    def last_rows(self, n: int) -> slice:
        """The n rows that came last."""
        return slice(self.kept.n_rows - n, self.kept.n_rows)

    def name_new_clusters(self, rows: slice) -> NDArray[np.int64]:
        """Give clusters without an id theirs, in the order of their first document; returns the ids."""
        slots = self.kept.labels[rows]
        new, first = np.unique(slots[self.ids_of(slots) < 0], return_index=True)
        new = new[np.argsort(first)]
        new = new[new >= 0]
        self.cluster_ids[new] = np.arange(self.next_cluster, self.next_cluster + new.size)
        self.next_cluster += new.size
        return self.cluster_ids[new]

    def _place(self, rows: slice, rng: np.random.Generator) -> None:
        """Each document a cluster given those before it (eq. IV.29 and IV.44)."""
        order = rows.start + np.flatnonzero(self.kept.labels[rows] < 0)
        uniforms = rng.random(order.size)
        position = 0
        while (position := place(*self.for_kernels, order, position, order.size, uniforms)) < order.size:
            self._enlarge_slots()

    def _pass_over(self, rows: slice, uniforms: NDArray[np.float64]) -> int:
        """Draw the cluster of each row anew, or without random numbers take the most probable; returns the moves."""
        before, position = int(self.clusters.counters[N_MOVED]), rows.start
        while (position := sweep(*self.for_kernels, position, rows.stop, uniforms, _NONE_IDENTICAL)) < rows.stop:
            self._enlarge_slots()
        return int(self.clusters.counters[N_MOVED]) - before

    # ------------------------------------------------------------------ clusters become one

    def _merge(self) -> list[Merge]:
        """Join clusters of which one has grown, as long as that makes the partition more probable."""
        merges: list[Merge] = []
        waiting = self._clusters_to_compare()
        while waiting:
            slot = waiting.pop(0)
            while self.clusters.sizes[slot] > 1:
                gains = self._gains_of(slot)
                other = int(np.argmax(gains))
                if not gains[other] > 0.0:
                    break
                kept, gone = self._order_of_merging(slot, other)
                if self.cluster_ids[gone] >= 0:
                    size = int(self.clusters.sizes[gone])
                    merges.append(Merge(int(self.cluster_ids[gone]), int(self.cluster_ids[kept]), size))
                self._join(gone, kept)
                self.cluster_ids[gone], self._checked[gone] = NO_CLUSTER, 0
                waiting = [one for one in waiting if one not in (kept, gone)]
                slot = kept
            self._checked[slot] = self.clusters.sizes[slot]
        return merges

    def _join(self, gone: int, kept: int) -> None:
        """Put one cluster into another."""
        words = self._count_words(gone)
        self._word_counts[words] = 0
        join_clusters(*self.for_kernels[1:5], self.members(gone), words, gone, kept)

    def _clusters_to_compare(self) -> list[int]:
        """Slots of clusters of several documents, those that have grown, or now and then all; known ones first."""
        due = self._n_arrived >= ARRIVED_TO_CHECK * self.kept.n_kept
        if due:
            self._n_arrived = 0
        sizes = self.clusters.sizes
        chosen = np.flatnonzero((sizes > 1) & (due | (sizes >= GROWTH_TO_CHECK * self._checked)))
        ids = self.cluster_ids[chosen]
        return list(chosen[np.lexsort((chosen, np.where(ids < 0, self.next_cluster, ids)))].tolist())

    def _order_of_merging(self, one: int, other: int) -> tuple[int, int]:
        """Which of two clusters stays: one that has an id, the larger, the older."""

        def rank(slot: int) -> tuple[bool, int, int]:
            return self.cluster_ids[slot] < 0, -int(self.clusters.sizes[slot]), int(self.cluster_ids[slot])

        kept, gone = sorted((one, other), key=rank)
        return kept, gone

    def _gains_of(self, slot: int) -> NDArray[np.float64]:
        """By how much the log joint rises when the cluster in a slot and each other one become one."""
        gains = np.empty(int(self.clusters.counters[N_SLOTS]))
        words = self._count_words(slot)
        gains_of_merging(self.clusters, self.model, self.prior, slot, words, self._word_counts, gains)
        self._word_counts[words] = 0
        return gains

    def _count_words(self, slot: int) -> NDArray[np.uint32]:
        """The words of a cluster; their counts are in _word_counts, which is 0 elsewhere and wants to be again."""
        members = self.members(slot)
        words = np.empty(min(int(self.clusters.totals[slot]), self.words.n_present), np.uint32)
        n_words = count_words_of(self.kept.documents, members, self._word_counts, words)
        return words[:n_words]

    def take_labels(self, labels: NDArray[np.int64], cluster_ids: NDArray[np.int64]) -> None:
        """Put the documents kept into clusters 0, 1, …, which have these ids; −1: into none for now, none yet."""
        self.kept.compact()
        self.kept.labels[:] = labels
        self.cluster_ids = cluster_ids
        self._checked = np.bincount(labels[labels >= 0], minlength=cluster_ids.size)
        self._n_arrived = 0
        self.next_cluster = max(self.next_cluster, int(cluster_ids.max(initial=-1)) + 1)
        self.lay_out()

    def set_ids(self, ids: Mapping[int, int]) -> None:
        """Give the clusters in these slots ids."""
        for slot, cluster in ids.items():
            self.cluster_ids[slot] = cluster
        self.next_cluster = max(self.next_cluster, int(self.cluster_ids.max(initial=-1)) + 1)

    def stay(self, old_rows: NDArray[np.int64], new_rows: NDArray[np.int64]) -> None:
        """Let new rows, whose words are those of old ones, take their places; no statistics change."""
        self.kept.labels[new_rows] = self.kept.labels[old_rows]
        self.kept.labels[old_rows] = NO_CLUSTER
        self.kept.origins[new_rows] = self.kept.origins[old_rows]
        self.words.take_out(*self.kept.entries(old_rows))

    # ------------------------------------------------------------------ documents go

    def remove(self, rows: NDArray[np.int64]) -> tuple[list[str], list[int]]:
        """Take documents out; returns their ids and those of the clusters that are gone."""
        if rows.size == self.kept.n_kept:
            return self._remove_all(rows)
        take_out(*self.for_kernels[:5], rows)
        columns, counts = self.kept.entries(rows)
        self.words.take_out(columns, counts)
        ids = self.kept.let_go(rows)
        gone = np.flatnonzero((self.clusters.sizes == 0) & (self.cluster_ids >= 0))
        clusters = np.sort(self.cluster_ids[gone]).tolist()
        self.cluster_ids[gone], self._checked[gone] = NO_CLUSTER, 0
        if self.kept.n_rows > (1.0 + MOST_GONE) * self.kept.n_kept + MAX_LENGTHS:
            self.lay_out()
        elif self.vocabulary_has_changed():
            self.tabulate()
        return ids, clusters

    def _remove_all(self, rows: NDArray[np.int64]) -> tuple[list[str], list[int]]:
        """Without documents the partition is a new one, but for the ids that it has given."""
        ids, clusters = [self.kept.ids[row] for row in rows.tolist()], self.cluster_ids[self.slots()].tolist()
        next_sequence = self.kept.next_sequence
        self._clear()
        self.kept.next_sequence = next_sequence
        return ids, clusters

    # ------------------------------------------------------------------ what documents and words are to clusters

    def describe(self, documents: Documents, labels: NDArray[np.int32]) -> Described:
        """What documents are to the clusters; those that have a label are left out of theirs."""
        n_documents, n_slots = labels.size, int(self.clusters.counters[N_SLOTS])
        described = Described(
            np.full(n_documents, np.nan), np.full(n_documents, np.nan), np.full(n_documents, NO_CLUSTER, np.int64)
        )
        log_bases = np.empty(max(n_slots, 1))
        step = max(BLOCK_CELLS // (n_slots + 1), 1)
        for first in range(0, n_documents, step):
            block = slice(first, min(first + step, n_documents))
            own = documents._replace(
                starts=documents.starts[block.start : block.stop + 1], lengths=documents.lengths[block]
            )
            probabilities = np.empty((block.stop - block.start, n_slots + 1))
            log_existing, log_new = np.empty(len(probabilities)), np.empty(len(probabilities))
            order = np.argsort(own.lengths, kind="stable")
            clusters = self.clusters._replace(labels=labels[block])
            conditional_probabilities(
                own, clusters, self.model, self.prior, order, log_bases, probabilities, log_existing, log_new
            )
            described.log_odds_new[block] = log_new - log_existing
            if n_slots:
                known = own.lengths > 0
                best = np.where(known, np.argmax(probabilities[:, :-1], axis=1), NO_CLUSTER)
                chosen = np.where(labels[block] >= 0, labels[block], best)
                described.slots[block] = chosen
                described.probabilities[block] = probabilities[np.arange(best.size), chosen]
        return described

    def describe_rows(self, rows: slice) -> Described:
        """The same of documents that are kept, in plain numbers where these suffice."""
        n_documents = rows.stop - rows.start
        probabilities, log_odds = np.full(n_documents, np.nan), np.full(n_documents, np.nan)
        describe_documents(*self.for_kernels, rows.start, rows.stop, probabilities, log_odds)
        labels = self.kept.labels[rows]
        described = Described(probabilities, log_odds, labels.astype(np.int64))
        for index in np.flatnonzero(np.isinf(log_odds)).tolist():  # so sure that a sum has lost the rest
            row = rows.start + index
            documents = self.kept.documents
            own = documents._replace(starts=documents.starts[row : row + 2], lengths=documents.lengths[row : row + 1])
            alone = self.describe(own, labels[index : index + 1])
            probabilities[index], log_odds[index] = alone.probabilities[0], alone.log_odds_new[0]
        return described

    def telling_words(self, slot: int, n: int) -> list[ScoredWord]:
        """The words that tell a cluster best from all others."""
        words = self._count_words(slot)
        counts = self._word_counts[words].astype(np.float64)
        self._word_counts[words] = 0
        totals = self.words.totals[words]
        mass = self.beta * self.words.n_present
        scores = telling_scores(counts, totals, int(self.words.totals.sum()), self.beta, mass)
        names = np.array([self.words.name(word) for word in words.tolist()], dtype=object)
        return leading_words(names, scores, n)

"""The clusters of the documents that a stream keeps: statistics that follow every document that comes or goes.

The kernels of the collapsed Gibbs sampler work on them as they are: a batch is the last rows of the documents kept, and
all rows before it are fixed, since no sweep visits them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.inference.layout import (
    MAX_LENGTHS,
    SPARE_SLOTS,
    build_scratch,
    n_active_clusters,
    plain_length_limit,
    tabulate_lengths,
)
from textmix.kernels.conditionals import conditional_probabilities
from textmix.kernels.counts import count_lengths
from textmix.kernels.gibbs import place, sweep
from textmix.kernels.state import N_MOVED, N_SLOTS, Clusters, Documents, LengthTable, Model, Prior, Scratch
from textmix.kernels.statistics import compact_labels, count_pairs
from textmix.kernels.stream import (
    count_words_of,
    describe_documents,
    gains_of_merging,
    make_room,
    move_all,
    take_out,
)
from textmix.models.dirichlet_multinomial import TABLE_LIMIT, dirichlet_multinomial
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.results.words import ScoredWord, leading_words, telling_scores
from textmix.stream.kept import KeptDocuments
from textmix.stream.words import Words

NO_CLUSTER = -1
VOCABULARY_CHANGE = 0.01  # share by which V may change before the tables follow
GROWTH_TO_CHECK = 1.5  # a cluster is compared with all others once it has grown by this factor
ARRIVED_TO_CHECK = 0.2  # and all clusters are once so many documents have come, as a share of those kept
MAX_PASSES = 20  # greedy passes over a batch
FEWEST_PAIRS = 1024
BLOCK_CELLS = 1 << 20  # documents × clusters whose probabilities are computed at a time

_NO_TWINS = np.empty(0, np.int32)
_NO_UNIFORMS = np.empty(0)
_ANY_NUMBER = np.iinfo(np.int32).max  # of clusters


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


class StreamPartition:
    """Documents kept and their clusters, each of which lives in a slot and has an id that is never used again."""

    def __init__(self, beta: float, next_cluster: int = 0) -> None:
        self.beta = beta
        self.next_cluster = next_cluster
        self._clear()

    def _clear(self) -> None:
        self.words = Words()
        self.kept = KeptDocuments()
        self.cluster_ids = np.full(1, NO_CLUSTER, np.int64)  # of each slot
        self._checked = np.zeros(1, np.int64)  # the size that a slot's cluster had when it was last compared
        self.prior: Prior = dirichlet_process(1.0, _ANY_NUMBER)
        self._n_arrived = 0  # since all clusters were compared
        self._n_words = 0  # V of the tables
        self.lay_out()

    # ------------------------------------------------------------------ what there is

    @property
    def n_clusters(self) -> int:
        """How many clusters hold documents."""
        return n_active_clusters(self.clusters)

    @property
    def n_documents(self) -> int:
        """How many documents with words are kept."""
        return int(self.clusters.sizes.sum())

    def slots(self) -> NDArray[np.int64]:
        """The slots of all clusters, by rising id."""
        used = np.flatnonzero(self.clusters.sizes > 0)
        return used[np.argsort(self.cluster_ids[used])]

    def ids_of(self, slots: NDArray[Any]) -> NDArray[np.int64]:
        """The cluster ids of slots; −1 stays."""
        return np.where(slots >= 0, self.cluster_ids[slots], NO_CLUSTER)

    # ------------------------------------------------------------------ documents come

    def add(self, n_new: int, alpha: float, n_sweeps: int, merge: bool, rng: np.random.Generator) -> list[Merge]:
        """Give the last rows, which have no clusters yet, theirs; returns which clusters became one."""
        self.prior = dirichlet_process(alpha, _ANY_NUMBER)
        self._n_arrived += n_new
        self._prepare(n_new)
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

    def _prepare(self, n_new: int) -> None:
        """Make room for the words of new rows, and let the tables follow what has changed."""
        if self.words.n_columns > self._rooms.size:
            self._enlarge_words()
        documents, first = self.kept.documents, self.kept.n_rows - n_new
        words = documents.words[documents.starts[first] : self.kept.n_entries]
        if not make_room(self.clusters, self._rooms, self._needed, words, self._tail):
            self.lay_out()
        elif self._tables_are_old(documents.lengths[first:]):
            self._tabulate()

    def _tables_are_old(self, lengths: NDArray[np.int32]) -> bool:
        """Whether V has changed by 1 %, products might overflow, or many lengths that could have a row have none."""
        rows = self.table.row_of_length[np.minimum(lengths, self.table.row_of_length.size - 1)]
        without = (rows < 0) | (lengths >= self.table.row_of_length.size)
        self._n_without_row += int(np.count_nonzero(without & (lengths > 0) & (lengths <= self._limit)))
        return bool(
            self._vocabulary_has_changed()
            or self.words.totals.sum() > self._most_tokens
            or self.words.totals.max(initial=0) > self._most_of_a_word
            or self._n_without_row > MAX_LENGTHS + self.kept.n_kept // 64
        )

    def _vocabulary_has_changed(self) -> bool:
        return abs(self.words.n_present - self._n_words) > VOCABULARY_CHANGE * self._n_words

    def _place(self, rows: slice, rng: np.random.Generator) -> None:
        """Each document a cluster given those before it (eq. IV.29 and IV.44)."""
        order, uniforms = np.arange(rows.start, rows.stop), rng.random(rows.stop - rows.start)
        position = 0
        while (position := place(*self._for_kernels, order, position, order.size, uniforms)) < order.size:
            self._enlarge_slots()

    def _pass_over(self, rows: slice, uniforms: NDArray[np.float64]) -> int:
        """Draw the cluster of each row anew, or without random numbers take the most probable; returns the moves."""
        before, position = int(self.clusters.counters[N_MOVED]), rows.start
        while (position := sweep(*self._for_kernels, position, rows.stop, uniforms, _NO_TWINS)) < rows.stop:
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
                move_all(*self._for_kernels[:5], self.members(gone), kept)
                self.cluster_ids[gone], self._checked[gone] = NO_CLUSTER, 0
                waiting = [one for one in waiting if one not in (kept, gone)]
                slot = kept
            self._checked[slot] = self.clusters.sizes[slot]
        return merges

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

    def members(self, slot: int) -> NDArray[np.int64]:
        """The rows of a cluster."""
        return np.flatnonzero(self.kept.labels == slot)

    def take_labels(self, clusters: NDArray[np.int64]) -> None:
        """Put the documents kept, all of them, into clusters by their ids; −1: into none."""
        ids, slots = np.unique(clusters, return_inverse=True)
        n_without = int(ids.size > 0 and ids[0] < 0)
        self.kept.compact()
        self.kept.labels[:] = slots - n_without
        self.cluster_ids = ids[n_without:]
        self._checked = np.bincount(self.kept.labels[self.kept.labels >= 0], minlength=self.cluster_ids.size)
        self.next_cluster = max(self.next_cluster, int(ids.max(initial=-1)) + 1)
        self.lay_out()

    # ------------------------------------------------------------------ documents go

    def remove(self, rows: NDArray[np.int64]) -> tuple[list[str], list[int]]:
        """Take documents out; returns their ids and those of the clusters that are gone."""
        if rows.size == self.kept.n_kept:
            return self._remove_all(rows)
        take_out(*self._for_kernels[:5], rows)
        columns, counts = self.kept.entries(rows)
        self.words.take_out(columns, counts)
        ids = self.kept.let_go(rows)
        gone = np.flatnonzero((self.clusters.sizes == 0) & (self.cluster_ids >= 0))
        clusters = np.sort(self.cluster_ids[gone]).tolist()
        self.cluster_ids[gone], self._checked[gone] = NO_CLUSTER, 0
        if self.kept.n_rows > 2 * self.kept.n_kept + MAX_LENGTHS:
            self.lay_out()
        elif self._vocabulary_has_changed():
            self._tabulate()
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
        describe_documents(*self._for_kernels, rows.start, rows.stop, probabilities, log_odds)
        labels = self.kept.labels[rows]
        described = Described(probabilities, log_odds, labels.astype(np.int64))
        for place in np.flatnonzero(np.isinf(log_odds)).tolist():  # so sure that a sum has lost the rest
            row = rows.start + place
            documents = self.kept.documents
            own = documents._replace(starts=documents.starts[row : row + 2], lengths=documents.lengths[row : row + 1])
            alone = self.describe(own, labels[place : place + 1])
            probabilities[place], log_odds[place] = alone.probabilities[0], alone.log_odds_new[0]
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

    # ------------------------------------------------------------------ how it lies in memory

    @property
    def _for_kernels(self) -> tuple[Documents, Clusters, Model, Prior, LengthTable, Scratch]:
        labels = self.kept.labels
        clusters = self.clusters._replace(labels=labels)
        return self.kept.documents, clusters, self.model, self.prior, self.table, self.scratch

    def lay_out(self) -> None:
        """Make all statistics anew from the documents kept, without gaps in rows, slots and columns."""
        self.kept.compact()
        if self.words.n_columns > 2 * self.words.n_present:
            self.kept.renumber_words(self.words.renumber())
        labels = self.kept.labels
        used = np.unique(labels[labels >= 0])
        n_slots = compact_labels(labels, int(labels.max(initial=-1)) + 1)
        capacity = n_slots + n_slots // 2 + SPARE_SLOTS
        self.cluster_ids, self._checked = (
            _first(values, used, capacity, fill)
            for values, fill in ((self.cluster_ids, NO_CLUSTER), (self._checked, 0))
        )
        documents, n_words = self.kept.documents, max(2 * self.words.n_columns, MAX_LENGTHS)
        self._rooms = np.zeros(n_words, np.int32)
        self._rooms[: self.words.n_columns] = 2 * np.bincount(
            documents.words[: self.kept.n_entries], minlength=self.words.n_columns
        )
        ends = np.cumsum(self._rooms, dtype=np.int64)
        n_pairs = max(2 * int(ends[-1]), FEWEST_PAIRS)
        self._needed, self._word_counts = np.zeros(n_words, np.int32), np.zeros(n_words, np.int64)
        self._tail = ends[-1:].copy()
        self.clusters = Clusters(
            labels=labels,
            sizes=np.zeros(capacity, np.int64),
            totals=np.zeros(capacity, np.int64),
            rows=np.zeros((0, capacity), np.int32),
            list_starts=(ends - self._rooms).astype(np.int32),
            list_lengths=np.zeros(n_words, np.int32),
            pair_slots=np.empty(n_pairs, np.uint32),
            pair_counts=np.empty(n_pairs, np.int32),
            free_slots=np.empty(capacity, np.int32),
            counters=np.array([n_slots, 0, 0]),
        )
        count_pairs(documents, self.clusters)
        self._tabulate()

    def _enlarge_words(self) -> None:
        """Room for twice as many words; those that are new have empty lists."""
        size = 2 * self.words.n_columns
        self.clusters = self.clusters._replace(
            list_starts=_longer(self.clusters.list_starts, size), list_lengths=_longer(self.clusters.list_lengths, size)
        )
        self._rooms, self._needed, self._word_counts = (
            _longer(array, size) for array in (self._rooms, self._needed, self._word_counts)
        )

    def _enlarge_slots(self) -> None:
        """Room for twice as many clusters."""
        clusters, capacity = self.clusters, 2 * self.clusters.sizes.size
        self.clusters = clusters._replace(
            sizes=_longer(clusters.sizes, capacity),
            totals=_longer(clusters.totals, capacity),
            rows=np.zeros((0, capacity), np.int32),
            free_slots=_longer(clusters.free_slots, capacity),
        )
        self.cluster_ids = _longer(self.cluster_ids, capacity, NO_CLUSTER)
        self._checked = _longer(self._checked, capacity)
        self._tabulate()

    def _tabulate(self) -> None:
        """Make model and length table anew: V and the frequent lengths are those of now."""
        self._n_words = self.words.n_present
        self.model = dirichlet_multinomial(self.beta, max(self._n_words, 1), 1.0, TABLE_LIMIT)
        self._most_tokens = 2 * int(self.words.totals.sum()) + 100_000
        self._most_of_a_word = 2 * int(self.words.totals.max(initial=0)) + 1_000
        self._limit = plain_length_limit(self._most_tokens, self._most_of_a_word, self.model)
        self._n_without_row = 0
        lengths = self.kept.lengths[self.kept.kept]
        frequencies = count_lengths(lengths, min(self._limit, int(lengths.max(initial=0))))
        capacity = self.clusters.sizes.size
        self.table = tabulate_lengths(frequencies, MAX_LENGTHS * capacity, self.clusters, self.model, self.prior)
        self.scratch = build_scratch(self.clusters, self.table)


def _longer(array: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    longer = np.full(size, fill, array.dtype)
    longer[: array.size] = array
    return longer


def _first(values: NDArray[np.int64], places: NDArray[Any], size: int, fill: int) -> NDArray[np.int64]:
    """The values at some places, and then `fill`."""
    return _longer(values[places], size, fill)

"""The statistics of the clusters of documents that a stream keeps, and how they lie in memory.

Lists of pairs have room to grow; where it does not suffice, or gaps have become as large as what is kept, all is laid
out anew from the documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.matrix import enlarged
from textmix.inference.layout import (
    MAX_LENGTHS,
    SPARE_SLOTS,
    build_scratch,
    check_labels_fit,
    make_clusters,
    n_active_clusters,
    plain_length_limit,
    tabulate_lengths,
)
from textmix.kernels.counts import count_lengths
from textmix.kernels.state import ClusterStatistics, Documents, LengthTable, Model, Prior, Scratch
from textmix.kernels.statistics import compact_labels, count_pairs
from textmix.kernels.stream import count_words_of, make_room
from textmix.models.dirichlet_multinomial import TABLE_LIMIT, dirichlet_multinomial
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.stream.batch import BatchCounts
from textmix.stream.documents import KeptDocuments, PresentWords

NO_CLUSTER = -1
VOCABULARY_CHANGE = 0.01  # share by which V may change before the tables follow
FEWEST_PAIRS = 1024
MAX_CLUSTERS = MAX_COUNTS = np.iinfo(np.int32).max


class StreamStatistics:
    """Documents kept and the counts of their clusters, each of which lives in a slot and has an id."""

    def __init__(self, beta: float) -> None:
        self.beta = beta
        self.next_cluster = 0
        self.documents = KeptDocuments()
        self.clear()

    def clear(self) -> None:
        """Begin anew without documents; ids of clusters and sequence numbers are not given out again."""
        self.words = PresentWords()
        self.documents = KeptDocuments(self.documents.next_sequence)
        self.cluster_ids = np.full(1, NO_CLUSTER, np.int64)  # of each slot
        self.compared_sizes = np.zeros(1, np.int64)  # of each slot's cluster when it was last compared with others
        self.set_concentration(1.0)
        self._n_words = 0  # V of the tables
        self.lay_out()

    # ------------------------------------------------------------------ what there is

    @property
    def n_clusters(self) -> int:
        """How many clusters hold documents."""
        return n_active_clusters(self.clusters)

    def slots(self) -> NDArray[np.int64]:
        """The slots of all clusters, by rising id."""
        used = np.flatnonzero(self.clusters.sizes > 0)
        return used[np.argsort(self.cluster_ids[used])]

    def members(self, slot: int) -> NDArray[np.int64]:
        """The rows of a cluster."""
        return np.flatnonzero(self.documents.slots == slot)

    def ids_of(self, slots: NDArray[Any]) -> NDArray[np.int64]:
        """The cluster ids of slots; −1 stays."""
        return np.where(slots >= 0, self.cluster_ids[slots], NO_CLUSTER)

    @contextmanager
    def counted_words(self, slot: int) -> Iterator[NDArray[np.uint32]]:
        """The words of a cluster; inside, `word_counts` has their counts, and 0 for all other words."""
        words = np.empty(min(int(self.clusters.totals[slot]), self.words.n_present), np.uint32)
        n_words = count_words_of(self.documents.csr, self.members(slot), self.word_counts, words)
        try:
            yield words[:n_words]
        finally:
            self.word_counts[words[:n_words]] = 0

    # ------------------------------------------------------------------ documents come

    def set_concentration(self, alpha: float) -> None:
        """Use this α from now on."""
        self.prior: Prior = dirichlet_process(alpha, MAX_CLUSTERS)

    def append(self, ids: Sequence[str], times: NDArray[np.int64], batch: BatchCounts, n_same: int = 0) -> None:
        """Add documents without clusters, but for the first ones: these replace documents of the same ids and words.

        They take the labels of those that they replace, and no statistics change.
        """
        documents = self.documents
        columns = self.words.add(batch.words, batch.totals())[batch.columns]
        old_rows = documents.rows_of(ids[:n_same])
        documents.remove(old_rows)
        first = documents.append(ids, times, batch.row_starts, columns, batch.counts).start
        new_rows = slice(first, first + n_same)
        documents.slots[new_rows] = documents.slots[old_rows]
        documents.slots[old_rows] = NO_CLUSTER
        documents.origins[new_rows] = documents.origins[old_rows]
        self.words.subtract(*documents.entries(old_rows))

    def make_room_for(self, n_new: int) -> None:
        """Make room for the words of new rows, and let the tables follow what has changed."""
        if self.words.n_columns > self._rooms.size:
            self._enlarge_words()
        documents, first = self.documents.csr, self.documents.n_rows - n_new
        words = documents.words[documents.starts[first] : self.documents.n_entries]
        if not make_room(self.clusters, self._rooms, self._needed, words, self._tail):
            self.lay_out()
        elif self._tables_are_old(documents.lengths[first:]):
            self.tabulate()

    def _tables_are_old(self, lengths: NDArray[np.int32]) -> bool:
        """Whether V has changed by 1 %, products might overflow, or many lengths that could have a row have none."""
        rows = self.table.row_of_length[np.minimum(lengths, self.table.row_of_length.size - 1)]
        without = (rows < 0) | (lengths >= self.table.row_of_length.size)
        self._n_without_row += int(np.count_nonzero(without & (lengths > 0) & (lengths <= self._limit)))
        return bool(
            self.vocabulary_has_changed()
            or self.words.totals.sum() > self._most_tokens
            or self.words.totals.max(initial=0) > self._most_of_a_word
            or self._n_without_row > MAX_LENGTHS + self.documents.n_kept // 64
        )

    def vocabulary_has_changed(self) -> bool:
        """Whether V is no longer that of the tables."""
        return abs(self.words.n_present - self._n_words) > VOCABULARY_CHANGE * self._n_words

    def check_room(self, words: Sequence[str], totals: NDArray[np.int64], n_entries: int) -> None:
        """Raise ValueError if so many more words cannot be counted."""
        if self.documents.n_entries + n_entries > MAX_COUNTS:
            raise ValueError(f"a stream keeps at most {MAX_COUNTS:,} counts; let documents go first")
        if self.words.totals.max(initial=0) + totals.max(initial=0) <= MAX_COUNTS:
            return
        columns = self.words.find(words)
        sums = totals + np.where(columns >= 0, self.words.totals[columns], 0)
        if sums.max() > MAX_COUNTS:
            raise ValueError(f"the word {words[int(np.argmax(sums))]!r} would occur more than {MAX_COUNTS:,} times")

    def find_mistakes(self) -> list[str]:
        """How the statistics differ from a recount of the documents kept; nothing if all is well."""
        documents, clusters = self.documents, self.clusters
        rows = np.flatnonzero(documents.slots >= 0)
        words, counts = documents.entries(rows)
        slots = np.repeat(documents.slots[rows], documents.n_words_of(rows))
        shape = (max(self.words.n_columns, 1), clusters.sizes.size)
        recount = scipy.sparse.csr_array((counts.astype(np.int64), (words, slots)), shape=shape)
        lengths = clusters.list_lengths[: self.words.n_columns].astype(np.int64)
        places = np.repeat(clusters.list_starts[: lengths.size] - np.cumsum(lengths) + lengths, lengths)
        places = places + np.arange(places.size)
        held = (np.repeat(np.arange(lengths.size), lengths), clusters.pair_slots[places].astype(np.int64))
        found = scipy.sparse.csr_array((clusters.pair_counts[places].astype(np.int64), held), shape=shape)
        mistakes, differences = [], scipy.sparse.csr_array(found - recount)
        n_wrong = int(np.count_nonzero(differences.data))
        if n_wrong or found.nnz != recount.nnz:
            mistakes.append(f"{n_wrong:,} counts of words in clusters are not those of a recount")
        if (np.bincount(documents.slots[rows], minlength=clusters.sizes.size) != clusters.sizes).any():
            mistakes.append("sizes of clusters are not those of a recount")
        if (np.asarray(recount.sum(axis=0)).ravel() != clusters.totals).any():
            mistakes.append("lengths of clusters are not those of a recount")
        if (
            np.asarray(recount.sum(axis=1)).ravel()[: self.words.n_columns] != self.words.totals[: self.words.n_columns]
        ).any():
            mistakes.append("totals of words are not those of a recount")
        return mistakes

    def release_slots(self, slots: Any) -> None:
        """Take the ids of clusters that are gone from their slots, which others may use now."""
        self.cluster_ids[slots], self.compared_sizes[slots] = NO_CLUSTER, 0

    # ------------------------------------------------------------------ how it lies in memory

    @property
    def for_kernels(self) -> tuple[Documents, ClusterStatistics, Model, Prior, LengthTable, Scratch]:
        """What every kernel of a sweep takes first."""
        clusters = self.clusters._replace(labels=self.documents.slots)
        return self.documents.csr, clusters, self.model, self.prior, self.table, self.scratch

    def lay_out(self) -> None:
        """Make all statistics anew from the documents kept, without gaps in rows, slots and columns."""
        self.documents.compact()
        if self.words.n_columns > 2 * self.words.n_present:
            self.documents.renumber_words(self.words.renumber())
        labels = self.documents.slots
        used = np.unique(labels[labels >= 0])
        n_slots = compact_labels(labels, int(labels.max(initial=-1)) + 1)
        capacity = n_slots + n_slots // 2 + SPARE_SLOTS
        self.cluster_ids, self.compared_sizes = (
            enlarged(values[used], capacity, fill)
            for values, fill in ((self.cluster_ids, NO_CLUSTER), (self.compared_sizes, 0))
        )
        documents, n_words = self.documents.csr, max(2 * self.words.n_columns, MAX_LENGTHS)
        check_labels_fit(labels, self.documents.n_rows, capacity)
        self._rooms = np.zeros(n_words, np.int32)
        self._rooms[: self.words.n_columns] = 2 * np.bincount(
            documents.words[: self.documents.n_entries], minlength=self.words.n_columns
        )
        ends = np.cumsum(self._rooms, dtype=np.int64)
        n_pairs = max(2 * int(ends[-1]), FEWEST_PAIRS)
        self._needed, self.word_counts = np.zeros(n_words, np.int32), np.zeros(n_words, np.int64)
        self._tail = ends[-1:].copy()
        self.clusters = make_clusters(
            *(np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)),
            *((ends - self._rooms).astype(np.int32), np.empty(n_pairs, np.int32)),
            labels=labels,
            list_lengths=np.zeros(n_words, np.int32),
            pair_slots=np.empty(n_pairs, np.uint32),
            n_clusters=n_slots,
            n_free=capacity,
        )
        count_pairs(documents, self.clusters)
        self.tabulate()

    def _enlarge_words(self) -> None:
        """Room for twice as many words; those that are new have empty lists."""
        size = 2 * self.words.n_columns
        self.clusters = self.clusters._replace(
            list_starts=enlarged(self.clusters.list_starts, size),
            list_lengths=enlarged(self.clusters.list_lengths, size),
        )
        self._rooms, self._needed, self.word_counts = (
            enlarged(array, size) for array in (self._rooms, self._needed, self.word_counts)
        )

    def enlarge_slots(self) -> None:
        """Room for twice as many clusters."""
        clusters, capacity = self.clusters, 2 * self.clusters.sizes.size
        self.clusters = clusters._replace(
            sizes=enlarged(clusters.sizes, capacity),
            totals=enlarged(clusters.totals, capacity),
            rows=np.zeros((0, capacity), np.int32),
            free_slots=enlarged(clusters.free_slots, capacity),
        )
        self.cluster_ids = enlarged(self.cluster_ids, capacity, NO_CLUSTER)
        self.compared_sizes = enlarged(self.compared_sizes, capacity)
        self.tabulate()

    def tabulate(self) -> None:
        """Make model and length table anew: V and the frequent lengths are those of now."""
        self._n_words = self.words.n_present
        self.model = dirichlet_multinomial(self.beta, max(self._n_words, 1), 1.0, TABLE_LIMIT)
        self._most_tokens = 2 * int(self.words.totals.sum()) + 100_000
        self._most_of_a_word = 2 * int(self.words.totals.max(initial=0)) + 1_000
        self._limit = plain_length_limit(self._most_tokens, self._most_of_a_word, self.model)
        self._n_without_row = 0
        lengths = self.documents.lengths[self.documents.is_kept]
        frequencies = count_lengths(lengths, min(self._limit, int(lengths.max(initial=0))))
        capacity = self.clusters.sizes.size
        self.table = tabulate_lengths(frequencies, MAX_LENGTHS * capacity, self.clusters, self.model, self.prior)
        self.scratch = build_scratch(self.clusters, self.table)

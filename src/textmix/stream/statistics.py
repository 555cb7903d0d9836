"""The statistics of the clusters of documents that a stream keeps, and how they lie in memory.

Lists of pairs have room to grow; where it does not suffice, or gaps have become as large as what is kept, all is laid
out anew from the documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

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
from textmix.kernels.stream import make_room
from textmix.models.dirichlet_multinomial import TABLE_LIMIT, dirichlet_multinomial
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.stream.kept import KeptDocuments
from textmix.stream.words import Words

NO_CLUSTER = -1
VOCABULARY_CHANGE = 0.01  # share by which V may change before the tables follow
FEWEST_PAIRS = 1024
ANY_NUMBER = MOST = np.iinfo(np.int32).max  # of clusters; of counts


class StreamStatistics:
    """Documents kept and the counts of their clusters, each of which lives in a slot and has an id."""

    def __init__(self, beta: float, next_cluster: int = 0) -> None:
        self.beta = beta
        self.next_cluster = next_cluster
        self._clear()

    def _clear(self) -> None:
        self.words = Words()
        self.kept = KeptDocuments()
        self.cluster_ids = np.full(1, NO_CLUSTER, np.int64)  # of each slot
        self._checked = np.zeros(1, np.int64)  # the size that a slot's cluster had when it was last compared
        self.prior: Prior = dirichlet_process(1.0, ANY_NUMBER)
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

    def members(self, slot: int) -> NDArray[np.int64]:
        """The rows of a cluster."""
        return np.flatnonzero(self.kept.labels == slot)

    def ids_of(self, slots: NDArray[Any]) -> NDArray[np.int64]:
        """The cluster ids of slots; −1 stays."""
        return np.where(slots >= 0, self.cluster_ids[slots], NO_CLUSTER)

    # ------------------------------------------------------------------ documents come

    def make_room_for(self, n_new: int) -> None:
        """Make room for the words of new rows, and let the tables follow what has changed."""
        if self.words.n_columns > self._rooms.size:
            self._enlarge_words()
        documents, first = self.kept.documents, self.kept.n_rows - n_new
        words = documents.words[documents.starts[first] : self.kept.n_entries]
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
            or self._n_without_row > MAX_LENGTHS + self.kept.n_kept // 64
        )

    def vocabulary_has_changed(self) -> bool:
        """Whether V is no longer that of the tables."""
        return abs(self.words.n_present - self._n_words) > VOCABULARY_CHANGE * self._n_words

    def check_room(self, words: Sequence[str], totals: NDArray[np.int64], n_entries: int) -> None:
        """Raise ValueError if so many more words cannot be counted."""
        if self.kept.n_entries + n_entries > MOST:
            raise ValueError(f"a stream keeps at most {MOST:,} counts; let documents go first")
        if self.words.totals.max(initial=0) + totals.max(initial=0) <= MOST:
            return
        columns = self.words.find(words)
        sums = totals + np.where(columns >= 0, self.words.totals[columns], 0)
        if sums.max() > MOST:
            raise ValueError(f"the word {words[int(np.argmax(sums))]!r} would occur more than {MOST:,} times")

    def find_mistakes(self) -> list[str]:
        """How the statistics differ from a recount of the documents kept; nothing if all is well."""
        kept, clusters = self.kept, self.clusters
        rows = np.flatnonzero(kept.labels >= 0)
        words, counts = kept.entries(rows)
        slots = np.repeat(kept.labels[rows], kept.n_words_of(rows))
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
        if (np.bincount(kept.labels[rows], minlength=clusters.sizes.size) != clusters.sizes).any():
            mistakes.append("sizes of clusters are not those of a recount")
        if (np.asarray(recount.sum(axis=0)).ravel() != clusters.totals).any():
            mistakes.append("lengths of clusters are not those of a recount")
        if (
            np.asarray(recount.sum(axis=1)).ravel()[: self.words.n_columns] != self.words.totals[: self.words.n_columns]
        ).any():
            mistakes.append("totals of words are not those of a recount")
        return mistakes

    # ------------------------------------------------------------------ how it lies in memory

    @property
    def for_kernels(self) -> tuple[Documents, ClusterStatistics, Model, Prior, LengthTable, Scratch]:
        """What every kernel of a sweep takes first."""
        clusters = self.clusters._replace(labels=self.kept.labels)
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
        check_labels_fit(labels, self.kept.n_rows, capacity)
        self._rooms = np.zeros(n_words, np.int32)
        self._rooms[: self.words.n_columns] = 2 * np.bincount(
            documents.words[: self.kept.n_entries], minlength=self.words.n_columns
        )
        ends = np.cumsum(self._rooms, dtype=np.int64)
        n_pairs = max(2 * int(ends[-1]), FEWEST_PAIRS)
        self._needed, self._word_counts = np.zeros(n_words, np.int32), np.zeros(n_words, np.int64)
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
        self.tabulate()

    def tabulate(self) -> None:
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

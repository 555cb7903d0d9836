"""The documents that a stream keeps, in the order in which they came, and the words that are present in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.matrix import enlarged
from textmix.kernels.state import Documents


class KeptDocuments:
    """A CSR to which rows are added at the end. Rows of removed documents stay until `compact`; their label is −1.

    A document is known by its id; its sequence number, which never changes, leads to its row.
    """

    def __init__(self, next_sequence: int = 0) -> None:
        self.n_rows = 0
        self.n_kept = 0
        self.next_sequence = next_sequence
        self.ids: list[str] = []
        self._sequence_of: dict[str, int] = {}
        self._starts = np.zeros(1, np.int32)
        self._words = np.empty(0, np.uint32)
        self._counts = np.empty(0, np.int32)
        self._lengths = np.empty(0, np.int32)
        self._slots = np.empty(0, np.int32)
        self._is_kept = np.empty(0, bool)
        self._times = np.empty(0, np.int64)
        self._sequences = np.empty(0, np.int64)
        self._origins = np.empty(0, np.int64)

    def find(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids whose documents are kept."""
        return self._sequence_of.keys() & ids

    @property
    def csr(self) -> Documents:
        """All rows, as kernels take them."""
        n = self.n_rows
        return Documents(self._starts[: n + 1], self._words, self._counts, self._lengths[:n])

    @property
    def slots(self) -> NDArray[np.int32]:
        """The slot of each row's cluster; −1 for rows without words and removed ones."""
        return self._slots[: self.n_rows]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The number of words of each row."""
        return self._lengths[: self.n_rows]

    @property
    def times(self) -> NDArray[np.int64]:
        """The time of each row, in seconds since 1970."""
        return self._times[: self.n_rows]

    @property
    def sequences(self) -> NDArray[np.int64]:
        """The sequence number of each row, rising."""
        return self._sequences[: self.n_rows]

    @property
    def origins(self) -> NDArray[np.int64]:
        """The sequence number that each row's document had when it first came with these words."""
        return self._origins[: self.n_rows]

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """For each row whether its document is kept, not removed."""
        return self._is_kept[: self.n_rows]

    def kept_rows(self) -> NDArray[np.int64]:
        """The rows of the documents kept, rising."""
        return np.flatnonzero(self.is_kept)

    def last_rows(self, n: int) -> slice:
        """The n rows that came last."""
        return slice(self.n_rows - n, self.n_rows)

    @property
    def n_entries(self) -> int:
        """Stored counts, those of removed rows included."""
        return int(self._starts[self.n_rows])

    def entries(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
        """The words of some rows and their counts, one row after the other."""
        starts, stops = self._starts[rows].astype(np.int64), self._starts[rows + 1].astype(np.int64)
        sizes = stops - starts
        ends = np.cumsum(sizes)
        places = np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)
        return self._words[places], self._counts[places]

    def n_words_of(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """How many different words some rows have."""
        return self._starts[rows + 1] - self._starts[rows]

    def rows_of(self, ids: Iterable[str | None]) -> NDArray[np.int64]:
        """The rows of documents by id, −1 for those that are not kept."""
        sequences = np.array([-1 if id is None else self._sequence_of.get(id, -1) for id in ids], dtype=np.int64)
        rows = np.searchsorted(self.sequences, sequences)
        return np.where(sequences >= 0, rows, -1)

    def append(
        self,
        ids: Sequence[str],
        times: NDArray[np.int64],
        row_starts: NDArray[Any],
        words: NDArray[Any],
        counts: NDArray[Any],
    ) -> slice:
        """Add documents, none of whose ids is there, without labels; returns their rows."""
        first, last = self.n_rows, self.n_rows + len(ids)
        n_before, n_after = self.n_entries, self.n_entries + words.size
        self._reserve(last, n_after)
        self._starts[first + 1 : last + 1] = n_before + row_starts[1:]
        self._words[n_before:n_after] = words
        self._counts[n_before:n_after] = counts
        sums = np.append(0, np.cumsum(counts, dtype=np.int64))
        self._lengths[first:last] = sums[row_starts[1:]] - sums[row_starts[:-1]]
        self._slots[first:last] = -1
        self._is_kept[first:last] = True
        self._times[first:last] = times
        self._sequences[first:last] = np.arange(self.next_sequence, self.next_sequence + len(ids))
        self._origins[first:last] = self._sequences[first:last]
        self._sequence_of.update(zip(ids, range(self.next_sequence, self.next_sequence + len(ids)), strict=True))
        self.ids.extend(ids)
        self.next_sequence += len(ids)
        self.n_rows, self.n_kept = last, self.n_kept + len(ids)
        return slice(first, last)

    def remove(self, rows: NDArray[np.int64]) -> list[str]:
        """Mark rows, which are in no cluster any more, as removed; returns the ids of their documents."""
        ids = [self.ids[row] for row in rows.tolist()]
        for id in ids:
            del self._sequence_of[id]
        self._is_kept[rows] = False
        self.n_kept -= len(ids)
        return ids

    def compact(self) -> None:
        """Close the gaps that removed rows have left."""
        if self.n_kept == self.n_rows:
            return
        rows = self.kept_rows()
        words, counts = self.entries(rows)
        sizes = np.diff(self._starts[: self.n_rows + 1])[rows]
        self.ids = list(compress(self.ids, self.is_kept.tolist()))
        self._starts = np.append(np.int32(0), np.cumsum(sizes, dtype=np.int32))
        self._words, self._counts = words, counts
        self._lengths, self._slots = self._lengths[rows], self._slots[rows]
        self._times, self._sequences, self._origins = (
            array[rows] for array in (self._times, self._sequences, self._origins)
        )
        self._is_kept = np.ones(rows.size, bool)
        self.n_rows = rows.size

    def renumber_words(self, columns: NDArray[np.int32]) -> None:
        """Give every word another number."""
        self._words[: self.n_entries] = columns[self._words[: self.n_entries]]

    def _reserve(self, n_rows: int, n_entries: int) -> None:
        """Make room, for twice as much where there is not enough."""
        if n_rows > self._lengths.size:
            size = 2 * n_rows
            self._starts = enlarged(self._starts, size + 1)
            for name in ("_lengths", "_slots", "_is_kept", "_times", "_sequences", "_origins"):
                setattr(self, name, enlarged(getattr(self, name), size))
        if n_entries > self._words.size:
            self._words, self._counts = (enlarged(array, 2 * n_entries) for array in (self._words, self._counts))


class PresentWords:
    """The words now present, each with a column and how often it occurs; a column whose word is gone is used again."""

    def __init__(self) -> None:
        self._column_of: dict[str, int] = {}
        self._names: list[str] = []
        self._free: list[int] = []
        self.totals = np.zeros(0, np.int64)

    @property
    def n_present(self) -> int:
        """V: how many words are present."""
        return len(self._column_of)

    @property
    def n_columns(self) -> int:
        """Columns in use or free."""
        return len(self._names)

    def name(self, column: int) -> str:
        """The word of a column."""
        return self._names[column]

    def find(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The columns of words; −1 for those that are not present."""
        column_of = self._column_of
        return np.array([column_of.get(word, -1) for word in words], dtype=np.int32)

    def add(self, words: Sequence[str], counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Count further occurrences of words, at least one of each; returns their columns, new ones for new words."""
        columns = self.find(words)
        for place in np.flatnonzero(columns < 0).tolist():
            columns[place] = self._take_column(words[place])
        if self.totals.size < len(self._names):
            self.totals = enlarged(self.totals, 2 * len(self._names))
        self.totals[columns] += counts
        return columns

    def subtract(self, columns: NDArray[np.uint32], counts: NDArray[np.int32]) -> None:
        """Take occurrences of the words in these columns away; columns of words without any become free."""
        np.subtract.at(self.totals, columns, counts)
        touched = np.unique(columns)
        for column in touched[self.totals[touched] == 0].tolist():
            del self._column_of[self._names[column]]
            self._names[column] = ""
            self._free.append(column)

    def renumber(self) -> NDArray[np.int32]:
        """Give the words present the columns 0, 1, …; returns the new column of each old one, −1 for free ones."""
        present = sorted(self._column_of.values())
        columns = np.full(len(self._names), -1, np.int32)
        columns[present] = np.arange(len(present), dtype=np.int32)
        self._names = [self._names[column] for column in present]
        self._column_of = {name: column for column, name in enumerate(self._names)}
        self._free.clear()
        self.totals = self.totals[present]
        return columns

    def _take_column(self, word: str) -> int:
        if self._free:
            column = self._free.pop()
            self._names[column] = word
        else:
            column = len(self._names)
            self._names.append(word)
        self._column_of[word] = column
        return column

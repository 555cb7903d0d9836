"""The documents that a stream keeps: their counts, clusters, times and ids, in the order in which they came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.kernels.state import Documents


class KeptDocuments:
    """A CSR to which rows are added at the end. Rows that were let go stay until `compact`; their label is −1.

    A document is known by its id; its sequence number, which never changes, leads to its row.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_kept = 0
        self.next_sequence = 0
        self.ids: list[str] = []
        self._sequence_of: dict[str, int] = {}
        self._starts = np.zeros(1, np.int32)
        self._words = np.empty(0, np.uint32)
        self._counts = np.empty(0, np.int32)
        self._lengths = np.empty(0, np.int32)
        self._labels = np.empty(0, np.int32)
        self._kept = np.empty(0, bool)
        self._times = np.empty(0, np.int64)
        self._sequences = np.empty(0, np.int64)
        self._origins = np.empty(0, np.int64)

    def find(self, ids: Iterable[str]) -> set[str]:
        """Those ids that are there."""
        return self._sequence_of.keys() & ids

    @property
    def documents(self) -> Documents:
        """All rows, as kernels take them."""
        n = self.n_rows
        return Documents(self._starts[: n + 1], self._words, self._counts, self._lengths[:n])

    @property
    def labels(self) -> NDArray[np.int32]:
        """The slot of each row's cluster; −1 for rows without words and those let go."""
        return self._labels[: self.n_rows]

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
    def kept(self) -> NDArray[np.bool_]:
        """For each row whether it is kept."""
        return self._kept[: self.n_rows]

    @property
    def n_entries(self) -> int:
        """Stored counts, those of rows let go included."""
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
        self._labels[first:last] = -1
        self._kept[first:last] = True
        self._times[first:last] = times
        self._sequences[first:last] = np.arange(self.next_sequence, self.next_sequence + len(ids))
        self._origins[first:last] = self._sequences[first:last]
        self._sequence_of.update(zip(ids, range(self.next_sequence, self.next_sequence + len(ids)), strict=True))
        self.ids.extend(ids)
        self.next_sequence += len(ids)
        self.n_rows, self.n_kept = last, self.n_kept + len(ids)
        return slice(first, last)

    def let_go(self, rows: NDArray[np.int64]) -> list[str]:
        """Forget documents that no cluster holds any more; returns their ids."""
        ids = [self.ids[row] for row in rows.tolist()]
        for id in ids:
            del self._sequence_of[id]
        self._kept[rows] = False
        self.n_kept -= len(ids)
        return ids

    def compact(self) -> None:
        """Close the gaps that rows let go have left."""
        if self.n_kept == self.n_rows:
            return
        rows = np.flatnonzero(self.kept)
        words, counts = self.entries(rows)
        sizes = np.diff(self._starts[: self.n_rows + 1])[rows]
        self.ids = list(compress(self.ids, self.kept.tolist()))
        self._starts = np.append(np.int32(0), np.cumsum(sizes, dtype=np.int32))
        self._words, self._counts = words, counts
        self._lengths, self._labels = self._lengths[rows], self._labels[rows]
        self._times, self._sequences, self._origins = (
            array[rows] for array in (self._times, self._sequences, self._origins)
        )
        self._kept = np.ones(rows.size, bool)
        self.n_rows = rows.size

    def renumber_words(self, columns: NDArray[np.int32]) -> None:
        """Give every word another number."""
        self._words[: self.n_entries] = columns[self._words[: self.n_entries]]

    def _reserve(self, n_rows: int, n_entries: int) -> None:
        """Make room, for twice as much where there is not enough."""
        if n_rows > self._lengths.size:
            size = 2 * n_rows
            self._starts = _enlarged(self._starts, size + 1)
            for name in ("_lengths", "_labels", "_kept", "_times", "_sequences", "_origins"):
                setattr(self, name, _enlarged(getattr(self, name), size))
        if n_entries > self._words.size:
            self._words, self._counts = (_enlarged(array, 2 * n_entries) for array in (self._words, self._counts))


def _enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.empty(size, array.dtype)
    larger[: array.size] = array
    return larger

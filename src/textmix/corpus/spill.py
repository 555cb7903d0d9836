"""Counts that wait in a file until it is known which words become columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from textmix.kernels.tokenize import Rows

# Batches are written and read in blocks of at least so many entries (1 MB), or so many documents if these
# are short; larger ones leave the processor's cache.
_BLOCK_ENTRIES = 1 << 17
_BLOCK_DOCUMENTS = 1 << 16


class Spill:
    """Batches of counts in a file, which can be gone through any number of times.

    A block is its numbers of documents and of entries, then row ends, words and counts.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._path.touch()
        self._waiting: list[Rows] = []
        self._n_waiting_documents = self._n_waiting_entries = 0
        self.n_documents = 0
        self.n_words = 0  # distinct ones, which are numbered by first occurrence

    def add(self, rows: Rows) -> None:
        """Add a batch."""
        self._waiting.append(rows)
        self._n_waiting_documents += rows.row_ends.size
        self._n_waiting_entries += rows.words.size
        self.n_documents += rows.row_ends.size
        self.n_words = max(self.n_words, int(rows.words.max(initial=-1)) + 1)
        if self._n_waiting_entries >= _BLOCK_ENTRIES or self._n_waiting_documents >= _BLOCK_DOCUMENTS:
            self._write_block()

    def finish(self) -> None:
        """End the writing: what was added can be read from now on."""
        if self._waiting:
            self._write_block()

    def __iter__(self) -> Iterator[Rows]:
        with open(self._path, "rb") as file:
            while (sizes := np.fromfile(file, dtype=np.int64, count=2)).size:
                n_documents, n_entries = sizes.tolist()
                row_ends = np.fromfile(file, dtype=np.int64, count=n_documents)
                words = np.fromfile(file, dtype=np.int32, count=n_entries)
                counts = np.fromfile(file, dtype=np.int32, count=n_entries)
                yield Rows(words, counts, row_ends)

    def _write_block(self) -> None:
        words, counts, row_ends = joined(self._waiting)
        sizes = np.array([row_ends.size, words.size], dtype=np.int64)
        with open(self._path, "ab") as file:
            for array in (sizes, row_ends, words, counts):
                file.write(array.data)
        self._waiting = []
        self._n_waiting_documents = self._n_waiting_entries = 0


def joined(batches: Sequence[Rows]) -> Rows:
    """Batches as one."""
    n_entries = np.cumsum([0, *(rows.words.size for rows in batches)])
    return Rows(
        np.concatenate([rows.words for rows in batches]),
        np.concatenate([rows.counts for rows in batches]),
        np.concatenate([rows.row_ends + before for rows, before in zip(batches, n_entries, strict=False)]),
    )

"""The counts of a corpus in files, three for each shard, which are written together and read one by one.

shard-0007.words holds the words of shard 7 and nothing else: little-endian numbers, no header.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textmix.corpus.saved_values import check_sparse
from textmix.corpus.shards import DamagedError, ShardCounts, shard_size
from textmix.kernels.tokenize import Rows

# What is written at once, to all shards together: 4 MB, and at least 4 KB of words for each shard.
_ENTRIES_AT_ONCE = 1 << 19
_ENTRIES_AT_ONCE_EACH = 1 << 10


_TYPES = ("<i8", "<u4", "<i4")  # in the order of `ShardCounts`


@dataclass(frozen=True)
class ShardFiles:
    """The files of all shards; whether one is damaged is looked at when it is first read."""

    folder: Path
    n_documents: int
    n_words: int
    n_entries: npt.NDArray[np.int64]  # of each shard
    checksums: npt.NDArray[np.uint32]  # of each shard's three files, in the order of `ShardCounts`
    _checked: set[int] = field(default_factory=set)

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return self.n_entries.size

    def read(self, shard: int, *, mmap: bool = False) -> ShardCounts:
        """Read the counts of a shard, or map them, which is neither reading nor looking for damages."""
        if not 0 <= shard < self.n_shards:
            raise ValueError(f"there is no shard {shard}; there are {self.n_shards}, from 0 on")
        self._check_sizes(shard)
        if mmap:
            return ShardCounts(*map(_mapped, self._paths(shard), _TYPES))
        arrays = list(map(_read, self._paths(shard), _TYPES))
        if shard not in self._checked:
            for path, array, checksum in zip(self._paths(shard), arrays, self.checksums[shard], strict=True):
                if zlib.crc32(array.data) != checksum:
                    raise DamagedError(f"{path} is damaged: it is not what was written; build the corpus again")
            self._check_values(shard, *arrays)
            self._checked.add(shard)
        return ShardCounts(*arrays)

    def check_sizes(self) -> None:
        """Raise ValueError if a file is missing or was cut off."""
        for shard in range(self.n_shards):
            self._check_sizes(shard)

    def bytes_of_largest(self) -> int:
        """The bytes that the arrays of the largest shard take."""
        return max(sum(self._sizes(shard)) for shard in range(self.n_shards))

    def _check_values(
        self, shard: int, row_starts: npt.NDArray[Any], words: npt.NDArray[Any], counts: npt.NDArray[Any]
    ) -> None:
        """Raise DamagedError if samplers could not work with these numbers; costs a few ns an entry, once."""
        starts_name, words_name, counts_name = (path.name for path in self._paths(shard))
        try:
            check_sparse((counts_name, words_name, starts_name), counts, words, row_starts, self.n_words)
        except ValueError as error:
            raise DamagedError(f"a shard in {self.folder} is damaged: {error}; build the corpus again") from error

    def _check_sizes(self, shard: int) -> None:
        for path, size in zip(self._paths(shard), self._sizes(shard), strict=True):
            found = path.stat().st_size if path.is_file() else None
            if found != size or path.is_symlink():
                state = "is missing" if found is None else f"has {found} bytes, not {size}"
                if path.is_symlink():
                    state = "is a symbolic link"
                raise DamagedError(f"{path} {state}; build the corpus again")

    def _sizes(self, shard: int) -> tuple[int, int, int]:
        n_rows = shard_size(self.n_documents, self.n_shards, shard)
        n_entries = int(self.n_entries[shard])
        return 8 * (n_rows + 1), 4 * n_entries, 4 * n_entries

    def _paths(self, shard: int) -> list[Path]:
        return _paths(self.folder, shard)


class ShardWriter:
    """Writes the files of all shards at once, document by document in file order."""

    def __init__(self, folder: Path, n_shards: int, n_words: int) -> None:
        self._folder = folder
        self._n_words = n_words
        self._n_entries = np.zeros(n_shards, dtype=np.int64)
        self._checksums = np.zeros((n_shards, len(_TYPES)), dtype=np.uint32)
        self._waiting: list[Rows] = []
        self._n_waiting = 0
        self._n_written = 0  # documents
        self._entries_at_once = max(_ENTRIES_AT_ONCE, n_shards * _ENTRIES_AT_ONCE_EACH)
        nothing = np.empty(0, dtype=np.int32)
        for shard in range(n_shards):
            self._append(shard, np.zeros(1, dtype=np.int64), nothing, nothing)

    def add(self, rows: Rows) -> None:
        """Add the next documents, their words sorted."""
        self._waiting.append(rows)
        self._n_waiting += rows.words.size + rows.row_ends.size
        if self._n_waiting >= self._entries_at_once:
            self._write()

    def close(self) -> ShardFiles:
        """Write what is left, and make all of it last through a power cut."""
        self._write()
        for shard in range(self._n_entries.size):
            for path in _paths(self._folder, shard):
                with open(path, "rb+") as file:
                    os.fsync(file.fileno())
        return ShardFiles(self._folder, self._n_written, self._n_words, self._n_entries, self._checksums)

    def _write(self) -> None:
        """Write the documents that wait, sorted by shard."""
        if not self._waiting:
            return
        n_shards = self._n_entries.size
        words, counts, row_ends = join_rows(self._waiting)
        self._waiting, self._n_waiting = [], 0
        first = np.arange(n_shards) - self._n_written
        rows = [np.arange(start, row_ends.size, n_shards) for start in (first % n_shards).tolist()]
        order = np.concatenate(rows)
        lengths = np.diff(row_ends, prepend=0)[order]
        new_ends = np.cumsum(lengths)
        # Entry e of the sorted ones is found at e + (old row start − new row start).
        entries = np.repeat(row_ends[order] - new_ends, lengths)
        entries += np.arange(entries.size)
        words, counts = words[entries], counts[entries]
        row = entry = 0
        for shard, shard_rows in enumerate(rows):
            row_stop = row + shard_rows.size
            stop = int(new_ends[row_stop - 1]) if row_stop else 0
            ends = new_ends[row:row_stop] + (self._n_entries[shard] - entry)
            self._append(shard, ends, words[entry:stop], counts[entry:stop])
            self._n_entries[shard] += stop - entry
            row, entry = row_stop, stop
        self._n_written += row_ends.size

    def _append(self, shard: int, *arrays: npt.NDArray[Any]) -> None:
        for number, (path, array, kind) in enumerate(zip(_paths(self._folder, shard), arrays, _TYPES, strict=True)):
            content = array.astype(kind, copy=False).data
            with open(path, "ab") as file:
                file.write(content)
            self._checksums[shard, number] = zlib.crc32(content, int(self._checksums[shard, number]))


def _paths(folder: Path, shard: int) -> list[Path]:
    return [folder / f"shard-{shard:04}.{name}" for name in ShardCounts._fields]


def _read(path: Path, kind: str) -> npt.NDArray[Any]:
    return np.fromfile(path, dtype=kind)


def _mapped(path: Path, kind: str) -> npt.NDArray[Any]:
    if path.stat().st_size == 0:  # cannot be mapped
        return np.empty(0, dtype=kind)
    return np.memmap(path, dtype=kind, mode="r")


def join_rows(batches: Sequence[Rows]) -> Rows:
    """Batches as one."""
    n_entries = np.cumsum([0, *(rows.words.size for rows in batches)])
    return Rows(
        np.concatenate([rows.words for rows in batches]),
        np.concatenate([rows.counts for rows in batches]),
        np.concatenate([rows.row_ends + before for rows, before in zip(batches, n_entries, strict=False)]),
    )

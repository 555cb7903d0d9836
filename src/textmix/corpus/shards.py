"""How documents are dealt out to shards: document i is in shard i % P, at place i // P.

So every shard is a systematic sample of the documents, also of a file that is sorted by topic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)

_ENTRIES_WORTH_A_SHARD = 1 << 16
_USUAL_SHARDS = 64
_MOST_ENTRIES = 1 << 20  # of a shard, on average: 8 MB


class ShardCounts(NamedTuple):
    """The counts of a shard: its document d has the entries row_starts[d] to row_starts[d + 1].

    Within a document the words rise.
    """

    row_starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.int32]


class DamagedError(ValueError):
    """A file is not what was written."""


@dataclass(frozen=True, eq=False)
class ShardedCorpus(ABC):
    """Documents whose counts are read one shard at a time, and what is known of all of them together."""

    folder: Path  # where the shards are
    document_frequencies: npt.NDArray[np.int64]  # of the words; they fall
    n_shards: int
    n_documents: int
    n_empty_documents: int  # of which no word is left
    n_tokens: int  # the sum of all counts

    @property
    def n_words(self) -> int:
        """The number of distinct words."""
        return self.document_frequencies.size

    @property
    def n_entries(self) -> int:
        """The number of stored counts, over all documents."""
        return int(self.document_frequencies.sum())

    @property
    @abstractmethod
    def vocabulary(self) -> list[str]:
        """The word of each column."""

    @property
    @abstractmethod
    def read_shard(self) -> Callable[[int], ShardCounts]:
        """What reads a shard, by its number; sent to another process it takes nothing of the corpus along."""


def count_shards(n_entries: int, n_documents: int) -> int:
    """The number of shards, which depends on the data alone: results are the same for any number of workers."""
    pairs = -(-n_entries // (2 * _ENTRIES_WORTH_A_SHARD))  # even numbers: two threads then end together
    wanted = min(2 * pairs, _USUAL_SHARDS) if n_entries > _ENTRIES_WORTH_A_SHARD else 1
    needed = -(-n_entries // _MOST_ENTRIES)
    return max(min(max(wanted, needed), n_documents), 1)


def shard_rows(n_documents: int, n_shards: int, shard: int) -> slice:
    """The documents of a shard, as a slice of all."""
    return slice(shard, n_documents, n_shards)


def shard_size(n_documents: int, n_shards: int, shard: int) -> int:
    """The number of documents in a shard."""
    return len(range(shard, n_documents, n_shards))


def deal_out(values: npt.NDArray[Scalar], n_shards: int) -> list[npt.NDArray[Scalar]]:
    """Values of all documents (labels, say) as one array for each shard."""
    size = len(values)
    return [values[shard_rows(size, n_shards, shard)].copy() for shard in range(n_shards)]


def put_together(parts: Sequence[npt.NDArray[Scalar]]) -> npt.NDArray[Scalar]:
    """One array for each shard as values of all documents, in file order: undoes `deal_out`."""
    size = sum(map(len, parts))
    expected = [shard_size(size, len(parts), shard) for shard in range(len(parts))]
    if [len(part) for part in parts] != expected:
        raise ValueError(f"shards of {size} documents have {expected} of them, not {[len(part) for part in parts]}")
    values = np.empty((size, *parts[0].shape[1:]), dtype=parts[0].dtype)
    for shard, part in enumerate(parts):
        values[shard_rows(size, len(parts), shard)] = part
    return values

"""How documents are dealt out to partitions: document i is in partition i % P, at place i // P.

So every partition is a systematic sample of the documents, also of a file that is sorted by topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)

_ENTRIES_WORTH_A_PARTITION = 1 << 16
_USUAL_PARTITIONS = 64
_MOST_ENTRIES = 1 << 20  # of a partition, on average: 8 MB


def n_partitions(n_entries: int, n_documents: int) -> int:
    """The number of partitions, which depends on the data alone: results are the same for any number of workers."""
    pairs = -(-n_entries // (2 * _ENTRIES_WORTH_A_PARTITION))  # even numbers: two threads then end together
    wanted = min(2 * pairs, _USUAL_PARTITIONS) if n_entries > _ENTRIES_WORTH_A_PARTITION else 1
    needed = -(-n_entries // _MOST_ENTRIES)
    return max(min(max(wanted, needed), n_documents), 1)


def partition_rows(n_documents: int, n_partitions: int, partition: int) -> slice:
    """The documents of a partition, as a slice of all."""
    return slice(partition, n_documents, n_partitions)


def partition_size(n_documents: int, n_partitions: int, partition: int) -> int:
    """The number of documents in a partition."""
    return len(range(partition, n_documents, n_partitions))


def deal_out(values: npt.NDArray[Scalar], n_partitions: int) -> list[npt.NDArray[Scalar]]:
    """Values of all documents (labels, say) as one array for each partition."""
    size = len(values)
    return [values[partition_rows(size, n_partitions, partition)].copy() for partition in range(n_partitions)]


def put_together(parts: Sequence[npt.NDArray[Scalar]]) -> npt.NDArray[Scalar]:
    """One array for each partition as values of all documents, in file order: undoes `deal_out`."""
    size = sum(map(len, parts))
    expected = [partition_size(size, len(parts), partition) for partition in range(len(parts))]
    if [len(part) for part in parts] != expected:
        raise ValueError(f"partitions of {size} documents have {expected} of them, not {[len(part) for part in parts]}")
    values = np.empty((size, *parts[0].shape[1:]), dtype=parts[0].dtype)
    for partition, part in enumerate(parts):
        values[partition_rows(size, len(parts), partition)] = part
    return values

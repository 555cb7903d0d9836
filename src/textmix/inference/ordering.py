"""How clusters are numbered. Labels are gone through in blocks: NumPy makes 8-byte copies of what it is indexed by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

_BLOCK = 1 << 18  # labels


def order_by_size(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the clusters 0, 1, … by falling size, equal sizes by their first document; −1 stays."""
    n_labels = int(labels.max(initial=-1)) + 1
    sizes = np.zeros(n_labels, np.int64)
    first = np.zeros(n_labels + 1, np.int64)  # one more, for the label −1
    for block in reversed(list(_blocks(labels.size))):
        own = labels[block]
        sizes += np.bincount(own[own >= 0], minlength=n_labels)
        first[own[::-1]] = np.arange(block.start, block.start + own.size)[::-1]
    order = np.lexsort((first[:-1], -sizes))
    ranks = np.full(n_labels + 1, -1, np.int32)
    ranks[order] = np.arange(n_labels, dtype=np.int32)
    ordered = np.empty(labels.size, np.int32)
    for block in _blocks(labels.size):
        ordered[block] = ranks[labels[block]]
    return ordered


def slots_in_order(labels: NDArray[np.int32], ordered: NDArray[np.int32]) -> NDArray[np.int64]:
    """Which label each cluster of an ordered partition had before."""
    slots = np.zeros(int(ordered.max(initial=-1)) + 2, np.int64)  # one more, for −1
    for block in _blocks(labels.size):
        slots[ordered[block]] = labels[block]
    return slots[:-1]


def renumber(
    before: NDArray[np.int32], after: NDArray[np.int32], clusters: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The labels after a change, and of some clusters what is theirs then: the label that most of their documents have.

    −1 stays for a cluster without documents.
    """
    known = (before >= 0) & (after >= 0)
    shape = (max(int(before.max(initial=-1)), int(clusters.max(initial=-1))) + 2, int(after.max(initial=-1)) + 2)
    shared = scipy.sparse.csr_array((np.ones(np.count_nonzero(known)), (before[known], after[known])), shape=shape)
    labels = np.where(np.diff(shared.indptr) > 0, np.asarray(shared.argmax(axis=1)).ravel(), -1)
    return after, np.where(clusters >= 0, labels[clusters], -1).astype(np.int32)


def are_among(clusters: NDArray[np.int32], n_clusters: int) -> NDArray[np.bool_]:
    """For each of n_clusters labels whether it is one of some clusters."""
    among = np.zeros(n_clusters, bool)
    among[clusters[clusters >= 0]] = True
    return among


def _blocks(n: int) -> Iterator[slice]:
    for first in range(0, n, _BLOCK):
        yield slice(first, min(first + _BLOCK, n))

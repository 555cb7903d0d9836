"""How documents are ordered and clusters numbered.

Labels are gone through in blocks: NumPy makes 8-byte copies of what it is indexed by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.kernels.counts import hash_rows

_BLOCK = 1 << 18  # labels


def canonical_order(
    counts: scipy.sparse.csr_array,
    unit: float,
    known: NDArray[np.int32] | None = None,
    weights: NDArray[np.float64] | None = None,
    fingerprint: Callable[[NDArray[np.int64]], NDArray[np.uint32]] | None = None,
) -> NDArray[np.int64]:
    """The documents in an order that depends on what they are, not on where they stand.

    By a hash of their words; documents of the same words by the number of their known cluster, their weight and the
    fingerprint of their vector. Those that are equal in all of these may change places without any difference.
    """
    hashes = hash_rows(counts.indptr, counts.indices, counts.data, 1.0 / unit)
    order = np.argsort(hashes, kind="stable")
    is_tie = np.zeros(order.size, bool)
    is_tie[1:] = hashes[order[1:]] == hashes[order[:-1]]
    is_tie[:-1] |= is_tie[1:]
    ties = order[is_tie]
    if ties.size:
        keys: list[NDArray[np.generic]] = [hashes[ties]]
        keys += [values[ties] for values in (known, weights) if values is not None]
        if fingerprint is not None:
            keys.append(fingerprint(ties))
        order[is_tie] = ties[np.lexsort(keys[::-1])]
    return order


def order_by_size(labels: NDArray[np.int32], order: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
    """Number the clusters 0, 1, … by falling size; −1 stays.

    Clusters of the same size are numbered by their first document, in this order of the documents if one is given.
    """
    if order is not None:
        ordered = np.empty_like(labels)
        ordered[order] = order_by_size(labels[order])
        return ordered
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


def number_by_size(groups: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number groups of clusters by falling size, equal ones by their first cluster; `sizes`: of the clusters."""
    totals = np.bincount(groups, sizes, minlength=int(groups.max(initial=-1)) + 1)
    first = np.unique(groups, return_index=True)[1]
    ranks = np.empty(totals.size, np.int32)
    ranks[np.lexsort((first, -totals))] = np.arange(totals.size, dtype=np.int32)
    return ranks[groups]


def renumber_by_size(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels by falling size, clusters of the same size in the order that they had; −1 stays."""
    sizes = np.bincount(labels[labels >= 0])
    return join_groups(labels, number_by_size(np.arange(sizes.size, dtype=np.int32), sizes))


def join_groups(labels: NDArray[np.int32], groups: NDArray[np.int32]) -> NDArray[np.int32]:
    """The group of each document's cluster; −1 stays."""
    return np.append(groups, np.int32(-1))[labels]


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

"""Identical documents: finding them, and giving them one label."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.kernels.counts import hash_rows


def group_identical(counts: scipy.sparse.csr_array, unit: float) -> NDArray[np.int64]:
    """For each document the number of its group of identical documents.

    Two documents are taken as identical when their counts, in units of the sampler, have the same 64-bit hash: two
    different ones among a million share it with a probability of 3 in 10^8.
    """
    hashes = hash_rows(counts.indptr, counts.indices, counts.data, 1.0 / unit)
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def count_identical(counts: scipy.sparse.csr_array, unit: float) -> NDArray[np.int32]:
    """How many documents are identical to each, itself counted."""
    groups = group_identical(counts, unit)
    return np.bincount(groups)[groups].astype(np.int32)


def are_first(groups: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether a document is the first of those that are identical to it and have its label; −1 is a label too."""
    first = np.zeros(groups.size, bool)
    first[np.unique(groups * (labels.max(initial=-1) + 2) + labels, return_index=True)[1]] = True
    return first


def join_identical(
    counts: scipy.sparse.csr_array,
    unit: float,
    labels: NDArray[np.int32],
    n_identical: NDArray[np.int32],
    n_fixed: int = 0,
) -> bool:
    """Give identical documents, in place, the label that most of them have; whether any label changed.

    The last n_fixed documents keep their labels; what is identical to some of them gets the label that most of these
    have.
    """
    several = np.flatnonzero((n_identical > 1) & (labels >= 0))
    if several.size == 0:
        return False
    groups = group_identical(counts[several], unit)
    is_fixed = several >= labels.size - n_fixed
    pairs, first, pair_of = np.unique(
        np.column_stack((groups, labels[several])), axis=0, return_index=True, return_inverse=True
    )
    votes = np.bincount(pair_of.ravel(), np.where(is_fixed, 1.0 + several.size, 1.0))
    # The (group, label) pair of most votes of each group first; among equals the one whose document comes first.
    order = np.lexsort((first, -votes, pairs[:, 0]))
    _, leading = np.unique(pairs[order, 0], return_index=True)
    chosen = np.where(is_fixed, labels[several], pairs[order[leading], 1][groups]).astype(np.int32)
    changed = bool((chosen != labels[several]).any())
    labels[several] = chosen
    return changed

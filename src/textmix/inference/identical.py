"""Identical documents: finding them, and giving them one label."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.kernels.counts import hash_rows


def group_twins(counts: scipy.sparse.csr_array, unit: float) -> NDArray[np.int64]:
    """For each document the number of its group of identical documents.

    Two documents are taken as identical when their counts, in units of the sampler, have the same 64-bit hash: two
    different ones among a million share it with a probability of 3 in 10^8.
    """
    hashes = hash_rows(counts.indptr, counts.indices, counts.data, 1.0 / unit)
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def count_twins(counts: scipy.sparse.csr_array, unit: float) -> NDArray[np.int32]:
    """How many documents are identical to each, itself counted."""
    groups = group_twins(counts, unit)
    return np.bincount(groups)[groups].astype(np.int32)


def put_twins_together(
    counts: scipy.sparse.csr_array, unit: float, labels: NDArray[np.int32], twins: NDArray[np.int32]
) -> bool:
    """Give identical documents, in place, the label that most of them have; whether any label changed."""
    several = np.flatnonzero((twins > 1) & (labels >= 0))
    if several.size == 0:
        return False
    groups = group_twins(counts[several], unit)
    pairs, first, sizes = np.unique(
        np.column_stack((groups, labels[several])), axis=0, return_index=True, return_counts=True
    )
    # The largest (group, label) pair of each group first; among equals the one whose document comes first.
    order = np.lexsort((first, -sizes, pairs[:, 0]))
    _, leading = np.unique(pairs[order, 0], return_index=True)
    chosen = pairs[order[leading], 1].astype(np.int32)[groups]
    changed = bool((chosen != labels[several]).any())
    labels[several] = chosen
    return changed

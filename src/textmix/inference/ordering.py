"""How clusters are numbered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def order_by_size(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the clusters 0, 1, … by falling size, equal sizes by their first document; −1 stays."""
    sizes = np.bincount(labels[labels >= 0])
    first = np.empty(sizes.size + 1, np.int64)  # one more, for the label −1
    first[labels[::-1]] = np.arange(labels.size)[::-1]
    order = np.lexsort((first[:-1], -sizes))
    ranks = np.full(sizes.size + 1, -1, np.int32)
    ranks[order] = np.arange(sizes.size, dtype=np.int32)
    return ranks[labels]


def slots_in_order(labels: NDArray[np.int32], ordered: NDArray[np.int32]) -> NDArray[np.int64]:
    """Which label each cluster of an ordered partition had before."""
    slots = np.zeros(int(ordered.max(initial=-1)) + 1, np.int64)
    slots[ordered[ordered >= 0]] = labels[ordered >= 0]
    return slots

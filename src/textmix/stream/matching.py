"""Which clusters of a new fit are those that were there before."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from textmix.stream.statistics import NO_CLUSTER


def name_clusters(before: NDArray[np.int64], after: NDArray[np.int64], next_cluster: int) -> dict[int, int]:
    """The id of each label after a new fit: that of before where clusters mostly agree, or a new one, from next on."""
    shared = Counter(pair for pair in zip(before.tolist(), after.tolist(), strict=True) if min(pair) >= 0)
    n_before, n_after = Counter(before.tolist()), Counter(after.tolist())
    ids = {
        label: cluster for (cluster, label), n in shared.items() if 2 * n > n_before[cluster] and 2 * n > n_after[label]
    }
    for label, _ in sorted(n_after.items(), key=lambda item: (-item[1], item[0])):
        if label >= 0 and label not in ids:
            ids[label], next_cluster = next_cluster, next_cluster + 1
    return ids


def what_became_of(before: NDArray[np.int64], after: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """Of each id that is given up the cluster that has more than half of its documents, −1: none, and how many."""
    n_before, left = Counter(before.tolist()), set(after.tolist())
    given_up = sorted(cluster for cluster in n_before if cluster >= 0 and cluster not in left)
    result = dict.fromkeys(given_up, (NO_CLUSTER, 0))
    for (cluster, into), n in Counter(zip(before.tolist(), after.tolist(), strict=True)).items():
        if cluster in result and 2 * n > n_before[cluster]:
            result[cluster] = (into, n)
    return result

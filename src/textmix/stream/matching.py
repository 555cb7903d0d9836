"""Which clusters of a new fit are those that were there before."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from textmix.stream.statistics import NO_CLUSTER


def name_clusters(before: NDArray[np.int64], after: NDArray[np.int64], next_cluster: int) -> NDArray[np.int64]:
    """The labels after a new fit as cluster ids: those of before where clusters mostly agree, new ones from next on."""
    shared = Counter(pair for pair in zip(before.tolist(), after.tolist(), strict=True) if min(pair) >= 0)
    n_before, n_after = Counter(before.tolist()), Counter(after.tolist())
    ids = {
        label: cluster for (cluster, label), n in shared.items() if 2 * n > n_before[cluster] and 2 * n > n_after[label]
    }
    for label, _ in sorted(n_after.items(), key=lambda item: (-item[1], item[0])):
        if label >= 0 and label not in ids:
            ids[label], next_cluster = next_cluster, next_cluster + 1
    return np.array([ids.get(label, NO_CLUSTER) for label in after.tolist()], dtype=np.int64)


def what_became_of(before: NDArray[np.int64], after: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """Of each id that is given up the cluster that has more than half of its documents, −1: none, and how many."""
    given_up = sorted(set(before[before >= 0].tolist()) - set(after.tolist()))
    result = {}
    for cluster in given_up:
        into, n = Counter(after[before == cluster].tolist()).most_common(1)[0]
        result[cluster] = (into if 2 * n > np.count_nonzero(before == cluster) else NO_CLUSTER, n)
    return result

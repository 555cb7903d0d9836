"""Finding entries of a clusters × words matrix for documents of known clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

MAX_CELLS = 1 << 24  # clusters × words that are looked up in a table; in larger matrices entries are searched for


class PairTable:
    """Where each (cluster, word) stands among the entries of a matrix; threads may share it."""

    def __init__(self, cluster_word_counts: scipy.sparse.csr_array) -> None:
        """The matrix has sorted indices."""
        n_clusters, self._n_words = cluster_word_counts.shape
        clusters = np.repeat(np.arange(n_clusters, dtype=np.int64), np.diff(cluster_word_counts.indptr))
        # (cluster, word) as one number; they rise. The last one is larger than any that is looked for.
        pairs = clusters * self._n_words + cluster_word_counts.indices
        self._pairs = np.append(pairs, np.iinfo(np.int64).max)
        self._places: NDArray[np.int32] | None = None
        if n_clusters * self._n_words <= MAX_CELLS:
            self._places = np.full(n_clusters * self._n_words, pairs.size, np.int32)
            self._places[pairs] = np.arange(pairs.size)

    def values(
        self, clusters: NDArray[Any], words: NDArray[Any], of_entries: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """For each pair what its entry has, 0 where there is none; `of_entries` has one more value, unused."""
        wanted = clusters.astype(np.int64) * self._n_words + words
        if self._places is not None:
            found = self._places[wanted]
            return np.where(found < self._pairs.size - 1, of_entries[found], 0.0)
        found = np.searchsorted(self._pairs, wanted)
        return np.where(self._pairs[found] == wanted, of_entries[found], 0.0)

"""New documents in the clusters of a finished run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

BLOCK_CELLS = 1 << 22  # documents × clusters scored at a time


class Assignments(NamedTuple):
    """New texts in an existing clustering."""

    labels: NDArray[np.int32]  # −1: no known word
    probabilities: NDArray[np.float64]  # of that cluster; NaN: no known word
    is_new: NDArray[np.bool_]  # whether it fits nowhere: a cluster of its own would be more probable, or by its score


def assign_counts(estimator: Any, counts: scipy.sparse.csr_array) -> Assignments:
    """The most probable cluster of each row of counts, by a fitted mixture, block by block."""
    n_documents = counts.shape[0]
    found = Assignments(np.full(n_documents, -1, np.int32), np.full(n_documents, np.nan), np.zeros(n_documents, bool))
    block = max(BLOCK_CELLS // (estimator.n_clusters_ + 1), 1)
    for first in range(0, n_documents, block):
        probabilities = estimator.predict_proba(counts[first : first + block])
        known = np.flatnonzero(~np.isnan(probabilities[:, -1]))
        best = np.argmax(probabilities[known, :-1], axis=1)
        found.labels[first + known] = best
        found.probabilities[first + known] = probabilities[known, best]
        found.is_new[first + known] = probabilities[known, -1] > probabilities[known, best]
    if n_documents and hasattr(estimator, "new_outliers"):
        found.is_new[:] = estimator.new_outliers(counts, found.labels)
    return found

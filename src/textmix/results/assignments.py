"""New documents in the clusters of a finished run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

BLOCK_CELLS = 1 << 22  # documents × clusters scored at a time


class Assignments(NamedTuple):
    """New texts in an existing clustering."""

    labels: NDArray[Any]  # −1: no known word, and no vector
    probabilities: NDArray[np.float64]  # of that cluster; NaN where there is none
    outliers: NDArray[np.bool_]  # whether it fits nowhere: a cluster of its own would be more probable, or by its score
    outlier_scores: NDArray[np.float64]  # as `Clustering.outlier_scores`; NaN where there is none


def assign_counts(estimator: Any, counts: scipy.sparse.csr_array, vectors: Any = None) -> Assignments:
    """The most probable cluster of each row of counts, and of vectors, by a fitted mixture, block by block."""
    n_documents = counts.shape[0]
    labels, outliers = np.full(n_documents, -1, np.int32), np.zeros(n_documents, bool)
    found = Assignments(labels, np.full(n_documents, np.nan), outliers, np.full(n_documents, np.nan))
    block = max(BLOCK_CELLS // (estimator.n_clusters_ + 1), 1)
    for first in range(0, n_documents, block):
        rows = slice(first, first + block)
        beside = {} if vectors is None else {"vectors": vectors[rows]}
        probabilities = estimator.predict_proba(counts[rows], **beside)
        known = np.flatnonzero(~np.isnan(probabilities[:, -1]))
        best = np.argmax(probabilities[known, :-1], axis=1)
        found.labels[first + known] = best
        found.probabilities[first + known] = probabilities[known, best]
        new = probabilities[known, -1]
        found.outliers[first + known] = new > probabilities[known, best]
        with np.errstate(divide="ignore"):
            found.outlier_scores[first + known] = np.log(new) - np.log(probabilities[known, :-1].sum(axis=1))
    return found

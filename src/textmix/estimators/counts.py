"""From what a user hands to an estimator to a counts matrix that can be trusted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from textmix.corpus import Corpus
from textmix.kernels import counts as count_kernels

MAX_TOTAL = 2.0**60  # sums of counts are kept as 64-bit integers


class CheckedCounts(NamedTuple):
    """A counts matrix without explicit faults, and whether all its counts are whole numbers."""

    matrix: scipy.sparse.csr_array
    whole: bool


def check_counts(estimator: BaseEstimator, X: Any, *, reset: bool) -> CheckedCounts:
    """Check X (sparse or dense counts, or a Corpus): its shape, and that counts are finite and not negative."""
    if isinstance(X, Corpus):
        X = X.counts
    X = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    if X.dtype.kind not in "iu" and X.dtype != np.float32:
        # bool, and floats that neither SciPy nor compiled code knows; no copy where it is float64 already.
        X = X.astype(np.float64, copy=False)
    matrix = scipy.sparse.csr_array(X)
    kind, entry = count_kernels.classify_counts(matrix.data)
    if kind == count_kernels.NOT_FINITE:
        value = "NaN" if np.isnan(matrix.data[entry]) else "infinity"
        raise ValueError(f"Input X contains {value} {_place(matrix, entry)}: counts must be finite numbers.")
    if kind == count_kernels.NEGATIVE:
        raise ValueError(
            f"Negative values in data passed to X: {matrix.data[entry]} {_place(matrix, entry)}; counts are 0 or more."
        )
    total = float(matrix.data.sum(dtype=np.float64))
    if total >= MAX_TOTAL:
        raise ValueError(f"the counts in X add up to {total:.3g}; they may add up to 2^60 (about 1e18) at the most")
    if not matrix.has_canonical_format or (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return CheckedCounts(matrix, kind == count_kernels.WHOLE)


def _place(matrix: scipy.sparse.csr_array, entry: int) -> str:
    row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    return f"in row {row}, column {matrix.indices[entry]}"


def sum_by_cluster(
    counts: scipy.sparse.csr_array, labels: NDArray[np.int32], n_clusters: int
) -> scipy.sparse.csr_array:
    """Word counts of each cluster."""
    # Documents by cluster; those without words, label −1, come first and are left out.
    sizes = np.bincount(labels + 1, minlength=n_clusters + 1)
    members = np.argsort(labels, kind="stable")[sizes[0] :]
    # The type of the counts where it holds the sums, so that SciPy need not copy them.
    wide = np.float64 if counts.dtype.kind == "f" else np.int64
    fits = counts.dtype.kind != "f" and counts.data.sum(dtype=np.float64) < np.iinfo(counts.dtype).max
    membership = scipy.sparse.csr_array(
        (np.ones(members.size, counts.dtype if fits else wide), members, np.append(0, np.cumsum(sizes[1:]))),
        shape=(n_clusters, labels.size),
    )
    sums = scipy.sparse.csr_array(membership @ counts, dtype=wide)
    sums.sort_indices()
    return sums


def check_labels(labels: Any, used: NDArray[np.bool_], n_clusters: int) -> NDArray[np.int32]:
    """Labels to start from: 0 … n_clusters − 1 for the documents in use, anything for others."""
    given: NDArray[Any] = np.asarray(labels)
    if given.shape != used.shape:
        raise ValueError(f"init has shape {given.shape}, there are {used.size} documents")
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"init must hold whole numbers, not {given.dtype}")
    if not ((given >= 0) & (given < n_clusters))[used].all():
        raise ValueError(f"init must hold labels from 0 to n_clusters − 1 = {n_clusters - 1}")
    return given.astype(np.int32)

"""From what a user hands to an estimator to a counts matrix that can be trusted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from textmix.corpus import Corpus
from textmix.corpus.matrix import MAX_TOTAL, check_sparse
from textmix.kernels import counts as count_kernels


class CheckedCounts(NamedTuple):
    """A counts matrix without explicit faults, and whether all its counts are whole numbers."""

    matrix: scipy.sparse.csr_array
    whole: bool


def check_counts(estimator: BaseEstimator, X: Any, *, reset: bool) -> CheckedCounts:
    """Check X (sparse or dense counts, or a Corpus): its shape, and that counts are finite and not negative."""
    X = check_sparse(X.counts if isinstance(X, Corpus) else X)
    X = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    # bool, and floats that neither SciPy nor compiled code knows, become float64; bytes come in this machine's order.
    as_it_is = X.dtype.kind in "iu" or X.dtype == np.float32
    X = X.astype(X.dtype.newbyteorder("=") if as_it_is else np.float64, copy=False)
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
    return CheckedCounts(canonical(matrix), kind == count_kernels.WHOLE)


def canonical(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The matrix with sorted indices, without duplicates or stored zeros; in a copy where it was not so already."""
    if matrix.has_canonical_format and not (matrix.data == 0).any():
        return matrix
    # Duplicates of small integers could add up to more than their type holds.
    wide: Any = np.float64 if matrix.dtype.kind == "f" else np.int64
    matrix = scipy.sparse.csr_array(matrix, dtype=wide, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _place(matrix: scipy.sparse.csr_array, entry: int) -> str:
    row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    return f"in row {row}, column {matrix.indices[entry]}"


def check_labels(labels: Any, used: NDArray[np.bool_], n_clusters: int, name: str = "n_clusters") -> NDArray[np.int32]:
    """Labels to start from: 0 … n_clusters − 1 for the documents in use, anything for others.

    `name` is that of the parameter n_clusters.
    """
    given: NDArray[Any] = np.asarray(labels)
    if given.shape != used.shape:
        raise ValueError(f"init has shape {given.shape}, there are {used.size} documents")
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"init must hold whole numbers, not {given.dtype}")
    if not ((given >= 0) & (given < n_clusters))[used].all():
        raise ValueError(f"init must hold labels from 0 to {name} − 1 = {n_clusters - 1}")
    return given.astype(np.int32)

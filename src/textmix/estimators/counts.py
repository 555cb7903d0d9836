"""From what a user hands to an estimator to a counts matrix that can be trusted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
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

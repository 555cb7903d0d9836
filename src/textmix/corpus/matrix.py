"""Any matrix of counts becomes a CSR array in one form: checked, sorted, without zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

_INT32_MAX = np.iinfo(np.int32).max


def as_counts(matrix: Any) -> csr_array:
    """The matrix as a new CSR array with sorted indices; the given one is left as it is.

    Whole numbers become int32 (int64 if they are too large), fractions float64. Raises ValueError for
    anything but finite numbers of at least 0 in two dimensions, naming the first cell in the way.
    """
    counts = _as_csr(matrix)
    for what, wrong in (
        ("NaN", np.isnan(counts.data)),
        ("infinite", np.isinf(counts.data)),
        ("negative", counts.data < 0),
    ):
        if wrong.any():
            entry = int(np.argmax(wrong))
            row = int(np.searchsorted(counts.indptr, entry, side="right")) - 1
            raise ValueError(f"counts must be 0 or more, but row {row}, column {counts.indices[entry]} is {what}")
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return _in_smallest_types(counts)


def _as_csr(matrix: Any) -> csr_array:
    given: Any = matrix if issparse(matrix) else np.asarray(matrix)
    if given.ndim != 2:
        raise ValueError(f"counts must have two dimensions (documents, words), not {given.ndim}")
    if given.dtype.kind not in "biuf":
        raise ValueError(f"counts must be numbers, not {given.dtype}")
    counts: csr_array = csr_array(given, copy=True)
    return counts


def _in_smallest_types(counts: csr_array) -> csr_array:
    data = counts.data
    if data.dtype.kind == "f" and not np.array_equal(data, np.floor(data)):
        data = data.astype(np.float64)
    else:
        data = data.astype(np.int32 if data.max(initial=0) <= _INT32_MAX else np.int64)
    fits = max(counts.nnz, *counts.shape) <= _INT32_MAX
    index_type = np.int32 if fits else np.int64
    result = csr_array((data, counts.indices.astype(index_type), counts.indptr.astype(index_type)), shape=counts.shape)
    result.has_sorted_indices = True
    result.has_canonical_format = True
    return result


def is_sparse(matrix: object) -> bool:
    """Whether a matrix is one of SciPy's sparse ones, without telling the type checker more than that."""
    return bool(issparse(matrix))

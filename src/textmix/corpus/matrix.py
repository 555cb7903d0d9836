"""Any matrix of counts becomes a CSR array in one form: checked, sorted, without zeros.

Index arrays of sparse matrices are checked here before anything else looks at them (`check_sparse`): SciPy checks them
only in part, when a matrix is made, and compiled code, SciPy's own too, reads and writes wherever they point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

MAX_TOTAL = 2.0**60  # sums of counts are kept as 64-bit integers

_INT32_MAX = np.iinfo(np.int32).max
_INT64_END = 2.0**63


def as_counts(matrix: Any) -> csr_array:
    """The matrix as a new CSR array with sorted indices; the given one is left as it is.

    Whole numbers become int32 (int64 if they are too large), fractions and what int64 cannot hold float64. Raises
    ValueError for anything but finite numbers of at least 0 in two dimensions, naming the first cell in the way.
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
    given: Any = check_sparse(matrix) if issparse(matrix) else np.asarray(matrix)
    if given.ndim != 2:
        raise ValueError(f"counts must have two dimensions (documents, words), not {given.ndim}")
    if given.dtype.kind not in "biuf":
        raise ValueError(f"counts must be numbers, not {given.dtype}")
    # Whatever SciPy has no sparse matrices of: other floats, another order of bytes.
    known = np.float64 if given.dtype.kind == "f" else given.dtype.newbyteorder("=")
    counts: csr_array = csr_array(given.astype(known, copy=False), copy=True)
    return counts


def _in_smallest_types(counts: csr_array) -> csr_array:
    data = counts.data
    is_fractional = data.dtype.kind == "f" and not np.array_equal(data, np.floor(data))
    if is_fractional or data.max(initial=0) >= _INT64_END:
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


def check_sparse(matrix: Any) -> Any:
    """A sparse matrix in CSR whose index arrays can be trusted, the given one if it is so; dense ones as they are.

    Raises ValueError for anything else. Columns may be unsorted and repeated. Cost: two passes over the indices.
    """
    if not is_sparse(matrix):
        return matrix
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse matrix of {matrix.ndim} dimensions instead")
    kind = matrix.format
    if kind in _CHECKS:
        _CHECKS[kind](matrix)
    if kind != "csr":
        try:
            matrix = matrix.tocsr()
        except (OverflowError, TypeError) as error:
            raise _faulty(f"it cannot be read ({error})") from error
        _check_compressed(matrix)
    n_used = int(matrix.indptr[-1])
    if matrix.data.size > n_used:  # room that no row uses
        matrix = type(matrix)((matrix.data[:n_used], matrix.indices[:n_used], matrix.indptr), shape=matrix.shape)
    return matrix


def _faulty(what: str) -> ValueError:
    return ValueError(f"the sparse matrix is damaged: {what}; make it again")


def _check_compressed(matrix: Any) -> None:
    """The index arrays of CSR, CSC and BSR: starts rise from 0 to the entries, indices are within the matrix."""
    starts, indices, data = matrix.indptr, matrix.indices, matrix.data
    if (starts.ndim, indices.ndim) != (1, 1) or data.ndim != (3 if matrix.format == "bsr" else 1):
        raise _faulty("indptr, indices or data have the wrong number of dimensions")
    _check_whole(starts, indices)
    shape, names = matrix.shape, ("row", "column")
    if matrix.format == "bsr":
        shape = (shape[0] // max(data.shape[1], 1), shape[1] // max(data.shape[2], 1))
    elif matrix.format == "csc":
        shape, names = shape[::-1], names[::-1]
    if starts.size != shape[0] + 1:
        raise _faulty(f"indptr has {starts.size:,} numbers for {shape[0]:,} {names[0]}s, not one more")
    if indices.size != data.shape[0]:
        raise _faulty(f"it has {data.shape[0]:,} entries, but {indices.size:,} indices")
    if starts[0] != 0:
        raise _faulty(f"indptr begins with {starts[0]}, not 0")
    falls = starts[1:] < starts[:-1]
    if falls.any():
        raise _faulty(f"{names[0]} {int(np.argmax(falls))} ends before it begins (indptr falls)")
    if starts[-1] > indices.size:
        raise _faulty(f"indptr ends with {starts[-1]:,}, but there are {indices.size:,} entries")
    used = indices[: starts[-1]]
    if used.size and (used.min() < 0 or used.max() >= shape[1]):
        entry = int(np.argmax((used < 0) | (used >= shape[1])))
        place = int(np.searchsorted(starts, entry, side="right")) - 1
        raise _faulty(f"{names[0]} {place} has an entry in {names[1]} {used[entry]} of {shape[1]}")


def _check_coordinates(matrix: Any) -> None:
    """The index arrays of COO: a row and a column within the matrix for each entry."""
    _check_whole(*matrix.coords)
    for name, places, size in zip(("row", "column"), matrix.coords, matrix.shape, strict=True):
        if places.shape != matrix.data.shape:
            raise _faulty(f"it has {matrix.data.size:,} entries, but {places.size:,} {name}s of entries")
        if places.size and (places.min() < 0 or places.max() >= size):
            wrong = places[(places < 0) | (places >= size)][0]
            raise _faulty(f"an entry is in {name} {wrong} of {size}")


def _check_lists(matrix: Any) -> None:
    """The lists of LIL: as many columns as entries in each row; columns are checked in CSR."""
    n_rows = matrix.shape[0]
    if matrix.rows.shape != (n_rows,) or matrix.data.shape != (n_rows,):
        raise _faulty(f"it has lists for {matrix.rows.size:,} and {matrix.data.size:,} rows of {n_rows:,}")
    for row, (columns, entries) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if not (isinstance(columns, list) and isinstance(entries, list) and len(columns) == len(entries)):
            raise _faulty(f"the lists of row {row} do not have as many columns as entries")


def _check_diagonals(matrix: Any) -> None:
    """The arrays of DIA: as many diagonals as offsets."""
    _check_whole(matrix.offsets)
    if matrix.data.ndim != 2 or matrix.offsets.shape != matrix.data.shape[:1]:
        raise _faulty(f"it has {matrix.offsets.size:,} offsets for data of shape {matrix.data.shape}")


def _check_whole(*arrays: NDArray[Any]) -> None:
    for indices in arrays:
        if indices.dtype.kind not in "iu":
            raise _faulty(f"its indices are {indices.dtype}, not whole numbers")


_CHECKS = {
    "csr": _check_compressed,
    "csc": _check_compressed,
    "bsr": _check_compressed,
    "coo": _check_coordinates,
    "lil": _check_lists,
    "dia": _check_diagonals,
}


def sum_by_cluster(matrix: Any, labels: NDArray[np.int32], n_clusters: int) -> csr_array:
    """Word counts of each cluster: sums of the rows of a sparse or dense matrix by label."""
    # Documents by cluster; those without words, label −1, come first and are left out.
    sizes = np.bincount(labels + 1, minlength=n_clusters + 1)
    members = np.argsort(labels, kind="stable")[sizes[0] :]
    values: NDArray[Any] = matrix.data if is_sparse(matrix) else matrix
    wide = np.float64 if values.dtype.kind == "f" else np.int64
    # The type of the counts where it holds the sums, so that SciPy need not copy them.
    fits = (
        values.dtype.kind in "iu"
        and values.min(initial=0) >= 0
        and values.sum(dtype=np.float64) < np.iinfo(values.dtype).max
    )
    membership = csr_array(
        (np.ones(members.size, values.dtype if fits else wide), members, np.append(0, np.cumsum(sizes[1:]))),
        shape=(n_clusters, labels.size),
    )
    sums = csr_array(membership @ matrix, dtype=wide)
    sums.sort_indices()
    return sums


def enlarged(array: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    """A copy of the array with `size` elements, the new ones set to `fill`."""
    larger = np.full(size, fill, dtype=array.dtype)
    larger[: array.size] = array
    return larger

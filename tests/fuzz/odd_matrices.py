"""Matrices as users have them, and as nobody should."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

FORMATS = ("dense", "csr_array", "csr_matrix", "csc_array", "coo_array", "lil_array", "dia_array")


class OddMatrix(NamedTuple):
    """A matrix, what is in it by row and column, and whether it must be refused."""

    given: Any
    counts: np.ndarray
    must_be_refused: bool


def make_counts(rng: np.random.Generator, n_rows: int | None = None, n_columns: int | None = None) -> np.ndarray:
    """Counts of small documents, with extremes now and then."""
    n_rows = int(rng.choice([1, 2, 3, 8, 30, 60])) if n_rows is None else n_rows
    n_columns = int(rng.choice([1, 2, 5, 20, 40])) if n_columns is None else n_columns
    topics = rng.dirichlet(np.full(n_columns, 0.1), size=4)
    counts = rng.poisson(rng.choice([0.2, 2.0, 8.0]) * topics[rng.integers(4, size=n_rows)]).astype(np.float64)
    kind = rng.choice(["whole", "binary", "fractions", "tiny", "huge", "mixed", "equal", "zeros", "one"])
    if kind == "binary":
        counts = np.minimum(counts, 1.0)
    elif kind == "fractions":
        counts *= rng.random(counts.shape)
    elif kind == "tiny":
        counts *= float(rng.choice([1e-5, 1e-100, 1e-310, 5e-324]))
    elif kind == "huge":
        counts *= float(rng.choice([1e6, 2.0**31, 1e12]))
    elif kind == "mixed":
        counts[rng.random(counts.shape) < 0.1] *= float(rng.choice([1e-300, 1e-9, 1e9]))
    elif kind == "equal":
        counts[:] = counts[0]
    elif kind == "zeros":
        counts[rng.random(n_rows) < 0.7] = 0.0
    elif kind == "one":
        counts[:] = 0.0
        counts[rng.integers(n_rows), rng.integers(n_columns)] = 1.0
    return counts


def make_matrix(rng: np.random.Generator, counts: np.ndarray) -> OddMatrix:
    """The counts in some format and type, now and then damaged."""
    given = _in_type(rng, counts)
    if rng.random() < 0.1:
        given, refused = given.astype(np.float64), counts.size > 0
        if refused:
            value = float(rng.choice([np.nan, np.inf, -np.inf, -1.0]))
            given[rng.integers(given.shape[0]), rng.integers(given.shape[1])] = value
        return OddMatrix(_in_format(rng, given), counts, refused)
    if rng.random() < 0.25 and np.count_nonzero(counts):
        return OddMatrix(damage(rng, scipy.sparse.csr_array(given)), counts, True)
    return OddMatrix(_in_format(rng, given), counts, False)


def _in_type(rng: np.random.Generator, counts: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        types = [kind for kind in (np.int8, np.int32, np.int64, np.float32) if (counts == counts.astype(kind)).all()]
    return counts.astype([np.float64, *types][rng.integers(len(types) + 1)])


def _in_format(rng: np.random.Generator, matrix: np.ndarray) -> Any:
    name = str(rng.choice(FORMATS))
    if name == "dense":
        return np.asfortranarray(matrix) if rng.random() < 0.3 else matrix
    made = getattr(scipy.sparse, name)(matrix)
    if name.startswith("cs") and rng.random() < 0.1:
        made.indices = made.indices.astype(rng.choice(["uint32", "int64", "int16"]))
    if name.startswith("csr") and rng.random() < 0.5:  # each row's entries in another order, some of them halved
        order = np.concatenate(
            [start + rng.permutation(stop - start) for start, stop in zip(made.indptr, made.indptr[1:], strict=False)]
            or [np.empty(0, np.int64)]
        ).astype(np.int64)
        made = type(made)((made.data[order], made.indices[order], made.indptr), shape=made.shape)
    return made


def damage(rng: np.random.Generator, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """A CSR matrix whose index arrays say what cannot be; SciPy checks them only when one is made from parts."""
    matrix = scipy.sparse.csr_array(matrix, copy=True)
    entry, row = int(rng.integers(matrix.nnz)), int(rng.integers(matrix.shape[0]))
    kind = rng.choice(["far", "every fifth", "negative", "falling starts", "beyond the data", "first start"])
    if kind == "far":
        matrix.indices[entry] = rng.choice([matrix.shape[1], 10**6, 2**31 - 1])
    elif kind == "every fifth":
        matrix.indices[::5] = 10**9
    elif kind == "negative":
        matrix.indices[entry] = rng.choice([-1, -(10**6), -(2**31)])
    elif kind == "falling starts":
        matrix.indptr[row] = matrix.indptr[row + 1] + rng.integers(1, 10**6)
    elif kind == "beyond the data":
        matrix.indptr[-1] += rng.choice([1, 1000, 10**8])
    else:
        matrix.indptr[0] = rng.choice([-5, 3, 10**6])
    return matrix

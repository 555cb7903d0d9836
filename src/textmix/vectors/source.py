"""Where the vectors of documents come from: an array of the user's, or an encoder that is asked when needed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from textmix.vectors.encoders import Encoder

BLOCK_ROWS = 4096  # rows that are checked or converted at once: 12 MB for 384 dimensions in 8 bytes
MIN_DIMENSIONS = 2


class VectorSource(Protocol):
    """The unit vectors of a collection's documents; a zero row means that a document has no vector."""

    @property
    def n_documents(self) -> int:
        """Number of rows."""

    @property
    def n_dimensions(self) -> int:
        """Number of columns."""

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of these documents, in their order, as a new array."""


class ArrayVectors(VectorSource):
    """Vectors of an array, which may be memory-mapped: rows are converted when they are asked for."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return int(self._array.shape[0])

    @property
    def n_dimensions(self) -> int:
        """Number of columns."""
        return int(self._array.shape[1])

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of these documents, each of length 1 or 0."""
        found = np.empty((documents.size, self.n_dimensions), dtype=np.float32)
        for block in blocks(documents.size):
            found[block] = as_unit_rows(self._array[documents[block]])
        return found


class HeldVectors(VectorSource):
    """Vectors in memory, two bytes per number; of length 1 but for rounding."""

    def __init__(self, matrix: NDArray[np.float16]) -> None:
        self.matrix = matrix

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_dimensions(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of these documents."""
        return self.matrix[documents].astype(np.float32)


class ArrangedVectors(VectorSource):
    """Vectors in the order that sampling wants: those of documents, then those of examples.

    `is_held`: those of the documents are `HeldVectors`, so that asking for them again costs no more than a conversion.
    """

    def __init__(self, source: VectorSource, documents: NDArray[np.int64], examples: NDArray[np.float32]) -> None:
        self._source, self._documents, self._examples = source, documents, examples
        self.is_held = isinstance(source, HeldVectors)

    @property
    def n_documents(self) -> int:
        """Number of documents and examples."""
        return int(self._documents.size)

    @property
    def n_dimensions(self) -> int:
        """Number of columns."""
        return self._source.n_dimensions

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of these documents and examples."""
        wanted = self._documents[documents]
        is_example = wanted >= self._source.n_documents
        if not is_example.any():
            return self._source.rows(wanted)
        if is_example.all():
            return self._examples[wanted - self._source.n_documents]
        found = np.empty((wanted.size, self.n_dimensions), np.float32)
        found[~is_example] = self._source.rows(wanted[~is_example])
        found[is_example] = self._examples[wanted[is_example] - self._source.n_documents]
        return found


class EncodedTexts(VectorSource):
    """Vectors of texts, encoded each time they are asked for; nothing is kept."""

    def __init__(self, encoder: Encoder, texts: Sequence[str]) -> None:
        self._encoder = encoder
        self._texts = texts
        self._n_dimensions: int | None = None

    @property
    def n_documents(self) -> int:
        """Number of texts."""
        return len(self._texts)

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the encoder; one text is encoded to know them, if none was before."""
        if self._n_dimensions is None:
            self._n_dimensions = int(self._encoder.encode(list(self._texts[:1])).shape[1])
        return self._n_dimensions

    def fingerprints(self, documents: NDArray[np.int64]) -> NDArray[np.uint32]:
        """A number for each of these texts; nothing is encoded."""
        codes = (zlib.crc32(self._texts[i].encode("utf-8", "surrogatepass")) for i in documents.tolist())
        return np.fromiter(codes, np.uint32, documents.size)

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of these texts and of no others."""
        found = self._encoder.encode([self._texts[document] for document in documents.tolist()])
        self._n_dimensions = int(found.shape[1])
        return found


def fingerprints(vectors: VectorSource, documents: NDArray[np.int64]) -> NDArray[np.uint32]:
    """A number for each of these documents that tells different vectors apart, by what they are made of."""
    if isinstance(vectors, EncodedTexts):
        return vectors.fingerprints(documents)
    found = np.empty(documents.size, np.uint32)
    for block in blocks(documents.size):
        found[block] = fingerprint_rows(vectors.rows(documents[block]))
    return found


def fingerprint_rows(rows: NDArray[np.floating]) -> NDArray[np.uint32]:
    """A number for each row that tells different rows apart."""
    return np.fromiter((zlib.crc32(row.tobytes()) for row in rows), np.uint32, len(rows))


def hold_vectors(vectors: VectorSource, documents: NDArray[np.int64]) -> HeldVectors:
    """The vectors of some documents in memory."""
    matrix = np.empty((documents.size, vectors.n_dimensions), np.float16)
    for block in blocks(documents.size):
        matrix[block] = as_unit_rows(vectors.rows(documents[block]))  # a user's own source may forget lengths
    return HeldVectors(matrix)


def check_vectors(vectors: Any, n_documents: int, name: str = "vectors", *, some: bool = True) -> ArrayVectors:
    """The vectors as a source, not copied if they are an array; ValueError if they cannot be used.

    `name` is what messages call them; rows are counted from 0. `some`: at least one row must not be zero.
    """
    array = as_matrix(vectors, n_documents, name)
    found = find_not_finite(array)
    if found is not None:
        row, value = found
        raise ValueError(
            f"row {row:,} of {name} (counted from 0) contains {value}; vectors must be finite, "
            "and a row of zeros means that a text has no vector"
        )
    if some and n_documents and not any(array[block].any() for block in blocks(n_documents)):
        raise ValueError(f"all rows of {name} are zero, so no text has a vector")
    return ArrayVectors(array)


def as_matrix(vectors: Any, n_documents: int, name: str) -> NDArray[Any]:
    """Vectors as an array of numbers with one row per document; ValueError if they are not."""
    array = _as_array(vectors, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (one row per text), not {array.ndim}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, not {array.dtype}")
    n_rows, n_dimensions = array.shape
    if n_rows != n_documents:
        raise ValueError(f"{name} has {n_rows:,} rows, but there are {n_documents:,} texts; give one row per text")
    if n_dimensions < MIN_DIMENSIONS:
        has = f"{n_dimensions} dimension{'' if n_dimensions == 1 else 's'}"
        raise ValueError(f"{name} has {has}; a vector needs at least {MIN_DIMENSIONS} numbers")
    return array


def find_not_finite(array: NDArray[Any]) -> tuple[int, str] | None:
    """The first row with NaN or infinity and that value, or None; looks at a block of rows at a time."""
    if array.dtype.kind != "f":
        return None
    for block in blocks(array.shape[0]):
        is_finite = np.isfinite(array[block])
        if not is_finite.all():
            row, column = np.unravel_index(int(np.argmin(is_finite)), is_finite.shape)
            value = float(array[block][row, column])
            return block.start + int(row), "NaN" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
    return None


def as_unit_rows(array: NDArray[Any]) -> NDArray[np.float32]:
    """Rows of finite numbers divided by their lengths; zero rows stay as they are."""
    wide = np.array(array, dtype=np.float64, order="C")
    with np.errstate(over="ignore", under="ignore"):
        lengths = _lengths(wide)
        # Squares of numbers beyond 1e±154 leave the range of float64; scaled rows do not.
        extreme = np.flatnonzero((lengths < 1e-140) | (lengths > 1e140))
        if extreme.size:
            largest = np.abs(wide[extreme]).max(axis=1, keepdims=True)
            wide[extreme] /= np.where(largest > 0, largest, 1)
            lengths[extreme] = _lengths(wide[extreme])
        wide /= np.where(lengths > 0, lengths, 1)[:, np.newaxis]
        return wide.astype(np.float32)


def blocks(n_rows: int, size: int | None = None) -> Iterator[slice]:
    """Slices that cover so many rows, one after the other."""
    step = BLOCK_ROWS if size is None else size
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    squares: NDArray[np.float64] = np.square(rows).sum(axis=1)
    return np.sqrt(squares)


def _as_array(vectors: Any, name: str) -> NDArray[Any]:
    """Anything like an array as one; rows may also be objects of their own, as in a column of a data frame."""
    if callable(getattr(vectors, "detach", None)):  # a tensor of PyTorch may be on a GPU, or part of a graph
        vectors = vectors.detach().cpu()
        if not hasattr(np, str(vectors.dtype).rpartition(".")[2]):
            vectors = vectors.float()  # bfloat16 is unknown to NumPy
    try:
        array = np.asarray(vectors)
        if array.dtype == object and array.ndim == 1:
            array = np.array([np.asarray(row) for row in array])
    except (ValueError, TypeError) as error:
        raise _uneven_rows(vectors, name) or ValueError(
            f"{name} must be numbers, one row per text, not {type(vectors).__name__}"
        ) from error
    return array


def _uneven_rows(vectors: Any, name: str) -> ValueError | None:
    """The error for rows of different lengths, or None if that is not what is wrong."""
    try:
        n_first = len(vectors[0])
        for row, vector in enumerate(vectors):
            if len(vector) != n_first:
                return ValueError(
                    f"row {row:,} of {name} (counted from 0) has {len(vector):,} numbers, row 0 has {n_first:,}"
                )
    except (TypeError, KeyError, IndexError):
        return None
    return None

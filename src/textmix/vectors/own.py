"""Vectors made from the collection itself: TF-IDF, reduced by a singular value decomposition.

A document's weights x = log(1 + n(w)) · idf(w), idf(w) = log((1 + D) / (1 + df(w))) + 1, scaled to length 1, are
projected onto the first right singular vectors of the collection (latent semantic analysis, Deerwester et al. 1990).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from textmix.vectors.source import MIN_DIMENSIONS, VectorSource, as_unit_rows, blocks
from textmix.vectors.weights import hash_arrays
from textmix.version import __version__

N_DIMENSIONS = 100
# Up to this many words or documents all singular values are computed, which is exact and takes some 0.2 s.
MAX_DENSE = 1000
NEGLIGIBLE = 1e-5  # singular values below this share of the largest are rounding errors


@dataclass(frozen=True, eq=False)
class OwnVectors:
    """Weights of words and the directions of the collection: words × dimensions."""

    idf: NDArray[np.float32]
    components: NDArray[np.float32]

    @classmethod
    def fit(cls, counts: csr_array, seed: int) -> Self:
        """Find the directions of a collection of counts (documents × words); the same seed gives the same ones."""
        n_documents = counts.shape[0]
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = (np.log((1 + n_documents) / (1 + frequencies)) + 1).astype(np.float32)
        return cls(idf, _directions(_weigh(counts, idf), seed))

    @property
    def n_dimensions(self) -> int:
        """At most 100; fewer if there are few words or documents."""
        return int(self.components.shape[1])

    def transform(self, counts: csr_array) -> NDArray[np.float32]:
        """One unit row per document; a zero row for a document without words."""
        if counts.shape[1] != self.idf.size:
            raise ValueError(f"the counts have {counts.shape[1]:,} words, but the vectors {self.idf.size:,}")
        found = np.empty((counts.shape[0], self.n_dimensions), dtype=np.float32)
        for block in blocks(counts.shape[0]):
            found[block] = as_unit_rows(_weigh(counts[block], self.idf) @ self.components)
        return found

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """What must be saved to make the vectors of new documents."""
        return {"idf": self.idf, "components": self.components}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """From saved arrays; ValueError if they do not fit together."""
        missing = [name for name in ("idf", "components") if name not in arrays]
        if missing:
            raise ValueError(f"the saved vectors lack the array {missing[0]}")
        idf, components = arrays["idf"], arrays["components"]
        is_shaped = idf.ndim == 1 and components.ndim == 2 and idf.shape[0] == components.shape[0]
        if not is_shaped or components.shape[1] < MIN_DIMENSIONS:
            raise ValueError(f"the saved vectors are damaged: idf is {idf.shape}, components is {components.shape}")
        if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in (idf, components)):
            raise ValueError("the saved vectors are damaged: they must be finite float32 numbers")
        return cls(idf, components)

    def describe(self) -> dict[str, Any]:
        """What run.json says of it."""
        weights = hash_arrays(self.arrays().values())
        return {"name": "own", "version": __version__, "weights": weights, "dimensions": self.n_dimensions}


class CountVectors(VectorSource):
    """The own vectors of documents given by their counts, made each time they are asked for."""

    def __init__(self, vectors: OwnVectors, counts: csr_array) -> None:
        self._vectors, self._counts = vectors, counts

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self._counts.shape[0])

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the vectors."""
        return self._vectors.n_dimensions

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of these documents."""
        return self._vectors.transform(self._counts[documents])


def _weigh(counts: csr_array, idf: NDArray[np.float32]) -> csr_array:
    """TF-IDF with rows of length 1, in float64."""
    weights = np.log1p(counts.data.astype(np.float64)) * idf[counts.indices]
    n_words = np.diff(counts.indptr)
    documents = np.repeat(np.arange(n_words.size), n_words)
    lengths = np.sqrt(np.bincount(documents, np.square(weights), minlength=n_words.size))
    lengths[lengths == 0] = 1
    return csr_array((weights / lengths[documents], counts.indices, counts.indptr), shape=counts.shape)


def _directions(weighed: csr_array, seed: int) -> NDArray[np.float32]:
    """The first right singular vectors as columns (words × dimensions), largest first."""
    smaller = min(weighed.shape)
    if smaller <= max(MAX_DENSE, N_DIMENSIONS):
        values, vectors = _all_directions(weighed)
    else:
        start = np.random.default_rng(seed).standard_normal(smaller)
        # Converged to 1e-4 of a value, which no clustering sees; exact ones take half as long again.
        _, rising, rows = svds(weighed, N_DIMENSIONS, v0=start, tol=1e-4)
        values, vectors = rising[::-1].astype(np.float64), rows[::-1].T.astype(np.float64)
    is_kept = values > NEGLIGIBLE * values.max(initial=0)
    vectors = vectors[:, is_kept][:, :N_DIMENSIONS]
    # The sign of a singular vector is arbitrary: its largest number is made positive.
    largest = np.argmax(np.abs(vectors), axis=0)
    vectors = vectors * np.where(np.take_along_axis(vectors, largest[np.newaxis], axis=0) < 0, -1, 1)
    n_missing = max(MIN_DIMENSIONS - vectors.shape[1], 0)
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, n_missing))), dtype=np.float32)


def _all_directions(weighed: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Singular values, falling, and right singular vectors, from products of words or of documents by each other."""
    n_documents, n_words = weighed.shape
    if n_words <= n_documents:
        squares, vectors = np.linalg.eigh((weighed.T @ weighed).toarray())
        return np.sqrt(np.maximum(squares[::-1], 0)), vectors[:, ::-1]
    squares, left = np.linalg.eigh((weighed @ weighed.T).toarray())
    values = np.sqrt(np.maximum(squares[::-1], 0))
    return values, (weighed.T @ left[:, ::-1]) / np.where(values > 0, values, 1)

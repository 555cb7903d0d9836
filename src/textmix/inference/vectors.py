"""Documents as vectors, sparse or dense, and the two products that EM needs of them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.engines.threads import Threads
from textmix.kernels.em import multiply, sum_by_label

WORDS = 4096  # in a block of the M-step

Floats = NDArray[np.floating[Any]]


class Vectors(Protocol):
    """What EM asks of documents. Sums are of the type that the model wants its weights in."""

    n_documents: int
    n_words: int

    def scores(self, weights: Floats, first: int, last: int) -> NDArray[np.float64]:
        """Σ_l x(l) weights[l, y] for documents first … last − 1 and all clusters."""
        ...

    def sum_labels(self, labels: NDArray[np.int32], n_clusters: int, kind: Any, threads: Threads) -> Floats:
        """Σ_x x(l) over the documents of each label: words × clusters. Label −1 is left out."""
        ...

    def sum_posteriors(self, posteriors: NDArray[np.float64], kind: Any, threads: Threads) -> Floats:
        """Σ_x P(y | x) x(l): words × clusters."""
        ...


class SparseVectors:
    """Documents by row for scoring and by word for sums; the two may hold different values for the same entries."""

    def __init__(self, scored: scipy.sparse.csr_array, summed: scipy.sparse.csr_array | None = None) -> None:
        self.n_documents, self.n_words = scored.shape
        self._rows = _index_arrays(scored)
        self._columns = _index_arrays((scored if summed is None else summed).tocsc())

    def scores(self, weights: Floats, first: int, last: int) -> NDArray[np.float64]:
        """See Vectors."""
        product = np.empty((last - first, weights.shape[1]))
        multiply(*self._rows, weights, product, np.empty(weights.shape[1]), first, last)
        return product

    def sum_labels(self, labels: NDArray[np.int32], n_clusters: int, kind: Any, threads: Threads) -> Floats:
        """See Vectors."""
        sums = np.empty((self.n_words, n_clusters), kind)

        def sum_block(first: int, last: int) -> None:
            sum_by_label(*self._columns, labels, sums, np.empty(n_clusters), first, last)

        threads.run_blocks(sum_block, self.n_words, WORDS)
        return sums

    def sum_posteriors(self, posteriors: NDArray[np.float64], kind: Any, threads: Threads) -> Floats:
        """See Vectors."""
        n_clusters = posteriors.shape[1]
        sums = np.empty((self.n_words, n_clusters), kind)

        def sum_block(first: int, last: int) -> None:
            multiply(*self._columns, posteriors, sums[first:last], np.empty(n_clusters), first, last)

        threads.run_blocks(sum_block, self.n_words, WORDS)
        return sums


class DenseVectors:
    """Documents as a dense matrix; products are NumPy's."""

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        self.n_documents, self.n_words = matrix.shape
        self._matrix = matrix

    def scores(self, weights: Floats, first: int, last: int) -> NDArray[np.float64]:
        """See Vectors."""
        return np.asarray(self._matrix[first:last] @ weights, dtype=np.float64)

    def sum_labels(self, labels: NDArray[np.int32], n_clusters: int, kind: Any, threads: Threads) -> Floats:
        """See Vectors."""
        members = np.flatnonzero(labels >= 0)
        membership = scipy.sparse.csr_array(
            (np.ones(members.size), (labels[members], members)), shape=(n_clusters, self.n_documents)
        )
        return np.ascontiguousarray((membership @ self._matrix).T)

    def sum_posteriors(self, posteriors: NDArray[np.float64], kind: Any, threads: Threads) -> Floats:
        """See Vectors."""
        return np.asarray(self._matrix.T @ posteriors)


def _index_arrays(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.uint32),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
    )

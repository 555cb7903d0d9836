"""Documents as vectors, sparse or dense, and the two products that EM needs of them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.engines.threads import Threads
from textmix.kernels.em import multiply, split_entries, sum_by_label

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
        self.rows = _index_arrays(scored)
        self._columns = _index_arrays((scored if summed is None else summed).tocsc())
        self._buffers: list[Floats] = []

    def scores(self, weights: Floats, first: int, last: int) -> NDArray[np.float64]:
        """See Vectors."""
        product = np.empty((last - first, weights.shape[1]))
        multiply(*self.rows, weights, product, np.empty(weights.shape[1]), first, last)
        return product

    def sum_labels(self, labels: NDArray[np.int32], n_clusters: int, kind: Any, threads: Threads) -> Floats:
        """See Vectors."""
        sums = self._next_buffer(n_clusters, kind)

        def sum_block(first: int, last: int) -> None:
            sum_by_label(*self._columns, labels, sums, np.empty(n_clusters), first, last)

        threads.run_blocks(sum_block, self.n_words, WORDS)
        return sums

    def sum_posteriors(self, posteriors: NDArray[np.float64], kind: Any, threads: Threads) -> Floats:
        """See Vectors."""
        n_clusters = posteriors.shape[1]
        sums = self._next_buffer(n_clusters, kind)

        def sum_block(first: int, last: int) -> None:
            multiply(*self._columns, posteriors, sums[first:last], np.empty(n_clusters), first, last)

        threads.run_blocks(sum_block, self.n_words, WORDS)
        return sums

    def _next_buffer(self, n_clusters: int, kind: Any) -> Floats:
        """One of two arrays in turn, so that the last sums stay while new ones are formed: fresh memory costs time."""
        if len(self._buffers) < 2 or self._buffers[0].shape[1] != n_clusters:
            self._buffers = [np.empty((self.n_words, n_clusters), kind) for _ in range(2)]
        self._buffers.reverse()
        return self._buffers[0]


class DenseVectors:
    """Documents as a dense matrix; products are NumPy's."""

    def __init__(self, matrix: Floats) -> None:
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
        # By blocks: a product of two types would first copy the whole matrix into the wider one.
        sums = np.zeros((self.n_words, posteriors.shape[1]))
        for first in range(0, self.n_documents, WORDS):
            sums += self._matrix[first : first + WORDS].T @ posteriors[first : first + WORDS]
        return sums


class LoneWords(NamedTuple):
    """Words that stand in one document only, kept apart from the vectors.

    Where documents belong to one cluster each and clusters are sums of their documents, such a word adds to a
    document's score in the cluster that it was summed into, and nowhere else.
    """

    shared: NDArray[np.int64]  # all other words, by falling frequency: what is read often lies together
    documents: NDArray[np.int64]  # of each entry
    words: NDArray[np.int64]
    values: NDArray[np.float64]
    products: NDArray[np.float64]  # of each document: Σ value × value as the sums have it
    squares: NDArray[np.float64]  # of each document: Σ (value as the sums have it)²

    def put_back(self, weights: Floats, labels: NDArray[np.int32]) -> Floats:
        """Sums of the shared words, completed by the lone ones of documents that belonged to these clusters."""
        full = np.zeros((self.shared.size + self.words.size, weights.shape[1]), weights.dtype)
        full[self.shared] = weights
        summed = labels[self.documents] >= 0
        full[self.words[summed], labels[self.documents[summed]]] = self.values[summed]
        return full


def split_off_lone_words(matrix: scipy.sparse.csr_array, kind: Any) -> tuple[scipy.sparse.csr_array, LoneWords]:
    """Documents without the words that only one of them has, and these words. Words of no document count as shared.

    `kind` is the type that sums are kept in.
    """
    n_documents, n_words = matrix.shape
    frequencies = np.bincount(matrix.indices, minlength=n_words)
    shared = np.flatnonzero(frequencies != 1)
    shared = shared[np.argsort(-frequencies[shared], kind="stable")]
    n_lone = n_words - shared.size
    new_ids = np.full(n_words, -1, np.int32)
    new_ids[shared] = np.arange(shared.size, dtype=np.int32)
    n_kept = matrix.nnz - n_lone
    kept = np.zeros(n_documents + 1, matrix.indptr.dtype), np.empty(n_kept, np.int32), np.empty(n_kept)
    documents, places = np.empty(n_lone, np.int64), np.empty(n_lone, np.int64)
    split_entries(matrix.indptr, matrix.indices, matrix.data, new_ids, *kept, documents, places)
    values = matrix.data[places]
    rounded = values.astype(kind).astype(np.float64)
    lone = LoneWords(
        shared=shared,
        documents=documents,
        words=matrix.indices[places].astype(np.int64),
        values=values,
        products=np.bincount(documents, values * rounded, n_documents).astype(np.float64),
        squares=np.bincount(documents, rounded**2, n_documents).astype(np.float64),
    )
    return scipy.sparse.csr_array((kept[2], kept[1], kept[0]), shape=(n_documents, shared.size)), lone


def _index_arrays(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
    return (
        matrix.indptr.astype(np.int64),
        # Indices are not negative, so their bits mean the same.
        matrix.indices.view(np.uint32) if matrix.indices.dtype == np.int32 else matrix.indices.astype(np.uint32),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
    )

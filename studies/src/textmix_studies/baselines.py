"""The methods that the papers compare with, from libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import svds
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

Counts = scipy.sparse.csr_array
Labels = NDArray[np.int64]

NEEDS_TOMOTOPY = "LDA is tomotopy's: pip install textmix-studies"


def unit_vectors(counts: Counts) -> Any:
    """TF-IDF vectors of length 1, whose Euclidean distances order as their cosines do."""
    return TfidfTransformer().fit_transform(scipy.sparse.csr_matrix(counts))


def k_means(counts: Counts, n_clusters: int, seed: int, *, n_init: int = 10, max_iter: int = 10) -> Labels:
    """K-means with cosine similarity: scikit-learn's, on unit vectors."""
    return k_means_of_vectors(unit_vectors(counts), n_clusters, seed, n_init=n_init, max_iter=max_iter)


def k_means_of_vectors(vectors: Any, n_clusters: int, seed: int, *, n_init: int, max_iter: int) -> Labels:
    """K-means from random documents: scikit-learn's."""
    model = KMeans(n_clusters, init="random", n_init=n_init, max_iter=max_iter, random_state=seed)
    return np.asarray(model.fit_predict(vectors), dtype=np.int64)


def bisecting_k_means(counts: Counts, n_clusters: int, seed: int) -> Labels:
    """Bisecting k-means on unit vectors: scikit-learn's."""
    model = BisectingKMeans(n_clusters, random_state=seed)
    return np.asarray(model.fit_predict(unit_vectors(counts)), dtype=np.int64)


def co_cluster(counts: Counts, n_clusters: int, seed: int) -> Labels:
    """Dhillon's spectral co-clustering as Zhong and Ghosh changed it (footnote 5), documents only.

    D₁^-½ A D₂^-½ with the row and column sums D of the counts; K singular vectors in place of log₂ K, scaled by D₁^-½,
    rows of unit length; then k-means from one start (k-means++).
    """
    matrix = counts.astype(np.float64)
    rows = np.asarray(matrix.sum(axis=1)).ravel()
    columns = np.asarray(matrix.sum(axis=0)).ravel()
    by_row, by_column = (1.0 / np.sqrt(np.where(sums > 0.0, sums, 1.0)) for sums in (rows, columns))
    scaled = matrix.multiply(by_row[:, None]).multiply(by_column[None, :]).tocsr()
    n_vectors = min(n_clusters, min(scaled.shape) - 1)
    left, values, _ = svds(scaled, k=n_vectors, random_state=seed)
    vectors = normalize(by_row[:, None] * left[:, np.argsort(-values)])
    model = KMeans(n_clusters, n_init=1, random_state=seed)
    return np.asarray(model.fit_predict(vectors), dtype=np.int64)


class LdaTopics:
    """LDA by collapsed Gibbs sampling: tomotopy's. learn: α is estimated on the way."""

    def __init__(
        self, counts: Counts, n_topics: int, seed: int, *, alpha: float, eta: float, learn: bool = False
    ) -> None:
        try:
            import tomotopy
        except ImportError as error:
            raise ImportError(NEEDS_TOMOTOPY) from error
        self._one_thread = {"workers": 1, "parallel": tomotopy.ParallelScheme.NONE}
        self._model = tomotopy.LDAModel(k=n_topics, alpha=alpha, eta=eta, seed=seed, rm_top=0, min_cf=0)
        self._model.optim_interval = 10 if learn else 0
        self._has_words = np.diff(counts.indptr) > 0
        names = np.array([str(word) for word in range(counts.shape[1])], dtype=object)
        for row in np.flatnonzero(self._has_words):
            own = slice(counts.indptr[row], counts.indptr[row + 1])
            self._model.add_doc(np.repeat(names[counts.indices[own]], counts.data[own]).tolist())

    def train(self, n_iterations: int) -> None:
        """So many iterations more."""
        self._model.train(n_iterations, **self._one_thread)

    def labels(self) -> Labels:
        """The most probable topic of each document; -1 for one without words."""
        labels = np.full(self._has_words.size, -1, dtype=np.int64)
        labels[self._has_words] = [int(np.argmax(document.get_topic_dist())) for document in self._model.docs]
        return labels


def lda(
    counts: Counts, n_topics: int, seed: int, *, alpha: float, eta: float, n_iterations: int = 100, learn: bool = False
) -> Labels:
    """The most probable topic of each document by LDA."""
    model = LdaTopics(counts, n_topics, seed, alpha=alpha, eta=eta, learn=learn)
    model.train(n_iterations)
    return model.labels()

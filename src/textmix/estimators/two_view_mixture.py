"""Mixtures whose documents may have vectors beside words: what both say of a document once clusters are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from textmix.engines.threads import threads
from textmix.estimators.counts import check_counts
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.inference.layout import fixed_point_scale
from textmix.inference.pooling import LEAST_WORD_WEIGHT, PooledScorer, cosines_with_own, no_vectors
from textmix.inference.votes import prefer_labels
from textmix.vectors.source import VectorSource, blocks, check_vectors


def as_source(vectors: Any, n_documents: int, *, some: bool = True) -> VectorSource:
    """Vectors as a source, checked unless they are one; `some`: at least one of them must not be zero."""
    if not (callable(getattr(vectors, "rows", None)) and hasattr(vectors, "n_documents")):  # polars has rows() too
        return check_vectors(vectors, n_documents, some=some)
    if vectors.n_documents != n_documents:
        raise ValueError(f"there are {vectors.n_documents:,} vectors, but {n_documents:,} documents")
    source: VectorSource = vectors
    return source


class TwoViewMixture(PartitionMixture):
    """A Dirichlet-multinomial mixture that predicts by words, and by vectors too if it was fitted with them."""

    def _set_counts(self, counts: scipy.sparse.csr_array | None) -> Self:
        self._forget("_sums", "_fence")
        return super()._set_counts(counts)

    @property
    def _direction_sums(self) -> NDArray[np.float32]:
        if self._fitted.vectors is None:
            return np.empty((self.n_clusters_, 0), np.float32)
        if "_sums" not in self.__dict__:
            self._sums = self._fitted.vectors.sum_by_cluster(self.labels_, self.n_clusters_)
        return self._sums

    @property
    def directions_(self) -> NDArray[np.float32] | None:
        """The sums of the vectors of each cluster; None if it was fitted to words alone."""
        return self._direction_sums if self.has_vectors_ else None

    @property
    def has_vectors_(self) -> bool:
        """Whether it was fitted with vectors beside the words."""
        return self._fitted.vectors is not None

    def predict(self, X: Any, *, vectors: Any = None) -> NDArray[np.int32]:
        """The most probable cluster of each new document by its words and its vector; −1 without both.

        By words alone if there are no vectors; a model that was fitted without takes none.
        """
        counts, units = self._new_documents(X, vectors)
        return self._pooled(counts).most_probable(counts, units)

    def predict_proba(self, X: Any, *, vectors: Any = None) -> NDArray[np.float64]:
        """The probability of each cluster and, in the last column, of a new one; NaN without words and vector."""
        counts, units = self._new_documents(X, vectors)
        return self._pooled(counts).probabilities(counts, units)

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Each training document's probabilities given all others: one column per cluster, the last for a new one.

        By the votes of the runs (inference/votes.py); by words and vectors for documents that no run has seen, such as
        copies that count once. The label of a document is always its most probable cluster.
        """
        check_is_fitted(self)
        if "_probabilities" not in self.__dict__:
            probabilities = np.full((self.labels_.size, self.n_clusters_ + 1), np.nan)
            for rows, found in self._probability_blocks():
                probabilities[rows] = found
            self._probabilities = probabilities
        return self._probabilities

    def own_probabilities(self) -> NDArray[np.float64]:
        """Each training document's probability of its own cluster; NaN without words."""
        own = np.full(self.labels_.size, np.nan)
        for rows, found in self._probability_blocks():
            own[rows] = found[np.arange(rows.size), self.labels_[rows]]
        return own

    def _probability_blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Training documents that have a label, and their probabilities, some at a time."""
        labels, counts, votes = self.labels_, self._training_counts(), self._fitted.votes
        rest = np.flatnonzero(labels >= 0)
        if votes is not None:
            rest = np.setdiff1d(rest, votes.documents, assume_unique=True)
            for rows, found in votes.blocks(labels, self.n_clusters_):
                prefer_labels(found, labels[rows])
                yield rows, found
        if rest.size:
            held, scorer = self._fitted.vectors or no_vectors(labels.size), self._pooled(counts)

            def score(first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
                rows = rest[first:last]
                found = scorer.probabilities(counts[rows], held.of(rows), labels[rows])
                prefer_labels(found, labels[rows])
                return rows, found

            with threads(getattr(self, "n_jobs", None)) as pool, threadpool_limits(1, user_api="blas"):
                yield from pool.map_blocks(score, rest.size, scorer.block_size)

    def _new_documents(self, X: Any, vectors: Any) -> tuple[scipy.sparse.csr_array, NDArray[np.float32]]:
        check_is_fitted(self)
        counts = check_counts(self, X, reset=False).matrix
        if vectors is None:  # zeros, as of documents without vectors
            n_dimensions = 0 if self._fitted.vectors is None else self._fitted.vectors.n_dimensions
            return counts, np.zeros((counts.shape[0], n_dimensions), np.float32)
        return counts, self.check_new_vectors(vectors, counts.shape[0])

    def check_new_vectors(self, vectors: Any, n_documents: int) -> NDArray[np.float32]:
        """Unit vectors of new documents; ValueError if they cannot be those of the same encoder."""
        if self._fitted.vectors is None:
            raise ValueError("this model was fitted to words alone: leave out vectors")
        source = as_source(vectors, n_documents, some=False)
        if source.n_dimensions != self._fitted.vectors.n_dimensions:
            raise ValueError(
                f"vectors have {source.n_dimensions:,} dimensions, those of the fit had "
                f"{self._fitted.vectors.n_dimensions:,}; they must come from the same encoder"
            )
        return source.rows(np.arange(n_documents))

    def _pooled(self, counts: scipy.sparse.csr_array) -> PooledScorer:
        """What scores these documents by both views."""
        fitted = self._fitted
        total = float(self.cluster_word_counts_.sum()) + float(counts.sum())
        whole = fitted.unit == 1.0 and bool((counts.data == np.floor(counts.data)).all())
        words = self._scorer(1.0 / fixed_point_scale(total, whole))
        return PooledScorer(words, fitted.cluster_sizes, self._direction_sums, fitted.weights)

    def score_vectors(
        self, vectors: NDArray[np.floating], labels: NDArray[np.int32], *, own: bool
    ) -> NDArray[np.float64]:
        """What vectors add to outlier scores: how much farther a document is from its cluster than documents may be.

        (b / a N) (f − cos(x, S_z)), with the weights of the views, a and b, and the mean number of words, N: what the
        views say together, for each word of a document of that length. f lies below the lower quartile of all
        documents' cosines by as much as this lies below the upper one.
        """
        assert self._fitted.vectors is not None
        weights = self._fitted.weights
        mean_length = float(self.cluster_word_counts_.sum()) / max(int(self.cluster_sizes_.sum()), 1)
        scale = weights.vectors / (max(weights.words, LEAST_WORD_WEIGHT) * max(mean_length, 1.0))
        if "_fence" not in self.__dict__:
            held = self._fitted.vectors
            cosines = self._own_cosines(held.matrix, self.labels_[held.rows], own=True)
            known = cosines[~np.isnan(cosines)]
            lower, upper = np.quantile(known, (0.25, 0.75)) if known.size else (0.0, 0.0)
            self._fence = float(2.0 * lower - upper)
        return np.asarray(scale * np.nan_to_num(self._fence - self._own_cosines(vectors, labels, own=own)))

    def _own_cosines(
        self, vectors: NDArray[np.floating], labels: NDArray[np.int32], *, own: bool
    ) -> NDArray[np.float64]:
        """Cosines of documents with their clusters; NaN without a vector or a label, or alone in a cluster."""
        sums, cosines = self._direction_sums, np.full(labels.size, np.nan)
        has_others = np.append(self.cluster_sizes_ > own, False)[labels]
        for block in blocks(labels.size):
            rows = block.start + np.flatnonzero(vectors[block].any(axis=1) & has_others[block])
            cosines[rows] = cosines_with_own(vectors[rows].astype(np.float32), sums[labels[rows]], left_out=own)
        return cosines

"""What mixtures that end with a partition of the documents share once they are fitted: prediction, scores, words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from textmix.estimators.counts import check_counts
from textmix.estimators.document_mixture import DocumentMixture
from textmix.inference.layout import fixed_point_scale
from textmix.inference.partition import FittedPartition, score_labels
from textmix.inference.pooling import NOT_FITTED, DocumentVectors, ViewWeights
from textmix.inference.scoring import PartitionScorer
from textmix.inference.votes import Votes
from textmix.kernels.conditionals import settle_ties
from textmix.kernels.state import Prior
from textmix.results.mixture import FittedMixture, plain_parameters
from textmix.results.words import ClusterWords, ScoredWord


class PartitionMixture(DocumentMixture):
    """A Dirichlet-multinomial mixture whose clusters are known; its subclasses say how they are found."""

    alpha: Any
    beta: Any
    polish: bool
    _fitted: FittedMixture
    _counts: scipy.sparse.csr_array | None

    @abstractmethod
    def _alpha_of(self, prior: Prior) -> float:
        """α by the name that users know."""

    def _set_fitted(
        self,
        partition: FittedPartition,
        word_counts: scipy.sparse.csr_array,
        counts: scipy.sparse.csr_array | None,
        inference: str,
        *,
        stabilities: NDArray[np.float64] | None = None,
        known_clusters: dict[str, int] | None = None,
        known_documents: NDArray[np.int64] | None = None,
        vectors: DocumentVectors | None = None,
        weights: ViewWeights = NOT_FITTED,
        votes: Votes | None = None,
        n_clusters_range: tuple[int, int] | None = None,
    ) -> Self:
        """Make a partition the fitted one; counts are None where they were never in memory as a whole."""
        alpha = self._alpha_of(partition.prior) if np.ndim(self.alpha) == 0 else self.alpha
        self._fitted = FittedMixture(
            estimator=type(self).__name__,
            parameters=plain_parameters(self),
            labels=partition.labels,
            cluster_sizes=np.bincount(partition.labels[partition.labels >= 0], minlength=word_counts.shape[0]),
            cluster_word_counts=word_counts,
            alpha=float(alpha) if np.ndim(alpha) == 0 else np.asarray(alpha, dtype=np.float64),
            beta=partition.beta,
            prior=partition.prior,
            unit=float(partition.unit),
            polished=bool(self.polish),
            n_identical=partition.n_identical,
            trace=partition.trace,
            n_sweeps=int(partition.n_sweeps),
            converged=bool(partition.converged),
            log_joint=float(partition.log_joint),
            inference=inference,
            stabilities=np.empty(0) if stabilities is None else stabilities,
            known_clusters=known_clusters or {},
            known_documents=np.empty(0, np.int64) if known_documents is None else known_documents,
            vectors=vectors,
            weights=weights,
            votes=votes,
            n_clusters_range=n_clusters_range,
        )
        return self._set_counts(counts)

    def restore(self, mixture: FittedMixture, counts: scipy.sparse.csr_array | None, vocabulary: Any) -> Self:
        """Make this estimator, which is new and has the same parameters, the one that was fitted."""
        self._fitted = mixture
        self.n_features_in_ = int(mixture.cluster_word_counts.shape[1])
        self._vocabulary = vocabulary
        return self._set_counts(counts)

    def _set_counts(self, counts: scipy.sparse.csr_array | None) -> Self:
        self._counts = counts
        self._forget("_probabilities", "_outlier_scores")
        return self

    @property
    def mixture_(self) -> FittedMixture:
        """All that was fitted, as plain data that can be saved."""
        return replace(self._fitted, parameters=plain_parameters(self))

    @property
    def cluster_word_counts_(self) -> scipy.sparse.csr_array:
        """Sums of the training documents of each cluster: clusters × words."""
        return self._fitted.cluster_word_counts

    @property
    def alpha_(self) -> float | NDArray[np.float64]:
        """α as given, or the last that was drawn."""
        return self._fitted.alpha

    @property
    def beta_(self) -> float | NDArray[np.float64]:
        """β as given, or the last that was drawn."""
        return self._fitted.beta

    @property
    def log_joint_(self) -> float:
        """log p(labels, words)."""
        return self._fitted.log_joint

    @property
    def inference_(self) -> str:
        """How it was sampled."""
        return self._fitted.inference

    def relabelled(self, labels: NDArray[np.int32]) -> Self:
        """A fitted model of the same documents with other labels, by falling size; nothing is sampled."""
        fitted, other, counts = self._fitted, copy(self), self._training_counts()
        if np.unique(fitted.prior.pseudo_counts[: self.n_clusters_]).size > 1:
            raise ValueError("clusters with an alpha of their own can be neither merged nor split")
        n_clusters = int(labels.max(initial=-1)) + 1
        prior = fitted.prior._replace(max_clusters=max(fitted.prior.max_clusters, n_clusters))
        scored, word_counts = score_labels(counts, fitted.unit == 1.0, labels, fitted.beta, prior)
        partition = replace(scored, trace=fitted.trace, n_sweeps=fitted.n_sweeps, converged=fitted.converged)
        other._set_fitted(partition, word_counts, counts, fitted.inference)
        # A label need not be the most probable one any more.
        other._fitted = replace(other._fitted, polished=False)
        return other

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The most probable cluster of each new document, −1 for one without words.

        Whether a new cluster would be more probable than any of these is in the last column of `predict_proba`.
        """
        scorer, counts = self._scorer_and_counts(X)
        return scorer.most_probable(counts)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each cluster and, in the last column, of a new one; NaN for documents without words."""
        scorer, counts = self._scorer_and_counts(X)
        probabilities = np.empty((counts.shape[0], self.n_clusters_ + 1))
        for block in scorer.blocks(counts):
            probabilities[block.rows] = block.probabilities
        return probabilities

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """log p(d | the fitted clusters) of each new document, as a sequence of words."""
        scorer, counts = self._scorer_and_counts(X)
        return scorer.log_densities(counts, int(self.cluster_sizes_.sum()))

    def perplexity(self, X: Any = None) -> float:
        """exp(−Σ log p(d) / Σ length) of new documents at the posterior means of the clusters (X-DMM, eq. 3).

        Without X of the training documents, each left out of its own cluster.
        """
        if X is None:
            check_is_fitted(self)
            return self._scorer(self._fitted.unit).perplexity(self._training_counts(), self.labels_)
        scorer, counts = self._scorer_and_counts(X)
        return scorer.perplexity(counts)

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Each training document's probabilities given all others: a column a cluster, the last for a new cluster.

        For a document alone in its cluster a new cluster means staying: that mass stands in its own column. The same
        holds for identical documents of which each would rather be alone, and which were put together.
        """
        check_is_fitted(self)
        if "_probabilities" not in self.__dict__:
            probabilities = np.empty((self.labels_.size, self.n_clusters_ + 1))
            for block in self._scorer(self._fitted.unit).blocks(self._training_counts(), self.labels_):
                probabilities[block.rows] = block.probabilities
            if self._fitted.polished:
                settle_ties(probabilities, self.labels_, self.cluster_sizes_, self._fitted.n_identical)
            self._probabilities = probabilities
        return self._probabilities

    @property
    def outlier_scores_(self) -> NDArray[np.float64]:
        """log of the odds that a document belongs to a new cluster and not to one of those that the others form.

        Larger: more of an outlier; above 0: more probably one than not. NaN for documents without words.
        """
        check_is_fitted(self)
        if "_outlier_scores" not in self.__dict__:
            scores = np.empty(self.labels_.size)
            for block in self._scorer(self._fitted.unit).blocks(self._training_counts(), self.labels_):
                scores[block.rows] = block.log_new - block.log_existing
            self._outlier_scores = scores
        return self._outlier_scores

    def top_words(
        self, n: int = 10, *, order: str = "probable", vocabulary: Sequence[str] | ArrayLike | None = None
    ) -> list[list[ScoredWord]]:
        """The n leading words of each cluster with their scores.

        order="probable": by φ̂_zw = (n_z^w + β) / (n_z + Vβ) (GSDPMM, eq. IV.50). order="telling": by
        φ̂_zw log(φ̂_zw / φ̂_w elsewhere), how well the word tells the cluster from all others. Words are those of the
        Corpus or data frame that was fitted, or of `vocabulary`, else column numbers.
        """
        check_is_fitted(self)
        vocabulary = self._names_of_words(vocabulary)
        return ClusterWords(self.cluster_word_counts_, self._fitted.beta, vocabulary).top(n, order)

    def _training_counts(self) -> scipy.sparse.csr_array:
        if self._counts is None:
            raise AttributeError("the counts of this fit are on disk and were never in memory as a whole")
        return self._counts

    def _scorer(self, unit: float) -> PartitionScorer:
        fitted = self._fitted
        return PartitionScorer.from_statistics(
            fitted.cluster_sizes, fitted.cluster_word_counts, fitted.beta, fitted.prior, unit
        )

    def _scorer_and_counts(self, X: Any) -> tuple[PartitionScorer, scipy.sparse.csr_array]:
        check_is_fitted(self)
        counts, whole = check_counts(self, X, reset=False)
        # Fractional counts, of the clusters or of these documents, need a unit that suits both.
        total = float(self.cluster_word_counts_.sum()) + float(counts.sum())
        scorer = self._scorer(1.0 / fixed_point_scale(total, whole and self._fitted.unit == 1.0))
        return scorer, counts

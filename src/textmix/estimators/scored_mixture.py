"""What the mixtures have in common whose clusters score a document by a weighted sum of its words: prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from textmix.corpus.matrix import is_sparse, sum_by_cluster
from textmix.engines.threads import threads
from textmix.estimators.counts import check_counts
from textmix.estimators.document_mixture import DocumentMixture
from textmix.inference.em import Assigned, DocumentVectors, assign_documents
from textmix.inference.starts import FittedComponents
from textmix.inference.vectors import DenseVectors, SparseVectors, split_off_lone_words
from textmix.models.components import Mixture
from textmix.results.words import ScoredWord, top_components


class Representation(NamedTuple):
    """Documents as a model sees them. A row of zeros is a document without words."""

    scored: Any  # by document: csr_array, or a dense array
    summed: Any = None  # what the M-step adds up, if that is something else
    lengths: NDArray[np.float64] | None = None  # where the length enters the likelihood on its own
    sums_type: Any = None  # given where words of one document may be kept apart: the type of the model's sums


class ScoredMixture(DocumentMixture):
    """Base of EMMixture and FeaturePartitionMixture."""

    _fitted: FittedComponents
    _matrix: Any  # what was fitted

    @abstractmethod
    def _represent(self, matrix: Any, *, fitting: bool = False, density: bool = False) -> Representation:
        """Checked input as the model sees it; while fitting, learn what later input needs too.

        density: as the probability of a document needs it, which may differ from what documents are assigned by.
        """

    @property
    @abstractmethod
    def components_(self) -> NDArray[np.float64]:
        """The clusters' parameters: clusters × words."""

    @abstractmethod
    def _whole(self) -> Mixture:
        """One cluster of all training documents."""

    def _check(self, X: Any, *, reset: bool) -> Any:
        return check_counts(self, X, reset=reset).matrix

    def _density(self) -> Mixture:
        """The fitted mixture as a probability distribution over documents."""
        return self._fitted.mixture._replace(sharpness=1.0)

    def _for_lengths(self, mixture: Mixture, lengths: NDArray[np.float64]) -> Mixture:
        """The mixture for documents of these distinct lengths."""
        return mixture

    def _log_constants(self, matrix: Any) -> NDArray[np.float64] | float:
        """What the probability of a document has beside that of the mixture's form, the same in every cluster."""
        return 0.0

    def _set_fitted(self, matrix: Any, used: NDArray[np.bool_], fitted: FittedComponents) -> None:
        """Make this the fit that all attributes and predictions come from; its labels are of the documents in use."""
        labels = np.full(used.size, -1, np.int32)
        labels[used] = fitted.labels
        self._fitted, self._matrix = replace(fitted, labels=labels), matrix
        self._forget("_probabilities", "_outlier_scores", "_cluster_word_counts")

    @property
    def cluster_weights_(self) -> NDArray[np.float64]:
        """The prior weight of each cluster."""
        return self._fitted.cluster_weights

    @property
    def objective_(self) -> float:
        """What fitting has raised."""
        return self._fitted.objective

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The most probable cluster of each new document, −1 for one without words."""
        check_is_fitted(self)
        return self._by_size(self._assign(self._check(X, reset=False), self._fitted.mixture)).labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each cluster, NaN for documents without words.

        As the assignment has it: for annealing at its last temperature (eq. 7), else eq. 3; for hard assignment with
        equal weights of the clusters.
        """
        check_is_fitted(self)
        return self._posteriors(self._check(X, reset=False))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """log p(x) of each new document under the fitted mixture; 0 for a document without words."""
        check_is_fitted(self)
        matrix = self._check(X, reset=False)
        return self._assign(matrix, self._density(), density=True).log_sums + self._log_constants(matrix)

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Each training document's probability of each cluster, as `predict_proba` gives it."""
        check_is_fitted(self)
        if "_probabilities" not in self.__dict__:
            self._probabilities = self._posteriors(self._matrix)
        return self._probabilities

    @property
    def cluster_word_counts_(self) -> scipy.sparse.csr_array:
        """Sums of the training documents of each cluster: clusters × words."""
        check_is_fitted(self)
        if "_cluster_word_counts" not in self.__dict__:
            self._cluster_word_counts = sum_by_cluster(self._matrix, self.labels_, self.n_clusters_)
        return self._cluster_word_counts

    @property
    def outlier_scores_(self) -> NDArray[np.float64]:
        """How much better one cluster of all documents explains a document than the mixture does: log of the ratio.

        Larger: more of an outlier; above 0: no cluster fits it better than the whole collection does. NaN for documents
        without words.
        """
        check_is_fitted(self)
        if "_outlier_scores" not in self.__dict__:
            log_mixture = self._assign(self._matrix, self._density(), density=True).log_sums
            log_whole = self._assign(self._matrix, self._whole(), density=True).log_sums
            self._outlier_scores = np.where(self.labels_ >= 0, log_whole - log_mixture, np.nan)
        return self._outlier_scores

    def top_words(
        self, n: int = 10, *, order: str = "probable", vocabulary: Sequence[str] | ArrayLike | None = None
    ) -> list[list[ScoredWord]]:
        """The n leading words of each cluster with their scores.

        order="probable": by `components_`. order="telling": by how well the word tells the cluster from all others,
        value × log(value / value elsewhere), elsewhere being the other clusters by their sizes. Words are those of the
        Corpus or data frame that was fitted, or of `vocabulary`, else column numbers.
        """
        check_is_fitted(self)
        vocabulary = self._names_of_words(vocabulary)
        return top_components(
            self._word_values()[: self.n_clusters_],
            self.cluster_sizes_,
            n,
            order,
            vocabulary,
            self.cluster_word_counts_,
        )

    def _word_values(self) -> NDArray[np.float64]:
        """What words are ranked by: clusters × words, comparable between clusters."""
        return self.components_

    def _posteriors(self, matrix: Any) -> NDArray[np.float64]:
        density = self._fitted.mixture.sharpness == np.inf
        assigned = self._assign(matrix, self._density() if density else self._fitted.mixture, density=density)
        return self._by_size(assigned).posteriors

    def _assign(self, matrix: Any, mixture: Mixture, *, density: bool = False) -> Assigned:
        """Documents assigned by a mixture; label −1, NaN and a log sum of 0 for those without words."""
        representation = self._represent(matrix, density=density)
        used = has_words(representation.scored)
        documents, lengths = make_documents(representation, used)
        with threads(self.n_jobs) as engine:
            found = assign_documents(documents, self._for_lengths(mixture, lengths), engine)
        labels, log_sums = np.full(used.size, -1, np.int32), np.zeros(used.size)
        posteriors = np.full((used.size, mixture.log_weights.size), np.nan)
        labels[used], posteriors[used], log_sums[used] = found
        return Assigned(labels, posteriors, log_sums)

    def _by_size(self, assigned: Assigned) -> Assigned:
        """Labels and columns in the order of the clusters' sizes instead of that in which they were fitted."""
        ranks = np.append(np.argsort(self._fitted.order), -1).astype(np.int32)  # the last: label −1 stays
        return assigned._replace(labels=ranks[assigned.labels], posteriors=assigned.posteriors[:, self._fitted.order])


def has_words(matrix: Any) -> NDArray[np.bool_]:
    """Which rows hold anything but zeros."""
    if not is_sparse(matrix):
        return np.asarray(matrix.any(axis=1))
    return np.asarray(np.diff(matrix.indptr) > 0)


def make_documents(
    representation: Representation, used: NDArray[np.bool_]
) -> tuple[DocumentVectors, NDArray[np.float64]]:
    """The documents in use, and their distinct lengths (none where the length does not enter on its own)."""
    scored, summed, lengths, sums_type = representation
    if not used.all():
        scored = scored[used]
        summed = None if summed is None else summed[used]
        lengths = None if lengths is None else lengths[used]
    lone_words = None
    if sums_type is not None and is_sparse(scored):
        scored, lone_words = split_off_lone_words(scored, sums_type)
    vectors = SparseVectors(scored, summed) if is_sparse(scored) else DenseVectors(scored)
    if lengths is None:
        return DocumentVectors(vectors, lone_words=lone_words), np.empty(0)
    distinct, rows = np.unique(lengths, return_inverse=True)
    return DocumentVectors(vectors, rows.astype(np.int64), distinct.size), distinct

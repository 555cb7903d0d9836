"""What a Clustering asks of a fitted estimator: one class per kind of estimator, ours or another package's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone

from textmix.corpus import Corpus
from textmix.corpus.matrix import sum_by_cluster
from textmix.estimators import ConsensusMixture, DirichletMultinomialMixture, DirichletProcessMixture
from textmix.estimators.counts import canonical
from textmix.estimators.feature_partition_mixture import FeaturePartitionMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.estimators.scored_mixture import ScoredMixture
from textmix.inference.merging import Merges
from textmix.inference.ordering import order_by_size, renumber, slots_in_order
from textmix.results.assignments import Assignments, assign_counts
from textmix.results.mixture import DocumentScores, FittedMixture, plain_parameters
from textmix.results.run import count_documents, describe_run
from textmix.results.words import ClusterWords

MODELS: dict[str, type[PartitionMixture]] = {
    "consensus": ConsensusMixture,
    "dirichlet-multinomial": DirichletMultinomialMixture,
    "dirichlet-process": DirichletProcessMixture,
}
SMOOTHING = 0.1  # pseudo-count of a word, for the words of estimators that have no beta


def wrap(estimator: Any, corpus: Corpus) -> FittedModel:
    """The fitted estimator with everything that a Clustering asks of it."""
    for kind, wrapper in _WRAPPERS.items():
        if isinstance(estimator, kind):
            return wrapper(estimator, corpus)
    return FittedModel(estimator, corpus)


class FittedModel:
    """A fitted scikit-learn clusterer of any package; subclasses know more about ours.

    Clusters are numbered by falling size; what is below 0 in the estimator's own labels is noise.
    """

    outlier_threshold: float = 0.0
    outliers_at: Callable[[float], NDArray[np.bool_]] | None = None  # those of another threshold
    stability: float | None = None
    stabilities: NDArray[np.float64] | None = None  # of the clusters
    known_clusters: Mapping[str, int] = MappingProxyType({})
    levels: tuple[NDArray[np.int32], ...] = ()  # for each cluster its group at each level above, coarse to fine
    n_clusters_range: tuple[int, int] | None = None
    directions: NDArray[np.float32] | None = None  # sums of the vectors of clusters, where there is a second view

    def __init__(self, estimator: Any, corpus: Corpus) -> None:
        self.estimator = estimator
        self.corpus = corpus

    @property
    def name(self) -> str:
        """The estimator's class."""
        return type(self.estimator).__name__

    @cached_property
    def _found(self) -> NDArray[np.int32]:
        """The estimator's own numbers; −1 for noise and for texts without words."""
        found = np.maximum(self.estimator.labels_, -1)
        return np.where(self.corpus.empty_documents, -1, found).astype(np.int32)

    @cached_property
    def _ordered(self) -> NDArray[np.int32]:
        return order_by_size(self._found)

    @property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each text."""
        return self._ordered

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def n_without_words(self) -> int:
        """The number of texts without words."""
        return int(np.count_nonzero(self.corpus.empty_documents))

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Texts in a cluster of one, and noise, as DBSCAN has it."""
        sizes = np.append(np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters), 0)
        is_noise = (self.labels < 0) & ~self.corpus.empty_documents
        return np.asarray((sizes == 1)[self.labels] | is_noise)

    @cached_property
    def scores(self) -> DocumentScores:
        """Each text's probability of its cluster and its outlier score; NaN where they are not known."""
        unknown = np.full(self.labels.size, np.nan)
        return DocumentScores(unknown, unknown)

    @property
    def outlier_scores(self) -> NDArray[np.float64]:
        """The outlier score of each text."""
        return self.scores.outlier_scores

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Each text's probability of each cluster."""
        return self._by_label(self._attribute("probabilities_"))

    def predict_proba(self, counts: scipy.sparse.csr_array, vectors: Any = None) -> NDArray[np.float64]:
        """New texts' probability of each cluster, by their counts, or by vectors if it was fitted to these."""
        return self._by_label(self._attribute("predict_proba")(counts if vectors is None else vectors))

    def vectors_of(self, documents: NDArray[np.int64]) -> Any:
        """The vectors of some texts, where they are held; None otherwise."""
        return None

    def _by_label(self, probabilities: Any) -> NDArray[np.float64]:
        """Probabilities with one column per cluster, by label; unchanged if they are not a table."""
        columns = np.asarray(probabilities)
        return columns[:, slots_in_order(self._found, self.labels)] if columns.ndim == 2 else columns

    def assign(self, counts: scipy.sparse.csr_array, vectors: Any = None) -> Assignments:
        """New texts in the clusters, by their counts, or by vectors if it was fitted to these."""
        labels = self._predict(counts if vectors is None else vectors)
        labels[np.diff(counts.indptr) == 0 if vectors is None else ~vectors.any(axis=1)] = -1
        unknown = np.full(labels.size, np.nan)
        return Assignments(labels, unknown, np.zeros(labels.size, bool), unknown)

    def _predict(self, counts: Any) -> NDArray[np.int32]:
        numbers = np.asarray(self._attribute("predict")(counts), dtype=np.int32)
        return renumber(self._found, self.labels, numbers)[1]

    def _attribute(self, name: str) -> Any:
        if not hasattr(self.estimator, name):
            raise AttributeError(f"{self.name} has no {name}")
        return getattr(self.estimator, name)

    @cached_property
    def words(self) -> ClusterWords:
        """The words of the clusters and their scores."""
        return ClusterWords(self._word_counts(), SMOOTHING, self.corpus.vocabulary)

    def _word_counts(self) -> scipy.sparse.csr_array:
        return sum_by_cluster(self.corpus.counts, self.labels, self.n_clusters)

    @property
    def trace(self) -> dict[str, NDArray[Any]]:
        """One array per name, with one entry per sweep."""
        return dict(getattr(self.estimator, "trace_", {}))

    @property
    def merges(self) -> Merges | None:
        """The hierarchy of the clusters, if there is one."""
        return None

    @property
    def mixture(self) -> FittedMixture:
        """The part that can be saved."""
        known = " and ".join(model.__name__ for model in MODELS.values())
        raise ValueError(f"a clustering by {self.name} cannot be saved; those by {known} can")

    def describe(self) -> dict[str, Any]:
        """What run.json says about the clustering itself."""
        return {"settings": {"model": self.name, "parameters": plain_parameters(self.estimator)}}

    def merged(self, n_clusters: int) -> Any:
        """The estimator with its clusters merged until this many are left."""
        raise ValueError(f"the clusters of {self.name} cannot be merged; those of a consensus can")

    def relabelled(self, labels: NDArray[np.int32]) -> Any:
        """The estimator with other labels, by falling size."""
        raise NotImplementedError

    def check_relabelling(self, done: str) -> None:
        """Raise ValueError unless other labels can be given."""
        known = ", ".join(model.__name__ for model in MODELS.values())
        raise ValueError(f"clusters of {self.name} cannot be {done}; those of {known} can")

    def with_outlier_threshold(self, threshold: float) -> Any:
        """The estimator with another threshold."""
        raise ValueError(f"{self.name} has no outlier_threshold; fit it with another outlier_size")

    def new_consensus(self) -> Any:
        """An unfitted consensus, with the settings of this one if it is one."""
        return ConsensusMixture()


class _OwnModel(FittedModel):
    """One of our estimators, which number clusters by size themselves."""

    @property
    def labels(self) -> NDArray[np.int32]:
        return np.asarray(self.estimator.labels_)

    @property
    def outliers(self) -> NDArray[np.bool_]:
        return np.asarray(self.estimator.outliers_)

    def _by_label(self, probabilities: Any) -> NDArray[np.float64]:
        return np.asarray(probabilities)

    def _predict(self, counts: Any) -> NDArray[np.int32]:
        return np.asarray(self._attribute("predict")(counts))


class _ScoredModel(_OwnModel):
    """An EM mixture, or one that tells background words apart."""

    @cached_property
    def scores(self) -> DocumentScores:
        return DocumentScores(self.estimator.probabilities_.max(axis=1), self.estimator.outlier_scores_)

    def assign(self, counts: scipy.sparse.csr_array, vectors: Any = None) -> Assignments:
        found = super().assign(counts, vectors)
        return found._replace(probabilities=self.predict_proba(counts, vectors).max(axis=1))


class _FeaturePartitionModel(_ScoredModel):
    """A mixture that tells background words apart: they stand for no cluster."""

    def _word_counts(self) -> scipy.sparse.csr_array:
        return canonical(super()._word_counts().multiply(self.estimator.discriminative_words_).tocsr())


class _PartitionModel(_OwnModel):
    """A Dirichlet-multinomial mixture. Where its texts are on disk, the corpus has no rows."""

    @property
    def mixture(self) -> FittedMixture:
        mixture: FittedMixture = self.estimator.mixture_
        return mixture

    @property
    def n_without_words(self) -> int:
        return int(np.count_nonzero(self.labels < 0))

    @cached_property
    def words(self) -> ClusterWords:
        mixture = self.mixture
        return ClusterWords(mixture.cluster_word_counts, mixture.beta, self.corpus.vocabulary)

    @cached_property
    def scores(self) -> DocumentScores:
        mixture = self.mixture
        return mixture.scorer().score(self.corpus.counts, mixture.labels, mixture.n_identical, n_jobs=-1)

    def assign(self, counts: scipy.sparse.csr_array, vectors: Any = None) -> Assignments:
        return assign_counts(self.estimator, counts)

    def describe(self) -> dict[str, Any]:
        return describe_run(self.mixture, self.corpus.tokenizer, count_documents(self.corpus), self.outliers)

    def check_relabelling(self, done: str) -> None:
        return

    def relabelled(self, labels: NDArray[np.int32]) -> Any:
        return self.estimator.relabelled(labels)


class _ConsensusModel(_PartitionModel):
    """A consensus of runs, with stabilities, a hierarchy and outlier scores of its own."""

    estimator: ConsensusMixture

    def __init__(self, estimator: ConsensusMixture, corpus: Corpus) -> None:
        super().__init__(estimator, corpus)
        self.outlier_threshold = estimator.outlier_threshold
        self.outliers_at = estimator.outliers_at
        self.stability = estimator.stability_
        self.stabilities = estimator.cluster_stabilities_
        self.known_clusters = estimator.known_clusters_
        self.directions = estimator.directions_
        self.n_clusters_range = estimator.n_clusters_range_

    @property
    def levels(self) -> tuple[NDArray[np.int32], ...]:  # type: ignore[override]
        return self.estimator.levels_

    @cached_property
    def scores(self) -> DocumentScores:
        return DocumentScores(self.estimator.own_probabilities(), self.outlier_scores)

    @property
    def outlier_scores(self) -> NDArray[np.float64]:
        return self.estimator.outlier_scores_

    def predict_proba(self, counts: scipy.sparse.csr_array, vectors: Any = None) -> NDArray[np.float64]:
        return self.estimator.predict_proba(counts, vectors=vectors)

    def vectors_of(self, documents: NDArray[np.int64]) -> Any:
        held = self.mixture.vectors
        return None if held is None else held.of(documents)

    def assign(self, counts: scipy.sparse.csr_array, vectors: Any = None) -> Assignments:
        found = assign_counts(self.estimator, counts, vectors)
        scores = self.estimator.score_new(counts, found.labels, vectors) if found.labels.size else found.outlier_scores
        return found._replace(outlier_scores=scores, outliers=self.estimator.are_outliers(scores))

    @property
    def merges(self) -> Merges:
        return self.estimator.merges_

    def merged(self, n_clusters: int) -> ConsensusMixture:
        return self.estimator.merged(n_clusters)

    def with_outlier_threshold(self, threshold: float) -> Any:
        return copy(self.estimator).set_params(outlier_threshold=threshold)

    def new_consensus(self) -> Any:
        return clone(self.estimator)


_WRAPPERS: dict[type, type[FittedModel]] = {
    ConsensusMixture: _ConsensusModel,
    PartitionMixture: _PartitionModel,
    FeaturePartitionMixture: _FeaturePartitionModel,
    ScoredMixture: _ScoredModel,
}

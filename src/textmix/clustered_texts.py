"""Texts and their clusters, to be read: labels, words, tables, scores, and where new texts belong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from html import escape
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus import Corpus
from textmix.corpus.matrix import sum_by_cluster
from textmix.estimators import ConsensusMixture
from textmix.estimators.counts import canonical
from textmix.estimators.document_mixture import DocumentMixture
from textmix.estimators.feature_partition_mixture import FeaturePartitionMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.estimators.scored_mixture import ScoredMixture
from textmix.results.assignments import Assignments, assign_counts
from textmix.results.clusters import Cluster, Clusters, describe_clusters, summarise
from textmix.results.frames import Frame
from textmix.results.large_run import N_OUTLIERS
from textmix.results.mixture import DocumentScores
from textmix.results.numbering import Numbering
from textmix.results.run import cluster_columns, document_columns, read_texts
from textmix.results.tables import Column
from textmix.results.typical import Example, Examples, Typicality
from textmix.results.words import ScoredWord, top_words

SMOOTHING = 0.1  # pseudo-count of a word, for the words of estimators that have no beta


class ClusteredTexts:
    """What there is to read of texts and the clusters found among them; `Clustering` can also be changed and kept."""

    _has_texts = True  # and scores of each

    def __init__(
        self,
        estimator: Any,
        corpus: Corpus,
        texts: Sequence[str] | None,
        *,
        seconds: Mapping[str, float] | None = None,
        folder: Path | None = None,
        info: Mapping[str, Any] | None = None,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.corpus = corpus
        self.seconds = dict(seconds or {})
        self.info = dict(info or {})
        self._names = dict(names or {})
        self._texts = texts
        self._folder = folder

    @property
    def texts(self) -> Sequence[str]:
        """The texts; those of a saved clustering are read when they are first asked for."""
        if self._texts is None:
            assert self._folder is not None
            self._texts = read_texts(self._folder, self.corpus.n_documents)
        return self._texts

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each text: 0, 1, … by falling size; −1 for texts without words.

        Also −1 for what an estimator of another package takes for noise; `estimator.labels_` has its own numbers.
        """
        if self._numbering is not None:
            return self._numbering.labels
        return np.where(self.corpus.empty_documents, -1, self.estimator.labels_).astype(np.int32)

    @cached_property
    def _numbering(self) -> Numbering | None:
        """Of another package's estimator; ours number clusters by size themselves."""
        if isinstance(self.estimator, DocumentMixture):
            return None
        return Numbering.of(self.estimator, self.corpus.empty_documents)

    @property
    def n_clusters(self) -> int:
        """The number of clusters, those of a single text included."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Each text's probability of each cluster and, in the last column, of a new one; made on request.

        They are the mixture's, given all words of all texts. The label of a consensus need not be the most probable.
        """
        return self._by_label(self._fitted("probabilities_"))

    @cached_property
    def outliers(self) -> NDArray[np.bool_]:
        """Whether a text fits nowhere.

        By the consensus: its cluster was not given, and it is alone in it or its outlier score is above the threshold
        (0.25); by one run: its cluster has no more texts than the setting outlier_size (1). Outliers keep their labels,
        and count in the sizes of clusters.
        """
        if isinstance(self.estimator, DocumentMixture):
            return self.estimator.outliers_
        sizes = np.append(np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters), 0)
        is_noise = (self.labels < 0) & ~self.corpus.empty_documents  # as DBSCAN has it
        return np.asarray((sizes == 1)[self.labels] | is_noise)

    @property
    def outlier_scores(self) -> NDArray[np.float64]:
        """How much less probable a text is in its cluster: NaN for texts without words.

        By the consensus: than in the collection at large, as the mean of the logarithm over its words; by one run: than
        in a new cluster, as the logarithm of the odds.
        """
        if isinstance(self.estimator, ConsensusMixture):
            return self.estimator.outlier_scores_
        return self._scores.outlier_scores

    @property
    def strangest(self) -> list[Example]:
        """Of the texts that fit nowhere those with the highest outlier scores."""
        examples = Examples(1, N_OUTLIERS)
        examples.add(0, self.texts, np.where(self.outliers, 0, -1), self.outlier_scores)
        return examples.lists()[0]

    @property
    def stability(self) -> float | None:
        """How well the runs agree on the clusters, the mean over texts of `Cluster.stability`; None of a single run."""
        return getattr(self.estimator, "stability_", None)

    @property
    def trace(self) -> dict[str, NDArray[Any]]:
        """One array a name (n_clusters, n_moved, log_joint, seconds), one entry a sweep."""
        return dict(getattr(self.estimator, "trace_", {}))

    @property
    def n_without_words(self) -> int:
        """The number of texts that have no words left, which belong to no cluster."""
        return int(np.count_nonzero(self.corpus.empty_documents))

    @cached_property
    def _word_counts(self) -> scipy.sparse.csr_array:
        """What the words of clusters are told by."""
        if isinstance(self.estimator, PartitionMixture):
            return self.estimator.cluster_word_counts_
        word_counts = sum_by_cluster(self.corpus.counts, self.labels, self.n_clusters)
        if isinstance(self.estimator, FeaturePartitionMixture):  # background words stand for no cluster
            word_counts = canonical(word_counts.multiply(self.estimator.discriminative_words_).tocsr())
        return word_counts

    @cached_property
    def _typicality(self) -> NDArray[np.float32]:
        """How typical each text is of its cluster."""
        return Typicality(self._word_counts, self._beta).score(self.corpus.counts, self.labels)

    @property
    def _beta(self) -> float | NDArray[np.float64]:
        return self.estimator.beta_ if isinstance(self.estimator, PartitionMixture) else SMOOTHING

    @cached_property
    def clusters(self) -> Clusters:
        """Size, words and examples of each cluster, by label; also a table, with `to_pandas()`, `to_csv()`, …."""
        corpus = self.corpus
        stabilities = getattr(self.estimator, "cluster_stabilities_", None)
        names: dict[int, str] = {}
        for place, (name, label) in enumerate(self.known_clusters.items()):
            label = label if label >= 0 else -1 - place  # of no cluster here, but no other is to have this name
            names[label] = f"{names[label]} / {name}" if label in names else name
        described = describe_clusters(
            self.labels,
            self._typicality,
            self._word_counts,
            self._beta,
            corpus.vocabulary,
            self.texts,
            stabilities,
            {**names, **self._names},
            set(self.known_clusters.values()),
        )
        return Clusters(described, cluster_columns(described))

    @property
    def documents(self) -> Frame:
        """A table with a row a text: position, id, label, time, cluster and its name, probability, outlier, text."""
        return self._table(np.arange(self.labels.size))

    def documents_of(self, cluster: int | str | Cluster) -> Frame:
        """The same of the texts of one cluster, by label or name, the most typical first."""
        members = np.flatnonzero(self.labels == self._find(cluster))
        return self._table(members[np.argsort(-self._typicality[members], kind="stable")])

    def _table(self, documents: NDArray[Any]) -> Frame:
        corpus, names = self.corpus, [cluster.name for cluster in self.clusters]
        columns = document_columns(
            None if corpus.ids is None else [corpus.ids[i] for i in documents],
            None if corpus.labels is None else [corpus.labels[i] for i in documents],
            self.labels[documents],
            self.outliers[documents],
            DocumentScores(*(scores[documents] for scores in self._scores)),
            [self.texts[i] for i in documents],
            names,
            None if corpus.times is None else corpus.times[documents],
        )
        return Frame([Column("document", "BIGINT", documents), *columns])

    def top_words(self, n: int = 10, *, order: str = "telling") -> list[list[ScoredWord]]:
        """The n leading words of each cluster, by label, with their scores: the most "telling", or "probable" ones."""
        return top_words(self._word_counts, self._beta, n, order, self.corpus.vocabulary)

    def _find(self, cluster: int | str | Cluster) -> int:
        """The label of a cluster."""
        if isinstance(cluster, Cluster):
            cluster = cluster.index
        if isinstance(cluster, str):
            named = [one.index for one in self.clusters if one.name == cluster]
            if not named:
                nearest = get_close_matches(cluster, [one.name for one in self.clusters], n=1)
                hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
                raise ValueError(f"there is no cluster called {cluster!r}{hint}")
            return named[0]
        if not isinstance(cluster, Integral) or isinstance(cluster, bool) or not 0 <= cluster < self.n_clusters:
            raise ValueError(f"there is no cluster {cluster!r}; labels go from 0 to {self.n_clusters - 1}")
        return int(cluster)

    @property
    def known_clusters(self) -> dict[str, int]:
        """The label of each cluster that was known by y, seed words or frozen clusters; −1 if no text is in it."""
        return dict(getattr(self.estimator, "known_clusters_", {}))

    def texts_by_name(self) -> dict[str, list[str]]:
        """The texts of each cluster of several, by its name."""
        members = np.split(np.argsort(self.labels, kind="stable"), np.cumsum(np.bincount(self.labels + 1)))[1:]
        return {
            cluster.name: [self.texts[i] for i in members[cluster.index]]
            for cluster in self.clusters
            if cluster.size > 1
        }

    @cached_property
    def _scores(self) -> DocumentScores:
        if isinstance(self.estimator, PartitionMixture):
            mixture = self.estimator.mixture_
            scores = mixture.scorer().score(self.corpus.counts, mixture.labels, mixture.n_identical, n_jobs=-1)
            if isinstance(self.estimator, ConsensusMixture):
                scores = scores._replace(outlier_scores=self.estimator.outlier_scores_)
            return scores
        if isinstance(self.estimator, ScoredMixture):
            return DocumentScores(self.estimator.probabilities_.max(axis=1), self.estimator.outlier_scores_)
        unknown = np.full(self.labels.size, np.nan)
        return DocumentScores(unknown, unknown)

    def predict(self, texts: Iterable[str | None]) -> NDArray[np.int32]:
        """The most probable cluster of each new text; −1 if no word of it is known."""
        return self.assign(texts).labels

    def predict_proba(self, texts: Iterable[str | None]) -> NDArray[np.float64]:
        """New texts' probability of each cluster and, in the last column, of a new one."""
        return self._by_label(self._fitted("predict_proba")(self.corpus.count(texts)))

    def _by_label(self, probabilities: Any) -> NDArray[np.float64]:
        return np.asarray(probabilities) if self._numbering is None else self._numbering.columns_of(probabilities)

    def assign(self, texts: Iterable[str | None]) -> Assignments:
        """Put new texts into the clusters, which stay as they are."""
        counts = self.corpus.count(texts)
        if not isinstance(self.estimator, PartitionMixture):
            found = self._fitted("predict")(counts)
            labels = np.asarray(found) if self._numbering is None else self._numbering.labels_of(found)
            labels[np.diff(counts.indptr) == 0] = -1
            probabilities = np.full(labels.size, np.nan)
            if isinstance(self.estimator, ScoredMixture):
                probabilities = self.estimator.predict_proba(counts).max(axis=1)
            return Assignments(labels, probabilities, np.zeros(labels.size, bool), np.full(labels.size, np.nan))
        return assign_counts(self.estimator, counts)

    def to_frame(self) -> Any:
        """`documents` as a data frame of pandas, or of polars if there is no pandas."""
        return self.documents.to_frame()

    def _fitted(self, name: str) -> Any:
        if not hasattr(self.estimator, name):
            raise AttributeError(f"{type(self.estimator).__name__} has no {name}")
        return getattr(self.estimator, name)

    def __repr__(self) -> str:
        n_outliers = int(np.count_nonzero(self.outliers))
        return summarise(list(self.clusters), self.labels.size, n_outliers, self.n_without_words)

    def _repr_html_(self) -> str:
        """The clusters as a table, in a notebook."""
        return f"<p>{escape(repr(self).splitlines()[0])}</p>{self.clusters._repr_html_()}"

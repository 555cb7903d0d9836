"""Texts and the clusters found among them: what `textmix.cluster` and `textmix.load` return."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus import Corpus
from textmix.estimators import ConsensusMixture, DirichletMultinomialMixture, DirichletProcessMixture
from textmix.estimators.counts import canonical, sum_by_cluster
from textmix.estimators.document_mixture import DocumentMixture
from textmix.estimators.feature_partition_mixture import FeaturePartitionMixture
from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.estimators.scored_mixture import ScoredMixture
from textmix.results.assignments import Assignments, assign_counts
from textmix.results.clusters import Cluster, describe_clusters, list_clusters, summarise
from textmix.results.folder import read_manifest, write_run
from textmix.results.large_run import COUNTS, N_OUTLIERS, ON_DISK, KeptExamples
from textmix.results.mixture import KNOWN, STABILITIES, DocumentScores, FittedMixture
from textmix.results.run import CORPUS_FOLDER, MODEL_FOLDER, Run, document_columns, read_texts
from textmix.results.typical import Example, Examples

MODELS: dict[str, type[PartitionMixture]] = {
    "consensus": ConsensusMixture,
    "dirichlet-multinomial": DirichletMultinomialMixture,
    "dirichlet-process": DirichletProcessMixture,
}
SMOOTHING = 0.1  # pseudo-count of a word, for the words of estimators that have no beta


class Clustering:
    """Texts and the clusters found among them; what `textmix.cluster` and `textmix.load` return.

    `estimator` is the fitted mixture, `corpus` the counts it was fitted to, `seconds` what took how long,
    `info` the contents of run.json if this was loaded.
    """

    def __init__(
        self,
        estimator: Any,
        corpus: Corpus,
        texts: Sequence[str] | None,
        *,
        seconds: Mapping[str, float] | None = None,
        folder: Path | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.corpus = corpus
        self.seconds = dict(seconds or {})
        self.info = dict(info or {})
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
        """The cluster of each text: 0, 1, … by falling size; −1 for texts without words."""
        return np.where(self.corpus.empty_documents, -1, self.estimator.labels_).astype(np.int32)

    @property
    def n_clusters(self) -> int:
        """The number of clusters, those of a single text included."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Each text's probability of each cluster and, in the last column, of a new one; made on request.

        They are the mixture's, given all words of all texts. The label of a consensus need not be the most probable.
        """
        return np.asarray(self._fitted("probabilities_"))

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
        return np.asarray((sizes == 1)[self.labels])

    @property
    def outlier_scores(self) -> NDArray[np.float64]:
        """How much less probable a text is in its cluster: NaN for texts without words.

        By the consensus: than in the collection at large, as the mean of the logarithm over its words; by one run: than
        in a new cluster, as the logarithm of the odds.
        """
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
    def clusters(self) -> list[Cluster]:
        """Size, words and examples of each cluster."""
        if isinstance(self.estimator, PartitionMixture):
            word_counts, beta = self.estimator.cluster_word_counts_, self.estimator.beta_
        else:
            word_counts, beta = sum_by_cluster(self.corpus.counts, self.labels, self.n_clusters), SMOOTHING
        if isinstance(self.estimator, FeaturePartitionMixture):  # background words stand for no cluster
            word_counts = canonical(word_counts.multiply(self.estimator.discriminative_words_).tocsr())
        corpus = self.corpus
        stabilities = getattr(self.estimator, STABILITIES, None)
        names: dict[int, str] = {}
        for name, label in self.known_clusters.items():
            names[label] = f"{names[label]} / {name}" if label in names else name
        return describe_clusters(
            corpus.counts, self.labels, word_counts, beta, corpus.vocabulary, self.texts, stabilities, names
        )

    @property
    def known_clusters(self) -> dict[str, int]:
        """The label of each cluster that was known by y, seed words or frozen clusters; −1 if no text is in it."""
        return dict(getattr(self.estimator, KNOWN, {}))

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
            mixture = FittedMixture.of(self.estimator)
            scores = mixture.scorer().score(self.corpus.counts, mixture.labels, mixture.twins, n_jobs=-1)
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
        return np.asarray(self._fitted("predict_proba")(self.corpus.count(texts)))

    def assign(self, texts: Iterable[str | None]) -> Assignments:
        """Put new texts into the clusters, which stay as they are."""
        counts = self.corpus.count(texts)
        if not isinstance(self.estimator, PartitionMixture):
            labels = np.asarray(self._fitted("predict")(counts), dtype=np.int32)
            labels[np.diff(counts.indptr) == 0] = -1
            probabilities = np.full(labels.size, np.nan)
            if isinstance(self.estimator, ScoredMixture):
                probabilities = self.estimator.predict_proba(counts).max(axis=1)
            return Assignments(labels, probabilities, np.zeros(labels.size, bool), np.full(labels.size, np.nan))
        return assign_counts(self.estimator, counts)

    def with_n_clusters(self, n_clusters: int) -> Clustering:
        """The same texts in fewer clusters: those found, merged so that little is lost; nothing is fitted again."""
        if not isinstance(self.estimator, ConsensusMixture):
            raise ValueError(
                f"the clusters of {type(self.estimator).__name__} cannot be merged; those of a consensus can"
            )
        if not isinstance(n_clusters, Integral):
            raise ValueError(f"n_clusters must be a whole number, not {n_clusters!r}")
        return self._with(self.estimator.merged(int(n_clusters)))

    def with_outlier_threshold(self, threshold: float) -> Clustering:
        """The same clustering with other outliers: texts whose score is above this, or that are alone in a cluster."""
        if not isinstance(self.estimator, ConsensusMixture):
            raise ValueError(
                f"{type(self.estimator).__name__} has no outlier_threshold; fit it with another outlier_size"
            )
        if not isinstance(threshold, Real) or np.isnan(float(threshold)):
            raise ValueError(f"the outlier threshold must be a number, not {threshold!r}")
        return self._with(copy(self.estimator).set_params(outlier_threshold=float(threshold)))

    def _with(self, estimator: Any) -> Clustering:
        return Clustering(estimator, self.corpus, self._texts, seconds=self.seconds, folder=self._folder)

    def to_frame(self) -> Any:
        """A pandas data frame, a row a text: position, id, label, cluster and its name, probability, outlier, text."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ImportError("to_frame needs the package pandas: pip install pandas") from error
        names = [cluster.name for cluster in self.clusters]
        ids, labels = self.corpus.ids, self.corpus.labels
        columns = document_columns(ids, labels, self.labels, self.outliers, self._scores, self.texts, names)
        values = {column.name: column.values for column in columns}
        return pandas.DataFrame({"document": np.arange(self.labels.size), **values})

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        force: bool = False,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Save everything to a folder, as tables, JSON and arrays; `textmix.load` reads it again.

        A folder with an earlier run is only overwritten with `force`. `notes` are kept in run.json.
        """
        if not isinstance(self.estimator, tuple(MODELS.values())):
            known = " and ".join(model.__name__ for model in MODELS.values())
            raise ValueError(f"a clustering by {type(self.estimator).__name__} cannot be saved; those by {known} can")
        mixture = FittedMixture.of(self.estimator)
        run = Run(mixture, self.corpus, self.texts, self.clusters, self.outliers, self._scores)
        manifest = {**run.manifest(), "seconds": self.seconds, **(notes or {})}
        write_run(folder, run.write_files, manifest, force=force)

    def _fitted(self, name: str) -> Any:
        if not hasattr(self.estimator, name):
            raise AttributeError(f"{type(self.estimator).__name__} has no {name}")
        return getattr(self.estimator, name)

    def __repr__(self) -> str:
        n_outliers = int(np.count_nonzero(self.outliers))
        return summarise(self.clusters, self.labels.size, n_outliers, self.n_without_words)


class LargeClustering(Clustering):
    """A clustering of texts that were never in memory as a whole, nor were their counts.

    There are labels, outliers, clusters with the examples that were kept, and new texts can be assigned.
    What is said of each text is in assignments.csv.
    """

    def __init__(
        self,
        estimator: GibbsMixture,
        corpus: Corpus,
        examples: KeptExamples,
        *,
        folder: Path,
        seconds: Mapping[str, float] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(estimator, corpus, None, seconds=seconds, folder=folder, info=info)
        self._examples = examples

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each text: 0, 1, … by falling size; −1 for texts without words."""
        return np.asarray(self.estimator.labels_)

    @property
    def n_without_words(self) -> int:
        """The number of texts that have no words left, which belong to no cluster."""
        return int(np.count_nonzero(self.labels < 0))

    @cached_property
    def clusters(self) -> list[Cluster]:
        """Size, words and examples of each cluster."""
        estimator, examples = self.estimator, self._examples.clusters
        word_counts, vocabulary = estimator.cluster_word_counts_, self.corpus.vocabulary
        return list_clusters(estimator.cluster_sizes_, word_counts, estimator.beta_, vocabulary, examples)

    @property
    def strangest(self) -> list[Example]:
        """Of the texts that fit nowhere those with the highest outlier scores."""
        return self._examples.outliers

    @property
    def texts(self) -> Sequence[str]:
        """Not there."""
        raise self._not_there("texts")

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Not there."""
        raise self._not_there("probabilities")

    @property
    def outlier_scores(self) -> NDArray[np.float64]:
        """Not there."""
        raise self._not_there("outlier scores")

    def to_frame(self) -> Any:
        """Not there."""
        raise self._not_there("rows")

    def save(
        self, folder: str | os.PathLike[str], *, force: bool = False, notes: Mapping[str, Any] | None = None
    ) -> None:
        """Not possible."""
        raise ValueError(f'this clustering is saved already; copy the folder "{self._folder}"')

    def _not_there(self, what: str) -> AttributeError:
        return AttributeError(
            f"there are no {what} here: the texts and counts of this run were never in memory as a whole; "
            f'see assignments.csv in "{self._folder}"'
        )


def load(folder: str | os.PathLike[str], *, tokenizer: Callable[[str], Iterable[str]] | None = None) -> Clustering:
    """Load a saved clustering. If a tokenizer of your own split its texts, new texts need it again."""
    info = read_manifest(folder)
    folder = Path(folder)
    is_large = info.get(COUNTS) == ON_DISK
    corpus = Corpus.load(folder / CORPUS_FOLDER, tokenizer)
    fitted = FittedMixture.load(folder / MODEL_FOLDER)
    kinds = {model.__name__: model for model in MODELS.values()}
    if fitted.estimator not in kinds:
        raise ValueError(f'"{folder}" was saved with a model this textmix does not know: {fitted.estimator}')
    n_counted = 0 if is_large else fitted.labels.size
    if corpus.counts.shape != (n_counted, fitted.cluster_word_counts.shape[1]):
        raise ValueError(f'the model and the corpus in "{folder}" do not belong together; cluster again')
    estimator = kinds[fitted.estimator](**fitted.parameters)
    fitted.put_into(estimator, None if is_large else corpus.counts, corpus.vocabulary)
    seconds = info.get("seconds", {})
    if is_large:
        examples = KeptExamples.load(folder)
        return LargeClustering(estimator, corpus, examples, seconds=seconds, folder=folder, info=info)
    return Clustering(estimator, corpus, None, seconds=seconds, folder=folder, info=info)

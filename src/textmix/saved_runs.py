"""Saved runs, loaded: also those whose texts and counts were never in memory as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.clustering import MODELS, Clustering
from textmix.corpus import Corpus
from textmix.corpus.matrix import sum_by_cluster
from textmix.corpus.saved_files import inner_folder
from textmix.corpus.saved_values import check_number
from textmix.estimators import ConsensusMixture
from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.results.clusters import Cluster, Clusters, list_clusters
from textmix.results.folder import RUN_FILE, read_manifest
from textmix.results.frames import Frame
from textmix.results.mixture import NOT_STORED, FittedMixture
from textmix.results.mixture_values import check_unit
from textmix.results.run import CORPUS_FOLDER, COUNTS, MODEL_FOLDER, ON_DISK, cluster_columns
from textmix.results.typical import Example, KeptExamples


class LargeClustering(Clustering):
    """A clustering of texts that were never in memory as a whole, nor were their counts.

    There are labels, outliers, clusters with the examples that were kept, and new texts can be assigned.
    What is said of each text is in assignments.csv.
    """

    _has_texts = False

    def __init__(
        self,
        estimator: GibbsMixture,
        corpus: Corpus,
        examples: KeptExamples,
        *,
        folder: Path | None,
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
    def clusters(self) -> Clusters:
        """Size, words and examples of each cluster."""
        estimator, examples = self.estimator, self._examples.clusters
        word_counts, vocabulary = estimator.cluster_word_counts_, self.corpus.vocabulary
        described = list_clusters(
            estimator.cluster_sizes_, word_counts, estimator.beta_, vocabulary, examples, given_names=self._names
        )
        return Clusters(described, cluster_columns(described))

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

    def _table(self, documents: NDArray[Any]) -> Frame:
        raise self._not_there("rows")

    def documents_of(self, cluster: int | str | Cluster) -> Frame:
        """Not there."""
        raise self._not_there("rows")

    def _manifest(self) -> dict[str, Any]:
        return {}

    def _with(self, estimator: Any) -> LargeClustering:
        return LargeClustering(
            self.estimator, self.corpus, self._examples, folder=self._folder, seconds=self.seconds, info=self.info
        )

    def _partition_of(self, done: str) -> PartitionMixture:
        raise ValueError(f"the texts of this run were never in memory as a whole; its clusters cannot be {done}")

    def _check_saving(self) -> None:
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
    corpus = Corpus.load(inner_folder(folder, CORPUS_FOLDER), tokenizer)
    fitted = FittedMixture.load(inner_folder(folder, MODEL_FOLDER))
    estimator = _make_estimator(fitted, folder)
    n_counted = 0 if is_large else fitted.labels.size
    if corpus.counts.shape != (n_counted, fitted.cluster_word_counts.shape[1]):
        raise ValueError(f'the model and the corpus in "{folder}" do not belong together; cluster again')
    estimator.restore(fitted, None if is_large else corpus.counts, corpus.vocabulary)
    seconds, n_clusters = info.get("seconds", {}), fitted.cluster_sizes.size
    if is_large:
        examples = KeptExamples.load(folder, n_clusters, fitted.labels.size)
        return LargeClustering(estimator, corpus, examples, seconds=seconds, folder=folder, info=info)
    _check_statistics(estimator, corpus, fitted, folder)
    names = _read_names(info.get("names", {}), n_clusters, folder)
    return Clustering(estimator, corpus, None, seconds=seconds, folder=folder, info=info, names=names)


def _make_estimator(fitted: FittedMixture, folder: Path) -> Any:
    kinds = {model.__name__: model for model in MODELS.values()}
    if fitted.estimator not in kinds:
        raise ValueError(f'"{folder}" was saved with a model this textmix does not know: {fitted.estimator[:40]}')
    try:
        if NOT_STORED in fitted.parameters:
            raise ValueError(f"{NOT_STORED} is never saved")
        for name, value in fitted.parameters.items():
            if isinstance(value, int) and not isinstance(value, bool) and name != "random_state":
                check_number(name, value, -(2**62), 2**62, whole=True)
        estimator = kinds[fitted.estimator](**fitted.parameters)
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ValueError(f'the model in "{folder}" has settings that cannot be ({error}); cluster again') from error
    return estimator


def _check_statistics(estimator: PartitionMixture, corpus: Corpus, fitted: FittedMixture, folder: Path) -> None:
    """Raise ValueError unless the counts of the clusters are those of their documents: kernels subtract one from other.

    Costs a sum over all counts, up to 100 ns a stored one.
    """
    counts, labels = corpus.counts, fitted.labels
    try:
        check_unit(fitted.unit, counts)
        if not np.array_equal(labels < 0, corpus.empty_documents):
            raise ValueError("labels.npy must have −1 for the texts without words, and for no others")
        counted = labels
        if isinstance(estimator, ConsensusMixture):
            counted = estimator._labels_that_count(counts, labels, fitted.unit)
        expected, found = sum_by_cluster(counts, counted, fitted.cluster_sizes.size), fitted.cluster_word_counts
        same_words = np.array_equal(expected.indptr, found.indptr) and np.array_equal(expected.indices, found.indices)
        if not same_words or not np.allclose(expected.data, found.data, rtol=1e-9, atol=0.0):
            raise ValueError("its counts are not those of the texts of the clusters")
    except ValueError as error:
        raise ValueError(
            f'the model and the corpus in "{folder}" do not belong together ({error}); cluster again'
        ) from error


def _read_names(names: Mapping[str, str], n_clusters: int, folder: Path) -> dict[int, str]:
    """The names that were given to clusters, by label."""
    labels = {str(label): label for label in range(n_clusters)}
    for label in names:
        if label not in labels:
            raise ValueError(f'"{folder / RUN_FILE}" is damaged (it names a cluster {label[:40]!r}); cluster again')
    return {labels[label]: name for label, name in names.items()}

"""The facade: texts in, a clustering out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from textmix.corpus import Corpus, Tokenizer
from textmix.engines.threads import count_threads
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
from textmix.results.mixture import STABILITIES, DocumentScores, FittedMixture
from textmix.results.run import CORPUS_FOLDER, MODEL_FOLDER, Run, document_columns, read_texts
from textmix.results.typical import Example, Examples

AUTO = "auto"
MODELS: dict[str, type[PartitionMixture]] = {
    "consensus": ConsensusMixture,
    "dirichlet-multinomial": DirichletMultinomialMixture,
    "dirichlet-process": DirichletProcessMixture,
}
DEFAULT_MAX_CLUSTERS = 500
SMOOTHING = 0.1  # pseudo-count of a word, for the words of estimators that have no beta

_OF_ONE_RUN = (
    "alpha",
    "beta",
    "inference",
    "init",
    "outlier_size",
    "engine",
    "client",
)  # "auto" is one run where these are given
_MODEL_SETTINGS = ("n_clusters", "granularity", "n_sweeps", "outlier_threshold", "n_jobs", *_OF_ONE_RUN)
_TOKENIZER_SETTINGS = tuple(name for name in Tokenizer.__dataclass_fields__ if name != "tokenizer")


def default_n_clusters(n_documents: int) -> int:
    """The upper number of clusters for so many documents with words: as many, but not more than 500.

    NMI (arithmetic), mean of eight seeds, with 100 and with 500: tickets (720 texts) .433 and .462, Tweet
    (2,472) .871 and .899, T (11,109) .861 and .896; but StackOverflow (20,000) .547 and .515. 300 texts of
    Tweet with 30, 150 and 300: .828, .877, .895. Part of the gain is more texts alone in their cluster: on
    tickets 11 with 100 and 60 with 500, while ARI stays at .27.
    """
    return max(1, min(DEFAULT_MAX_CLUSTERS, n_documents))


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

        By the consensus: it is alone in its cluster, or its outlier score is above the threshold (0.25); by one run:
        its cluster has no more texts than the setting outlier_size (1).
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
        word_counts = sum_by_cluster(self.corpus.counts, self.labels, self.n_clusters)
        if isinstance(self.estimator, FeaturePartitionMixture):  # background words stand for no cluster
            word_counts = canonical(word_counts.multiply(self.estimator.discriminative_words_).tocsr())
        beta = self.estimator.beta_ if isinstance(self.estimator, PartitionMixture) else SMOOTHING
        corpus = self.corpus
        stabilities = getattr(self.estimator, STABILITIES, None)
        return describe_clusters(
            corpus.counts, self.labels, word_counts, beta, corpus.vocabulary, self.texts, stabilities
        )

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
            return Assignments(labels, probabilities, np.zeros(labels.size, bool))
        return assign_counts(self.estimator, counts)

    def with_n_clusters(self, n_clusters: int) -> Clustering:
        """The same texts in fewer clusters: those found, merged so that little is lost; nothing is fitted again."""
        if not isinstance(self.estimator, ConsensusMixture):
            raise ValueError(
                f"the clusters of {type(self.estimator).__name__} cannot be merged; those of a consensus can"
            )
        return self._with(self.estimator.merged(n_clusters))

    def with_outlier_threshold(self, threshold: float) -> Clustering:
        """The same clustering with other outliers: texts whose score is above this, or that are alone in a cluster."""
        if not isinstance(self.estimator, ConsensusMixture):
            raise ValueError(
                f"{type(self.estimator).__name__} has no outlier_threshold; fit it with another outlier_size"
            )
        if np.isnan(threshold):
            raise ValueError("the outlier threshold must be a number, not NaN")
        return self._with(copy(self.estimator).set_params(outlier_threshold=float(threshold)))

    def _with(self, estimator: Any) -> Clustering:
        return Clustering(estimator, self.corpus, self._texts, seconds=self.seconds, folder=self._folder)

    def to_frame(self) -> Any:
        """A pandas data frame with a row a text: position, id, label, cluster, probability, outlier, text."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ImportError("to_frame needs the package pandas: pip install pandas") from error
        ids, labels = self.corpus.ids, self.corpus.labels
        columns = document_columns(ids, labels, self.labels, self.outliers, self._scores, self.texts)
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


class TextClusterer(ClusterMixin, BaseEstimator):
    """Clusters texts: a scikit-learn estimator whose X is a list of texts.

    Parameters
    ----------
    model : {"auto", "consensus", "dirichlet-multinomial", "dirichlet-process"} or estimator, default="auto"
        How to cluster the counts: by name, or any scikit-learn clusterer, of which a copy is fitted. "auto":
        "consensus", what ten runs agree on; or "dirichlet-multinomial", a single run, where a setting of such is given:
        alpha, beta, inference, init, outlier_size, engine or client.
    n_clusters : int, default=None
        "consensus": exactly so many clusters; None: as many as are found. "dirichlet-multinomial": an upper bound;
        None: 500, or the number of texts if that is smaller.
    granularity : "coarse", "medium", "fine" or float, default=None
        "consensus": coarser or finer clusters; as a number 1 is medium, more is finer.
    outlier_threshold : float, default=None
        "consensus": texts of a higher outlier score fit nowhere; None: 0.25.
    alpha, beta, n_sweeps, outlier_size, init, engine, client, n_jobs : default=None
        Of the model; None: its own default.
    inference : default=None
        Of the model; None: "auto", which is "parallel" for large collections and "gibbs" for all others.
    tokenizer : Tokenizer or function from a text to its words, default=None
        Instead of the settings that follow, or a function beside them.
    lowercase, language, stop_words, stem, min_word_length, max_word_length, min_document_frequency, \
max_document_frequency
        As for `Tokenizer`.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same clusters.
    progress : bool or None, default=None
        Whether to show a progress bar when fitting takes long; None: on a terminal.

    Attributes
    ----------
    clustering_ : Clustering
        The result: labels, clusters with words and examples, outliers, tables, save.
    labels_, n_clusters_ : as in clustering_
    model_, corpus_ : the fitted mixture and the counts it was fitted to
    """

    def __init__(
        self,
        model: Any = AUTO,
        *,
        n_clusters: int | None = None,
        granularity: str | float | None = None,
        alpha: float | str | None = None,
        beta: float | str | None = None,
        n_sweeps: int | None = None,
        outlier_size: int | None = None,
        outlier_threshold: float | None = None,
        inference: str | None = None,
        init: str | None = None,
        engine: str | None = None,
        client: Any = None,
        n_jobs: int | None = None,
        tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
        lowercase: bool = True,
        language: str | None = "auto",
        stop_words: Sequence[str] | None = None,
        stem: bool = False,
        min_word_length: int = 2,
        max_word_length: int = 40,
        min_document_frequency: int | float = 1,
        max_document_frequency: int | float = 1.0,
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.model = model
        self.n_clusters = n_clusters
        self.granularity = granularity
        self.alpha = alpha
        self.beta = beta
        self.n_sweeps = n_sweeps
        self.outlier_size = outlier_size
        self.outlier_threshold = outlier_threshold
        self.inference = inference
        self.init = init
        self.engine = engine
        self.client = client
        self.n_jobs = n_jobs
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.language = language
        self.stop_words = stop_words
        self.stem = stem
        self.min_word_length = min_word_length
        self.max_word_length = max_word_length
        self.min_document_frequency = min_document_frequency
        self.max_document_frequency = max_document_frequency
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Tags:
        """A list of texts, not a matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(
        self,
        X: Iterable[str | None],
        y: Any = None,
        *,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
    ) -> Self:
        """Cluster texts. y is ignored; `ids` and `labels` are kept beside the texts in tables, not used."""
        self.check_settings()
        texts = _as_list(X)
        started = time.perf_counter()
        corpus = Corpus.from_texts(texts, self.make_tokenizer(), ids=ids, labels=labels)
        n_documents = int(np.count_nonzero(~corpus.empty_documents))
        check_words(len(texts), n_documents)
        counted = time.perf_counter()
        model = self.make_model(n_documents)
        self.model_ = model.fit(corpus if isinstance(model, DocumentMixture) else corpus.counts)
        seconds = {"counting": counted - started, "sampling": time.perf_counter() - counted}
        self.corpus_ = corpus
        texts = [text if isinstance(text, str) else "" for text in texts]
        self.clustering_ = Clustering(self.model_, corpus, texts, seconds=seconds)
        self.labels_ = self.clustering_.labels
        self.n_clusters_ = self.clustering_.n_clusters
        return self

    def predict(self, X: Iterable[str | None]) -> NDArray[np.int32]:
        """The most probable cluster of each new text; −1 if no word of it is known."""
        check_is_fitted(self)
        return self.clustering_.predict(X)

    def predict_proba(self, X: Iterable[str | None]) -> NDArray[np.float64]:
        """New texts' probability of each cluster and, in the last column, of a new one."""
        check_is_fitted(self)
        return self.clustering_.predict_proba(X)

    def check_settings(self, *, on_disk: bool = False) -> None:
        """Raise ValueError if a setting is wrong, before any text is read."""
        self.make_tokenizer()
        model = self.make_model(1, on_disk=on_disk)
        if isinstance(model, PartitionMixture):
            model._validate_params()
            count_threads(model.n_jobs)
        if isinstance(model, GibbsMixture):
            model._make_prior(1)
            if model.client is not None and model.engine != "dask":
                raise ValueError(f"client is a Dask cluster; engine is {model.engine!r}, so leave one of them out")

    def make_tokenizer(self) -> Tokenizer:
        """The tokenizer of these settings."""
        settings = {name: getattr(self, name) for name in _TOKENIZER_SETTINGS}
        if not isinstance(self.tokenizer, Tokenizer):
            return Tokenizer(tokenizer=self.tokenizer, **settings)
        changed = [name for name, value in settings.items() if value != getattr(Tokenizer, name)]
        if changed:
            raise ValueError(f"give either a Tokenizer or settings by name, not both ({', '.join(changed)})")
        return self.tokenizer

    def make_model(self, n_documents: int, *, on_disk: bool = False) -> Any:
        """The estimator for so many texts with words, whose counts may be on disk."""
        given = {name: getattr(self, name) for name in _MODEL_SETTINGS if getattr(self, name) is not None}
        if isinstance(self.model, str) and self.model in (AUTO, *MODELS):
            name = self.model
            if name == AUTO:
                one_run = on_disk or any(setting in given for setting in _OF_ONE_RUN)
                name = "dirichlet-multinomial" if one_run else "consensus"
            return self._named_model(name, given, n_documents)
        if not callable(getattr(self.model, "fit", None)):
            raise ValueError(f"model must be one of {AUTO}, {', '.join(MODELS)}, or an estimator, not {self.model!r}")
        if given:
            raise ValueError(f"{next(iter(given))} is a setting of the model; give it to the model itself")
        model = clone(self.model)
        if model.get_params(deep=False).get("random_state", 0) is None:
            model.set_params(random_state=self.random_state)
        return model

    def _named_model(self, name: str, given: dict[str, Any], n_documents: int) -> PartitionMixture:
        kind = MODELS[name]
        accepted = kind._get_param_names()
        for setting in given:
            if setting not in accepted:
                raise ValueError(f"the model {name!r} has no setting {setting}")
        if "inference" in accepted:
            given.setdefault("inference", "auto")
        if "n_clusters" in accepted and kind is not ConsensusMixture:
            given.setdefault("n_clusters", default_n_clusters(n_documents))
        return kind(**given, random_state=self.random_state, progress=self.progress)


def cluster(
    texts: Iterable[str | None],
    random_state: Any = 0,
    *,
    ids: Iterable[Any] | None = None,
    labels: Iterable[Any] | None = None,
    **settings: Any,
) -> Clustering:
    """Cluster texts. Settings are those of `TextClusterer`; none is needed.

    `ids` and `labels`, one for each text, are kept beside the texts in tables; they influence nothing.
    """
    clusterer = TextClusterer(random_state=random_state, **settings).fit(texts, ids=ids, labels=labels)
    return clusterer.clustering_


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


def check_words(n_texts: int, n_with_words: int) -> None:
    """Raise ValueError if no text has words."""
    if n_with_words == 0:
        which = f"none of the {n_texts:,} texts has" if n_texts > 1 else "the text does not have"
        raise ValueError(f"{which} any words to cluster by, once stop words are left out")


def _as_list(texts: Any) -> list[Any]:
    """The texts as a list, which may be empty no more than it may be a single text or a table."""
    if isinstance(texts, str | bytes):
        raise ValueError(f"texts is a single {type(texts).__name__}; give a list of texts, for one text [text]")
    if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) != 1 or not isinstance(texts, Iterable):
        raise ValueError(f"texts must be a list or one column of texts, not {type(texts).__name__}")
    listed = list(texts)
    if not listed:
        raise ValueError("there are no texts; give at least one")
    return listed

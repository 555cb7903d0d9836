"""Texts in, a clustering out: `TextClusterer` and `cluster`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from textmix.clustering.clustering import Clustering
from textmix.clustering.fitted_model import MODELS
from textmix.clustering.second_view import AUTO as AUTO_ENCODER
from textmix.clustering.second_view import GIVEN, OWN, WORDS_ALONE, SecondView, check_encoder, choose_view
from textmix.corpus import Corpus, Tokenizer
from textmix.engines.threads import count_threads
from textmix.estimators import ConsensusMixture
from textmix.estimators.document_mixture import DocumentMixture
from textmix.estimators.gibbs_mixture import GibbsMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.vectors import VectorSource

AUTO = "auto"
DEFAULT_MAX_CLUSTERS = 500
_OF_ONE_RUN = (
    "alpha",
    "beta",
    "inference",
    "init",
    "outlier_size",
    "engine",
    "client",
)  # "auto" is one run where these are given
_MODEL_SETTINGS = ("n_clusters", "granularity", "n_sweeps", "duplicates", "outlier_threshold", "n_jobs", *_OF_ONE_RUN)
SEED_COUNT = 5  # how often a seed word stands in the document that is made of them
_TOKENIZER_SETTINGS = tuple(name for name in Tokenizer.__dataclass_fields__ if name != "tokenizer")


def default_n_clusters(n_documents: int) -> int:
    """The upper number of clusters for so many documents with words: as many, but not more than 500.

    NMI (arithmetic), mean of eight seeds, with 100 and with 500: tickets (720 texts) .433 and .462, Tweet
    (2,472) .871 and .899, T (11,109) .861 and .896; but StackOverflow (20,000) .547 and .515. 300 texts of
    Tweet with 30, 150 and 300: .828, .877, .895. Part of the gain is more texts alone in their cluster: on
    tickets 11 with 100 and 60 with 500, while ARI stays at .27.
    """
    return max(1, min(DEFAULT_MAX_CLUSTERS, n_documents))


@dataclass(eq=False, repr=False)
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
    encoder : "auto", "static", "own", "sentence-transformers:NAME", "model2vec:NAME", object or None, default="auto"
        "consensus": what makes a vector of each text, a second view beside its words. "static": the word vectors that
        come with textmix, for English; "own": made from the texts themselves (TF-IDF, truncated SVD); an object with
        `.encode(list of texts)`, such as a SentenceTransformer, or a function. None: words alone. "auto": "static" if
        the texts are English, otherwise None. With an estimator as the model, it is fitted to the vectors.
    granularity : "coarse", "medium", "fine" or float, default=None
        "consensus": coarser or finer clusters; as a number 1 is medium, more is finer.
    seed_words : {name: words}, default=None
        "consensus": clusters to look for, each by some words that texts of it are likely to have.
    frozen : Clustering or {name: texts}, default=None
        "consensus": clusters that are known already, by their texts; these say what the clusters are and stay in them,
        the texts to be clustered join them or form others. Of a Clustering those that several texts are in; its
        tokenizer (stop words and all) splits the texts if no setting of another is given.
    duplicates : {"all", "once"}, default=None
        "consensus": whether texts with the same words count each or once in finding clusters; None: "all".
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

    model: Any = AUTO
    _: KW_ONLY
    n_clusters: int | None = None
    encoder: Any = AUTO_ENCODER
    granularity: str | float | None = None
    alpha: float | str | None = None
    beta: float | str | None = None
    n_sweeps: int | None = None
    outlier_size: int | None = None
    seed_words: Mapping[str, Iterable[str]] | None = None
    frozen: Clustering | Mapping[str, Iterable[str]] | None = None
    duplicates: str | None = None
    outlier_threshold: float | None = None
    inference: str | None = None
    init: str | None = None
    engine: str | None = None
    client: Any = None
    n_jobs: int | None = None
    tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None
    lowercase: bool = True
    language: str | None = "auto"
    stop_words: Sequence[str] | None = None
    stem: bool = False
    min_word_length: int = 2
    max_word_length: int = 40
    min_document_frequency: int | float = 1
    max_document_frequency: int | float = 1.0
    random_state: Any = 0
    progress: bool | None = None

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
        sample_weight: Any = None,
        *,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        times: Iterable[Any] | None = None,
        vectors: Any = None,
    ) -> Self:
        """Cluster texts. `ids`, `labels` and `times` are kept beside the texts in tables and the report, not used.

        vectors: your own embeddings of the texts, one row per text, instead of an encoder's; a row of zeros is a text
        without a vector.

        y: the cluster of each text where it is known, by number or name; −1, None or "" elsewhere. Texts of one are
        kept together, those of two apart; others join them or form clusters of their own. sample_weight: how much each
        text counts in finding clusters. Both are for the consensus.
        """
        self.check_settings()
        texts = _as_list(X)
        started = time.perf_counter()
        corpus = Corpus.from_texts(texts, self.make_tokenizer(), ids=ids, labels=labels, times=times)
        n_documents = int(np.count_nonzero(~corpus.empty_documents))
        check_words(len(texts), n_documents)
        counted = time.perf_counter()
        texts = [text if isinstance(text, str) else "" for text in texts]
        model = self.make_model(n_documents)
        view, source = self._second_view(model, vectors, corpus, texts)
        if isinstance(model, ConsensusMixture):
            examples, example_counts = self._example_texts(), {}
            for name, group in examples.items():
                example_counts[name] = _count_examples(name, group, corpus)
            self.model_ = model.fit(
                *(corpus, y, sample_weight),
                vectors=source,
                examples=example_counts,
                example_vectors=None if source is None else self._encode_examples(examples, view),
            )
        else:
            for name, given in (("y", y), ("sample_weight", sample_weight)):
                if given is not None:
                    raise ValueError(f"{name} is for the model 'consensus', not for {type(model).__name__}")
            if source is not None:
                self.model_ = model.fit(source.rows(np.arange(len(texts))))
            else:
                self.model_ = model.fit(corpus if isinstance(model, DocumentMixture) else corpus.counts)
        if isinstance(model, ConsensusMixture) and not self.model_.has_vectors_:
            view = WORDS_ALONE  # no text has a vector
        seconds = {"counting": counted - started, "sampling": time.perf_counter() - counted}
        self.corpus_ = corpus
        self.clustering_ = Clustering(self.model_, corpus, texts, seconds=seconds, view=view)
        self.labels_ = self.clustering_.labels
        self.n_clusters_ = self.clustering_.n_clusters
        return self

    def fit_predict(self, X: Iterable[str | None], y: Any = None, **known: Any) -> NDArray[np.int32]:
        """`fit` and its labels."""
        return self.fit(X, y, **known).labels_

    def _second_view(
        self, model: Any, vectors: Any, corpus: Corpus, texts: Sequence[str]
    ) -> tuple[SecondView, VectorSource | None]:
        """Where vectors come from, and those of the texts; for all but a consensus only if they are asked for."""
        is_default = self.encoder is None or (isinstance(self.encoder, str) and self.encoder == AUTO_ENCODER)
        if not isinstance(model, ConsensusMixture) and vectors is None and is_default:
            return WORDS_ALONE, None
        if isinstance(model, GibbsMixture):
            raise ValueError(f"{type(model).__name__} is a model of words; vectors are for a consensus of runs")
        if vectors is not None and not is_default:
            raise ValueError("vectors are given, so an encoder is not needed; leave out one of them")
        return choose_view(self._encoder(), vectors, corpus, texts, self.random_state)

    def _encoder(self) -> Any:
        """The encoder's setting; by default that of the frozen clusters, if there are any."""
        is_default = isinstance(self.encoder, str) and self.encoder == AUTO_ENCODER
        if not is_default or not isinstance(self.frozen, Clustering):
            return self.encoder
        view = self.frozen.view
        if view.name == OWN:
            return OWN  # made anew: those of the frozen texts have other words
        if view.name not in (None, GIVEN) and view.encoder is None:
            warnings.warn(
                f'the frozen clusters were made with the encoder "{view.name}", which is not at hand; '
                "give it as encoder, or load the run with it",
                stacklevel=5,
            )
        return self.encoder if view.name is not None and view.encoder is None else view.encoder

    def _example_texts(self) -> dict[str, _Examples]:
        """Texts of known clusters, and seed words, by name."""
        _warn_of_shared_words(self.seed_words or {})
        examples = {name: _Examples(texts) for name, texts in _texts_by_name(self.frozen).items()}
        for name, words in (self.seed_words or {}).items():
            if isinstance(words, str) or not isinstance(words, Iterable):
                raise ValueError(f"seed_words of {name!r} is a single {type(words).__name__}; give a list of words")
            texts = examples[name].texts if name in examples else []
            examples[name] = _Examples(texts, [str(word) for word in words])
        return examples

    def _encode_examples(self, examples: Mapping[str, _Examples], view: SecondView) -> dict[str, Any] | None:
        """The vectors of texts of known clusters and of seed words; of vectors that were given, those of a frozen run.

        A document of seed words has the vector of these words.
        """
        if view.encoder is not None:
            return {name: view.encoder.encode(each.as_texts()) for name, each in examples.items()}
        if isinstance(self.frozen, Clustering) and self.frozen.view.name == GIVEN:
            by_name = self.frozen.vectors_by_name()
            # A document of seed words comes last; of vectors that were given it has none.
            return {name: np.pad(rows, ((0, bool(examples[name].words)), (0, 0))) for name, rows in by_name.items()}
        return None

    def predict(self, X: Iterable[str | None], *, vectors: Any = None) -> NDArray[np.int32]:
        """The most probable cluster of each new text; −1 if nothing is known about it. vectors: as in `fit`."""
        check_is_fitted(self)
        return self.clustering_.predict(X, vectors=vectors)

    def predict_proba(self, X: Iterable[str | None], *, vectors: Any = None) -> NDArray[np.float64]:
        """New texts' probability of each cluster and, in the last column, of a new one. vectors: as in `fit`."""
        check_is_fitted(self)
        return self.clustering_.predict_proba(X, vectors=vectors)

    def check_settings(self, *, on_disk: bool = False) -> None:
        """Raise ValueError if a setting is wrong, before any text is read."""
        self.make_tokenizer()
        check_encoder(self.encoder)
        model = self.make_model(1, on_disk=on_disk)
        for name in ("seed_words", "frozen"):
            if getattr(self, name) is not None and not isinstance(model, ConsensusMixture):
                raise ValueError(f"{name} is for the model 'consensus', not for {type(model).__name__}")
        if self.seed_words is not None and not isinstance(self.seed_words, Mapping):
            raise ValueError(f"seed_words must be {{name: words}}, not {type(self.seed_words).__name__}")
        if isinstance(self.frozen, Clustering) and not self.frozen.has_texts:
            raise ValueError("frozen is a run with its texts on disk; its clusters cannot be taken over")
        if isinstance(model, PartitionMixture):
            model._validate_params()
            count_threads(model.n_jobs)
        if isinstance(model, GibbsMixture):
            model._make_prior(1)
            if model.client is not None and model.engine != "dask":
                raise ValueError(f"client is a Dask cluster; engine is {model.engine!r}, so leave one of them out")

    def make_tokenizer(self) -> Tokenizer:
        """The tokenizer of these settings; with none, that of the frozen clusters, if there are any."""
        settings = {name: getattr(self, name) for name in _TOKENIZER_SETTINGS}
        changed = [name for name, value in settings.items() if value != getattr(Tokenizer, name)]
        if (
            self.tokenizer is None
            and not changed
            and isinstance(self.frozen, Clustering)
            and self.frozen.corpus.tokenizer
        ):
            return self.frozen.corpus.tokenizer
        if not isinstance(self.tokenizer, Tokenizer):
            return Tokenizer(tokenizer=self.tokenizer, **settings)
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
    y: Any = None,
    sample_weight: Any = None,
    ids: Iterable[Any] | None = None,
    labels: Iterable[Any] | None = None,
    times: Iterable[Any] | None = None,
    vectors: Any = None,
    **settings: Any,
) -> Clustering:
    """Cluster texts. Settings are those of `TextClusterer`; none is needed.

    The most useful: `n_clusters`, `granularity` ("coarse", "fine"), `encoder` (what makes vectors of the texts),
    `language`, `stop_words`, `stem`, `seed_words`, `frozen`, `duplicates`, `outlier_threshold`, `model`.

    `vectors`: your own embeddings of the texts, one row per text. `y` and `sample_weight`, one for each text, are as in
    `TextClusterer.fit`. `ids`, `labels` and `times` (dates, or ISO 8601 such as "2024-03-04T06:02:53Z") are kept beside
    the texts in tables and the report; they influence nothing.
    """
    clusterer = TextClusterer(random_state=random_state, **settings)
    return clusterer.fit(texts, y, sample_weight, ids=ids, labels=labels, times=times, vectors=vectors).clustering_


class _Examples(NamedTuple):
    """What is known of a cluster beforehand: texts of it, and words that its texts are likely to have."""

    texts: list[str]
    words: Sequence[str] = ()

    def as_texts(self) -> list[str]:
        """The texts, the words as one more."""
        return [*self.texts, *([" ".join(self.words)] if self.words else [])]


def _count_examples(name: str, examples: _Examples, corpus: Corpus) -> csr_array:
    """The counts of texts of a known cluster and of a document that is made of seed words."""
    counts, words = corpus.count(examples.texts), examples.words
    if not words:
        return counts
    seeds = corpus.count([" ".join(words)] * SEED_COUNT)
    if seeds.nnz == 0:
        shown = ", ".join(words) or "none given"
        raise ValueError(f"no text has a seed word of {name!r} ({shown}), or they are stop words")
    together = csr_array(seeds.sum(axis=0)[np.newaxis])
    if together.nnz == 1:
        _warn_of_missing_words(name, words, corpus)
    return csr_array(vstack((counts, together))) if examples.texts else together


def _warn_of_shared_words(seed_words: Mapping[str, Iterable[str]]) -> None:
    """Say which seed words stand for more than one cluster."""
    names: dict[str, list[str]] = {}
    for name, words in seed_words.items():
        if not isinstance(words, str) and isinstance(words, Iterable):
            for word in dict.fromkeys(str(word).lower() for word in words):
                names.setdefault(word, []).append(name)
    for word, shared in names.items():
        if len(shared) > 1:
            clusters = " and ".join(f'"{name}"' for name in shared)
            warnings.warn(f'the seed word "{word}" stands under {clusters}: it does not tell them apart', stacklevel=4)


def _warn_of_missing_words(name: str, words: Sequence[str], corpus: Corpus) -> None:
    """Say which seed words of a cluster are not in the texts, if there are any."""
    missing = [word for word, n_found in zip(words, np.diff(corpus.count(words).indptr), strict=True) if n_found == 0]
    if missing:
        not_there = ", ".join(missing)
        message = f"only one seed word of {name!r} is in the texts; not there, or stop words: {not_there}"
        warnings.warn(message, stacklevel=5)


def check_words(n_texts: int, n_with_words: int) -> None:
    """Raise ValueError if no text has words."""
    if n_with_words == 0:
        which = f"none of the {n_texts:,} texts has" if n_texts > 1 else "the text does not have"
        raise ValueError(f"{which} any words to cluster by, once stop words are left out")


def _texts_by_name(frozen: Clustering | Mapping[str, Iterable[str]] | None) -> dict[str, list[str]]:
    """The texts of each cluster that is known already."""
    if frozen is None:
        return {}
    if isinstance(frozen, Clustering):
        return frozen.texts_by_name()
    if not isinstance(frozen, Mapping):
        kind = type(frozen).__name__
        raise ValueError(f"frozen must be a Clustering, as textmix.load gives it, or {{name: texts}}, not {kind}")
    by_name = {}
    for name, texts in frozen.items():
        by_name[str(name)] = [] if isinstance(texts, str) else list(texts)
        if not by_name[str(name)]:
            raise ValueError(f"frozen of {name!r} is {'a single str' if texts else 'empty'}; give a list of texts")
    return by_name


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

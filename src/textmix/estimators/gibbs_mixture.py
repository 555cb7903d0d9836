"""What the mixtures that are sampled have in common: their settings, and fitting."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from textmix.corpus import Corpus
from textmix.corpus.matrix import sum_by_cluster
from textmix.corpus.shards import ShardedCorpus
from textmix.engines.engine import ENGINES, make_engine
from textmix.estimators.counts import check_counts
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.inference.hyperparameters import ALPHA_PRIOR, BETA_PRIOR
from textmix.inference.metropolis import MetropolisSettings
from textmix.inference.parallel import MEANS, SAMPLED, UNCOLLAPSED
from textmix.inference.parallel_fit import Checkpoint, FittedParallel, ParallelSettings, fit_parallel
from textmix.inference.partition import SamplerSettings, fit_partition
from textmix.inference.progress import Progress
from textmix.inference.seeds import seed_from
from textmix.inference.sharded import ShardedDocuments, deal_out_counts, deal_out_disk
from textmix.kernels.state import Prior

PARALLEL_FROM = 1_000_000  # stored counts from which "auto" is "parallel"


@dataclass(eq=False, repr=False)
class GibbsMixture(PartitionMixture):
    """Base of the Dirichlet-multinomial mixtures of the papers; see its subclasses."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"}), "array-like"],
        "n_sweeps": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "sampler": [StrOptions({"auto", "sparse", "dense"})],
        "polish": ["boolean"],
        "outlier_size": [Interval(Integral, 0, None, closed="left")],
        "inference": [StrOptions({"gibbs", "metropolis", "parallel", "auto"})],
        "switch": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "word_probabilities": [StrOptions({MEANS, SAMPLED, UNCOLLAPSED})],
        "leave_out": ["boolean"],
        "engine": [StrOptions(set(ENGINES))],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "progress": ["boolean", None],
    }

    _beta_to_start_from: ClassVar[float]

    _: KW_ONLY
    inference: str = "gibbs"
    n_sweeps: int = 100
    tol: float = 1e-3
    sampler: str = "auto"
    polish: bool = True
    outlier_size: int = 1
    switch: int | str = "auto"
    word_probabilities: str = "means"
    leave_out: bool = True
    engine: str = "threads"
    client: Any = None
    n_jobs: int | None = -1
    random_state: Any = 0
    progress: bool | None = None

    @abstractmethod
    def _make_prior(self, n_documents: int) -> Prior:
        """The prior for so many documents with words."""

    def _make_finite_prior(self, n_documents: int) -> Prior:
        """The same with a fixed number of clusters, for samplers that need one."""
        return self._make_prior(n_documents)

    @abstractmethod
    def _start(self, has_words: NDArray[np.bool_]) -> NDArray[np.int32] | int | str:
        """Labels to start from, a number of random clusters, or "online"."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X: documents × words, counts sparse or dense, a Corpus, or a DiskCorpus. y is ignored.

        A DiskCorpus is fitted by the parallel sampler, shard by shard, whatever `inference` says.
        """
        self._validate_params()
        if isinstance(X, ShardedCorpus):
            return self.fit_disk(X)
        counts, whole = check_counts(self, X, reset=True)
        self._vocabulary = X.vocabulary if isinstance(X, Corpus) else None
        has_words = np.diff(counts.indptr) > 0
        n_documents = int(np.count_nonzero(has_words))
        inference = self._choose_inference(counts.nnz)
        prior = self._check_prior(n_documents, inference)
        beta = self._check_beta(counts.shape[1])
        start = self._start(has_words)
        seed, progress = seed_from(self.random_state), Progress(self.progress)
        if inference == "parallel":
            if isinstance(start, np.ndarray):
                start = np.where(has_words, start, -1)
            keep_lone_words = self.word_probabilities != MEANS or not self.leave_out
            source = deal_out_counts(counts, beta, whole, keep_lone_words=keep_lone_words)
            partition = self._fit_parallel(source, start, beta, prior, seed, progress).partition
        else:
            settings = self._sampler_settings(n_documents, inference)
            partition = fit_partition(counts, whole, start, beta, prior, settings, seed, progress)
        n_clusters = int(partition.labels.max(initial=-1)) + 1
        return self._set_fitted(partition, sum_by_cluster(counts, partition.labels, n_clusters), counts, inference)

    def fit_disk(self, corpus: ShardedCorpus, checkpoint: Checkpoint | None = None) -> Self:
        """Find the clusters of a corpus on disk; with a checkpoint the run goes on where an earlier one broke off.

        What needs the counts of all documents at once, such as `probabilities_`, is not there afterwards.
        """
        self._validate_params()
        if self.word_probabilities != MEANS or not self.leave_out:
            raise ValueError('a corpus on disk is fitted with word_probabilities="means" and leave_out=True')
        if any(_is_learn(value) for value in (self.alpha, self.beta)):
            raise ValueError('a corpus on disk is fitted with alpha and beta given, not "learn"')
        self.n_features_in_ = corpus.n_words
        self._vocabulary = corpus.vocabulary
        prior = self._check_prior(corpus.n_documents - corpus.n_empty_documents, "parallel")
        beta = self._check_beta(corpus.n_words)
        start = self._start(np.ones(corpus.n_documents, bool))
        progress = Progress(self.progress)
        with progress.task("looking through", total=corpus.n_documents) as task:
            source = deal_out_disk(corpus, beta, task.advance)
        fitted = self._fit_parallel(source, start, beta, prior, seed_from(self.random_state), progress, checkpoint)
        return self._set_fitted(fitted.partition, fitted.count_words(corpus), None, "parallel")

    def _check_prior(self, n_documents: int, inference: str) -> Prior:
        gibbs = inference == "gibbs"
        prior = self._make_prior(n_documents) if gibbs else self._make_finite_prior(n_documents)
        check_magnitude(prior.mass, "alpha in all")
        return prior

    def _check_beta(self, n_words: int) -> float | NDArray[np.float64]:
        """β to start from, or that of each word."""
        beta: float | NDArray[np.float64] = self._beta_to_start_from
        if not isinstance(self.beta, str):
            beta = check_pseudo_counts(self.beta, n_words, "beta", "words")
        check_magnitude(beta * n_words if isinstance(beta, float) else float(beta.sum()), "beta of all words together")
        return beta

    def _choose_inference(self, n_entries: int) -> str:
        """What "auto" stands for; raises ValueError for what cannot be had together."""
        learns = any(_is_learn(value) for value in (self.alpha, self.beta))
        if learns and self.inference in ("metropolis", "parallel"):
            raise ValueError(f'alpha="learn" and beta="learn" need inference="gibbs", not {self.inference!r}')
        if self.inference != "auto":
            return self.inference
        return "parallel" if n_entries >= PARALLEL_FROM and not learns else "gibbs"

    def _sampler_settings(self, n_documents: int, inference: str) -> SamplerSettings:
        learns = n_documents > 0  # there is nothing to learn from none
        metropolis = None
        if inference == "metropolis":
            metropolis = MetropolisSettings(switch=None if isinstance(self.switch, str) else int(self.switch))
        return SamplerSettings(
            int(self.n_sweeps),
            float(self.tol),
            self.sampler,
            bool(self.polish),
            ALPHA_PRIOR if learns and _is_learn(self.alpha) else None,
            BETA_PRIOR if learns and _is_learn(self.beta) else None,
            metropolis,
        )

    def _fit_parallel(
        self,
        source: ShardedDocuments,
        start: NDArray[np.int32] | int | str,
        beta: float | NDArray[np.float64],
        prior: Prior,
        seed: int,
        progress: Progress,
        checkpoint: Checkpoint | None = None,
    ) -> FittedParallel:
        settings = ParallelSettings(
            int(self.n_sweeps), float(self.tol), bool(self.polish), self.word_probabilities, bool(self.leave_out)
        )
        with make_engine(self.engine, self.n_jobs, self.client) as engine:
            return fit_parallel(source, start, beta, prior, settings, seed, engine, progress, checkpoint)


def _is_learn(value: Any) -> bool:
    return isinstance(value, str) and value == "learn"


def check_magnitude(value: float, name: str) -> None:
    """Refuse settings so large that weights would overflow."""
    if not value < 1e200:
        raise ValueError(f"{name} is {value:g}; it must be below 1e200")


def check_pseudo_counts(values: Any, n: int, name: str, of: str) -> float | NDArray[np.float64]:
    """One number above 0, or one for each of n."""
    if np.ndim(values) == 0:
        return float(values)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; give one number, or one for each of the {n:,} {of}")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be above 0 for each of the {of}")
    return float(array[0]) if n == 1 else array

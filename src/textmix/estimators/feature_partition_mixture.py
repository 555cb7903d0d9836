"""DMAFP and DMA as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from textmix.corpus import Corpus
from textmix.engines.threads import threads
from textmix.estimators.counts import check_labels
from textmix.estimators.scored_mixture import Representation, ScoredMixture, has_words
from textmix.estimators.word_split_settings import (
    DEFAULTS,
    LEARN_AFTER,
    Defaults,
    check_alpha,
    check_learned,
    check_word_parameters,
)
from textmix.inference.blocked_gibbs import BlockedGibbsSettings, HyperparameterPriors, fit_blocked_gibbs
from textmix.inference.em import Assigned
from textmix.inference.progress import Progress
from textmix.inference.seeds import seed_from
from textmix.inference.starts import best_of_starts
from textmix.inference.variational import (
    CountedDocuments,
    FittedWordSplit,
    VariationalSettings,
    VariationalState,
    fit_variational,
)
from textmix.models.components import Mixture
from textmix.models.word_split import Hyperparameters, expected_logs


@dataclass(eq=False, repr=False)
class FeaturePartitionMixture(ScoredMixture):
    """Mixture of multinomials that tells words that differ between clusters from a background shared by all (DMAFP).

    f(x | cluster i) ∝ ∏_j η_ij^(x_j γ_j) η_0j^(x_j (1 − γ_j)), γ_j = 1 for discriminative words   (DMAFP, eq. 10)

    At most max_clusters clusters; how many there are, which words tell them apart and, if wanted, the parameters of the
    priors are found. With partition=False all words are discriminative (DMA).

    The partition says less about telling clusters apart than one might think: in eq. 10 both groups of words have a
    probability mass of their own, so that splitting words by their frequency pays by itself. With
    inference="gibbs" and likelihood="normalised" words are found where frequencies tell nothing; but where there are no
    clusters to tell apart, that form too splits words by their frequency.

    Parameters
    ----------
    max_clusters : int, default=30
        N, an upper bound on the number of clusters.
    inference : {"variational", "gibbs"}, default="variational"
        Mean field (5.1), or blocked Gibbs sampling (5.2).
    partition : bool, default=True
        False: all words are discriminative (DMA).
    likelihood : {"paper", "normalised"}, default="paper"
        Eq. 10, or, for inference="gibbs" alone, a form of it that is a probability distribution: a share of all words
        is discriminative, and each group's distribution is over the words of that group only.
    alpha, omega : float or "auto", default="auto"
        α/N is the pseudo-count of each cluster, ω the prior probability that a word is discriminative.
    lam, beta : float, array of shape (n_words,) or "auto", default="auto"
        λ and β, the pseudo-counts of words in each cluster and in the background. "auto" is what the paper has: α 5,
        ω 0.01, λ 3, β 0.5 for inference="variational" (6.3); 1, 0.01, 0.02, 4 for "gibbs" (6.2); and 1, 0.1, 1, 1 for
        the normalised form.
    learn : "auto", None, or a collection of names, default="auto"
        Which of these are learned, from the values given: "alpha", "omega", "lambda" (the same for all words), "beta"
        (the same for all words). For inference="variational" by eq. 31 to 34, and also
        "lambda_vector", a λ for each word (eq. 33), and "beta_vector" (eq. 34 as printed: it is solved by β = τ_0, so
        that β grows at every step and never settles). For "gibbs" they are drawn. "auto" is alpha, omega and
        lambda_vector, or all four. None: all are held. Learning begins after 5 iterations (earlier if the bound barely
        changes any more), or a quarter of all sweeps: learned while every word is still discriminative, ω would become
        1 and never leave it.
    threshold : float, default=0.7
        ε: words of a larger relevance are discriminative.
    init : {"nearly_uniform", "random"} or array of shape (n_documents,), default="nearly_uniform"
        Where inference="variational" starts: probabilities of clusters that differ by at most 10 %, or uniform random
        numbers, normalised (the paper's). Gibbs sampling starts from random clusters with either. Or labels
        0 … max_clusters − 1.
    init_words : {"all", "one"}, default="all"
        Which words are discriminative where Gibbs sampling starts: all, or one at random (the paper's).
    n_init : int or "auto", default="auto"
        Number of starts, of which the best is kept; auto: 10, for Gibbs 1 or, normalised, 5. 1 where a variational
        run starts from given labels.
    choice : {"expected", "bound"}, default="expected"
        The best is that of the largest E_q[log f] (5.1) or of the largest bound; for Gibbs, that of the largest mean
        log joint in either case.
    max_iter, tol : default=500 and 1e-7
        inference="variational" ends after so many iterations or when the bound changes by less than tol of itself; 0:
        never by itself.
    n_sweeps, n_kept : int, default=400 and 100
        Sweeps of Gibbs sampling, and how many of the last decide on labels and words (H).
    n_flips : int or None, default=None
        Words that a sweep proposes to flip (R); None: as many as there are words. In the normalised form the first
        quarter of all sweeps flips none.
    outlier_size, random_state, n_jobs, progress
        As for MultinomialMixture. Results do not depend on n_jobs.

    Attributes
    ----------
    labels_ : array of shape (n_documents,)
        0 … n_clusters_ − 1 by falling size; −1 for documents without words.
    discriminative_words_ : boolean array of shape (n_words,)
        Whether the relevance is above the threshold.
    word_relevance_ : array of shape (n_words,)
        ω_j, or the share of the samples kept in which the word was discriminative.
    background_distribution_ : array of shape (n_words,)
        The mean of η_0.
    components_ : array of shape (n_clusters_, n_words)
        The means of η_i.
    n_clusters_, cluster_sizes_, cluster_word_counts_, cluster_weights_
        Number of clusters that hold documents, documents of each, word counts of each (sparse), means of their weights.
    alpha_, omega_, lambda_, beta_
        The hyperparameters at the end; lambda_ and beta_ have an entry a word.
    probabilities_, outliers_, outlier_scores_
        See their own descriptions; computed on request.
    trace_ : dict of arrays, one entry an iteration
        bound or log_joint; n_clusters, n_discriminative, n_moved, n_flipped (Gibbs), alpha, omega, lambda, beta
        (means), seconds.
    n_iter_, converged_, objective_, merit_
        Iterations done; whether they ended by tol (Gibbs: all were done); the bound, or the mean log joint of the
        samples kept; what starts are compared by, see `choice`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
        "inference": [StrOptions({"variational", "gibbs"})],
        "partition": ["boolean"],
        "likelihood": [StrOptions({"paper", "normalised"})],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "omega": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "lam": [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"auto"})],
        "beta": [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"auto"})],
        "learn": ["array-like", set, frozenset, str, None],
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "init": [StrOptions({"nearly_uniform", "random"}), "array-like"],
        "init_words": [StrOptions({"all", "one"})],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "choice": [StrOptions({"expected", "bound"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_sweeps": [Interval(Integral, 1, None, closed="left")],
        "n_kept": [Interval(Integral, 1, None, closed="left")],
        "n_flips": [Interval(Integral, 1, None, closed="left"), None],
        "outlier_size": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
        "progress": ["boolean", None],
    }

    _fitted: FittedWordSplit = field(init=False)

    max_clusters: int = 30
    inference: str = "variational"
    _: KW_ONLY
    partition: bool = True
    likelihood: str = "paper"
    alpha: float | str = "auto"
    omega: float | str = "auto"
    lam: Any = "auto"
    beta: Any = "auto"
    learn: Any = "auto"
    threshold: float = 0.7
    init: Any = "nearly_uniform"
    init_words: str = "all"
    n_init: Any = "auto"
    choice: str = "expected"
    max_iter: int = 500
    tol: float = 1e-7
    n_sweeps: int = 400
    n_kept: int = 100
    n_flips: int | None = None
    outlier_size: int = 1
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X: documents × words, counts sparse or dense, or a Corpus. y is ignored."""
        self._validate_params()
        if self.likelihood == "normalised" and self.inference != "gibbs":
            raise ValueError('likelihood="normalised" is for inference="gibbs" alone')
        matrix = self._check(X, reset=True)
        self._vocabulary = X.vocabulary if isinstance(X, Corpus) else None
        used, n_words = has_words(matrix), matrix.shape[1]
        if not used.any():
            raise ValueError("no document of X has a word")
        chosen = self._settings_chosen()
        hyperparameters = Hyperparameters(
            check_alpha(chosen.alpha),
            float(chosen.omega),
            check_word_parameters(chosen.lam, "lam", n_words),
            check_word_parameters(chosen.beta, "beta", n_words),
        )
        start: NDArray[np.int32] | str = "random"
        if not isinstance(self.init, str):
            start = check_labels(self.init, used, int(self.max_clusters), "max_clusters")[used]
        elif self.inference == "variational":
            start = self.init
        documents = CountedDocuments(matrix if used.all() else matrix[used])
        fit_once = self._make_fit(n_words, hyperparameters)
        seed, progress = seed_from(self.random_state), Progress(self.progress)
        repeats = self.inference == "variational" and not isinstance(self.init, str)
        n_init = 1 if repeats else int(chosen.n_init)  # from given labels every variational run is the same
        with threads(self.n_jobs) as engine:
            fit_from = partial(
                fit_once, documents, start, hyperparameters, seed=seed, threads=engine, progress=progress
            )
            best = best_of_starts(n_init, lambda restart, name: fit_from(restart=restart, name=name))
        self._set_fitted(matrix, used, best)
        self.discriminative_words_ = best.relevance > self.threshold
        self._likelihood = self.likelihood
        return self

    @property
    def components_(self) -> NDArray[np.float64]:
        """The means of η_i: clusters × words."""
        check_is_fitted(self)
        return self._fitted.word_means

    @property
    def word_relevance_(self) -> NDArray[np.float64]:
        """ω_j, or the share of the samples kept in which the word was discriminative."""
        return self._fitted.relevance

    @property
    def background_distribution_(self) -> NDArray[np.float64]:
        """The mean of η_0."""
        parameters = self._fitted.background_parameters
        return np.asarray(parameters / parameters.sum())

    @property
    def alpha_(self) -> float:
        """α at the end."""
        return self._fitted.hyperparameters.alpha

    @property
    def omega_(self) -> float:
        """ω at the end."""
        return self._fitted.hyperparameters.omega

    @property
    def lambda_(self) -> NDArray[np.float64]:
        """λ of each word at the end."""
        return self._fitted.hyperparameters.word_prior

    @property
    def beta_(self) -> NDArray[np.float64]:
        """β of each word at the end."""
        return self._fitted.hyperparameters.background_prior

    @property
    def merit_(self) -> float:
        """What starts are compared by."""
        return self._fitted.merit

    def _settings_chosen(self) -> Defaults:
        """The settings given, and the defaults of those that are "auto"."""
        given = {name: getattr(self, name) for name in Defaults._fields}
        return DEFAULTS[self.inference, self.likelihood]._replace(
            **{name: value for name, value in given.items() if not isinstance(value, str)}
        )

    def _make_fit(self, n_words: int, start: Hyperparameters) -> Callable[..., FittedWordSplit]:
        """What is called with the documents and a start."""
        learned = check_learned(self.learn, self.inference, start)
        if not self.partition:
            learned -= {"omega", "beta", "beta_vector"}
        n_clusters, priors = int(self.max_clusters), HyperparameterPriors()
        settings: Any
        if self.inference == "variational":
            settings = VariationalSettings(
                n_clusters=n_clusters,
                splits_words=bool(self.partition),
                learned=learned,
                learn_after=LEARN_AFTER,
                beta_prior=priors.background,
                choice=self.choice,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
            )
            return partial(fit_variational, settings=settings)
        normalised, n_sweeps = self.likelihood == "normalised", int(self.n_sweeps)
        quarter = n_sweeps // 4
        settings = BlockedGibbsSettings(
            n_clusters=n_clusters,
            splits_words=bool(self.partition),
            normalised=normalised,
            learned=learned,
            priors=priors,
            starting_words=self.init_words,
            learn_after=quarter,
            n_settling=quarter if normalised else 0,
            n_flips=n_words if self.n_flips is None else int(self.n_flips),
            n_sweeps=n_sweeps,
            n_kept=min(int(self.n_kept), n_sweeps),
        )
        return partial(fit_blocked_gibbs, settings=settings)

    def _represent(self, matrix: Any, *, fitting: bool = False, density: bool = False) -> Representation:
        return Representation(matrix)

    def _log_constants(self, matrix: Any) -> NDArray[np.float64]:
        relevance, background_logs = self.word_relevance_, expected_logs(self._fitted.background_parameters)
        logs = (1.0 - relevance) * background_logs
        if self._likelihood == "normalised":
            word_totals = np.bincount(self._matrix.indices, self._matrix.data, relevance.size)
            shares = expected_logs(1.0 + np.array([relevance @ word_totals, (1.0 - relevance) @ word_totals]))
            logs = logs + relevance * shares[0] + (1.0 - relevance) * shares[1]
        return np.asarray(matrix @ logs)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The most probable cluster of each new document, −1 for one without words.

        Whether a new cluster would be more probable than any of these is in the last column of `predict_proba`. Labels
        of Gibbs sampling, each the most frequent one of its document, need not all be what is predicted.
        """
        check_is_fitted(self)
        components, order = self._fitted.mixture.components, self._fitted.order
        known = components._replace(
            weights=np.ascontiguousarray(components.weights[:, order]),
            scales=components.scales[order],
            offsets=components.offsets[:, order],
        )
        mixture = self._fitted.mixture._replace(components=known, log_weights=self._fitted.mixture.log_weights[order])
        return self._assign(self._check(X, reset=False), mixture).labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each cluster and, in the last column, of a new one; NaN for documents without words.

        A new one is any of the max_clusters clusters that hold no training document.
        """
        return super().predict_proba(X)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """log of Σ_i exp E[log f(x | cluster i)] under the fitted distributions, at most log f(x); without words 0.

        As a sequence of words, without the multinomial coefficient. Eq. 10 is not a probability distribution, so that
        the numbers compare documents and fits of it with each other, not with those of other models; those of DMA and
        of the normalised form do.
        """
        return super().score_samples(X)

    def _by_size(self, assigned: Assigned) -> Assigned:
        """Clusters by size, then all that hold no document as one column; labels are for `predict` alone."""
        known = assigned.posteriors[:, self._fitted.order]
        empty = np.setdiff1d(np.arange(assigned.posteriors.shape[1]), self._fitted.order)
        new = assigned.posteriors[:, empty].sum(axis=1)
        new[np.isnan(known).any(axis=1)] = np.nan  # of documents without words, also where no cluster is empty
        return assigned._replace(posteriors=np.column_stack([known, new]))

    def _whole(self) -> Mixture:
        """One cluster of all training documents, with the same words discriminative."""
        documents = CountedDocuments(self._matrix)
        theta = Hyperparameters(self.alpha_, self.omega_, self._fitted.word_prior, self.beta_)
        with threads(self.n_jobs) as engine:
            state = VariationalState(
                documents, theta, np.ones((documents.n_documents, 1)), self.word_relevance_, False, engine
            )
            state.update_clusters()
        return state.mixture

    def _word_values(self) -> NDArray[np.float64]:
        """Background words stand for no cluster."""
        return np.where(self.discriminative_words_, self._fitted.word_means, 0.0)

"""Mixtures of multinomials as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from textmix.estimators.em_mixture import EMMixture
from textmix.estimators.scored_mixture import Representation
from textmix.models.multinomial import Multinomial


@dataclass(eq=False, repr=False)
class MultinomialMixture(EMMixture):
    """Mixture of multinomials: how often a document has each word (Zhong and Ghosh, eq. 10, 11).

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    assignment : {"hard", "stochastic", "soft", "annealed"}, default="soft"
        kmnls, skmnls, mixmnls, damnls of the paper: each document to its likeliest cluster (eq. 1), to one drawn by
        P(y | x), to all by P(y | x) (EM, eq. 2 to 5; EM-MN elsewhere), or to all by P(y | x) at a falling temperature
        (eq. 6, 7).
    smoothing : float, default=1.0
        Times that every cluster is taken to have each word before any is seen (eq. 11).
    normalized_likelihood : bool or "auto", default="auto"
        Whether documents are assigned by their log-likelihood a word (eq. 10). "auto": while annealing. With hard
        assignment it only changes which of several starts is best and when a run has settled.
    normalized_counts : bool, default=False
        Whether clusters are estimated from each document's shares of words instead of its counts. Only together do the
        two normalisations promise that the objective never falls; eq. 11 with eq. 10 does not. Shares of a document add
        up to 1, so a smaller `smoothing` goes with them.
    weights : {"auto", "uniform", "learned"}, default="auto"
        Whether the clusters' prior weights α are equal or estimated (eq. 5). "auto": learned for soft and stochastic
        assignment, uniform for hard and annealed.
    schedule : (start, factor, stop) or None, default=None
        1/T while annealing; None: (0.5, 1.3, 200) as in the paper, for log-likelihoods a word.
    init : "random", "documents" or array of shape (n_documents,), default="random"
        Start from a random partition, from n_clusters random documents, or from labels 0 … n_clusters − 1 (anything for
        documents without words).
    n_init : int, default=1
        Starts, of which the one with the best objective is kept.
    max_iter : int, default=20
        Iterations at the most; while annealing, at each temperature.
    tol : float, default=1e-3
        Stop when the objective changes by less than this share of its rise since the first iteration. While annealing:
        at the last temperature; before, go on to the next when it changes by less than this share of itself. 0: all
        iterations.
    outlier_size : int, default=1
        Documents in clusters of at most so many documents are outliers.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same labels; None: others at each fit. NumPy's global state is never touched.
    n_jobs : int or None, default=None
        Threads; −1: as many as cores. Results do not depend on it.
    progress : bool or None, default=None
        Whether to show a progress bar when a fit takes long; None: on a terminal.

    Attributes
    ----------
    labels_ : array of shape (n_documents,)
        0 … n_clusters_ − 1 by falling size; −1 for documents without words.
    components_ : array of shape (n_clusters, n_words)
        P_y(l), the probability of the word in the cluster.
    n_clusters_, cluster_sizes_, cluster_word_counts_
        Number of clusters that hold documents (if some of n_clusters do not, a warning says so, and they come last in
        `components_` and `predict_proba`), documents of each, word counts of each (sparse).
    cluster_weights_ : array of shape (n_clusters,)
        α.
    probabilities_, outliers_, outlier_scores_
        See their own descriptions; computed on request.
    trace_ : dict of arrays, one entry an iteration
        objective, n_clusters, n_moved, n_reseeded (clusters that had become empty and got a random document of the
        largest, hard and stochastic assignment only), sharpness (1/T), seconds.
    n_iter_, converged_, objective_
        Iterations done; whether they ended by `tol`; log-likelihood and log prior at the end.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EMMixture._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "normalized_likelihood": ["boolean", StrOptions({"auto"})],
        "normalized_counts": ["boolean"],
    }
    _default_schedule = (0.5, 1.3, 200.0)

    _: KW_ONLY
    smoothing: float = 1.0
    normalized_likelihood: bool | str = "auto"
    normalized_counts: bool = False

    @property
    def components_(self) -> NDArray[np.float64]:
        """P_y(l): clusters × words."""
        check_is_fitted(self)
        return np.asarray(np.exp(self._fitted.mixture.components.weights[:, self._fitted.order].T))

    def _model(self, n_words: int, lengths: NDArray[np.float64]) -> Multinomial:
        return Multinomial(float(self.smoothing))

    def _represent(self, matrix: Any, *, fitting: bool = False, density: bool = False) -> Representation:
        if fitting:
            automatic = self.assignment == "annealed"
            self._by_word = bool(automatic if self.normalized_likelihood == "auto" else self.normalized_likelihood)
        shares = word_shares(matrix) if self._by_word or self.normalized_counts else matrix
        return Representation(
            scored=shares if self._by_word and not density else matrix,
            summed=shares if self.normalized_counts else matrix,
        )


def word_shares(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Each document's counts divided by their sum."""
    lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    data = matrix.data / np.repeat(lengths, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)

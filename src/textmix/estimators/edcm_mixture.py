"""Mixtures of EDCMs as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from textmix.estimators.bernoulli_mixture import presence
from textmix.estimators.em_mixture import EMMixture
from textmix.estimators.scored_mixture import Representation
from textmix.models.components import Mixture
from textmix.models.edcm import EDCM, length_offsets


@dataclass(eq=False, repr=False)
class EDCMMixture(EMMixture):
    """Mixture of EDCM distributions (Elkan 2006): words come in bursts, so a repetition tells little.

    p(x | y) = n! Γ(s)/Γ(s + n) ∏_{w: x_w > 0} β_w / x_w with s = Σ_w β_w

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    assignment : {"hard", "stochastic", "soft", "annealed"}, default="annealed"
        Each document to its likeliest cluster, to one drawn by P(y | x), to all by P(y | x) (EM), or to all by P(y | x)
        at a falling temperature.
    smoothing : float, default=0.01
        Words that a cluster does not have: each cluster is taken to have every word in so much of a document.
    weights : {"auto", "uniform", "learned"}, default="auto"
        Whether the clusters' prior weights α are equal or estimated (eq. 5). "auto": learned for soft and stochastic
        assignment, uniform for hard and annealed.
    schedule : (start, factor, stop) or None, default=None
        1/T while annealing; None: (0.01, 1.3, 1).
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
        β_w of each cluster.
    concentrations_ : array of shape (n_clusters,)
        s of each cluster; smaller: more bursty.
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
    }
    _default_schedule = (0.01, 1.3, 1.0)

    _: KW_ONLY
    assignment: str = "annealed"
    smoothing: float = 0.01

    @property
    def components_(self) -> NDArray[np.float64]:
        """β_w: clusters × words."""
        check_is_fitted(self)
        return np.asarray(np.exp(self._fitted.mixture.components.weights[:, self._fitted.order].T))

    @property
    def concentrations_(self) -> NDArray[np.float64]:
        """s = Σ_w β_w of each cluster."""
        return np.asarray(self.components_.sum(axis=1))

    def _word_values(self) -> NDArray[np.float64]:
        return self.components_ / self.concentrations_[:, np.newaxis]

    def _model(self, n_words: int, lengths: NDArray[np.float64]) -> EDCM:
        return EDCM(float(self.smoothing), lengths)

    def _represent(self, matrix: Any, *, fitting: bool = False, density: bool = False) -> Representation:
        lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
        return Representation(presence(matrix), lengths=lengths)

    def _for_lengths(self, mixture: Mixture, lengths: NDArray[np.float64]) -> Mixture:
        s = np.exp(mixture.components.weights).sum(axis=0)
        return mixture._replace(components=mixture.components._replace(offsets=length_offsets(s, lengths)))

    def _log_constants(self, matrix: Any) -> NDArray[np.float64]:
        """log n! − log Γ(n) − Σ log x_w: of n!/∏ x_w, and Γ(n) from the offsets."""
        lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
        logs = scipy.sparse.csr_array(
            (np.log(matrix.data, dtype=np.float64), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return np.log(np.where(lengths > 0, lengths, 1.0)) - np.asarray(logs.sum(axis=1)).ravel()

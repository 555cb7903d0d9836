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
    schedule : (start, factor, stop) or None, default=None
        1/T while annealing; None: (0.01, 1.3, 1).
    weights, init, n_init, max_iter, tol, outlier_size, random_state, n_jobs, progress
        As for MultinomialMixture.

    Attributes
    ----------
    components_ : array of shape (n_clusters, n_words)
        β_w of each cluster.
    concentrations_ : array of shape (n_clusters,)
        s of each cluster; smaller: more bursty.
    All others
        As for MultinomialMixture.
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

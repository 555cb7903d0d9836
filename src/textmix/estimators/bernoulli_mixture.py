"""Mixtures of multivariate Bernoullis as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from textmix.estimators.em_mixture import EMMixture
from textmix.estimators.scored_mixture import Representation
from textmix.models.bernoulli import Bernoulli


@dataclass(eq=False, repr=False)
class BernoulliMixture(EMMixture):
    """Mixture of multivariate Bernoullis: which words a document has, not how often (Zhong and Ghosh, eq. 8, 9).

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    assignment : {"hard", "stochastic", "soft", "annealed"}, default="soft"
        kberns, skberns, mixberns, daberns of the paper: each document to its likeliest cluster (eq. 1), to one drawn by
        P(y | x), to all by P(y | x) (EM, eq. 2 to 5), or to all by P(y | x) at a falling temperature (eq. 6, 7).
    smoothing : float, default=1.0
        Documents that every cluster is taken to have with and without each word before any is seen (eq. 9).
    schedule : (start, factor, stop) or None, default=None
        1/T while annealing; None: (0.002, 1.2, 1) as in the paper.
    weights, init, n_init, max_iter, tol, outlier_size, random_state, n_jobs, progress
        As for MultinomialMixture.

    Attributes
    ----------
    components_ : array of shape (n_clusters, n_words)
        P_y(l), the probability that a document of the cluster has the word.
    All others
        As for MultinomialMixture.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EMMixture._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="neither")],
    }
    _default_schedule = (0.002, 1.2, 1.0)

    _: KW_ONLY
    smoothing: float = 1.0

    @property
    def components_(self) -> NDArray[np.float64]:
        """P_y(l): clusters × words."""
        check_is_fitted(self)
        # weights are log P/(1 − P)
        return np.asarray(expit(self._fitted.mixture.components.weights[:, self._fitted.order].T))

    def _model(self, n_words: int, lengths: NDArray[np.float64]) -> Bernoulli:
        return Bernoulli(float(self.smoothing))

    def _represent(self, matrix: Any, *, fitting: bool = False, density: bool = False) -> Representation:
        return Representation(presence(matrix))


def presence(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """1 where a word occurs."""
    return scipy.sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)

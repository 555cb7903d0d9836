"""Mixtures of von Mises-Fisher distributions as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from textmix.corpus import Corpus
from textmix.corpus.matrix import check_sparse, is_sparse
from textmix.corpus.selection import log_idf, weigh_words
from textmix.estimators.counts import canonical
from textmix.estimators.em_mixture import EMMixture
from textmix.estimators.scored_mixture import Representation, has_words
from textmix.inference.annealing import Constant, Rising, Schedule
from textmix.models.components import ComponentModel, Mixture
from textmix.models.von_mises_fisher import (
    Directions,
    VonMisesFisher,
    column_lengths,
    estimate_kappa,
    log_normaliser,
)

KAPPA_STEP = 20.0  # by which a scheduled κ rises in each iteration (Zhong and Ghosh 4.3)
MAX_KAPPA = 100.0  # of a learned κ, times the dimension


@dataclass(eq=False, repr=False)
class VonMisesFisherMixture(EMMixture):
    """Mixture of von Mises-Fisher distributions: the direction of a document's vector counts (Zhong and Ghosh, eq. 16).

    Takes counts, weighted counts, and dense vectors of any sign such as sentence embeddings. Vectors are brought to
    unit length; assignment="hard" is spherical k-means.

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    assignment : {"hard", "stochastic", "soft", "annealed"}, default="soft"
        kvmfs, skvmfs, softvmfs, davmfs of the paper: each document to the cluster of the largest cosine (eq. 1), to one
        drawn by P(y | x), to all by P(y | x), or to all by P(y | x) at a slowly rising κ.
    kappa : "scheduled", "learned" or float, default="scheduled"
        The concentration of clusters. "scheduled": the same for all, 20 times the number of the iteration
        (stochastic, soft) or by `schedule` (annealed), as in the paper. "learned": one for each cluster, estimated by
        maximum likelihood in every iteration (Banerjee et al. 2003), but at most 100 times the dimension: that of a
        cluster of one document would be ∞. A number: this one for all. Neither of these goes with annealing.
    weighting : {"auto", "log_idf", None}, default="auto"
        "log_idf": counts are multiplied by log(N / N_w), N documents of which N_w have the word. None: they are taken
        as they are. "auto": "log_idf" for whole counts in which that leaves anything, None for all else.
    weights : {"auto", "uniform", "learned"}, default="auto"
        Whether the clusters' prior weights α are equal or estimated (eq. 5). "auto": learned with a learned κ, else
        uniform.
    schedule : (start, factor, stop) or None, default=None
        κ while annealing; None: (1, 1.1, 500) as in the paper.
    init : "random", "documents" or array of shape (n_documents,), default="documents"
        As for MultinomialMixture.
    n_init, max_iter, tol, outlier_size, random_state, n_jobs, progress
        As for MultinomialMixture, and so are the attributes not described here.

    Attributes
    ----------
    labels_ : array of shape (n_documents,)
        0 … n_clusters_ − 1 by falling size; −1 for vectors of zeros: documents without words, and those whose words all
        have the weight 0, since they stand in every document.
    components_ : array of shape (n_clusters, n_words)
        μ_y, the mean directions.
    kappa_ : array of shape (n_clusters,)
        κ of each cluster: learned, or the one of maximum likelihood that is common to all clusters, each document taken
        as belonging to its nearest. (What documents were assigned by is in trace_["sharpness"].)
    log_idf_ : array of shape (n_words,) or None
        Weights of the words, if they were weighted.
    trace_ : dict of arrays, one entry an iteration
        objective, n_clusters, n_moved, n_reseeded (clusters that had become empty and got a random document of the
        largest, hard and stochastic assignment only), sharpness (κ; 1 if learned), seconds.
    n_iter_, converged_, objective_
        Iterations done; whether they ended by `tol`; Σ cosines (hard), 1/κ Σ log Σ_y α_y exp(κ cosine), or with a
        learned κ the log-likelihood.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EMMixture._parameter_constraints,
        "kappa": [StrOptions({"scheduled", "learned"}), Interval(Real, 0, None, closed="neither")],
        "weighting": [StrOptions({"auto", "log_idf"}), None],
    }
    _default_schedule = (1.0, 1.1, 500.0)

    _: KW_ONLY
    kappa: float | str = "scheduled"
    weighting: str | None = "auto"
    init: Any = "documents"

    def __sklearn_tags__(self) -> Tags:
        """Vectors, sparse or dense, of any sign."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags

    @property
    def components_(self) -> NDArray[np.float64]:
        """μ_y: clusters × words."""
        check_is_fitted(self)
        weights = self._fitted.mixture.components.weights[:, self._fitted.order].astype(np.float64)
        lengths = column_lengths(weights)
        return np.ascontiguousarray((weights / np.where(lengths > 0.0, lengths, 1.0)).T)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find n_clusters clusters in X: documents × words (or dimensions), sparse, dense or a Corpus. y is ignored."""
        if self.kappa != "scheduled" and self.assignment == "annealed":
            raise ValueError(f"kappa={self.kappa!r} does not go with annealing, which has its own κ: see schedule")
        self._kappa_is_learned = bool(self.kappa == "learned")
        super().fit(X, y)
        self.kappa_ = self._final_kappa()
        return self

    def _final_kappa(self) -> NDArray[np.float64]:
        if self._kappa_is_learned:
            components = self._fitted.mixture.components
            return np.asarray(components.scales * column_lengths(components.weights))[self._fitted.order]
        if self._fitted.mixture.sharpness == np.inf:
            cosines = self.objective_
        else:
            nearest = self._assign(self._matrix, self._fitted.mixture._replace(sharpness=np.inf))
            cosines = float(nearest.log_sums.sum())
        resultant = cosines / int(self.cluster_sizes_.sum())
        kappa = float(estimate_kappa(resultant, self.n_features_in_, self._max_kappa()))
        return np.full(self._fitted.order.size, kappa)

    def _max_kappa(self) -> float:
        return float(MAX_KAPPA * self.n_features_in_)

    def _learns_weights(self) -> bool:
        if self.weights == "auto":
            return self._kappa_is_learned and self.assignment != "hard"
        return self.weights == "learned" and self.assignment != "hard"

    def _unannealed(self) -> Schedule:
        if self._kappa_is_learned:
            return Constant(1.0)
        return Rising(KAPPA_STEP) if self.kappa == "scheduled" else Constant(float(self.kappa))

    def _model(self, n_words: int, lengths: NDArray[np.float64]) -> ComponentModel:
        return self._density_model(n_words, lengths) if self._kappa_is_learned else Directions()

    def _density_model(self, n_words: int, lengths: NDArray[np.float64]) -> ComponentModel:
        return VonMisesFisher(self._max_kappa(), n_words)

    def _density(self) -> Mixture:
        if self._kappa_is_learned:
            return super()._density()
        components = self._fitted.mixture.components
        return self._fitted.mixture._replace(
            components=components._replace(
                scales=components.scales * self.kappa_[0],  # the same for all
                offsets=log_normaliser(self.kappa_, self.n_features_in_)[np.newaxis],
            ),
            sharpness=1.0,
        )

    def _check(self, X: Any, *, reset: bool) -> Any:
        X = check_sparse(X.counts if isinstance(X, Corpus) else X)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        if not is_sparse(X):
            return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
        matrix = canonical(scipy.sparse.csr_array(X))
        if not np.isfinite(matrix.data).all():
            raise ValueError("Input X has entries that are stored twice and add up to infinity")
        return matrix

    def _represent(self, matrix: Any, *, fitting: bool = False, density: bool = False) -> Representation:
        if fitting:
            self.log_idf_ = self._learn_weights_of_words(matrix)
        matrix = scale_extreme_rows(matrix)
        keeps_lone_words_apart = fitting and self.assignment in ("hard", "stochastic")
        return Representation(
            scored=unit_rows(matrix if self.log_idf_ is None else weigh_words(matrix, self.log_idf_)),
            sums_type=self._model(matrix.shape[1], np.empty(0)).sums_type if keeps_lone_words_apart else None,
        )

    def _learn_weights_of_words(self, matrix: Any) -> NDArray[np.float64] | None:
        if self.weighting is None:
            return None
        if self.weighting == "auto" and not are_counts(matrix.data if is_sparse(matrix) else matrix):
            return None
        weights = log_idf(matrix[has_words(matrix)])
        if weights.any():
            return weights
        if self.weighting == "auto":
            return None
        raise ValueError("every word stands in every document, so log IDF weighs all of them 0; use weighting=None")


def scale_extreme_rows(matrix: Any) -> Any:
    """The matrix, rows whose squares floats would not hold multiplied by a power of two: the same directions.

    Cost: two passes over a matrix of floats, none over one of whole numbers.
    """
    values = matrix.data if is_sparse(matrix) else matrix
    if values.dtype.kind != "f" or values.size == 0:
        return matrix
    limits = np.finfo(values.dtype)
    lowest, highest = float(limits.tiny) ** 0.25, float(limits.max) ** 0.25
    largest = _largest_of_rows(matrix)
    extreme = (largest > 0) & ((largest < lowest) | (largest > highest))
    if not extreme.any():
        return matrix
    exponents = np.where(extreme, -np.frexp(largest)[1], 0)
    if not is_sparse(matrix):
        return np.ldexp(matrix, exponents[:, np.newaxis])
    data = np.ldexp(matrix.data, np.repeat(exponents, np.diff(matrix.indptr)))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _largest_of_rows(matrix: Any) -> NDArray[Any]:
    """The largest magnitude in each row, 0 for a row without entries."""
    if not is_sparse(matrix):
        return np.asarray(np.maximum(matrix.max(axis=1), -matrix.min(axis=1)))
    filled = np.diff(matrix.indptr) > 0
    largest = np.zeros(filled.size)
    largest[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[:-1][filled])
    return largest


def unit_rows(matrix: Any) -> Any:
    """Rows of length 1, without stored zeros; a row of zeros stays."""
    if not is_sparse(matrix):
        return normalize(matrix)
    # Only values are copied: scikit-learn's normalize would copy the indices too.
    unit = scipy.sparse.csr_array((matrix.data.astype(np.float64), matrix.indices, matrix.indptr), shape=matrix.shape)
    if (unit.data == 0).any():
        unit = unit.copy()
        unit.eliminate_zeros()
    return normalize(unit, copy=False)


def are_counts(values: NDArray[Any]) -> bool:
    """Whether all numbers are whole and none is negative; ends at the first thousands that say no."""
    if values.dtype.kind in "bu":
        return True
    return all(
        bool((part >= 0).all() and (part == np.floor(part)).all())
        for part in np.array_split(values, values.size // 8192 + 1)
    )

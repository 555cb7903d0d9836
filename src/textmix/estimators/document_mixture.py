"""What all mixtures of documents have in common, however they are fitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted

from textmix.inference.starts import FittedComponents
from textmix.results.mixture import FittedMixture


class _NotFitted:
    """In place of what a fit leaves: an instance that has been fitted has its own."""

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        raise NotFittedError(f"this {owner.__name__} is not fitted yet; call fit first")


class DocumentMixture(ClusterMixin, BaseEstimator, ABC):
    """Base of PartitionMixture and ScoredMixture: clusterers of documents × words.

    A fit ends with one record, of which `labels_` and the like are properties. What was fitted is kept, not copied, for
    attributes that are computed on request: it must not be changed afterwards, and a pickle holds it.
    """

    n_jobs: int | None
    outlier_size: int
    _fitted: FittedMixture | FittedComponents = _NotFitted()  # type: ignore[assignment]
    _vocabulary: Sequence[str] | None  # of the Corpus that was fitted

    def __sklearn_tags__(self) -> Tags:
        """Counts: sparse or dense, never negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # scikit-learn's checks of sparse input read these from all that has predict_proba, classifier or not.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to tell."""
        return "_fitted" in self.__dict__

    @property
    def labels_(self) -> NDArray[np.int32]:
        """The cluster of each training document, 0, 1, … by falling size; −1 without words."""
        return self._fitted.labels

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """The number of training documents of each cluster."""
        return self._fitted.cluster_sizes

    @property
    def n_clusters_(self) -> int:
        """The number of clusters that hold documents."""
        return int(self._fitted.cluster_sizes.size)

    @property
    def trace_(self) -> dict[str, NDArray[Any]]:
        """One array a name, with one entry a sweep or iteration."""
        return self._fitted.trace

    @property
    def n_iter_(self) -> int:
        """Sweeps or iterations done."""
        return self._fitted.n_sweeps

    @property
    def converged_(self) -> bool:
        """Whether fitting ended by itself."""
        return self._fitted.converged

    @property
    def outliers_(self) -> NDArray[np.bool_]:
        """Documents in clusters of at most `outlier_size` documents (GSDPMM's rule: alone in their cluster)."""
        check_is_fitted(self)
        small = np.append(self.cluster_sizes_ <= self.outlier_size, False)
        return np.asarray(small[self.labels_])

    @abstractmethod
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """log p of each new document."""

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def _forget(self, *made_on_request: str) -> None:
        """Take away what was made on request from an earlier fit."""
        for name in made_on_request:
            self.__dict__.pop(name, None)

    def _names_of_words(self, given: Sequence[str] | ArrayLike | None) -> Any:
        """The words given, else those of the Corpus or data frame that was fitted, else None."""
        if given is not None:
            return given
        return self._vocabulary if self._vocabulary is not None else getattr(self, "feature_names_in_", None)

"""What all mixtures of documents have in common, however they are fitted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.validation import check_is_fitted


class DocumentMixture(ClusterMixin, BaseEstimator):
    """Base of PartitionMixture and EMMixture: clusterers of documents × words."""

    outlier_size: int
    _vocabulary: Sequence[str] | None  # of the Corpus that was fitted

    @property
    @abstractmethod
    def labels_(self) -> NDArray[np.int32]:
        """The cluster of each training document, 0, 1, … by falling size; −1 without words."""

    @property
    @abstractmethod
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """The number of training documents of each cluster."""

    def __sklearn_tags__(self) -> Tags:
        """Counts: sparse or dense, never negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # scikit-learn's checks of sparse input read these from all that has predict_proba, classifier or not.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    @property
    def outliers_(self) -> NDArray[np.bool_]:
        """Documents in clusters of at most `outlier_size` documents (GSDPMM's rule: alone in their cluster)."""
        check_is_fitted(self)
        small = np.append(self.cluster_sizes_ <= self.outlier_size, False)
        return np.asarray(small[self.labels_])

    def _names_of_words(self, given: Sequence[str] | ArrayLike | None) -> Any:
        """The words given, else those of the Corpus or data frame that was fitted, else None."""
        if given is not None:
            return given
        return self._vocabulary if self._vocabulary is not None else getattr(self, "feature_names_in_", None)

"""Clusters of other packages' estimators, numbered as ours are."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from textmix.inference.ordering import order_by_size, renumber, slots_in_order


class Numbering(NamedTuple):
    """The clusters of documents, by the estimator's own numbers and by falling size; −1: noise, or no words."""

    found: NDArray[np.int32]
    labels: NDArray[np.int32]

    @classmethod
    def of(cls, estimator: Any, without_words: NDArray[np.bool_]) -> Self:
        """Number what an estimator has found; all that is below 0 there is noise."""
        found = np.where(without_words, -1, np.maximum(estimator.labels_, -1)).astype(np.int32)
        return cls(found, order_by_size(found))

    def labels_of(self, numbers: Any) -> NDArray[np.int32]:
        """Labels for the estimator's own numbers; −1 for a cluster that no document is in."""
        return renumber(self.found, self.labels, np.asarray(numbers, dtype=np.int32))[1]

    def columns_of(self, probabilities: Any) -> NDArray[np.float64]:
        """Probabilities with a column for each cluster, by label; as they are if there are none of each cluster."""
        columns = np.asarray(probabilities)
        return columns[:, slots_in_order(self.found, self.labels)] if columns.ndim == 2 else columns

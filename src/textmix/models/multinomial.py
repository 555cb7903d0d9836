"""Multinomial: a cluster is a distribution over words, a document so many draws from it.

    p(x | y) = ∏_l P_y(l)^x(l)                                               (Zhong and Ghosh, 3.2)
    P_y(l) = (a + Σ_x P(y | x) x(l)) / (a V + Σ_x P(y | x) |x|),   a = 1     (eq. 11)

which is the mode under the prior ∏_l P_y(l)^a. The multinomial coefficient, the same in every cluster, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from textmix.models.components import Components, SufficientStatistics


@dataclass(frozen=True)
class Multinomial:
    """Counts of words; `smoothing` is a of eq. 11."""

    sums_type: ClassVar[Any] = np.float64
    smoothing: float

    def estimate(self, statistics: SufficientStatistics) -> Components:
        """Eq. 11."""
        n_words = statistics.sums.shape[0]
        log_totals = np.log(self.smoothing * n_words + statistics.sums.sum(axis=0))
        log_probabilities = np.log(self.smoothing + statistics.sums) - log_totals
        return Components(
            weights=log_probabilities,
            scales=np.ones(log_totals.size),
            offsets=np.zeros((1, statistics.sums.shape[1])),
            log_prior=float(self.smoothing * log_probabilities.sum()),
        )

"""Multivariate Bernoulli: a document is the set of its words, a cluster a probability for each word to be present.

    p(x | y) = ∏_l P_y(l)^x(l) (1 − P_y(l))^(1 − x(l))                       (Zhong and Ghosh, eq. 8)
    P_y(l) = (a + Σ_x P(y | x) x(l)) / (2a + Σ_x P(y | x)),   a = 1          (eq. 9)

which is the mode under the prior ∏_l (P_y(l) (1 − P_y(l)))^a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from textmix.models.components import Components, SufficientStatistics


@dataclass(frozen=True)
class Bernoulli:
    """Words present or absent; `smoothing` is a of eq. 9."""

    sums_type: ClassVar[Any] = np.float64
    smoothing: float

    def estimate(self, statistics: SufficientStatistics) -> Components:
        """Eq. 9."""
        mass = statistics.cluster_masses
        log_present = np.log(self.smoothing + statistics.sums)
        # 1 − P from what is missing, not from P: P may round to 1.
        log_absent = np.log(self.smoothing + np.maximum(mass - statistics.sums, 0.0))
        log_total = np.log(2.0 * self.smoothing + mass)
        n_words = statistics.sums.shape[0]
        all_absent = log_absent.sum(axis=0) - n_words * log_total
        all_present = log_present.sum(axis=0) - n_words * log_total
        return Components(
            weights=log_present - log_absent,
            scales=np.ones(mass.size),
            offsets=all_absent[np.newaxis],
            log_prior=float(self.smoothing * (all_absent + all_present).sum()),
        )

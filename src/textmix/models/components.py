"""What every component model that is fitted by EM gives: parameters by which documents are scored.

For all of them the log-likelihood of a document x in a cluster y is linear in the document's vector,

    log p(x | y) = scales[y] Σ_l x(l) weights[l, y] + offsets[r, y],

where r is 0, or for models in which the length enters otherwise (EDCM) the number of the document's length among the
distinct lengths. Scales spare von Mises-Fisher models a pass over all weights.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class SufficientStatistics(NamedTuple):
    """What a model is estimated from: sums over documents weighted by how far they belong to each cluster, P(y | x)."""

    sums: NDArray[Any]  # Σ_x P(y | x) x(l): words × clusters
    masses: NDArray[np.float64]  # Σ_x P(y | x), for each of the distinct lengths (or one row for all) × clusters
    lone_squares: NDArray[np.float64] | float = 0.0  # for each cluster the squares of sums of words that are kept apart

    @property
    def cluster_masses(self) -> NDArray[np.float64]:
        """Σ_x P(y | x) of each cluster."""
        return np.asarray(self.masses.sum(axis=0))


class Components(NamedTuple):
    """Estimated clusters."""

    weights: NDArray[Any]  # words × clusters
    scales: NDArray[np.float64]  # clusters
    offsets: NDArray[np.float64]  # distinct lengths (or one row for all) × clusters
    log_prior: float  # log P(Λ), without its constant: what estimation adds to the objective


class Mixture(NamedTuple):
    """Clusters as estimated: all that is needed to assign documents."""

    components: Components
    log_weights: NDArray[np.float64]  # log α_y
    sharpness: float  # 1/T; ∞ is hard assignment


class ComponentModel(Protocol):
    """How clusters are estimated."""

    sums_type: ClassVar[Any]  # the floating-point type that it wants its sums in

    def estimate(self, statistics: SufficientStatistics) -> Components:
        """The most probable parameters given the statistics (M-step, Zhong and Ghosh eq. 4)."""
        ...

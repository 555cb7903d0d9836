"""A fixed upper number of clusters K, their weights drawn from a Dirichlet distribution.

Symmetric: p(z_d = z | rest) ∝ m_z + α (GSDPMM, eq. IV.15 with α here for its α/K): α is the pseudo-count of each
cluster. The K − k clusters without documents weigh (K − k) α together. With a pseudo-count α_z for each (X-DMM, eq. 1)
clusters differ, and so do empty ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmix.kernels.state import Prior


def finite_dirichlet(n_clusters: int, alpha: float | NDArray[np.float64]) -> Prior:
    """The prior with at most n_clusters clusters and pseudo-count alpha for each, or one for each of them."""
    pseudo_counts = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    return Prior(pseudo_counts, concentration=0.0, max_clusters=int(n_clusters), labelled=pseudo_counts.size > 1)


def of_occupied(prior: Prior, slots: NDArray[np.int64]) -> Prior:
    """The prior of a partition whose clusters 0, 1, … are those of these slots, all others being empty."""
    if not prior.labelled:
        return prior
    empty = np.delete(prior.pseudo_counts, slots)
    return Prior(
        np.append(prior.pseudo_counts[slots], 0.0),
        concentration=float(empty.sum()),
        max_clusters=slots.size,
        labelled=False,
    )


def with_idle_cluster(prior: Prior) -> Prior:
    """The same prior with one cluster more, in the last slot, that no document would choose."""
    return prior._replace(pseudo_counts=np.append(prior.pseudo_counts, 0.0), max_clusters=prior.max_clusters + 1)

"""A fixed upper number of clusters K, their weights drawn from a symmetric Dirichlet distribution.

p(z_d = z | rest) ∝ m_z + α (GSDPMM, eq. IV.15 with α here for its α/K): α is the pseudo-count of each cluster. The
K − k clusters without documents weigh (K − k) α together.
"""

from __future__ import annotations

from textmix.kernels.state import Prior


def finite_dirichlet(n_clusters: int, alpha: float) -> Prior:
    """The prior with at most n_clusters clusters and pseudo-count alpha for each."""
    return Prior(pseudo_count=float(alpha), concentration=0.0, max_clusters=int(n_clusters))

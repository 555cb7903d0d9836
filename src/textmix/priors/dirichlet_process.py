"""The Dirichlet process: no upper number of clusters.

p(z_d = z | rest) ∝ m_z for a cluster that holds documents (GSDPMM, eq. IV.29) and ∝ α for a new one (eq. IV.44).
"""

from __future__ import annotations

import numpy as np

from textmix.kernels.state import Prior


def dirichlet_process(alpha: float, n_documents: int) -> Prior:
    """The prior with concentration alpha; no partition of n_documents has more clusters than documents."""
    return Prior(np.zeros(1), concentration=float(alpha), max_clusters=max(int(n_documents), 1), labelled=False)

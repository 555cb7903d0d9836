"""Expectations under Dirichlet distributions. `copies` says how often each parameter stands there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln


def expected_logs(parameters: NDArray[np.float64], copies: NDArray[np.float64] | float = 1.0) -> NDArray[np.float64]:
    """E[log p_k]: ψ(a_k) − ψ(Σa)."""
    return np.asarray(digamma(parameters) - digamma((copies * parameters).sum()))


def dirichlet_divergence(
    parameters: NDArray[np.float64],
    prior: NDArray[np.float64],
    logs: NDArray[np.float64],
    copies: NDArray[np.float64] | float = 1.0,
) -> float:
    """KL(Dirichlet(parameters) ‖ Dirichlet(prior)); logs: the expected logs of the first."""
    return log_beta(prior, copies) - log_beta(parameters, copies) + float((copies * (parameters - prior)) @ logs)


def dirichlet_entropy(
    parameters: NDArray[np.float64], logs: NDArray[np.float64], copies: NDArray[np.float64] | float = 1.0
) -> float:
    """The differential entropy; logs: the expected logs."""
    return log_beta(parameters, copies) - float((copies * (parameters - 1.0)) @ logs)


def log_beta(parameters: NDArray[np.float64], copies: NDArray[np.float64] | float = 1.0) -> float:
    """log of the normaliser."""
    return float((copies * gammaln(parameters)).sum() - gammaln((copies * parameters).sum()))

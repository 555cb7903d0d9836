"""EDCM (Elkan 2006): an exponential-family approximation of the Dirichlet compound multinomial, for words in bursts.

    p(x | y) = n! Γ(s)/Γ(s + n) ∏_{w: x_w > 0} β_w / x_w,   s = Σ_w β_w,   n = Σ_w x_w

A word counts when it comes for the first time; how often it is repeated does not tell clusters apart. n!/∏ x_w is the
same in every cluster and left out. With B_w = Σ_x P(y | x) 1[x_w > 0] the M-step is

    β_w = (B_w + ε) / (Σ_x P(y | x) (ψ(s + n_x) − ψ(s))),

the mode under the prior ∏_w β_w^ε: words that a cluster does not have count as if a share ε of a document had them.
Summed over w this is one equation in s, in which s Σ_x P(y | x) (ψ(s + n_x) − ψ(s)) rises with s: there is one root,
found by Newton's method in log s, kept within bounds. There is none where words are hardly ever repeated (s → ∞, the
multinomial) or where documents consist of one word each (s → 0): s is kept within LIMITS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, psi, zeta

from textmix.models.components import Components, SufficientStatistics

LIMITS = (1e-3, 1e5)  # of s
SHORTEST = 1e-300  # documents by their length, of fractional counts
MAX_STEPS = 60
PRECISION = 1e-13  # of log s


@dataclass(frozen=True)
class EDCM:
    """Bursty words; `smoothing` is ε. `lengths` are the distinct document lengths, in the order of the masses' rows."""

    sums_type: ClassVar[Any] = np.float64
    smoothing: float
    lengths: NDArray[np.float64]

    def estimate(self, statistics: SufficientStatistics) -> Components:
        """The M-step above."""
        present = self.smoothing + statistics.sums
        totals = present.sum(axis=0)
        s = self.concentrations(totals, statistics.masses)
        log_beta = np.log(present) + np.log(s / totals)
        s = np.exp(log_beta).sum(axis=0)  # as whoever has only the weights finds it, to the last digit
        return Components(
            weights=log_beta,
            scales=np.ones(totals.size),
            offsets=length_offsets(s, self.lengths),
            log_prior=float(self.smoothing * log_beta.sum()),
        )

    def concentrations(self, totals: NDArray[np.float64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """s of each cluster: the root of s Σ_n masses[n] (ψ(s + n) − ψ(s)) = totals."""
        low, high = np.full(totals.size, np.log(LIMITS[0])), np.full(totals.size, np.log(LIMITS[1]))
        log_s = (low + high) / 2.0
        for _ in range(MAX_STEPS):
            s = np.exp(log_s)
            gaps = (masses * (psi(s + self.lengths[:, np.newaxis]) - psi(s))).sum(axis=0)
            slopes = (masses * (zeta(2.0, s + self.lengths[:, np.newaxis]) - zeta(2.0, s))).sum(axis=0)  # ψ′
            # Newton's step for log(s g(s)), which rises, as long as it stays within the bounds found so far; a cluster
            # without documents has none and goes to the upper limit.
            with np.errstate(divide="ignore", invalid="ignore"):
                excess = np.log(s * gaps) - np.log(totals)
                newton = log_s - excess / (1.0 + s * slopes / gaps)
            low, high = np.where(excess < 0.0, log_s, low), np.where(excess < 0.0, high, log_s)
            step = np.where((newton > low) & (newton < high), newton, (low + high) / 2.0)
            done = np.abs(step - log_s).max(initial=0.0) < PRECISION
            log_s = step
            if done:
                break
        return np.asarray(np.exp(log_s))


def length_offsets(s: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """log Γ(s) − log Γ(s + n) + log Γ(n): lengths × clusters.

    The last term is the same in every cluster; with it this is log B(s, n), which keeps its digits for large n. For
    lengths below SHORTEST, where SciPy overflows, it is −log n to the last digit.
    """
    known = np.maximum(lengths, SHORTEST)
    return np.asarray(betaln(s, known[:, np.newaxis]) - np.log(lengths / known)[:, np.newaxis])

"""Von Mises-Fisher: a document is a direction, a cluster a mean direction μ and a concentration κ around it.

    p(x | y) = c_p(κ_y) exp(κ_y x·μ_y),   |x| = |μ_y| = 1                    (Zhong and Ghosh, eq. 16)
    c_p(κ) = κ^(p/2 − 1) / ((2π)^(p/2) I_{p/2−1}(κ))

μ_y is the direction of Σ_x P(y | x) x. With one κ for all clusters, documents are scored by the cosine x·μ_y alone, and
κ is what the temperature is elsewhere. With a κ for each cluster (Banerjee, Dhillon, Ghosh and Sra 2003) κ_y solves
A_p(κ) = I_{p/2}(κ) / I_{p/2−1}(κ) = r̄_y, the length of the mean of the cluster's documents.

Bessel functions I_ν are needed at orders up to 10^5 and more, in log space: SciPy's overflow or vanish long before.
For large orders we use the expansion that is uniform in the argument (Abramowitz and Stegun 9.7.7), whose k-th
term is of the size of ν^−k; for small orders SciPy, but for large arguments the expansion in 1/x (9.7.1), and for tiny
ones the leading term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ive

from textmix.kernels.em import sum_of_squares
from textmix.models.components import Components, SufficientStatistics

MAX_STEPS = 50  # of Newton's method
PRECISION = 1e-10  # of log κ
LARGE_ORDER = 30.0  # from here on the uniform expansion is right to 1e-9, soon to more
LARGE_ARGUMENT = 1e5
TINY_ARGUMENT = 1e-6


@dataclass(frozen=True)
class Directions:
    """One κ for all clusters, applied by who asks: scores are cosines.

    Sums have 4 bytes a number: scoring waits for memory. Their directions are where the objective is largest, so that
    rounding them by 6e-8 changes it by the square of that; lengths are those of what was rounded.
    """

    sums_type: ClassVar[Any] = np.float32

    def estimate(self, statistics: SufficientStatistics) -> Components:
        """The directions of the sums; a cluster without documents has none and scores 0."""
        lengths = column_lengths(statistics.sums, statistics.lone_squares)
        return Components(
            weights=statistics.sums,
            scales=1.0 / np.where(lengths > 0.0, lengths, 1.0),
            offsets=np.zeros((1, lengths.size)),
            log_prior=0.0,
        )


@dataclass(frozen=True)
class VonMisesFisher:
    """A κ for each cluster, at most `max_kappa`; `dimension` is p."""

    sums_type: ClassVar[Any] = np.float64  # κ depends on the sums' lengths, which rounding changes

    max_kappa: float
    dimension: int

    def estimate(self, statistics: SufficientStatistics) -> Components:
        """μ and κ of maximum likelihood."""
        lengths = column_lengths(statistics.sums, statistics.lone_squares)
        masses = statistics.cluster_masses
        resultants = np.divide(lengths, masses, out=np.zeros_like(lengths), where=masses > 0.0)
        kappas = estimate_kappa(resultants, self.dimension, self.max_kappa)
        return Components(
            weights=statistics.sums,
            scales=kappas / np.where(lengths > 0.0, lengths, 1.0),
            offsets=log_normaliser(kappas, self.dimension)[np.newaxis],
            log_prior=0.0,
        )


def column_lengths(sums: NDArray[Any], more_squares: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
    """The Euclidean length of each column, with squares of further rows added."""
    totals = np.zeros(sums.shape[1])
    sum_of_squares(sums, totals)
    return np.asarray(np.sqrt(totals + more_squares))


def log_normaliser(kappa: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """log c_p(κ)."""
    order = dimension / 2.0 - 1.0
    kappa = np.asarray(kappa, dtype=np.float64)
    return np.asarray(order * np.log(kappa) - (order + 1.0) * np.log(2.0 * np.pi) - log_iv(order, kappa))


def estimate_kappa(resultants: ArrayLike, dimension: int, max_kappa: float) -> NDArray[np.float64]:
    """κ with A_p(κ) = r̄: Newton's method from (r̄p − r̄³)/(1 − r̄²), kept between MIN_KAPPA and max_kappa.

    Where A_p is flat, for r̄ near 1, κ has fewer digits than r̄: at r̄ = .994 and p = 10^5 three or four.
    """
    r = np.clip(np.asarray(resultants, dtype=np.float64), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        start = np.where(r < 1.0, (r * dimension - r**3) / (1.0 - r**2), np.inf)
    kappa = np.clip(start, MIN_KAPPA, max_kappa)
    for _ in range(MAX_STEPS):
        ratio = bessel_ratio(dimension / 2.0 - 1.0, kappa)
        slope = 1.0 - ratio**2 - (dimension - 1.0) / kappa * ratio
        # A step never more than halves or doubles κ: far from the root the slope says little.
        step = np.clip(kappa - (ratio - r) / slope, kappa / 2.0, kappa * 2.0)
        step = np.clip(np.where(np.isfinite(step), step, kappa), MIN_KAPPA, max_kappa)
        done = np.abs(step / kappa - 1.0).max(initial=0.0) < PRECISION
        kappa = step
        if done:
            break
    return np.asarray(kappa)


MIN_KAPPA = 1e-6  # below, a cluster is as good as uniform


def log_iv(order: float, x: ArrayLike) -> NDArray[np.float64]:
    """log I_ν(x) for ν ≥ 0, x > 0."""
    x = np.asarray(x, dtype=np.float64)
    if order >= LARGE_ORDER:
        return _log_iv_large_order(order, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.log(ive(order, x)) + x
    result = np.where(x > LARGE_ARGUMENT, _log_iv_large_argument(order, x), result)
    return np.where(x < TINY_ARGUMENT, order * np.log(x / 2.0) - gammaln(order + 1.0), result)


def _log_iv_large_argument(order: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.maximum(x, LARGE_ARGUMENT)
    mu = 4.0 * order**2
    term, series = np.ones_like(x), np.ones_like(x)
    for k in range(1, 8):
        term = -term * (mu - (2 * k - 1) ** 2) / (k * 8.0 * x)
        series = series + term
    return np.asarray(x - 0.5 * np.log(2.0 * np.pi * x) + np.log(series))


def _log_iv_large_order(order: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    z = x / order
    root = np.hypot(1.0, z)
    t = 1.0 / root
    # The polynomials u_k(t) of Abramowitz and Stegun 9.3.9.
    t2 = t * t
    u1 = t * (3.0 - 5.0 * t2) / 24.0
    u2 = t2 * (81.0 - 462.0 * t2 + 385.0 * t2**2) / 1152.0
    u3 = t * t2 * (30375.0 - 369603.0 * t2 + 765765.0 * t2**2 - 425425.0 * t2**3) / 414720.0
    u4 = (
        t2**2
        * (4465125.0 - 94121676.0 * t2 + 349922430.0 * t2**2 - 446185740.0 * t2**3 + 185910725.0 * t2**4)
        / 39813120.0
    )
    series = u1 / order + u2 / order**2 + u3 / order**3 + u4 / order**4
    eta = root + np.log(z / (1.0 + root))
    return np.asarray(order * eta - 0.5 * np.log(2.0 * np.pi * order * root) + np.log1p(series))


def bessel_ratio(order: float, x: ArrayLike) -> NDArray[np.float64]:
    """I_{ν+1}(x) / I_ν(x)."""
    return np.asarray(np.exp(log_iv(order + 1.0, x) - log_iv(order, x)))

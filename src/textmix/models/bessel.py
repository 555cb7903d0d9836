"""Modified Bessel functions as von Mises-Fisher distributions need them: at orders up to 10^5 and more, in log space.

SciPy's I_ν overflows or vanishes long before. For large orders we use the expansion that is uniform in the argument
(Abramowitz and Stegun 9.7.7), whose k-th term is of the size of ν^−k; for small orders SciPy, but for large arguments
the expansion in 1/x (9.7.1), and for tiny ones the leading term.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ive

LARGE_ORDER = 30.0  # from here on the uniform expansion is right to 1e-9, soon to more
LARGE_ARGUMENT = 1e5
TINY_ARGUMENT = 1e-6


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

"""Modified Bessel functions as von Mises-Fisher distributions need them: at orders up to 10^5 and more, in log space.

SciPy's I_ν overflows or vanishes long before. For large orders we use the expansion that is uniform in the argument
(Abramowitz and Stegun 9.7.7), whose k-th term is of the size of ν^−k; for small orders and moderate arguments SciPy,
and for small orders and large arguments the expansion in 1/x (9.7.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ive

LARGE_ORDER = 30.0  # from here on the uniform expansion is exact to some 1e-13
MAX_STEPS = 50
PRECISION = 1e-12


def log_iv(order: float, x: ArrayLike) -> NDArray[np.float64]:
    """log I_ν(x) for ν ≥ 0, x > 0."""
    x = np.asarray(x, dtype=np.float64)
    if order >= LARGE_ORDER:
        return _log_iv_large_order(order, x)
    # x so small that I_ν vanishes in plain numbers: its leading term; SciPy's scaled function holds for any larger x.
    with np.errstate(divide="ignore"):
        scaled = np.log(ive(order, x)) + x
    small = x < 1e-6
    if small.any():
        from scipy.special import gammaln

        scaled = np.where(small, order * np.log(x / 2.0) - gammaln(order + 1.0), scaled)
    return np.asarray(scaled)


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

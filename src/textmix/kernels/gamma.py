"""Ratios of gamma functions: log of the rising factorial, from tables, from a series, or from log Γ itself."""

from __future__ import annotations

import math

from .jit import inline

# From here on what Stirling's series leaves out here, 1/(1260 x⁵), is below 1e-13.
SERIES_FROM = 96.0


@inline
def log_rising(x, n):
    """log Γ(x + n) − log Γ(x) for x > 0, n ≥ 0, without cancellation when x is large beside n."""
    if x < SERIES_FROM:
        return math.lgamma(x + n) - math.lgamma(x)
    y = x + n
    correction = (1.0 / y - 1.0 / x) / 12.0 - (1.0 / (y * y * y) - 1.0 / (x * x * x)) / 360.0
    return (x - 0.5) * math.log1p(n / x) + n * math.log(y) - n + correction


@inline
def log_rising_from(table, base, unit, n, added):
    """log Γ(base + n + added) − log Γ(base + n) for counts in units, from the table where it reaches."""
    if n >= 0 and n + added < table.size:
        return table[n + added] - table[n]
    return log_rising(base + n * unit, added * unit)

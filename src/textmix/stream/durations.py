"""How long something lasts, as people write it: "30d", "12h", "90m", "45s"; in Python also a number of seconds."""

from __future__ import annotations

import re
from datetime import timedelta
from numbers import Real

import numpy as np

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smhdw])\s*")
SHORTEST, LONGEST = 0.001, 10_000 * 365.25 * 86400  # seconds: a millisecond, 10,000 years


def in_seconds(duration: str | float | timedelta | np.timedelta64, what: str) -> float:
    """A duration in seconds; `what` names it in the error message. What is written needs a unit."""
    seconds = float("nan")
    if isinstance(duration, str):
        match = _WRITTEN.fullmatch(duration)
        seconds = float(match.group(1)) * _UNITS[match.group(2)] if match else seconds
    elif isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, np.timedelta64):
        seconds = float(duration / np.timedelta64(1, "s"))
    elif isinstance(duration, Real) and not isinstance(duration, bool):
        seconds = float(duration)
    if not SHORTEST <= seconds <= LONGEST:
        number = "" if isinstance(duration, str) else ", or a number of seconds"
        raise ValueError(
            f'{what} must be a time such as "30d" or "12h" (units: w, d, h, m, s), from 0.001 s to 10,000 years'
            f"{number}; not {str(duration)[:40]!r}"
        )
    return seconds

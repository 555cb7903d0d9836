"""How long something lasts, as people write it: "30d", "12h", "90m", "45s", or a number of seconds."""

from __future__ import annotations

import re
from datetime import timedelta
from numbers import Real

import numpy as np

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smhdw]?)\s*")


def in_seconds(duration: str | float | timedelta | np.timedelta64, what: str) -> float:
    """A duration above 0 in seconds; `what` names it in the error message."""
    seconds = float("nan")
    if isinstance(duration, str):
        match = _WRITTEN.fullmatch(duration)
        seconds = float(match.group(1)) * _UNITS[match.group(2) or "s"] if match else seconds
    elif isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, np.timedelta64):
        seconds = float(duration / np.timedelta64(1, "s"))
    elif isinstance(duration, Real) and not isinstance(duration, bool):
        seconds = float(duration)
    if not 0.0 < seconds < float("inf"):
        raise ValueError(f'{what} must be a time such as "30d", "12h" or a number of seconds above 0, not {duration!r}')
    return seconds

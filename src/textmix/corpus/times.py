"""When documents were written, as people and programs put it down."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.counting import is_missing

Times = NDArray[np.datetime64]
_NOTHING = np.datetime64("NaT")
_COMPACT = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # by the number of digits
_MILLISECONDS_FROM = 1e11  # numbers from here on are milliseconds since 1970, not seconds


def parse_times(values: Iterable[Any], what: str = "times") -> Times:
    """Moments in UTC, to the second; NaT where there is none, or none that can be read, which is told in a warning.

    ValueError if none can be read.

    Taken are datetime and date objects, NumPy's and pandas' too, ISO 8601 ("2024-03-04", "2024-03-04T06:02:53Z"), and
    numbers of seconds or milliseconds since 1970. A moment without a time zone is taken to be in UTC.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        if values.ndim != 1:
            raise ValueError(f"{what} must be one column, not of shape {values.shape}")
        return np.asarray(values, dtype="datetime64[s]")
    found, unread = [], []
    for row, value in enumerate(values, start=1):
        try:
            found.append(_parse(value))
        except (ValueError, TypeError, OverflowError, OSError):
            found.append(_NOTHING)
            unread.append(f"row {row:,}: {str(value)[:60]!r} is no time; write 2024-03-04 or 2024-03-04T06:02:53Z")
    times = np.array(found, dtype="datetime64[s]")
    if unread and np.isnat(times).all():
        raise ValueError(f"{what}, {unread[0]}")
    if unread:
        others = f" ({len(unread) - 1:,} more such rows)" if len(unread) > 1 else ""
        warnings.warn(f"{what}, {unread[0]}{others}", stacklevel=2)
    return times


def _parse(value: Any) -> Any:
    """A np.datetime64."""
    if is_missing(value) or value != value:  # NaT
        return _NOTHING
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[s]")
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return _NOTHING
        if value.isdecimal() and len(value) in _COMPACT:
            value = datetime.strptime(value, _COMPACT[len(value)])
        elif value.replace(".", "", 1).isdecimal():
            value = float(value)
        else:
            value = datetime.fromisoformat(value)
    if isinstance(value, bool):
        raise ValueError(value)
    if isinstance(value, Real):
        seconds = float(value)
        if not math.isfinite(seconds):
            raise ValueError(value)
        value = datetime.fromtimestamp(seconds / (1000 if abs(seconds) >= _MILLISECONDS_FROM else 1), UTC)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise ValueError(value)
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "s")

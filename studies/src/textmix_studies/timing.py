"""How long fits take, kernels compiled beforehand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sklearn.base import clone

_FEW = 300  # documents to compile with
_ENOUGH, _OFTEN = 10.0, 7  # seconds after which work is not measured again, and times that it is at most

_compiled: set[str] = set()


def timed_fit(model: Any, counts: Any) -> float:
    """Fit a model; seconds. The first of its kind in this process is fitted to a few documents before."""
    settings = {name: value for name, value in model.get_params().items() if isinstance(value, str | bool)}
    kind = f"{type(model).__name__} {sorted(settings.items())}"
    if kind not in _compiled:
        clone(model).fit(counts[:_FEW])
        _compiled.add(kind)
    return timed(lambda: model.fit(counts))


def timed(work: Callable[[], object]) -> float:
    """Seconds that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def timed_often(measure: Callable[[], float]) -> float:
    """The shortest of several measurements of what is over soon, or one of what takes long.

    Whatever else a machine does can only make it slower.
    """
    found = [measure()]
    while sum(found) < _ENOUGH and len(found) < _OFTEN:
        found.append(measure())
    return min(found)

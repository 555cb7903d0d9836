"""How long fits take, kernels compiled beforehand."""

from __future__ import annotations

import time
from typing import Any

from sklearn.base import clone

_FEW = 300  # documents to compile with

_compiled: set[str] = set()


def timed_fit(model: Any, counts: Any) -> float:
    """Fit a model; seconds. The first of its kind in this process is fitted to a few documents before."""
    settings = {name: value for name, value in model.get_params().items() if isinstance(value, str | bool)}
    kind = f"{type(model).__name__} {sorted(settings.items())}"
    if kind not in _compiled:
        clone(model).fit(counts[:_FEW])
        _compiled.add(kind)
    started = time.perf_counter()
    model.fit(counts)
    return time.perf_counter() - started

"""When a sampler has settled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from textmix.inference.loop import Trace

WINDOW = 5  # sweeps that are compared with as many before them


def settled_sampler(tol: float, n_documents: int, window: int = WINDOW) -> Callable[[Trace], bool]:
    """Settled: the log joint no longer rises and the number of moves no longer falls, both by `tol` a document.

    The best log joint of the last `window` sweeps is compared with the best of as many sweeps before, so are the mean
    moves. With tol = 0 a run never stops by itself.
    """
    return lambda trace: _levelled(np.asarray(trace.columns["log_joint"]), trace, tol * n_documents, window)


def settled_by_perplexity(tol: float, n_documents: int, n_tokens: float) -> Callable[[Trace], bool]:
    """The same with log p of all documents, which their perplexity tells, in place of the log joint."""

    def settled(trace: Trace) -> bool:
        log_p = -n_tokens * np.log(np.asarray(trace.columns["perplexity"]))
        return _levelled(log_p, trace, tol * n_documents, WINDOW)

    return settled


def _levelled(values: NDArray[np.float64], trace: Trace, tolerance: float, window: int) -> bool:
    if tolerance <= 0.0 or values.size < 2 * window:
        return False
    n_moved = np.asarray(trace.columns["n_moved"])
    if not np.isfinite(values[-2 * window :]).all():  # perplexities that no float holds
        return False
    rise = values[-window:].max() - values[-2 * window : -window].max()
    fall = n_moved[-2 * window : -window].mean() - n_moved[-window:].mean()
    return bool(rise < tolerance and fall < tolerance)


def no_document_moved(trace: Trace) -> bool:
    """Settled: a whole pass changed nothing."""
    return trace.columns["n_moved"][-1] == 0

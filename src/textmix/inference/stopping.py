"""When a sampler has settled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from textmix.inference.run import Trace

WINDOW = 5  # sweeps that are compared with as many before them


def settled_sampler(tol: float, n_documents: int) -> Callable[[Trace], bool]:
    """Settled: the log joint no longer rises and the number of moves no longer falls, both by `tol` a document.

    The best log joint of the last WINDOW sweeps is compared with the best of the WINDOW sweeps before, so are the mean
    moves. With tol = 0 a run never stops by itself.
    """

    def settled(trace: Trace) -> bool:
        log_joint = np.asarray(trace.columns["log_joint"])
        if tol <= 0.0 or log_joint.size < 2 * WINDOW:
            return False
        n_moved = np.asarray(trace.columns["n_moved"])
        rise = log_joint[-WINDOW:].max() - log_joint[-2 * WINDOW : -WINDOW].max()
        fall = n_moved[-2 * WINDOW : -WINDOW].mean() - n_moved[-WINDOW:].mean()
        return bool(rise < tol * n_documents and fall < tol * n_documents)

    return settled


def no_document_moved(trace: Trace) -> bool:
    """Settled: a whole pass changed nothing."""
    return trace.columns["n_moved"][-1] == 0

"""What a consensus asks of a view: runs on a random part of it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from textmix.inference.progress import Progress


class ViewRun(NamedTuple):
    """The labels that one run gave the documents, −1 for those it did not see, and its trace."""

    labels: NDArray[np.int32]
    trace: dict[str, NDArray[np.float64]]


class View(Protocol):
    """A representation of the documents. Runs differ by number; the same seed and number give the same run."""

    n_runs: int
    uses_blas: bool  # whether runs multiply matrices
    n_visits: int  # documents that a run visits in all its sweeps, for the progress bar

    def sample(self, number: int, seed: int, progress: Progress) -> ViewRun:
        """One run; threads may make several side by side."""
        ...

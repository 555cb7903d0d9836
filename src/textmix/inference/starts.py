"""What one start of EM, variational inference or blocked Gibbs sampling ends with, and the best of several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from textmix.models.components import Mixture


@dataclass(frozen=True)
class FittedComponents:
    """Labels 0, 1, … by falling size, the mixture in the order it was fitted in, and how they came about."""

    labels: NDArray[np.int32]  # −1 for documents without words
    mixture: Mixture
    order: NDArray[np.int64]  # the mixture's clusters by falling size; those without documents last, if at all
    cluster_weights: NDArray[np.float64]  # in that order
    objective: float
    merit: float  # what starts are compared by: the larger, the better
    trace: dict[str, NDArray[np.float64]]
    n_sweeps: int
    converged: bool
    interrupted: bool  # by Ctrl-C; no other start follows then

    @property
    def n_clusters(self) -> int:
        """Clusters that hold documents."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def cluster_sizes(self) -> NDArray[np.int64]:
        """The number of documents of each of these."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)


FittedType = TypeVar("FittedType", bound=FittedComponents)


def best_of_starts(n_starts: int, fit: Callable[[int, str], FittedType]) -> FittedType:
    """The best of fit(start, name for the progress bar), start = 0 … n_starts − 1; the first among equals."""
    best: FittedType | None = None
    for start in range(n_starts):
        fitted = fit(start, "fitting" if n_starts == 1 else f"fitting, start {start + 1} of {n_starts}")
        if best is None or fitted.merit > best.merit:
            best = fitted
        if fitted.interrupted:
            break
    assert best is not None
    return best

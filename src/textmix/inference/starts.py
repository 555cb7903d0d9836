"""Several starts, of which the best is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar


class Fitted(Protocol):
    """A finished run, as far as starts are compared."""

    @property
    def merit(self) -> float:
        """What starts are compared by: the larger, the better."""
        ...

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; no other start follows then."""
        ...


FittedType = TypeVar("FittedType", bound=Fitted)


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

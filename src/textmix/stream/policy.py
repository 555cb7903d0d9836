"""What a stream forgets by itself: how many documents it keeps, how old they may get."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from textmix.stream.durations import in_seconds

STEPS = 1000  # of a half-life: the documents of one step, 0.07 % of all, may stay for so much longer


@dataclass(frozen=True)
class Policy:
    """What is forgotten after each batch; None: nothing for that reason.

    Parameters
    ----------
    keep
        The number of documents that stay, the last to come.
    max_age
        Documents that are older go: "30d", "12h", "90m", "45s", or seconds. Kept as seconds.
    half_life
        The age at which half of the documents have gone, by chance; written the same way.
    """

    keep: int | None = None
    max_age: Any = None
    half_life: Any = None

    def __post_init__(self) -> None:
        if self.keep is not None:
            if isinstance(self.keep, bool) or not isinstance(self.keep, Integral) or self.keep < 1:
                raise ValueError(f"keep must be a number of documents, 1 at least, not {self.keep!r}")
            object.__setattr__(self, "keep", int(self.keep))
        for name in ("max_age", "half_life"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else in_seconds(value, name))


class Forgetting:
    """A policy at work. Which documents outlive a half-life is drawn in steps of it, since all are looked at then."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._drawn_at: int | None = None

    def due(self, n_documents: int, moment: int) -> dict[str, Any]:
        """What a clusterer with so many documents is to forget at a moment, as arguments of `forget`; {}: nothing."""
        policy = self._policy
        due: dict[str, Any] = {}
        if policy.keep is not None and n_documents > policy.keep:
            due["keep"] = policy.keep
        if policy.max_age is not None:
            due["before"] = np.datetime64(moment - int(policy.max_age), "s")
        if policy.half_life is not None and self._is_next_step(moment, policy.half_life):
            self._drawn_at = moment
            due |= {"half_life": policy.half_life, "now": np.datetime64(moment, "s")}
        return due

    def _is_next_step(self, moment: int, half_life: float) -> bool:
        return self._drawn_at is None or abs(moment - self._drawn_at) >= half_life / STEPS

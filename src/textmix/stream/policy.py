"""What a stream forgets by itself: how many documents it keeps, how old they may get."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from textmix.stream.durations import in_seconds


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

"""How sharply documents are assigned as iterations go on: 1/T of Zhong and Ghosh's eq. 7, κ of their eq. 16."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """The same sharpness in every iteration; 1 is EM."""

    value: float = 1.0

    def levels(self, max_iter: int) -> list[float]:
        """One level."""
        return [self.value]


@dataclass(frozen=True)
class Rising:
    """`step` times the number of the iteration (soft von Mises-Fisher, Zhong and Ghosh 4.3)."""

    step: float

    def levels(self, max_iter: int) -> list[float]:
        """A level for each iteration."""
        return [self.step * m for m in range(1, max_iter + 1)]


@dataclass(frozen=True)
class Geometric:
    """From `start` by `factor` to `stop` (annealing, Zhong and Ghosh 4.3)."""

    start: float
    factor: float
    stop: float

    def levels(self, max_iter: int) -> list[float]:
        """All values, the last of them exactly `stop`."""
        values = [self.start]
        while values[-1] * self.factor < self.stop:
            values.append(values[-1] * self.factor)
        return [*values, self.stop] if values[-1] < self.stop else values


Schedule = Constant | Rising | Geometric


class Course:
    """Where a run stands on its schedule, and when it is done.

    A run is done when the objective changes by less than a share `tol` of its rise since the first iteration, so that
    constants in it do not matter, or after max_iter iterations. A geometric schedule ends like this at its last value;
    at each value before it goes on when the objective changes by less than a share `tol` of itself, or after max_iter
    iterations.
    """

    def __init__(self, schedule: Schedule, max_iter: int, tol: float) -> None:
        self._levels = schedule.levels(max_iter)
        self._each_settles = isinstance(schedule, Geometric)
        self._tol = tol
        self._max_iter = max_iter
        self.max_iterations = len(self._levels) * max_iter if self._each_settles else max_iter
        self._level = 0
        self._objectives: list[float] = []  # at this level, or of the whole run
        self.done = False
        self.converged = False  # done because the objective settled

    @property
    def sharpness(self) -> float:
        """That of the next iteration."""
        return self._levels[self._level]

    @property
    def at_new_level(self) -> bool:
        """Whether the next iteration is the first at a value of a geometric schedule."""
        return self._each_settles and not self._objectives

    def advance(self, objective: float) -> None:
        """Take note of an iteration."""
        self._objectives.append(objective)
        at_last_level = self._level == len(self._levels) - 1
        if not self._each_settles or at_last_level:
            self.converged = self._is_settled(by_rise=True)
            self.done = self.converged or len(self._objectives) == self._max_iter
            self._level = min(self._level + 1, len(self._levels) - 1)
        elif self._is_settled(by_rise=False) or len(self._objectives) == self._max_iter:
            self._level += 1
            self._objectives = []

    def _is_settled(self, *, by_rise: bool) -> bool:
        if len(self._objectives) < 2:
            return False
        first, before, last = self._objectives[0], self._objectives[-2], self._objectives[-1]
        scale = abs(last - first) if by_rise else abs(last)
        # A rise of nothing is settled too, unless every iteration is wanted.
        return abs(last - before) < self._tol * scale or (last == before and self._tol > 0.0)

"""What a study is: cells to compute, each with its own seed, and a page that is made of their results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from textmix_studies.page import Page

Values = dict[str, Any]  # what a cell has found, as JSON can hold it


class Cell(NamedTuple):
    """One computation: a part of the study, and what it is called with. The arguments are its name."""

    part: str
    arguments: Values
    collection: str | None = None  # that must be at hand
    alone: bool = False  # it is timed: nothing else is to run meanwhile


class Result(NamedTuple):
    """What came of a cell: values, or why there are none; and by which versions of which packages."""

    cell: Cell
    values: Values | None
    seconds: float = 0.0
    reason: str = ""
    versions: str = ""


class Results:
    """The results of a study's cells, looked up by part and arguments."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._by_part: dict[str, list[Result]] = {}
        for result in results:
            self._by_part.setdefault(result.cell.part, []).append(result)

    def __iter__(self) -> Iterator[Result]:
        return (result for results in self._by_part.values() for result in results)

    def computed(self) -> Results:
        """Those that have values."""
        return Results(result for result in self if result.values is not None)

    def find(self, part: str, **arguments: Any) -> list[Result]:
        """All results of a part whose cells have these arguments, in the order of the plan."""
        return [
            result
            for result in self._by_part.get(part, [])
            if all(result.cell.arguments.get(name) == value for name, value in arguments.items())
        ]

    def values(self, name: str, part: str, **arguments: Any) -> list[Any]:
        """One value of each that was computed: of all trials, for instance."""
        return [r.values[name] for r in self.find(part, **arguments) if r.values is not None and name in r.values]

    def arguments(self, name: str, part: str, **arguments: Any) -> list[Any]:
        """The values that an argument takes, each once, in the order of the plan."""
        return list(dict.fromkeys(r.cell.arguments[name] for r in self.find(part, **arguments)))

    def mean(self, name: str, part: str, **arguments: Any) -> float:
        """The mean of a value, NaN if there is none."""
        found = self.values(name, part, **arguments)
        return statistics.fmean(found) if found else math.nan

    def missing(self) -> dict[str, int]:
        """Why cells have no values: each reason, and how many."""
        counts: dict[str, int] = {}
        for result in self:
            if result.values is None:
                counts[result.reason] = counts.get(result.reason, 0) + 1
        return counts


class Claim(NamedTuple):
    """What a paper says of its figures, and whether it is so of ours: None where it cannot be told."""

    text: str
    holds: bool | None
    evidence: str


def if_known(holds: bool, needed: Sequence[Any]) -> bool | None:
    """Whether a claim holds; None if there is nothing of what it is about, or a number of it is not there (NaN)."""
    unknown = any(isinstance(value, float) and math.isnan(value) for value in needed)
    return bool(holds) if needed and not unknown else None


@dataclass(frozen=True)
class Study:
    """A paper's experiments."""

    name: str
    title: str
    parts: Mapping[str, Callable[..., Values]]  # what the cells of each part compute
    plan: Callable[[bool], Sequence[Cell]]  # all cells; of a quick run, if True
    page: Callable[[Results], Page]

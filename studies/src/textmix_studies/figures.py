"""Figures: lines with their standard deviations, in panels side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from textmix_studies.study import Results

NEEDS_MATPLOTLIB = "figures are drawn by matplotlib: pip install textmix-studies"

_WIDTH, _HEIGHT = 4.2, 3.2  # of a panel, in inches
_MOST_IN_A_ROW = 3
_FEW_PLACES = 6  # on the x axis: each gets its number
_DIGIT = 0.02  # width of one, as a share of the axis


class Line(NamedTuple):
    """One line: where its points are, and how far trials are spread around them."""

    name: str
    x: Sequence[Any]
    means: Sequence[float]
    deviations: Sequence[float] = ()

    @classmethod
    def of_trials(cls, name: str, x: Sequence[Any], trials: Sequence[Sequence[float]]) -> Line:
        """From the values of all trials at each x."""
        means = [sum(t) / len(t) if t else math.nan for t in trials]
        deviations = [
            math.sqrt(sum((v - mean) ** 2 for v in t) / (len(t) - 1)) if len(t) > 1 else 0.0
            for t, mean in zip(trials, means, strict=True)
        ]
        return cls(name, x, means, deviations)


class Panel(NamedTuple):
    """One diagram of a figure."""

    title: str
    lines: Sequence[Line]
    y_name: str = ""  # if it is another than the figure's


@dataclass(frozen=True)
class Figure:
    """Panels with the same axes."""

    title: str
    x_name: str
    y_name: str
    panels: Sequence[Panel]
    log_x: bool = False
    log_y: bool = False

    def numbers(self) -> tuple[Sequence[str], list[Sequence[Any]]]:
        """The points, as a table."""
        rows: list[Sequence[Any]] = []
        for panel in self.panels:
            for line in panel.lines:
                deviations = line.deviations or [math.nan] * len(line.means)
                for x, mean, deviation in zip(line.x, line.means, deviations, strict=True):
                    rows.append([panel.title, line.name, x, round(mean, 6), round(deviation, 6)])
        return ["panel", "line", self.x_name, self.y_name, "sd"], rows

    def draw(self, path: Path) -> None:
        """Write a PNG file."""
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure as Drawing
        except ImportError as error:
            raise ImportError(NEEDS_MATPLOTLIB) from error
        n_columns = max(min(len(self.panels), _MOST_IN_A_ROW), 1)
        n_rows = max(math.ceil(len(self.panels) / n_columns), 1)
        drawing = Drawing(figsize=(_WIDTH * n_columns, _HEIGHT * n_rows), layout="constrained")
        FigureCanvasAgg(drawing)
        for number, panel in enumerate(self.panels, start=1):
            axes = drawing.add_subplot(n_rows, n_columns, number)
            for line in panel.lines:
                if any(deviation > 0.0 for deviation in line.deviations):
                    axes.errorbar(line.x, line.means, line.deviations, label=line.name, marker=".", capsize=2)
                else:
                    axes.plot(line.x, line.means, label=line.name, marker=".")
            axes.set_title(panel.title, fontsize=10)
            axes.set_xlabel(self.x_name)
            axes.set_ylabel(panel.y_name or self.y_name)
            places = sorted({x for line in panel.lines for x in line.x})
            if self.log_x:
                axes.set_xscale("log")
            elif _fit_side_by_side(places):
                axes.set_xticks(places)
            if self.log_y:
                axes.set_yscale("log")
            axes.grid(alpha=0.3)
            if len(panel.lines) > 1:
                axes.legend(fontsize=8)
        drawing.savefig(path, dpi=90, metadata={"Software": None})


def _fit_side_by_side(places: Sequence[float]) -> bool:
    """Whether places on the x axis, in their order, can each have their number."""
    gaps = [after - before for before, after in pairwise(places)]
    longest = max((len(str(place)) for place in places), default=0)
    return len(places) <= _FEW_PLACES and min(gaps, default=0.0) >= _DIGIT * longest * sum(gaps)


def line_by(results: Results, name: str, value: str, part: str, by: str, **arguments: Any) -> Line:
    """A line from the trials of a part: a value by an argument."""
    x = results.arguments(by, part, **arguments)
    return Line.of_trials(name, x, [results.values(value, part, **{**arguments, by: at}) for at in x])

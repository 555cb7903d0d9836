"""Pages: Markdown with tables and figures, and the same numbers as CSV."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from textmix_studies.figures import Figure
from textmix_studies.study import Claim, Result, Results

LEAST_DEVIATION = 0.005  # of a printed figure: papers round to two or three digits


class Printed(NamedTuple):
    """A figure of a paper, with its standard deviation where that is printed."""

    mean: float
    deviation: float | None = None


class Compared(NamedTuple):
    """One figure of a table: what the paper prints, and what our trials gave."""

    names: tuple[str, ...]  # of the row
    printed: Printed | None
    ours: Sequence[float]
    same_data: bool = True  # as the paper's
    reason: str = ""  # why there are no trials
    note: str = ""
    spread: Sequence[float] = ()  # whose deviation counts, if they are others than ours

    @property
    def mean(self) -> float:
        """Of the trials."""
        return statistics.fmean(self.ours) if self.ours else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation of the trials; NaN for one."""
        values = self.spread or self.ours
        return statistics.stdev(values) if len(values) > 1 else math.nan

    @property
    def difference(self) -> float:
        """Ours less the paper's."""
        return self.mean - self.printed.mean if self.printed is not None else math.nan

    @property
    def is_below(self) -> bool:
        """Whether it is lower than the paper's by more than two standard deviations: the paper's, or else ours."""
        if self.printed is None or not self.ours:
            return False
        own = 0.0 if math.isnan(self.deviation) else self.deviation
        deviation = self.printed.deviation if self.printed.deviation is not None else own
        return self.difference < -2.0 * max(deviation, LEAST_DEVIATION)


@dataclass
class Page:
    """A page that is being written: blocks of Markdown, figures and tables of numbers."""

    title: str
    blocks: list[str] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, tuple[Sequence[str], list[Sequence[Any]]]] = field(default_factory=dict)

    def add(self, *paragraphs: str) -> None:
        """Paragraphs, or headings."""
        self.blocks += paragraphs

    def add_table(self, header: Sequence[str], rows: Iterable[Sequence[Any]], name: str = "") -> None:
        """A table; with a name it is also written as CSV."""
        rows = [list(row) for row in rows]
        self.blocks.append(markdown_table(header, rows))
        if name:
            self.tables[name] = (header, rows)

    def add_comparison(
        self,
        name: str,
        header: Sequence[str],
        rows: Sequence[Compared],
        explanations: Mapping[tuple[str, ...], str] | None = None,
        digits: int = 3,
    ) -> None:
        """Paper | ours mean ± sd | difference, and what is known of each that is too low on the paper's own data."""
        shown: list[Sequence[Any]] = []
        numbers: list[Sequence[Any]] = []
        for row in rows:
            paper, ours, difference = "", row.reason or "not computed", ""
            if row.printed is not None:
                paper = _plus_minus(row.printed.mean, row.printed.deviation, digits)
            if row.ours:
                ours = _plus_minus(row.mean, row.deviation, digits)
                difference = "" if row.printed is None else f"{round(row.difference, digits) + 0.0:+.{digits}f}"
            mark = "**" if row.is_below else ""
            other = "" if row.same_data else " †"
            shown.append([*row.names, paper, f"{mark}{ours}{mark}{other if row.ours else ''}", difference])
            numbers.append(
                [
                    *row.names,
                    *(("", "") if row.printed is None else (row.printed.mean, _empty(row.printed.deviation))),
                    *((_empty(row.mean), _empty(row.deviation)) if row.ours else ("", "")),
                    len(row.ours),
                    _empty(row.difference),
                    row.same_data,
                    row.note if row.ours else row.reason,
                ]
            )
        self.blocks.append(markdown_table([*header, "paper", "ours", "difference"], shown))
        figures = ["paper", "paper_sd", "ours", "ours_sd", "trials", "difference", "papers_own_data", "note"]
        self.tables[name] = ([*header, *figures], numbers)
        notes = list(dict.fromkeys(row.note for row in rows if row.note))
        if any(not row.same_data and row.ours for row in rows):
            self.add("† not the paper's own data" + (": " + "; ".join(notes) if notes else "") + ".")
        below = [row for row in rows if row.is_below]
        if below:
            self.add("**Bold**: lower than the paper's by more than two standard deviations.")
        explained = dict(explanations or {})
        for row in below:
            if row.same_data:
                text = _explanation(row.names, explained) or "not explained."
                self.add(f"- {', '.join(filter(None, row.names))}, {row.difference:+.{digits}f}: {text}")

    def add_figure(self, name: str, figure: Figure) -> None:
        """A figure, below what has been added so far."""
        self.figures[name] = figure
        self.blocks.append(f"![{figure.title}]({{figures}}/{name}.png)")
        self.tables[name] = figure.numbers()

    def add_claims(self, claims: Sequence[Claim], name: str = "claims") -> None:
        """What the paper says of its figures, and whether it is so of ours."""
        answers = {True: "holds here", False: "**does not**", None: "cannot be told"}
        self.add_table(
            ["the paper says", "here", "figures"],
            [[claim.text, answers[claim.holds], claim.evidence] for claim in claims],
            name,
        )

    def write(self, folder: Path, name: str, results: Results) -> Path:
        """Write the page, and beside it a folder with its figures and numbers; the page last."""
        beside = folder / name
        beside.mkdir(parents=True, exist_ok=True)
        for figure_name, figure in self.figures.items():
            figure.draw(beside / f"{figure_name}.png")
        for table_name, (header, rows) in self.tables.items():
            write_csv(beside / f"{table_name}.csv", header, rows)
        write_runs(beside / "runs.csv", list(results))
        text = "\n\n".join([f"# {self.title}", *self.blocks]).replace("{figures}", name)
        path = folder / f"{name}.md"
        path.write_text(_join_lists(text) + "\n", encoding="utf-8")
        return path


def _explanation(names: tuple[str, ...], explanations: Mapping[tuple[str, ...], str]) -> str:
    """That of the row itself, or of all rows that begin or end like this; "*" stands for any."""
    for pattern, text in explanations.items():
        if len(pattern) == len(names) and all(p in ("*", n) for p, n in zip(pattern, names, strict=True)):
            return text
    return ""


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; columns that hold numbers only are set to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [bool(cells) and all(_is_number(row[i]) for row in cells) for i in range(len(header))]
    lines = [list(header), ["---:" if right else "---" for right in numeric], *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3f}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def _is_number(text: str) -> bool:
    return not text or text.strip("*†±+-−–,.%× s0123456789<>") == ""


def _plus_minus(mean: float, deviation: float | None, digits: int) -> str:
    text = f"{mean:.{digits}f}"
    return text if deviation is None or math.isnan(deviation) else f"{text} ± {deviation:.{digits}f}"


def _empty(value: float | None) -> float | str:
    return "" if value is None or math.isnan(value) else round(value, 6)


def _join_lists(text: str) -> str:
    """Items of a list stand without empty lines between them."""
    lines = text.split("\n")
    kept = [
        line
        for i, line in enumerate(lines)
        if line or not (0 < i < len(lines) - 1 and lines[i - 1].startswith("- ") and lines[i + 1].startswith("- "))
    ]
    return "\n".join(kept)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A file of comma-separated values."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_runs(path: Path, results: Sequence[Result]) -> None:
    """A line for each cell: arguments with the seed, seconds, and all values that are single numbers or words."""
    arguments = list(dict.fromkeys(name for result in results for name in result.cell.arguments))
    values = list(
        dict.fromkeys(
            name
            for result in results
            for name, value in (result.values or {}).items()
            if isinstance(value, int | float | str)
        )
    )
    rows = [
        [
            result.cell.part,
            *(result.cell.arguments.get(name, "") for name in arguments),
            round(result.seconds, 3),
            *(_rounded((result.values or {}).get(name, "")) for name in values),
            result.reason,
        ]
        for result in results
    ]
    write_csv(path, ["part", *arguments, "seconds", *values, "not computed because"], rows)


def _rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value

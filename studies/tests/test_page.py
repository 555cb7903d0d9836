"""Pages: tables beside the printed figures, figures, CSV."""

from __future__ import annotations

import csv
import math

import pytest

from textmix_studies.figures import Figure, Line, Panel, line_by
from textmix_studies.page import Compared, Page, Printed, markdown_table
from textmix_studies.study import Cell, Claim, Result, Results


def make_results() -> Results:
    cells = [Cell("run", {"k": k, "seed": seed}) for k in (10, 20) for seed in (0, 1)]
    results = [Result(cell, {"nmi": cell.arguments["k"] / 100 + cell.arguments["seed"] / 10}, 1.0) for cell in cells]
    return Results([*results, Result(Cell("run", {"k": 30, "seed": 0}), None, reason="sports is not at hand")])


def test_results_are_looked_up_by_part_and_arguments():
    results = make_results()
    assert results.values("nmi", "run", k=10) == [0.1, 0.2]
    assert results.values("nmi", "run", k=30) == []
    assert results.values("nmi", "other") == []
    assert results.arguments("k", "run") == [10, 20, 30]
    assert results.mean("nmi", "run", seed=0) == pytest.approx(0.15)
    assert math.isnan(results.mean("nmi", "run", k=30))
    assert results.missing() == {"sports is not at hand": 1}


@pytest.mark.parametrize(
    ("printed", "ours", "below"),
    [
        (Printed(0.5, 0.02), [0.46, 0.462], False),
        (Printed(0.5, 0.02), [0.45, 0.46], True),
        (Printed(0.5, 0.0), [0.491, 0.491], False),  # printed with two or three digits
        (Printed(0.5, 0.0), [0.489, 0.489], True),
        (Printed(0.5), [0.4, 0.5], False),  # by our own deviation
        (Printed(0.5), [0.45, 0.451], True),
        (Printed(0.5), [0.45], True),
        (Printed(0.5, 0.02), [0.7], False),
        (Printed(0.5, 0.02), [], False),
        (None, [0.1], False),
    ],
)
def test_lower_by_more_than_two_deviations(printed, ours, below):
    assert Compared(("a",), printed, ours).is_below is below


def test_a_comparison_shows_both_figures_and_explains_what_is_low():
    page = Page("A study")
    rows = [
        Compared(("T", "GSDMM"), Printed(0.5, 0.01), [0.5, 0.52]),
        Compared(("S", "GSDMM"), Printed(0.5, 0.01), [0.4, 0.42]),
        Compared(("S", "LDA"), Printed(0.5, 0.01), [0.3, 0.3]),
        Compared(("20NG", "LDA"), Printed(0.5), [0.3, 0.3], same_data=False, note="other posts"),
        Compared(("sports", "LDA"), Printed(0.5), [], reason="not at hand"),
    ]
    page.add_comparison("table", ["collection", "method"], rows, {("S", "GSDMM"): "snippets.", ("*", "X"): "no."})
    text = "\n".join(page.blocks)
    assert "| T | GSDMM | 0.500 ± 0.010 | 0.510 ± 0.014 | +0.010 |" in text
    assert "| S | GSDMM | 0.500 ± 0.010 | **0.410 ± 0.014** | -0.090 |" in text
    assert "| 20NG | LDA | 0.500 | **0.300 ± 0.000** † | -0.200 |" in text
    assert "| sports | LDA | 0.500 | not at hand |  |" in text
    assert "- S, GSDMM, -0.090: snippets." in text
    assert "- S, LDA, -0.200: not explained." in text
    assert "- 20NG" not in text  # other data than the paper's need no explanation
    assert "† not the paper's own data: other posts." in text


def test_a_page_is_written_with_its_figures_and_numbers(tmp_path):
    results = make_results()
    page = Page("A study")
    line = line_by(results, "NMI", "nmi", "run", "k")
    page.add_figure("fig", Figure("By K", "K", "NMI", [Panel("T", [line, Line("other", [10, 20], [0.3, 0.4])])]))
    page.add_claims(
        [Claim("it rises", True, "0.1, 0.2"), Claim("it falls", False, ""), Claim("who knows", None, "a|b")]
    )
    path = page.write(tmp_path, "study", results)
    text = path.read_text()
    assert text.startswith("# A study\n\n![By K](study/fig.png)\n")
    assert "| it rises | holds here | 0.1, 0.2 |" in text
    assert "| it falls | **does not** |  |" in text
    assert r"| who knows | cannot be told | a\|b |" in text
    assert (tmp_path / "study" / "fig.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / "study" / "fig.csv", newline="") as file:
        points = list(csv.DictReader(file))
    assert [(p["line"], p["K"], p["NMI"]) for p in points[:2]] == [("NMI", "10", "0.15"), ("NMI", "20", "0.25")]
    assert float(points[0]["sd"]) == pytest.approx(0.0707, abs=1e-4)
    with open(tmp_path / "study" / "runs.csv", newline="") as file:
        runs = list(csv.DictReader(file))
    assert len(runs) == 5
    assert (runs[1]["seed"], runs[1]["nmi"], runs[4]["not computed because"]) == ("1", "0.2", "sports is not at hand")


def test_columns_of_numbers_are_set_to_the_right():
    table = markdown_table(["name", "n", "value"], [["a", 1, 0.5], ["b", 22, math.nan]])
    assert table.split("\n")[1:] == ["| --- | ---: | ---: |", "| a | 1 | 0.500 |", "| b | 22 |  |"]

"""Pages of studies that differ in a part share most of their figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from textmix_studies.figures import Figure

_drawn: dict[str, bytes] = {}


@pytest.fixture(autouse=True)
def equal_figures_are_drawn_once(monkeypatch):
    """Drawing takes most of the time that a page takes; a figure of the same numbers is the same file."""
    draw = Figure.draw

    def draw_or_copy(figure: Figure, path: Path) -> None:
        numbers = repr(figure)
        if numbers not in _drawn:
            draw(figure, path)
            _drawn[numbers] = path.read_bytes()
        path.write_bytes(_drawn[numbers])

    monkeypatch.setattr(Figure, "draw", draw_or_copy)

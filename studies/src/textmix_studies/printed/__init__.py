"""The figures that the papers print."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_printed(name: str) -> list[dict[str, str]]:
    """The rows of one of the tables in this folder."""
    text = (files(__name__) / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

"""A file for large runs, small enough for tests, with texts that are hard to read and to write."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

HOSTILE = [
    'quotes "in" it, and commas',
    "two\nlines",
    "null\0byte",
    "\x1b[31mred",
    "",
    "the of and",
    "漢字 ümlaut 🙂",
    "long " * 500,
    "=1+1",
]


def make_texts(n: int) -> list[str]:
    rng = np.random.default_rng(5)
    topics = [[f"word{topic}x{number}" for number in range(40)] for topic in range(6)]
    texts = [" ".join(rng.choice(topics[rng.integers(6)], 6)) for _ in range(n - len(HOSTILE))]
    return [*texts[: n // 2], *HOSTILE, *texts[n // 2 :]]


def write_texts(path: Path, n: int) -> Path:
    """JSON lines, which can hold every text; ids and labels beside them."""
    rows = [
        {"key": f"k{number}", "text": text, "topic": text[:5] if text.startswith("word") else ""}
        for number, text in enumerate(make_texts(n))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_rows(folder: Path, name: str = "assignments.csv") -> list[dict[str, str]]:
    with open(folder / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))

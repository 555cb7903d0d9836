"""A study of four cells, for the tests of what runs studies. Each cell writes down that it was computed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from textmix_studies.page import Page
from textmix_studies.study import Cell, Results, Study, Values


def square(log: str, number: int, wait: float = 0.0) -> Values:
    time.sleep(wait)
    if number == 13:
        raise ValueError("thirteen")
    if number == 66:
        os.kill(os.getpid(), signal.SIGKILL)
    with open(log, "a") as file:
        file.write(f"{number}\n")
    return {"square": number * number}


def make_study(log: Path, numbers: tuple[int, ...], *, wait: float = 0.0, collection: str | None = None) -> Study:
    cells = [
        Cell("square", {"log": str(log), "number": n, "wait": wait}, collection if n == 99 else None, alone=n == 7)
        for n in numbers
    ]
    return Study("tiny", "Squares", {"square": square}, lambda quick: cells[:1] if quick else cells, make_page)


def make_page(results: Results) -> Page:
    page = Page("Squares")
    page.add_table(["square"], [[value] for value in results.values("square", "square")], "squares")
    return page

"""Runs a study and writes its page."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from textmix.inference.progress import Progress
from textmix_studies import find_study
from textmix_studies.page import Page
from textmix_studies.runner import run_cells
from textmix_studies.store import CellStore
from textmix_studies.study import Result, Results

_PACKAGES = ("textmix", "numpy", "scipy", "numba", "scikit-learn", "tomotopy", "wn")


class Outcome(NamedTuple):
    """What came of a study."""

    page: Path
    n_cells: int
    n_missing: int
    n_failed: int


def reproduce(
    name: str,
    *,
    data: Path,
    out: Path,
    quick: bool = False,
    jobs: int | None = None,
    force: bool = False,
    progress: bool | None = None,
    tell: Callable[[str], None] = print,
) -> Outcome:
    """Compute what is left of a study and write its page, figures and numbers to a folder.

    Finished cells are kept beside the page; force computes all of them anew.
    """
    study = find_study(name)
    if not data.is_dir():
        raise ValueError(f'"{data}" is no folder')
    cells = study.plan(quick)
    store = CellStore(out / name / "cells.jsonl")
    n_jobs = jobs if jobs is not None else os.cpu_count() or 1
    started = time.perf_counter()
    results = run_cells(
        *(study, cells, store, data),
        jobs=n_jobs,
        progress=Progress(progress),
        tell=tell,
        anew=force,
        versions=_versions(),
    )
    page = study.page(results)
    if quick:
        page.blocks.insert(
            0, "**A quick run**: few trials, small collections. The figures are not those of the full study."
        )
    _add_end(page, list(results), n_jobs, time.perf_counter() - started)
    path = page.write(out, name, results)
    missing = results.missing()
    n_failed = sum(n for reason, n in missing.items() if "not at hand" not in reason)
    return Outcome(path, len(cells), sum(missing.values()) - n_failed, n_failed)


def _add_end(page: Page, results: list[Result], n_jobs: int, elapsed: float) -> None:
    """How it was computed, and what is missing."""
    missing = Results(results).missing()
    if missing:
        page.add("## Not computed", *(f"- {reason}: {n:,} cells" for reason, n in missing.items()))
    spent = sum(result.seconds for result in results)
    by_versions = Counter(result.versions for result in results if result.values is not None)
    page.add(
        "## How this was computed",
        f"`textmix reproduce`, {len(results):,} cells, {spent / 60:.1f} minutes of one core, {n_jobs} at a time. Seeds "
        "count from 0; every run with its seed, time and scores is in `runs.csv`, the numbers of tables and figures in "
        "the other files beside it.",
        *(f"- {n:,} cells: {versions or 'versions not kept'}" for versions, n in by_versions.most_common()),
    )


def _versions() -> str:
    """What computes: Python and packages."""
    packages = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES if _version(name))
    return f"Python {platform.python_version()}, {packages}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""

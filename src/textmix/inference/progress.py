"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

SHOW_AFTER = 1.0  # seconds; shorter work shows nothing


class ProgressTask:
    """One piece of work, told how much is done; the bar appears when it takes long."""

    def __init__(self, name: str, total: int, console: Console | None) -> None:
        self._name = name
        self._total = total
        self._done = 0
        self._note = ""
        self._console = console
        self._started = time.monotonic()
        self._bar: RichProgress | None = None

    def advance(self, amount: int) -> None:
        """So much more is done."""
        self._done += amount
        if self._console is None:
            return
        if self._bar is None:
            if time.monotonic() - self._started < SHOW_AFTER:
                return
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._bar.add_task(self._name, total=self._total or None, note="")
        self._bar.update(self._bar.task_ids[0], completed=self._done, note=self._note)

    def describe(self, record: Mapping[str, float]) -> None:
        """Say beside the bar how things stand."""
        if "n_clusters" in record:
            self._note = f"{record['n_clusters']:,} clusters, {record['n_moved']:,} moved"

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


class Progress:
    """Where progress is shown: on a terminal only, unless `shown` says yes or no."""

    def __init__(self, shown: bool | None = None, stream: TextIO | None = None) -> None:
        stream = stream if stream is not None else sys.stderr
        visible = shown if shown is not None else bool(getattr(stream, "isatty", lambda: False)())
        self._console = Console(file=stream) if visible else None

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[ProgressTask]:
        """Work under a name, with a total (0: not known)."""
        task = ProgressTask(name, total, self._console)
        try:
            yield task
        finally:
            task.close()

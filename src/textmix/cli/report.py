"""`textmix report`: the page on a saved run."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from textmix.cli.console import make_console, say
from textmix.clustering import load
from textmix.report import REPORT_FILE


def report_run(run: Path, out: Path | None, title: str | None, *, show: bool) -> None:
    """Write the page and say where it is."""
    path = run / REPORT_FILE if out is None else out
    load(run).report(path, title=title)
    say(make_console(), f"Written to {path} ({path.stat().st_size / 1e6:.1f} MB).")
    if show and not webbrowser.open(path.resolve().as_uri()):
        raise ValueError(f'no browser could be started; open "{path}" yourself')

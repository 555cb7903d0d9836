"""`textmix cluster` with counts on disk: for collections larger than memory, and on a Dask cluster."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textmix.cli.cluster import ClusterOutput, saying_warnings, show
from textmix.cli.main import INTERRUPTED
from textmix.large import Plan, cluster_large
from textmix.report import REPORT_FILE
from textmix.saved_runs import load
from textmix.text_clusterer import TextClusterer


def make_plan(
    out: Path | None,
    memory: int | None,
    engine: str | None,
    scheduler: str | None,
    work: Path | None,
    *,
    resume: bool,
    force: bool,
    escape_formulas: bool,
) -> Plan | None:
    """What the options ask for, or None if the counts are to be in memory; ValueError if they do not go together."""
    if memory is None and engine != "dask":
        if resume or work is not None:
            option = "--resume" if resume else "--work"
            raise ValueError(f"{option} is for runs with counts on disk; it goes with --memory or --engine dask")
        return None
    if out is None:
        option = "--memory" if memory is not None else "--engine dask"
        raise ValueError(f"{option} needs --out: the results go to a folder, since they are never in memory as a whole")
    if memory is not None and engine == "dask" and scheduler is None:
        raise ValueError(
            "with --engine dask workers on this machine hold all counts in memory, which --memory does not bound; "
            "leave one of the two out, or give the --scheduler of a cluster of other machines"
        )
    folder = Path(os.path.abspath(out))
    # Workers of a cluster need the whole path.
    work = folder.with_name(f"{folder.name}.work") if work is None else Path(os.path.abspath(work))
    return Plan(out, work, memory, resume, force, escape_formulas)


def cluster_large_files(
    files: Sequence[str],
    columns: Mapping[str, str | None],
    settings: Mapping[str, Any],
    output: ClusterOutput,
    plan: Plan,
    started: float,
) -> None:
    """Cluster the texts of files, write the results, and show them; `started` is when the command did."""
    n_seconds_starting = time.perf_counter() - started
    progress = False if output.quiet else None
    clusterer = TextClusterer(**settings, progress=progress)
    try:
        with saying_warnings(quiet=output.quiet):
            outcome = cluster_large(
                files, columns, clusterer, plan, progress=progress, tell=_keep_quiet if output.quiet else _tell
            )
    except KeyboardInterrupt as stopped:
        _tell("; ".join(["interrupted", *map(str, stopped.args)]))
        sys.exit(INTERRUPTED)
    if outcome is None:
        return
    clustering, report, scores = outcome
    if output.report:
        load(plan.out).report(plan.out / REPORT_FILE)
    n_seconds = time.perf_counter() - started
    clustering.seconds = {"starting": n_seconds_starting, **clustering.seconds, "all": n_seconds}
    show(clustering, report, columns, scores, output)


def _keep_quiet(sentence: str) -> None:
    pass


def _tell(sentence: str) -> None:
    print(f"textmix: {sentence}", file=sys.stderr)

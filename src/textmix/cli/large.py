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
from textmix.clustering import TextClusterer, load
from textmix.large import errors
from textmix.large.cluster import Plan, cluster_large
from textmix.large.errors import LargeRunError, megabytes
from textmix.large.memory import ITSELF
from textmix.report import REPORT_FILE

# What settings are called on the command line.
_OPTIONS = {
    "model": "--model",
    "n_clusters": "--clusters",
    "alpha": "--alpha",
    "beta": "--beta",
    "n_sweeps": "--sweeps",
    "init": "--init",
    "random_state": "--seed",
    "outlier_size": "--outlier-size",
    "text": "--text",
    "id": "--id",
    "label": "--label",
    "format": "--format",
    "language": "--language",
    "stem": "--stem",
    "stop_words": "--stop-words",
    "min_document_frequency": "--min-df",
    "max_document_frequency": "--max-df",
}
_WORK_FOLDER_ADVICE = {
    "foreign": " (--work)",
    "file": " (--work)",
    "taken": ", or choose another --work",
    "not made": "; choose another --work",
}
_OTHER_RUN = "; go on with the same command and files, or start anew: --force instead of --resume"
_RESUME_ADVICE = {
    "input": ": --resume needs files",
    "files": _OTHER_RUN,
    "setting": _OTHER_RUN,
    "other state": "; start anew: --force",
    "damaged state": "; start anew: --force instead of --resume",
}


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
    except LargeRunError as error:
        raise ValueError(explain(error)) from error
    except KeyboardInterrupt as stopped:
        remains = f"; {_explain_remains(stopped.remains)}" if isinstance(stopped, errors.InterruptedRun) else ""
        _tell(f"interrupted{remains}")
        sys.exit(INTERRUPTED)
    if outcome is None:
        return
    clustering, report, scores = outcome
    if output.report:
        load(plan.out).report(plan.out / REPORT_FILE)
    n_seconds = time.perf_counter() - started
    clustering.seconds = {"starting": n_seconds_starting, **clustering.seconds, "all": n_seconds}
    show(clustering, report, columns, scores, output)


def explain(error: LargeRunError) -> str:
    """The sentence for an error of a large run, with the options that help."""
    match error:
        case errors.InMemoryOnlyError():
            in_memory = f"{error.setting} needs all counts in memory"
            return f"{in_memory}; with counts on disk (--memory) or on Dask {error.advice}"
        case errors.NestedFoldersError():
            return f'--work "{error.work}" and --out "{error.out}" must be two folders, none inside the other'
        case errors.WorkFolderError():
            return f"{error}{_WORK_FOLDER_ADVICE[error.problem]}"
        case errors.LeftOverError():
            return f"{error}; {'go on with --resume, or ' if error.can_resume else ''}start anew with --force"
        case errors.CannotResumeError():
            setting = _OPTIONS.get(error.setting, error.setting)
            return f"{setting}{str(error).removeprefix(error.setting)}{_RESUME_ADVICE[error.problem]}"
        case errors.MemoryLimitError():
            return _explain_memory(error)
        case errors.NoSpaceError():
            return f'no space left on the disk of "{error.work}" (--work) or of "{error.out}" (--out)'
        case errors.UnfinishedError():
            cause = explain(error.cause) if isinstance(error.cause, LargeRunError) else error.cause
            return f"{cause}; {_explain_remains(error.remains)}"
    return str(error)


def _explain_memory(error: errors.MemoryLimitError) -> str:
    allowed = f"--memory is {megabytes(error.allowed)}"
    match error.stage:
        case "start":
            itself = f"textmix itself takes some {megabytes(ITSELF)}"
            return f"{allowed}, but has to be {megabytes(error.needed)} at least: {itself}"
        case "counting":
            return str(error).replace("rare words", "rare words (min-df)")
        case "sampling":
            advice = (
                "more --memory helps, fewer --clusters, --init online, which opens few, or leaving out rare words, "
                "which are then counted anew: --min-df 5 --force"
            )
        case "online sampling":
            advice = "an online start opens fewer clusters as a rule, so the run goes on"
    return f"{error.what} need some {megabytes(error.needed)}, but {allowed}; {advice}"


def _explain_remains(remains: errors.Remains) -> str:
    if remains.files_changed:
        return f"{remains}: --force"
    return f"{remains}: go on with --resume" if remains.work is not None else str(remains)


def _keep_quiet(sentence: str | LargeRunError) -> None:
    pass


def _tell(sentence: str | LargeRunError) -> None:
    shown = explain(sentence) if isinstance(sentence, LargeRunError) else sentence
    print(f"textmix: {shown}", file=sys.stderr)

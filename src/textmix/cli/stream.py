"""`textmix stream`: documents come and go as JSON lines, and are answered once they are on disk."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from textmix.cli.options import MODEL

STANDARD_INPUT = "-"
FORGETTING, STATE = "What is forgotten", "The state itself"


def _option(flag: str, help: str, panel: str | None = None, **settings: Any) -> Any:
    return typer.Option(flag, help=help, rich_help_panel=panel, **settings)


StateFolder = Annotated[
    Path,
    typer.Argument(metavar="STATE", help="Folder of the stream: a new one, or one that textmix cluster --out wrote."),
]
Lines = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE]...", help="Files with JSON lines; - is standard input, as is no file."),
]
Alpha = Annotated[
    str | None, _option("--alpha", "Larger: more clusters; 0.1n: by the number of texts.", MODEL, metavar="NUMBER")
]
Beta = Annotated[float | None, _option("--beta", "Larger: fewer clusters.", MODEL, metavar="NUMBER")]
Sweeps = Annotated[int | None, _option("--sweeps", "Sweeps over each batch [10].", MODEL, metavar="N", min=0)]
Language = Annotated[
    str | None,
    _option("--language", "Whose stop words to leave out; auto, none, german, de, ….", MODEL, metavar="NAME"),
]
Seed = Annotated[int | None, _option("--seed", "The same seed gives the same clusters.", MODEL, metavar="N", min=0)]
Keep = Annotated[int | None, _option("--keep", "Keep the last N texts.", FORGETTING, metavar="N", min=1)]
MaxAge = Annotated[
    str | None,
    _option(
        "--max-age",
        "Texts that are older go: 30d, 12h, 90m, 45s, with a unit; none: no more.",
        FORGETTING,
        metavar="TIME",
    ),
]
HalfLife = Annotated[
    str | None,
    _option(
        "--half-life",
        "The age at which half of the texts have gone, by chance; none: no more.",
        FORGETTING,
        metavar="TIME",
    ),
]
Yes = Annotated[
    bool, _option("--yes", "Forget what is due also if it is more than half of the texts at once.", FORGETTING)
]
Batch = Annotated[
    int, _option("--batch", "Answer at most N lines at once; fewer if no more have come.", metavar="N", min=1)
]
Refit = Annotated[
    bool,
    _option(
        "--refit",
        "Cluster all texts anew meanwhile, as textmix cluster --encoder none does; ids stay where they agree.",
    ),
]
Events = Annotated[bool, _option("--events", "Also write what happens to clusters.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing about how it went at the end.")]
Check = Annotated[bool, _option("--check", "Read nothing; say whether the stream is as it should be.", STATE)]
Clusters = Annotated[bool, _option("--clusters", "Read nothing; list the clusters, the largest first.", STATE)]
Backup = Annotated[
    Path | None, _option("--backup", "Read nothing; copy the stream, also while it is in use.", STATE, metavar="FILE")
]


class StreamInput(NamedTuple):
    """Which lines are read, and how many are answered at once."""

    files: Sequence[str]
    batch: int


class StreamOutput(NamedTuple):
    """What is done and written beside the answers."""

    refit: bool
    events: bool
    quiet: bool


def check_state(state: Path) -> int:
    """Print what is wrong with a stream, or that all is well; the exit code."""
    from textmix.stream.checking import check_folder

    mistakes = check_folder(state)
    print(*(mistakes or [f'The stream in "{state}" is as it should be.']), sep="\n")
    return 1 if mistakes else 0


def back_up_state(state: Path, file: Path) -> None:
    """Copy a stream to a file."""
    from textmix.stream.copies import copy_database
    from textmix.stream.database import FILE

    if not (state / FILE).exists():
        raise ValueError(f'there is no stream in "{state}"')
    copy_database(state / FILE, file)
    print(f'Copied the stream in "{state}" to "{file}".')


def list_clusters(state: Path) -> None:
    """Print the clusters of a stream by falling size: id, number of texts, name."""
    from textmix.stream.durable import DurableStream

    with DurableStream(state, create=False) as stream:
        clusters = stream.clusters()
    print("cluster   texts  name")
    for cluster in clusters:
        print(f"{cluster.id:>7}  {cluster.size:>6,}  {cluster.name}")


def stream_lines(
    state: Path,
    source: StreamInput,
    settings: Mapping[str, Any],
    policy: Mapping[str, Any],
    output: StreamOutput,
    *,
    yes: bool,
) -> int:
    """Answer lines until they end, or the program is asked to; the exit code. `yes`: forgetting most is confirmed."""
    _check_files(source.files)
    from textmix.stream.durable import DurableStream
    from textmix.stream.lines import Interruption, LineAnswers
    from textmix.stream.stored import given_clusterer

    began = time.perf_counter()
    code = 0
    given = {"clusterer": given_clusterer(state, settings), "policy": _policy(policy), "confirmed": yes}
    with _warnings_shown(), Interruption() as interruption, DurableStream(state, **given) as stream:
        if yes:
            stream.forget_due(confirmed=True)
        answers = LineAnswers(stream, events=output.events)
        refit = stream.refit() if output.refit else None
        try:
            for file in source.files or [STANDARD_INPUT]:
                _answer_file(file, source, answers, interruption)
            if refit is not None:
                code = _finish(refit, interruption, output.quiet)
                sys.stdout.buffer.write(answers.tell_events())
                sys.stdout.buffer.flush()
        finally:
            if refit is not None:
                refit.stop()
            with suppress(ValueError, OSError):  # what went wrong before is told instead
                _tell(answers, stream, time.perf_counter() - began, output)
    return code


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """What the stream warns of, on standard error, one line each."""
    handler, logger = logging.StreamHandler(), logging.getLogger("textmix.stream")
    handler.setFormatter(logging.Formatter("textmix: %(message)s"))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _answer_file(file: str, source: StreamInput, answers: Any, interruption: Any) -> None:
    from textmix.stream.lines import LineReader

    with _open(file) as descriptor:
        for lines in LineReader(descriptor, interruption).batches(source.batch):
            sys.stdout.buffer.write(answers.answer(lines, file if source.files else None))
            sys.stdout.buffer.flush()


def _finish(refit: Any, interruption: Any, quiet: bool) -> int:
    """Wait for a new fit, unless asked to end, and say what it has changed, or why it has not; the exit code."""
    try:
        summary = interruption.wait_for(refit.wait)
    except (RuntimeError, ValueError) as error:
        print(f"textmix: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    if summary is not None and not quiet:
        _tell_refit(summary, refit.has_begun)
    return 0


def _tell_refit(summary: Any, has_begun: bool) -> None:
    if not has_begun:
        print("textmix: nothing was clustered anew: there was no text with words when it began", file=sys.stderr)
    else:
        clusters = (
            f"{summary.n_clusters_before:,} clusters became {summary.n_clusters:,} ({summary.n_same:,} kept their ids)"
        )
        texts = f"{summary.n_moved:,} of {summary.n_documents:,} texts moved"
        print(f"textmix: clustered anew: {clusters}, {texts}", file=sys.stderr)


def _policy(given: Mapping[str, Any]) -> Any:
    """The policy of these options; None if none is given."""
    from textmix.stream.policy import Policy

    if all(value is None for value in given.values()):
        return None
    return Policy(**{name: None if value == "none" else value for name, value in given.items()})


def _tell(answers: Any, stream: Any, seconds: float, output: StreamOutput) -> None:
    """Say at the end what was done."""
    from textmix.cli.console import plural

    if output.quiet:
        return
    parts = [f"{plural(answers.n_added, 'text')} added, {answers.n_removed:,} removed"]
    if answers.n_mistakes:
        parts.append(f"{plural(answers.n_mistakes, 'line')} could not be read")
    if stream.n_forgotten:
        parts.append(f"{plural(stream.n_forgotten, 'text')} forgotten")
    if stream.held_back is not None:
        parts.append(f"{plural(stream.held_back.n_due, 'old text')} kept all the same (--yes forgets them)")
    kept = f"{plural(stream.n_documents, 'text')} in {plural(stream.n_clusters, 'cluster')} kept"
    print(f"textmix: {'; '.join([*parts, kept])} ({seconds:.1f} s)", file=sys.stderr)


def _check_files(files: Sequence[str]) -> None:
    for file in files:
        if file != STANDARD_INPUT and not Path(file).exists():
            raise ValueError(f'no such file: "{file}"')
        if Path(file).is_dir():
            raise ValueError(f'"{file}" is a folder; give files with JSON lines')


@contextmanager
def _open(file: str) -> Iterator[int]:
    """The descriptor of a file, or of standard input."""
    if file == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError("there is no standard input; give files")
        yield sys.stdin.fileno()
        return
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)

"""The program `textmix`: its commands, and what happens when something goes wrong.

Modules that take long to import (numba, scikit-learn, DuckDB) are imported by the command that runs, so that
--help answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from textmix.cli import options
from textmix.cli import stream as stream_options

USER_ERROR = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
BROKEN_PIPE = 1  # as Typer and Rich, which notice most closed pipes before we do

# Typer has brought its own copy of click since 0.2x; the base of its errors is this in either case.
_UsageError: Any = typer.BadParameter.__mro__[2]

app = options.Program(
    name="textmix",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from textmix.version import __version__

        typer.echo(f"textmix {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Groups texts: how many groups there are, what each is about, what fits nowhere.

    [bold]Examples[/bold]

    textmix cluster tickets.csv --out run

    textmix assign run new.csv > assigned.csv

    head -1000 log.txt | textmix cluster -
    """


@app.command()
def cluster(
    files: options.Files,
    text: options.TextColumn = None,
    id: options.IdColumn = None,
    label: options.LabelColumn = None,
    time_column: options.TimeColumn = None,
    format: options.Format = None,
    language: options.Language = "auto",
    stem: options.Stem = False,
    stop_words: options.StopWords = None,
    min_df: options.MinFrequency = "1",
    max_df: options.MaxFrequency = "1.0",
    model: options.Model = options.ModelName.AUTO,
    clusters: options.Clusters = None,
    granularity: options.Granularity = None,
    encoder: options.Encoder = None,
    vectors: options.Vectors = None,
    alpha: options.Alpha = None,
    beta: options.Beta = None,
    sweeps: options.Sweeps = None,
    inference: options.Inference = None,
    init: options.Init = None,
    seed: options.Seed = 0,
    outlier_size: options.OutlierSize = None,
    outlier_threshold: options.OutlierThreshold = None,
    known: options.KnownColumn = None,
    seed_words: options.SeedWords = None,
    frozen: options.Frozen = None,
    weight: options.WeightColumn = None,
    duplicates: options.Duplicates = None,
    memory: options.Memory = None,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
    jobs: options.Jobs = None,
    work: options.Work = None,
    resume: options.Resume = False,
    out: options.Out = None,
    force: options.Force = False,
    no_report: options.NoReport = False,
    no_escape_formulas: options.KeepFormulas = False,
    top: options.Top = 20,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the groups in texts, show them, and save them with --out: tables, and a page to look at.

    [bold]Examples[/bold]

    textmix cluster tweets.jsonl.gz --text body --label topic --out run

    textmix cluster posts.parquet --vectors embedding --out run

    textmix cluster posts.parquet --out run --memory 2GB
    """
    started = time.perf_counter()
    n_bytes = None if memory is None else options.parse_size(memory)
    from textmix.cli import cluster as command
    from textmix.cli import large, reading
    from textmix.cli import vectors as own_vectors

    guides = reading.GuidanceOptions(known, weight, seed_words, frozen)
    if json and quiet:
        raise ValueError("--json prints the result and --quiet nothing; leave one of them out")
    engine_name = options.choose_engine(engine, scheduler)
    settings = {
        "model": model.value,
        "n_clusters": clusters,
        "granularity": options.parse_number(granularity),
        "encoder": options.parse_encoder(encoder),
        "alpha": options.parse_number(alpha),
        "beta": options.parse_number(beta),
        "n_sweeps": sweeps,
        "outlier_size": outlier_size,
        "outlier_threshold": outlier_threshold,
        **guides.settings(),
        "duplicates": None if duplicates is None else duplicates.value,
        "inference": None if inference is None else inference.value,
        "init": None if init is None else init.value,
        "engine": engine_name,
        "client": scheduler,
        "n_jobs": jobs,
        "language": None if language.lower() == "none" else language,
        "stem": stem,
        "stop_words": None if stop_words is None else reading.read_stop_words(stop_words),
        "min_document_frequency": options.parse_frequency(min_df),
        "max_document_frequency": options.parse_frequency(max_df),
        "random_state": seed,
    }
    columns = {"text": text, "id": id, "label": label, "format": format}
    escape = not no_escape_formulas
    output = command.ClusterOutput(out, force, top, quiet, as_json=json, report=not no_report, escape_formulas=escape)
    plan = large.make_plan(
        out, n_bytes, engine_name, scheduler, work, resume=resume, force=force, escape_formulas=escape
    )
    own_vectors.check_options(encoder, vectors, in_memory=plan is None)
    if plan is None:
        command.cluster_files(files, columns, time_column, settings, guides, output, started, vectors=vectors)
    elif time_column is not None:
        raise ValueError("--time is for runs in memory; leave out --memory and --engine dask")
    elif guides.columns:
        raise ValueError("--known and --weight are for runs in memory; leave out --memory and --engine dask")
    else:
        large.cluster_large_files(files, columns, {**settings, "encoder": None}, output, plan, started)


@app.command()
def assign(
    run: options.RunFolder,
    files: options.Files,
    text: options.TextColumn = None,
    id: options.IdColumn = None,
    format: options.Format = None,
    vectors: options.NewVectors = None,
    out: options.OutFile = None,
    no_escape_formulas: options.KeepFormulas = False,
) -> None:
    """Put new texts into the clusters of a saved run; prints CSV.

    [bold]Example[/bold]

    textmix assign run new.csv --id ticket > assigned.csv
    """
    from textmix.cli import assign as command

    columns = {"text": text, "id": id, "format": format}
    command.assign_files(run, files, columns, out, vectors=vectors, escape_formulas=not no_escape_formulas)


@app.command()
def report(
    run: options.RunFolder,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help=r"Where to write the page \[RUN/report.html].")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Heading of the page.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write the page on a saved run: one HTML file that needs no other and no network.

    [bold]Example[/bold]

    textmix report run --open
    """
    from textmix.cli import report as command

    command.report_run(run, out, title, show=open_page)


@app.command()
def evaluate(
    run: options.RunFolder,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Where the labels are, if the run has none.")
    ] = None,
    label: options.LabelColumn = None,
    id: options.IdColumn = None,
    format: options.Format = None,
) -> None:
    """Compare a saved run with known labels: NMI, homogeneity, completeness, AMI, ARI.

    Without --id the rows of the file must be those that were clustered, in the same order.

    [bold]Examples[/bold]

    textmix evaluate run

    textmix evaluate run labelled.csv --label topic --id ticket
    """
    from textmix.cli import evaluate as command

    command.evaluate_run(run, file, {"label": label, "id": id, "format": format})


@app.command()
def stream(
    state: stream_options.StateFolder,
    files: stream_options.Lines = None,
    alpha: stream_options.Alpha = None,
    beta: stream_options.Beta = None,
    sweeps: stream_options.Sweeps = None,
    language: stream_options.Language = None,
    seed: stream_options.Seed = None,
    keep: stream_options.Keep = None,
    max_age: stream_options.MaxAge = None,
    half_life: stream_options.HalfLife = None,
    yes: stream_options.Yes = False,
    batch: stream_options.Batch = 1000,
    refit: stream_options.Refit = False,
    events: stream_options.Events = False,
    clusters: stream_options.Clusters = False,
    check: stream_options.Check = False,
    backup: stream_options.Backup = None,
    quiet: stream_options.Quiet = False,
) -> None:
    """Let texts come and go as JSON lines; each is answered, with its cluster, once it is on disk.

    Lines are {"id": …, "text": …, "time": …} or {"remove": id}; id and time may be left out.

    [bold]Examples[/bold]

    tail -f tickets.jsonl | textmix stream state --max-age 30d

    textmix stream state --check

    textmix stream state --refit < /dev/null
    """
    n_asked = sum((clusters, check, backup is not None))
    if n_asked > 1 or (n_asked and (files or refit)):
        raise ValueError("--clusters, --check and --backup read no lines; give one of them, without files and --refit")
    if clusters:
        stream_options.list_clusters(state)
        return
    if check:
        raise typer.Exit(stream_options.check_state(state))
    if backup is not None:
        stream_options.back_up_state(state, backup)
        return
    settings = {
        "alpha": options.parse_number(alpha),
        "beta": beta,
        "n_sweeps": sweeps,
        "language": language,
        "random_state": seed,
    }
    policy = {"keep": keep, "max_age": max_age, "half_life": half_life}
    source, output = stream_options.StreamInput(files or [], batch), stream_options.StreamOutput(refit, events, quiet)
    raise typer.Exit(stream_options.stream_lines(state, source, settings, policy, output, yes=yes))


@app.command()
def serve(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="Folder of the stream; a new one is begun there.")],
    host: Annotated[str, typer.Option(help="Address to listen at; others than this machine's need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: a free one.")] = 8321,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=r"File with the token that requests must bring \[$TEXTMIX_TOKEN]."),
    ] = None,
    max_batch: Annotated[int, typer.Option(metavar="N", min=1, help="Documents of a request.")] = 1_000,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Size of a request.")] = "8MB",
    max_length: Annotated[int, typer.Option(metavar="N", min=1, help="Characters of a document.")] = 100_000,
    max_queue: Annotated[int, typer.Option(metavar="N", min=1, help="Requests that may wait.")] = 64,
    max_per_address: Annotated[
        int, typer.Option(metavar="N", min=1, help="Requests of one client at the same time.")
    ] = 150,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Address or network of a proxy; its X-Forwarded-For names the client."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Forget what is due also if it is more than half of the texts at once.")
    ] = False,
) -> None:
    """Serve a stream over HTTP, with a live page: texts come and go, what is answered is on disk.

    [bold]Examples[/bold]

    textmix serve state

    textmix serve state --host 0.0.0.0 --token-file token
    """
    from textmix.cli import serve as command

    limits = {
        "max_batch": max_batch,
        "max_body": options.parse_size(max_body),
        "max_length": max_length,
        "max_queue": max_queue,
        "max_per_address": max_per_address,
    }
    command.serve_state(state, host, port, token_file, limits, tuple(proxy or ()), confirmed=yes)


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="gsdpmm, gsdmm-study, xdmm, zhong-ghosh or dmafp.")],
    quick: Annotated[bool, typer.Option("--quick", help="Few trials on small collections: some minutes.")] = False,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help=r"Folder of the labelled collections \[$TEXTMIX_DATA].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=r"Folder for the page \[studies, or studies-quick].")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help=r"Cells that are computed side by side \[one a core].")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compute anew what is finished already.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Compute a paper's tables and figures again, beside the printed numbers.

    What is finished is kept: after an interruption the same command goes on.

    [bold]Example[/bold]

    textmix reproduce gsdmm-study --data collections --quick
    """
    from importlib.metadata import entry_points

    commands = entry_points(group="textmix.commands", name="reproduce")  # registered by the studies' distribution
    if not commands:
        raise ImportError("textmix reproduce needs textmix-studies: pip install textmix-studies")
    command = next(iter(commands)).load()
    command(study, quick=quick, data=data, out=out, jobs=jobs, force=force, quiet=quiet)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def run() -> None:
    """Run the program; a mistake of the user is one line and exit code 2."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _stop)  # as Ctrl-C: what batch systems send before they kill
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="textmix", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # Typer makes this of Ctrl-C, and says nothing; older ones raise Abort
            _complain("interrupted")
    except _UsageError as error:
        code = _complain(error.format_message())
    except BrokenPipeError:
        # What is left in the buffer has nowhere to go; without this Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    except (ValueError, ImportError, OSError) as error:
        code = _complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    if message:  # help that was not asked for says enough
        print(f"textmix: {' '.join(message.split())}", file=sys.stderr)
    return USER_ERROR

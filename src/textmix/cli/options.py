"""The options of the commands, their help, and how their values are read."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from textmix.corpus.readers.formats import COMPRESSIONS_BY_EXTENSION, FORMATS

TEXTS, MODEL, GUIDANCE = "Which texts", "How to cluster", "What is known beforehand"
PLACE, OUTPUT = "Large collections", "Output"

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


class ModelName(StrEnum):
    """The models by name."""

    AUTO = "auto"
    CONSENSUS = "consensus"
    DIRICHLET_MULTINOMIAL = "dirichlet-multinomial"
    DIRICHLET_PROCESS = "dirichlet-process"


class InferenceName(StrEnum):
    """How clusters are found."""

    AUTO = "auto"
    GIBBS = "gibbs"
    METROPOLIS = "metropolis"
    PARALLEL = "parallel"


class InitName(StrEnum):
    """What sampling starts from."""

    RANDOM = "random"
    ONLINE = "online"


class DuplicatesName(StrEnum):
    """How texts with the same words count."""

    ALL = "all"
    ONCE = "once"


class EngineName(StrEnum):
    """Where the parallel sampler runs."""

    SERIAL = "serial"
    THREADS = "threads"
    DASK = "dask"


def parse_frequency(value: str) -> int | float:
    """A number of documents ("5"), or a share of them ("0.5", "1.0")."""
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is neither a number of texts (5) nor a share of them (0.5)") from error


def parse_number(value: str | None) -> float | str | None:
    """A number, or a string such as "0.1n" or "learn", which the model itself checks."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return value


def parse_size(value: str) -> int:
    """Bytes: "800MB", "2GB", "1.5G"; "2GiB" is a little more than "2GB"."""
    match = _SIZE.fullmatch(value.strip())
    if match is None or not match.group(2):
        raise typer.BadParameter(f"{value!r} is not a size; give a number and a unit: 800MB, 2GB, 1.5G")
    number, unit, binary = match.groups()
    base = 1024 if binary else 1000
    return int(float(number) * base ** (1 + "kmgt".index(unit.lower())))


def choose_engine(engine: EngineName | None, scheduler: str | None) -> str | None:
    """The name of the engine; with a scheduler it is dask."""
    if scheduler is not None and engine not in (None, EngineName.DASK):
        raise typer.BadParameter(f"--scheduler is the address of a Dask cluster; --engine {engine} has none")
    return EngineName.DASK.value if scheduler is not None else engine and engine.value


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE…",
        help=f"{', '.join(format.title for format in FORMATS)} ({' and '.join(COMPRESSIONS_BY_EXTENSION)} too), "
        "patterns, folders of .txt files; - is stdin.",
        show_default=False,
    ),
]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="A folder written by textmix cluster --out.", show_default=False)
]
TextColumn = Annotated[
    str | None,
    typer.Option("--text", metavar="COLUMN", help="Column with the texts; else chosen by name.", rich_help_panel=TEXTS),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Column with ids, kept in the results.", rich_help_panel=TEXTS),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="Column with known labels, to compare with.", rich_help_panel=TEXTS),
]
TimeColumn = Annotated[
    str | None,
    typer.Option("--time", metavar="COLUMN", help="Column with times, for the report.", rich_help_panel=TEXTS),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"{', '.join(format.name for format in FORMATS)}; else told by the file.",
        rich_help_panel=TEXTS,
    ),
]
Model = Annotated[
    ModelName,
    typer.Option(
        "--model",
        metavar="NAME",
        help="auto, consensus (of ten runs), dirichlet-multinomial or dirichlet-process (one run of the papers').",
        rich_help_panel=MODEL,
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        metavar="K",
        min=1,
        help=r"Exactly so many clusters \[as many as there are]; of dirichlet-multinomial at most so many \[500].",
        rich_help_panel=MODEL,
    ),
]
Granularity = Annotated[
    str | None,
    typer.Option(
        "--granularity",
        metavar="HOW",
        help=r"coarse, medium, fine, or a number: 1 is medium, more is finer \[medium].",
        rich_help_panel=MODEL,
    ),
]
Alpha = Annotated[
    str | None,
    typer.Option("--alpha", metavar="NUMBER", help='Larger: more clusters; or "learn".', rich_help_panel=MODEL),
]
Beta = Annotated[
    str | None,
    typer.Option("--beta", metavar="NUMBER", help='Larger: fewer clusters; or "learn".', rich_help_panel=MODEL),
]
Sweeps = Annotated[
    int | None,
    typer.Option(
        "--sweeps",
        metavar="N",
        min=0,
        help="Sweeps of each of ten runs [20]; of one run at most so many [100].",
        rich_help_panel=MODEL,
    ),
]
Inference = Annotated[
    InferenceName | None,
    typer.Option(
        "--inference",
        metavar="NAME",
        help=r"gibbs: exact; metropolis; parallel: on all cores \[auto: parallel from a million counts on].",
        rich_help_panel=MODEL,
    ),
]
Init = Annotated[
    InitName | None,
    typer.Option(
        "--init",
        metavar="NAME",
        help=r"Start from random clusters, or online: clusters are opened as texts come \[random].",
        rich_help_panel=MODEL,
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same clusters.", rich_help_panel=MODEL),
]
OutlierSize = Annotated[
    int | None,
    typer.Option(
        "--outlier-size",
        metavar="N",
        min=0,
        help="Of one run: texts in clusters of at most N fit nowhere [1].",
        rich_help_panel=MODEL,
    ),
]
OutlierThreshold = Annotated[
    float | None,
    typer.Option(
        "--outlier-threshold",
        metavar="NUMBER",
        help="Of a consensus: texts of a higher outlier score fit nowhere [0.25].",
        rich_help_panel=MODEL,
    ),
]
KnownColumn = Annotated[
    str | None,
    typer.Option(
        "--known",
        metavar="COLUMN",
        help="Column with clusters that are known for some texts: these stay together; empty or -1 for all others.",
        rich_help_panel=GUIDANCE,
    ),
]
SeedWords = Annotated[
    Path | None,
    typer.Option(
        "--seed-words",
        metavar="FILE",
        help="Clusters to look for, a line each: the name, a colon, words.",
        rich_help_panel=GUIDANCE,
    ),
]
Frozen = Annotated[
    Path | None,
    typer.Option(
        "--frozen",
        metavar="RUN",
        help="Clusters of an earlier run: new texts join them, under their names, or form others.",
        rich_help_panel=GUIDANCE,
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column with how much each text counts in finding clusters, relative to others.",
        rich_help_panel=GUIDANCE,
    ),
]
Duplicates = Annotated[
    DuplicatesName | None,
    typer.Option(
        "--duplicates",
        metavar="HOW",
        help=r"all, or once: texts with the same words count as one in finding clusters \[all].",
        rich_help_panel=GUIDANCE,
    ),
]
Language = Annotated[
    str,
    typer.Option(
        "--language",
        metavar="NAME",
        help="Whose stop words to leave out; auto, none, german, de, ….",
        rich_help_panel=TEXTS,
    ),
]
Stem = Annotated[bool, typer.Option("--stem", help="Take words with the same stem as one word.", rich_help_panel=TEXTS)]
StopWords = Annotated[
    Path | None,
    typer.Option("--stop-words", metavar="FILE", help="Words to leave out instead, one a line.", rich_help_panel=TEXTS),
]
MinFrequency = Annotated[
    str,
    typer.Option(
        "--min-df",
        metavar="N",
        help="Leave out words in fewer texts: 5, or a share, 0.01.",
        rich_help_panel=TEXTS,
    ),
]
MaxFrequency = Annotated[
    str,
    typer.Option(
        "--max-df",
        metavar="N",
        help="Leave out words in more texts: 500, or a share, 0.5.",
        rich_help_panel=TEXTS,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Keep texts and counts on disk and take about so much memory: 800MB, 2GB. Needs --out.",
        rich_help_panel=PLACE,
    ),
]
Engine = Annotated[
    EngineName | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help=r"Where the parallel sampler runs: serial, threads, or dask, on other processes \[threads].",
        rich_help_panel=PLACE,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask cluster you trust, tcp://… or tls://…; its workers must see the work folder.",
        rich_help_panel=PLACE,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help=r"Threads; -1: all cores \[-1].", rich_help_panel=PLACE),
]
Work = Annotated[
    Path | None,
    typer.Option(
        "--work",
        metavar="FOLDER",
        help=r"Where counts are kept until all is written \[--out with .work].",
        rich_help_panel=PLACE,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on with a run that broke off: the same command and --resume.", rich_help_panel=PLACE
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FOLDER", help="Write report.html, tables and the model here.", rich_help_panel=OUTPUT
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite an earlier run, or start one anew.", rich_help_panel=OUTPUT)
]
Top = Annotated[
    int,
    typer.Option("--top", metavar="N", min=0, help="Show the N largest clusters.", rich_help_panel=OUTPUT),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--no-escape-formulas",
        help="Write texts to CSV as they are, also those that a spreadsheet would run as formulas.",
        rich_help_panel=OUTPUT,
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the CSV here instead of to standard output."),
]

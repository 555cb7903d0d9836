"""The options of the commands, their help, and how their values are read; one that takes a value is given once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

from textmix.corpus.readers.formats import COMPRESSIONS_BY_EXTENSION, FORMATS

TEXTS, MODEL, GUIDANCE = "Which texts", "How to cluster", "What is known beforehand"
PLACE, OUTPUT = "Large collections", "Output"

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([kmgt]?)(i?)b?", re.IGNORECASE)

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command that refuses an option given twice, of which Typer would silently use the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments as ever, which may end in help; then look for options that came twice."""
        rest = super().parse_args(ctx, list(args))
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for parameter, number in Counter(filter(_takes_one_value, given)).items():
            if number > 1:
                name = max(parameter.opts, key=len)
                raise ValueError(f"{name} is given {number} times, but takes one value; give it once")
        return rest


class Program(typer.Typer):
    """A program all of whose commands are of this kind."""

    def command(self, *arguments: Any, **settings: Any) -> Callable[[Function], Function]:
        """A decorator for the function of a command."""
        return super().command(*arguments, **{"cls": Command, **settings})


def _takes_one_value(parameter: object) -> bool:
    return isinstance(parameter, TyperOption) and not (parameter.is_flag or parameter.multiple or parameter.count)


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


def parse_encoder(value: str | None) -> str | None:
    """The setting of an encoder, which is None for "none" and checked later."""
    if value is None:
        return "auto"
    return None if value.lower() == "none" else value


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


def _option(panel: str, name: str, metavar: str, help: str, **limits: Any) -> Any:
    return typer.Option(name, metavar=metavar, help=help, rich_help_panel=panel, **limits)


def _flag(panel: str, name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel=panel)


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
TextColumn = Annotated[str | None, _option(TEXTS, "--text", "COLUMN", "Column with the texts; else chosen by name.")]
IdColumn = Annotated[str | None, _option(TEXTS, "--id", "COLUMN", "Column with ids, kept in the results.")]
LabelColumn = Annotated[str | None, _option(TEXTS, "--label", "COLUMN", "Column with known labels, to compare with.")]
TimeColumn = Annotated[str | None, _option(TEXTS, "--time", "COLUMN", "Column with times, for the report.")]
Format = Annotated[
    str | None,
    _option(TEXTS, "--format", "FORMAT", f"{', '.join(format.name for format in FORMATS)}; else told by the file."),
]
Model = Annotated[
    ModelName,
    _option(
        MODEL,
        "--model",
        "NAME",
        "auto, consensus (of ten runs), dirichlet-multinomial or dirichlet-process (one run of the papers').",
    ),
]
Clusters = Annotated[
    int | None,
    _option(
        MODEL,
        "--clusters",
        "K",
        r"Exactly so many clusters \[as many as there are]; of dirichlet-multinomial at most so many \[500].",
        min=1,
    ),
]
Granularity = Annotated[
    str | None,
    _option(MODEL, "--granularity", "HOW", r"coarse, medium, fine, or a number: 1 is medium, more is finer \[medium]."),
]
Alpha = Annotated[str | None, _option(MODEL, "--alpha", "NUMBER", 'Larger: more clusters; or "learn".')]
Beta = Annotated[str | None, _option(MODEL, "--beta", "NUMBER", 'Larger: fewer clusters; or "learn".')]
Sweeps = Annotated[
    int | None,
    _option(MODEL, "--sweeps", "N", "Sweeps of each of ten runs [20]; of one run at most so many [100].", min=0),
]
Inference = Annotated[
    InferenceName | None,
    _option(
        MODEL,
        "--inference",
        "NAME",
        r"gibbs: exact; metropolis; parallel: on all cores \[auto: parallel from a million counts on].",
    ),
]
Init = Annotated[
    InitName | None,
    _option(
        MODEL, "--init", "NAME", r"Start from random clusters, or online: clusters are opened as texts come \[random]."
    ),
]
Encoder = Annotated[
    str | None,
    _option(
        MODEL,
        "--encoder",
        "NAME",
        "What tells the meaning of texts beside their words: static (English word vectors, part of textmix), own (made "
        "from these texts), sentence-transformers:NAME, model2vec:NAME, or none: words alone "
        r"\[auto: static for English].",
    ),
]
Vectors = Annotated[
    str | None,
    _option(
        MODEL,
        "--vectors",
        "FILE|COLUMN",
        "Vectors of your own instead, one per text: a .npy file, or a column of lists.",
    ),
]
NewVectors = Annotated[
    str | None,
    _option(
        TEXTS,
        "--vectors",
        "FILE|COLUMN",
        "Vectors of the new texts, if the run was made with --vectors: a .npy file, or a column of lists.",
    ),
]
Seed = Annotated[int, _option(MODEL, "--seed", "N", "The same seed gives the same clusters.", min=0)]
OutlierSize = Annotated[
    int | None,
    _option(MODEL, "--outlier-size", "N", "Of one run: texts in clusters of at most N fit nowhere [1].", min=0),
]
OutlierThreshold = Annotated[
    float | None,
    _option(
        MODEL, "--outlier-threshold", "NUMBER", "Of a consensus: texts of a higher outlier score fit nowhere [0.25]."
    ),
]
KnownColumn = Annotated[
    str | None,
    _option(
        GUIDANCE,
        "--known",
        "COLUMN",
        "Column with clusters that are known for some texts: these stay together; empty or -1 for all others.",
    ),
]
SeedWords = Annotated[
    Path | None,
    _option(GUIDANCE, "--seed-words", "FILE", "Clusters to look for, a line each: the name, a colon, words."),
]
Frozen = Annotated[
    Path | None,
    _option(
        GUIDANCE,
        "--frozen",
        "RUN",
        "Clusters of an earlier run: new texts join them, under their names, or form others.",
    ),
]
WeightColumn = Annotated[
    str | None,
    _option(
        GUIDANCE, "--weight", "COLUMN", "Column with how much each text counts in finding clusters, relative to others."
    ),
]
Duplicates = Annotated[
    DuplicatesName | None,
    _option(
        GUIDANCE,
        "--duplicates",
        "HOW",
        r"all, or once: texts with the same words count as one in finding clusters \[all].",
    ),
]
Language = Annotated[
    str, _option(TEXTS, "--language", "NAME", "Whose stop words to leave out; auto, none, german, de, ….")
]
Stem = Annotated[bool, _flag(TEXTS, "--stem", "Take words with the same stem as one word.")]
StopWords = Annotated[Path | None, _option(TEXTS, "--stop-words", "FILE", "Words to leave out instead, one a line.")]
MinFrequency = Annotated[str, _option(TEXTS, "--min-df", "N", "Leave out words in fewer texts: 5, or a share, 0.01.")]
MaxFrequency = Annotated[str, _option(TEXTS, "--max-df", "N", "Leave out words in more texts: 500, or a share, 0.5.")]
Memory = Annotated[
    str | None,
    _option(
        PLACE,
        "--memory",
        "SIZE",
        "Keep texts and counts on disk and take about so much memory: 800MB, 2GB. Needs --out.",
    ),
]
Engine = Annotated[
    EngineName | None,
    _option(
        PLACE,
        "--engine",
        "NAME",
        r"Where the parallel sampler runs: serial, threads, or dask, on other processes \[threads].",
    ),
]
Scheduler = Annotated[
    str | None,
    _option(
        PLACE,
        "--scheduler",
        "ADDRESS",
        "A Dask cluster you trust, tcp://… or tls://…; its workers must see the work folder.",
    ),
]
Jobs = Annotated[int | None, _option(PLACE, "--jobs", "N", r"Threads; -1: all cores \[-1].")]
Work = Annotated[
    Path | None, _option(PLACE, "--work", "FOLDER", r"Where counts are kept until all is written \[--out with .work].")
]
Resume = Annotated[bool, _flag(PLACE, "--resume", "Go on with a run that broke off: the same command and --resume.")]
Out = Annotated[Path | None, _option(OUTPUT, "--out", "FOLDER", "Write report.html, tables and the model here.")]
Force = Annotated[bool, _flag(OUTPUT, "--force", "Overwrite an earlier run, or start one anew.")]
Top = Annotated[int, _option(OUTPUT, "--top", "N", "Show the N largest clusters.", min=0)]
NoReport = Annotated[bool, _flag(OUTPUT, "--no-report", "Write no report.html.")]
Json = Annotated[bool, _flag(OUTPUT, "--json", "Print the result as JSON, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)]
KeepFormulas = Annotated[
    bool,
    _flag(
        OUTPUT,
        "--no-escape-formulas",
        "Write texts to CSV as they are, also those that a spreadsheet would run as formulas.",
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the CSV here instead of to standard output."),
]

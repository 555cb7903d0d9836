"""The options of the commands, their help, and how their values are read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

TEXTS, MODEL, OUTPUT = "Which texts", "How to cluster", "Output"


class ModelName(StrEnum):
    """The models by name."""

    DIRICHLET_MULTINOMIAL = "dirichlet-multinomial"
    DIRICHLET_PROCESS = "dirichlet-process"


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


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE…",
        help="CSV, TSV, JSON, Parquet, text (.gz and .zst too), patterns, folders of .txt files; - is stdin.",
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
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl, parquet, txt; else told by the file.",
        rich_help_panel=TEXTS,
    ),
]
Model = Annotated[
    ModelName,
    typer.Option(
        "--model",
        metavar="NAME",
        help="dirichlet-multinomial, or dirichlet-process, which has no upper number of clusters.",
        rich_help_panel=MODEL,
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        metavar="K",
        min=1,
        help="At most so many clusters [500, or fewer texts].",
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
    typer.Option("--sweeps", metavar="N", min=0, help="At most so many sweeps [100].", rich_help_panel=MODEL),
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
        help="Texts in clusters of at most N fit nowhere [1].",
        rich_help_panel=MODEL,
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
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Write tables and the model here.", rich_help_panel=OUTPUT),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an earlier run in --out.", rich_help_panel=OUTPUT)]
Top = Annotated[
    int,
    typer.Option("--top", metavar="N", min=0, help="Show the N largest clusters.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the CSV here instead of to standard output."),
]

"""Tables as CSV and Parquet files; what spreadsheets and UTF-8 cannot hold is replaced by U+FFFD."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from numpy.typing import NDArray

CHUNK = 8192  # rows handed to DuckDB at a time
REPLACEMENT = "\ufffd"

_SURROGATES = re.compile("[\ud800-\udfff]")


Values = Sequence[Any] | NDArray[Any]


class Column(NamedTuple):
    """A column of a table: NaN in numbers stands for nothing."""

    name: str
    type: Literal["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR"]
    values: Values


def write_csv(file: IO[str], columns: Sequence[Column]) -> None:
    """Write a header and the rows; numbers with six digits, nothing for NaN."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(zip(*(map(_CELLS[column.type], column.values) for column in columns), strict=True))


def save_csv(path: Path, columns: Sequence[Column]) -> None:
    """Write a CSV file, UTF-8, through to the disk."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        write_csv(file, columns)
        flush(file)


def save_parquet(path: Path, columns: Sequence[Column]) -> None:
    """Write a Parquet file through to the disk, by DuckDB, which takes Python lists."""
    from textmix.corpus.readers.duck import connect

    definition = ", ".join(f'"{column.name}" {column.type}' for column in columns)
    values = ", ".join(f"unnest(${i}::{column.type}[])" for i, column in enumerate(columns, start=1))
    with connect() as connection:
        # A temporary table is gone with its connection, also where connections share a database.
        connection.execute(f"CREATE TEMP TABLE rows ({definition})")
        for first in range(0, len(columns[0].values), CHUNK):
            chunk = [_plain(column, first) for column in columns]
            connection.execute(f"INSERT INTO rows SELECT {values}", chunk)
        target = str(path).replace("'", "''")
        connection.execute(f"COPY rows TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    with open(path, "rb+") as file:
        flush(file)


def read_parquet(path: Path, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of a Parquet file in their order."""
    import duckdb

    from textmix.corpus.readers.duck import connect, literal_path

    names = ", ".join(f'"{name}"' for name in columns)
    try:
        with connect() as connection:
            query = f"SELECT {names} FROM read_parquet(?)"
            return connection.execute(query, [literal_path(path)]).fetchall()
    except duckdb.Error as error:
        raise ValueError(f"{path} is missing or damaged; cluster again") from error


def flush(file: IO[Any]) -> None:
    """Write what is buffered through to the disk."""
    file.flush()
    os.fsync(file.fileno())


def storable(text: str) -> str:
    """The text without lone surrogates, which have no UTF-8 form."""
    return text if text.isascii() else _SURROGATES.sub(REPLACEMENT, text)


def _csv_text(value: Any) -> str:
    return storable(str(value)).replace("\0", REPLACEMENT)


def _csv_number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def _csv_boolean(value: bool) -> str:
    return "true" if value else "false"


_CELLS: dict[str, Callable[[Any], Any]] = {
    "BIGINT": int,
    "DOUBLE": _csv_number,
    "BOOLEAN": _csv_boolean,
    "VARCHAR": _csv_text,
}


def _plain(column: Column, first: int) -> list[Any]:
    """A chunk of a column as Python objects."""
    values = column.values[first : first + CHUNK]
    if column.type == "VARCHAR":
        return [storable(str(value)) for value in values]
    if column.type == "DOUBLE":
        return [None if math.isnan(value) else float(value) for value in values]
    return [int(value) if column.type == "BIGINT" else bool(value) for value in values]

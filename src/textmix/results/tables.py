"""Tables as CSV and Parquet files; what spreadsheets and UTF-8 cannot hold is replaced by U+FFFD.

Spreadsheets take a cell that begins with = or one of a few other characters for a formula, also from CSV. In CSV such
texts therefore have an apostrophe before them, unless that is not wanted (OWASP, "CSV Injection").
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.files import flush, replacing
from textmix.corpus.saved_files import check_regular

CHUNK = 8192  # rows written at a time
REPLACEMENT = "\ufffd"

_SURROGATES = re.compile("[\ud800-\udfff]")
_FORMULA_STARTS = frozenset("=+-@\t\r\n＝＋－＠")
_SIGNED_NUMBER = re.compile(r"[+-][0-9]+([.,][0-9]+)?")


Values = Sequence[Any] | NDArray[Any]


class Column(NamedTuple):
    """A column of a table: NaN in numbers stands for nothing."""

    name: str
    type: Literal["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR"]
    values: Values


def write_csv(
    file: IO[str] | codecs.StreamWriter, columns: Sequence[Column], *, header: bool = True, escape_formulas: bool = True
) -> None:
    """Write a header, unless these rows follow others, and the rows; numbers with six digits, nothing for NaN."""
    writer = csv.writer(file, lineterminator="\n")
    if header:
        writer.writerow([column.name for column in columns])
    for first in range(0, len(columns[0].values), CHUNK):
        cells = [_cells(column.type, column.values[first : first + CHUNK], escape_formulas) for column in columns]
        rows = zip(*cells, strict=True)
        texts = (own for column, own in zip(columns, cells, strict=True) if column.type == "VARCHAR")
        if any("\r" in text for own in texts for text in own):
            file.writelines(map(_line_of, rows))
        else:
            writer.writerows(rows)


def save_csv(path: Path, columns: Sequence[Column], *, escape_formulas: bool = True) -> None:
    """Write a CSV file, UTF-8, through to the disk."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        write_csv(file, columns, escape_formulas=escape_formulas)
        flush(file)


def check_csv_path(path: Path) -> None:
    """Raise ValueError, before the work, if `replace_csv` cannot write there."""
    if path.is_dir():
        raise ValueError(f'"{path}" is a folder; name a file to write to')
    if not path.parent.is_dir():
        raise ValueError(f'there is no folder "{path.parent}" to write "{path.name}" to')
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ValueError(f'"{path}" cannot be written: no permission to write to "{path.parent}"')


def replace_csv(path: Path, columns: Sequence[Column], *, escape_formulas: bool = True) -> None:
    """Write a CSV file that is whole or not there; to a pipe or a device as it comes."""
    if path.exists() and not path.is_file():  # /dev/stdout
        with open(path, "w", encoding="utf-8", newline="") as stream:
            write_csv(stream, columns, escape_formulas=escape_formulas)
        return
    with replacing(path) as file:
        write_csv(codecs.getwriter("utf-8")(file), columns, escape_formulas=escape_formulas)


def save_parquet(path: Path, columns: Sequence[Column]) -> None:
    """Write a Parquet file through to the disk, by DuckDB, which takes NumPy arrays."""
    from textmix.corpus.readers.duck import connect

    target = str(path).replace("'", "''")
    values = ", ".join(_selected(column) for column in columns)
    with connect() as connection:
        connection.register("rows", as_arrays(columns))
        try:
            connection.execute(f"COPY (SELECT {values} FROM rows) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
        finally:
            connection.unregister("rows")
    with open(path, "rb+") as file:
        flush(file)


def arrow_stream(columns: Sequence[Column], requested_schema: object = None) -> object:
    """Columns as a capsule of Arrow's C stream, which other packages take; nothing in place of NaN."""
    from textmix.corpus.readers.duck import connect

    values = ", ".join(_selected(column) for column in columns)
    connection = connect()  # the stream holds on to it
    connection.register("rows", as_arrays(columns))
    return connection.sql(f"SELECT {values} FROM rows").__arrow_c_stream__(requested_schema)


def read_parquet(path: Path, columns: Sequence[str], most: int | None = None) -> list[tuple[Any, ...]]:
    """The rows of a Parquet file in their order, no more than `most`: a small file may hold billions."""
    import duckdb

    from textmix.corpus.readers.duck import connect, from_file, literal_path

    check_regular(path)
    names = ", ".join(f'"{name}"' for name in columns)
    limit = "" if most is None else f" LIMIT {most:d}"
    try:
        with connect() as connection:
            query = f"SELECT {names} FROM {from_file('read_parquet', 'binary_as_string = false')}{limit}"
            return connection.execute(query, [literal_path(path)]).fetchall()
    except duckdb.Error as error:
        raise ValueError(f"{path} is missing or damaged; cluster again") from error


def storable(text: str) -> str:
    """The text without lone surrogates, which have no UTF-8 form."""
    return text if text.isascii() or not _SURROGATES.search(text) else _SURROGATES.sub(REPLACEMENT, text)


def _line_of(row: Sequence[Any]) -> str:
    """A row whose cells are quoted also where they hold a carriage return, which ends a row to most readers.

    Writers whose rows end in a line feed quote those only from Python 3.13 on.
    """
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerow(row)
    return f"{buffer.getvalue()[:-2]}\n"


def escape_formula(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would take it for a formula; once is enough."""
    is_formula = text[:1] in _FORMULA_STARTS and not _SIGNED_NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def _cells(kind: str, values: Values, escape_formulas: bool) -> Sequence[Any]:
    """Some values of a column as CSV has them; one loop for each kind, since there may be millions."""
    # The elements of a list are read several times faster than those of an array.
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    if kind == "DOUBLE":
        return [f"{value:.6g}" if value == value else "" for value in listed]
    if kind == "BOOLEAN":
        return ["true" if value else "false" for value in listed]
    if kind == "BIGINT":
        return listed
    texts = list(map(str, listed))
    if escape_formulas:
        texts = [escape_formula(text) if text[:1] in _FORMULA_STARTS else text for text in texts]
    together = "".join(texts)
    if "\0" not in together and storable(together) is together:
        return texts
    return [storable(text).replace("\0", REPLACEMENT) for text in texts]


def _selected(column: Column) -> str:
    """A column in SQL: nothing in place of NaN, and of its own type also where it has no rows."""
    name = f'"{column.name}"'
    value = f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END" if column.type == "DOUBLE" else name
    return f"CAST({value} AS {column.type}) AS {name}"


def as_arrays(columns: Sequence[Column]) -> dict[str, NDArray[Any]]:
    """The values of columns by their names."""
    return {column.name: _array(column) for column in columns}


def _array(column: Column) -> NDArray[Any]:
    """A column as DuckDB takes it."""
    if column.type == "VARCHAR":
        array = np.empty(len(column.values), dtype=object)
        array[:] = [storable(str(value)) for value in column.values]
        return array
    kinds = {"BIGINT": np.int64, "DOUBLE": np.float64, "BOOLEAN": np.bool_}
    return np.asarray(column.values, dtype=kinds[column.type])

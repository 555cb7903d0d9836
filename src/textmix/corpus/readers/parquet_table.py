"""Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import duckdb

from textmix.corpus.readers.columns import InputColumn
from textmix.corpus.readers.duck import connect, fetch_row, from_file, literal_path, stream_rows
from textmix.corpus.readers.report import INVALID_UTF8, Fault, InputError, ReadReport
from textmix.corpus.readers.source import ByteSource
from textmix.corpus.readers.table import Row, Rows, Table, in_chunks

_OPTIONS = "binary_as_string = true"
_TABLE = from_file("read_parquet", _OPTIONS)

# How DuckDB, from some version after 1.3 on, reads what is not UTF-8, and what it says about it otherwise.
LENIENT = "utf8_validation = '{}'"
_NOT_UTF8 = re.compile(r'Invalid string encoding.*value "(.{0,60})', re.DOTALL)


class ParquetTable(Table):
    """A file that knows its columns, their types and its number of rows."""

    def __init__(self, source: ByteSource) -> None:
        self.name = source.name
        self._path = literal_path(source.path)
        try:
            with connect() as connection:
                described = connection.execute(f"DESCRIBE SELECT * FROM {_TABLE}", [self._path]).fetchall()
            self._n_rows = int(fetch_row(f"SELECT count(*) FROM {_TABLE}", [self._path])[0])
        except duckdb.Error as error:
            raise self._damaged() from error
        self.columns = [InputColumn(name, type_name == "VARCHAR") for name, type_name, *_ in described]

    def is_empty(self) -> bool:
        """Whether the file's own count is zero."""
        return self._n_rows == 0

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Straight from DuckDB, every value as text; with care from the first that is not UTF-8."""
        values = ", ".join(f"CAST({self._quoted(position)} AS VARCHAR)" for position in chosen)
        n_delivered = 0
        try:
            for rows in stream_rows(f"SELECT {values} FROM {_TABLE}", [self._path]):
                n_delivered += len(rows)
                yield rows
        except duckdb.Error as error:
            if not _NOT_UTF8.search(str(error)):
                raise self._damaged() from error
            yield from self._careful_rows(values, chosen, n_delivered, report)

    def _careful_rows(self, values: str, chosen: Sequence[int], n_delivered: int, report: ReadReport) -> Iterator[Rows]:
        try:
            yield from in_chunks(self._valid_rows(values, n_delivered, report))
        except duckdb.BinderException as error:
            raise self._not_utf8(chosen) from error
        except duckdb.Error as error:
            raise self._damaged() from error

    def _valid_rows(self, values: str, n_delivered: int, report: ReadReport) -> Iterator[Row]:
        """The rows after those delivered; one is not UTF-8 if it depends on what is done with bytes that are not."""
        tables = [from_file("read_parquet", f"{_OPTIONS}, {LENIENT.format(mode)}") for mode in ("ignore", "replace")]
        readings = [chain.from_iterable(stream_rows(f"SELECT {values} FROM {table}", [self._path])) for table in tables]
        for number, (row, other) in enumerate(zip(*readings, strict=True), start=1):
            if row != other:
                report.skip(self.name, None, Fault(INVALID_UTF8, f"row {number:,}"))
            elif number > n_delivered:
                yield row

    def _not_utf8(self, chosen: Sequence[int]) -> InputError:
        """The error that names the first column with a value that is not UTF-8, and this value."""
        for position in chosen:
            try:
                fetch_row(f"SELECT count({self._quoted(position)}) FROM {_TABLE}", [self._path])
            except duckdb.Error as error:
                found = _NOT_UTF8.search(str(error))
                value = found.group(1).partition('" is not valid')[0] if found else ""
                column = self.columns[position].name
                return InputError(
                    f'"{self.name}" holds a text that is not UTF-8 in column "{column}": "{value}"; '
                    "write it as UTF-8, or update DuckDB (pip install -U duckdb), with which such rows are skipped"
                )
        return self._damaged()

    def _quoted(self, position: int) -> str:
        """The name of a column in SQL."""
        return '"' + self.columns[position].name.replace('"', '""') + '"'

    def _damaged(self) -> InputError:
        return InputError(f'"{self.name}" is not a Parquet file, or a damaged one')

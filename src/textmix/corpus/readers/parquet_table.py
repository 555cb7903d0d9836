"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from textmix.corpus.readers.columns import Column
from textmix.corpus.readers.duck import connect, fetch_row, from_file, literal_path, stream_rows
from textmix.corpus.readers.report import InputError, ReadReport
from textmix.corpus.readers.source import Source
from textmix.corpus.readers.table import Rows, Table

_TABLE = from_file("read_parquet", "binary_as_string = true")


class ParquetTable(Table):
    """A file that knows its columns, their types and its number of rows."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self._path = literal_path(source.path)
        try:
            with connect() as connection:
                described = connection.execute(f"DESCRIBE SELECT * FROM {_TABLE}", [self._path]).fetchall()
            self._n_rows = int(fetch_row(f"SELECT count(*) FROM {_TABLE}", [self._path])[0])
        except duckdb.Error as error:
            raise self._damaged() from error
        self.columns = [Column(name, type_name == "VARCHAR") for name, type_name, *_ in described]

    def is_empty(self) -> bool:
        """Whether the file's own count is zero."""
        return self._n_rows == 0

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Straight from DuckDB, every value as text."""
        names = [self.columns[position].name.replace('"', '""') for position in chosen]
        values = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in names)
        try:
            yield from stream_rows(f"SELECT {values} FROM {_TABLE}", [self._path])
        except duckdb.Error as error:
            raise self._damaged() from error

    def _damaged(self) -> InputError:
        return InputError(f'"{self.name}" is not a Parquet file, or a damaged one')

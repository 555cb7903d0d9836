"""What every format offers: its columns and its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import duckdb

from textmix.corpus.readers.columns import InputColumn
from textmix.corpus.readers.report import InputError, ReadReport

Row = tuple[str | None, ...]
Rows = list[Row]

ROWS_PER_CHUNK = 2048
CHARACTERS_PER_CHUNK = 1 << 22


class Table(ABC):
    """An input as rows; without columns a row is a text, followed by the document's name if it has one."""

    name: str
    columns: list[InputColumn]
    has_columns = True
    has_fixed_columns = True  # every row has all columns, unlike in JSON
    has_document_names = False

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether a look at the beginning shows that there are no rows."""

    @abstractmethod
    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """The chosen columns of every row in file order, a few rows at a time; bad rows go to the report."""

    def has_hidden_column(self, name: str) -> bool:
        """Whether a column that is not in `columns` turns up when the whole file is searched for it."""
        return False


def in_chunks(rows: Iterable[Row]) -> Iterator[Rows]:
    """Collect rows into lists of bounded length and size."""
    chunk: Rows = []
    n_characters = 0
    for row in rows:
        chunk.append(row)
        n_characters += len(row[0] or "")
        if len(chunk) == ROWS_PER_CHUNK or n_characters >= CHARACTERS_PER_CHUNK:
            yield chunk
            chunk, n_characters = [], 0
    if chunk:
        yield chunk


def fast_then_careful(
    fast: Iterator[Rows], n_expected: int, careful: Callable[[int], Iterator[Rows]], name: str
) -> Iterator[Rows]:
    """The fast rows; should DuckDB fail on the way, the careful ones after those already delivered."""
    n_delivered = 0
    try:
        for rows in fast:
            n_delivered += len(rows)
            yield rows
    except duckdb.Error:
        yield from careful(n_delivered)
        return
    if n_delivered != n_expected:
        raise InputError(f"{name} holds {n_expected:,} rows but {n_delivered:,} were read; please report this")

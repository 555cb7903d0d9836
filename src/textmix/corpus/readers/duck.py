"""How DuckDB is asked: a connection for each query, names that are never patterns, rows as they come."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb

from textmix.corpus.readers.report import InputError

ROWS_PER_FETCH = 2048
MOST_THREADS = 4


def connect() -> duckdb.DuckDBPyConnection:
    """A connection to an empty database in memory that fetches no extension from the network."""
    return _database(os.getpid()).cursor()


@lru_cache(maxsize=1)
def _database(process: int) -> duckdb.DuckDBPyConnection:
    """One database for each process: to make one takes longer than to read a small file, but a fork needs its own."""
    return duckdb.connect(
        ":memory:",
        config={
            "threads": min(MOST_THREADS, os.cpu_count() or 1),
            "preserve_insertion_order": True,
            "autoinstall_known_extensions": False,
            "temp_directory": "",
        },
    )


def literal_path(path: Path) -> str:
    """The path as a pattern that matches it alone: DuckDB takes every *, ? and [ for part of a pattern."""
    name = os.path.abspath(path)
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"the name of {name!a} is not valid UTF-8; rename the file") from error
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C is Ctrl-C also while DuckDB works, which makes an error of its own of it."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def stream_rows(query: str, parameters: Sequence[object]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query, a few at a time: DuckDB reads on only as they are taken."""
    with connect() as connection:
        with interruptible():
            cursor = connection.execute(query, list(parameters))
            rows = cursor.fetchmany(ROWS_PER_FETCH)
        while rows:
            yield rows
            with interruptible():
                rows = cursor.fetchmany(ROWS_PER_FETCH)


def fetch_row(query: str, parameters: Sequence[object]) -> tuple[Any, ...]:
    """The only row of a query."""
    with connect() as connection, interruptible():
        row = connection.execute(query, list(parameters)).fetchone()
    return row if row is not None else ()

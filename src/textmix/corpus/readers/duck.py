"""How DuckDB is asked: a connection for each query, names that are only names, rows as they come."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import duckdb

from textmix.corpus.readers.report import InputError

ROWS_PER_FETCH = 2048
MOST_THREADS = 4

# What DuckDB would not take as it stands in a path: parts of patterns. Its patterns cannot name a backslash, unless
# that separates folders, on Windows.
_PATTERN_CHARACTERS = "*?["
_SPECIAL_CHARACTERS = frozenset(_PATTERN_CHARACTERS) | ({"\\"} - {os.sep})


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
            "autoload_known_extensions": False,
            "temp_directory": "",
        },
    )


def from_file(reader: str, options: str) -> str:
    """A reader of DuckDB as SQL, to which the path is a parameter; names of folders never become values."""
    return f"{reader}(?, hive_partitioning = false, {options})"


def literal_path(path: Path) -> str:
    """The file under a name that stands for it alone: its own, or that of a link to it."""
    name = os.path.abspath(path)
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"the name of {name!a} is not valid UTF-8; rename the file") from error
    return name if _SPECIAL_CHARACTERS.isdisjoint(name) else _plain_name(name)


def _plain_name(name: str) -> str:
    """A link to the file; where there can be none, a pattern that matches it, unless it has a backslash."""
    try:
        link = _link(name, os.getpid())
        if not os.path.lexists(link):  # another program has tidied up
            _link.cache_clear()
            _link_folder.cache_clear()
            link = _link(name, os.getpid())
    except OSError:  # Windows allows links to some users only
        link = name
    return "".join(f"[{character}]" if character in _PATTERN_CHARACTERS else character for character in link)


@cache
def _link(name: str, process: int) -> str:
    """A symbolic link to the file, the same whenever it is asked for."""
    link = os.path.join(tempfile.mkdtemp(dir=_link_folder(process)), "file")
    os.symlink(name, link)
    return link


@lru_cache(maxsize=1)
def _link_folder(process: int) -> str:
    """The folder for the links of this process, which is gone at its end."""
    folder = tempfile.mkdtemp(prefix="textmix-")
    atexit.register(_remove_links, folder, process)
    return folder


def _remove_links(folder: str, process: int) -> None:
    if os.getpid() == process:  # a fork leaves the folder to its parent
        shutil.rmtree(folder, ignore_errors=True)


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

"""The tables of a stream's file: how they are made, what they may hold, and whether a file has these and no others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

APPLICATION_ID = 0x746D7873  # "tmxs", in the head of the file

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    time INTEGER NOT NULL,
    cluster INTEGER NOT NULL,
    probability REAL,
    outlier_score REAL,
    counts TEXT NOT NULL
);
CREATE INDEX documents_by_cluster ON documents (cluster, time);
CREATE TABLE clusters (
    id INTEGER PRIMARY KEY,
    born INTEGER NOT NULL,
    name TEXT,
    size INTEGER NOT NULL,
    n_words INTEGER NOT NULL
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    cluster INTEGER NOT NULL,
    into_cluster INTEGER,
    size INTEGER NOT NULL,
    name TEXT NOT NULL
);
"""

# What SQLite would store in a column of any type, and no stream does. Types are compared without reading texts.
_IS_TIME = "typeof({0}) = 'integer' AND {0} BETWEEN -1000000000000000 AND 1000000000000000"
_IS_CLUSTER = "typeof({0}) = 'integer' AND {0} BETWEEN -1 AND 4611686018427387904"
_IS_COUNT = "typeof({0}) = 'integer' AND {0} >= 0"
_VALID: dict[str, dict[str, str]] = {
    "meta": dict.fromkeys(("key", "value"), "typeof({0}) = 'text'"),
    "documents": {
        **dict.fromkeys(("id", "text", "counts"), "typeof({0}) = 'text'"),
        "time": _IS_TIME,
        "cluster": _IS_CLUSTER,
        **dict.fromkeys(("probability", "outlier_score"), "typeof({0}) IN ('real', 'null')"),
    },
    "clusters": {
        "id": _IS_CLUSTER,
        "born": _IS_TIME,
        "name": "typeof({0}) IN ('text', 'null')",
        **dict.fromkeys(("size", "n_words"), _IS_COUNT),
    },
    "events": {
        "number": _IS_COUNT,
        "time": _IS_TIME,
        **dict.fromkeys(("kind", "name"), "typeof({0}) = 'text'"),
        "cluster": _IS_CLUSTER,
        "into_cluster": f"{{0}} IS NULL OR {_IS_CLUSTER}",
        "size": _IS_COUNT,
    },
    "sqlite_sequence": {"seq": _IS_COUNT},
}


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        connection.execute(statement)


# The function at place k makes a file of version k one of version k + 1; the first makes an empty file a stream.
MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_create_tables]


def find_strange_objects(connection: sqlite3.Connection, version: int) -> Iterator[str]:
    """Tables that are missing or not as a version has them, and triggers, views and tables that textmix never makes."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for migrate in MIGRATIONS[:version]:
            migrate(model)
        expected = _objects(model)
    found = _objects(connection)
    for key in sorted(found.keys() - expected.keys()):
        yield f"there is a {key[0]} {key[1]!r} that textmix did not make"
    for key, definition in expected.items():
        if found.get(key) != definition:
            yield f"the {key[0]} {key[1]!r} is {'not as it should be' if key in found else 'missing'}"


def _objects(connection: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """The definition of each table, index, view and trigger by its kind and name."""
    rows = connection.execute(
        # SQLite's own statistics, which programs that look at databases may make, are harmless.
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_stat*'"
    )
    return {(str(kind), str(name)): (str(table), " ".join(str(sql).split())) for kind, name, table, sql in rows}


def find_invalid_rows(connection: sqlite3.Connection) -> Iterator[str]:
    """Tables with values that a stream never stores: one sentence for each column."""
    for table, columns in _VALID.items():
        conditions = [f"total(NOT ({valid.format(column)}))" for column, valid in columns.items()]
        numbers = connection.execute(f"SELECT {', '.join(conditions)} FROM {table}").fetchone()
        for column, number in zip(columns, numbers, strict=True):
            if number:
                yield f"table {table} has {int(number):,} rows in which {column} is not valid"

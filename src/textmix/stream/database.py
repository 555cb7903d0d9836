"""The file of a stream, an SQLite database: its tables, its version, its rows; it knows nothing of statistics."""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from textmix.results.folder import STREAM_FILE, flush_folder

FILE = STREAM_FILE
APPLICATION_ID = 0x746D7873  # "tmxs", in the head of the file
EVENTS_KEPT = 10_000

_WAIT = 60.0  # seconds for another connection to finish what it writes
_WAIT_AT_END = 1.0  # seconds for readers to finish, so that nothing is left beside the file
_ROWS_AT_ONCE = 1000
_SCHEMA = """
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


class DamagedStateError(ValueError):
    """The file cannot be read, or what it says cannot be so."""


class DocumentRow(NamedTuple):
    """A document: times are seconds since 1970, a cluster of −1 is none, counts a JSON object of words."""

    id: str
    text: str
    time: int
    cluster: int
    probability: float | None
    outlier_score: float | None
    counts: str


class ClusterRow(NamedTuple):
    """A cluster, with the name that a user gave it, and the number of its documents and of all their words."""

    id: int
    born: int
    name: str | None
    size: int
    n_words: int


class EventRow(NamedTuple):
    """Something that happened to a cluster; numbers rise."""

    number: int
    time: int
    kind: str
    cluster: int
    into: int | None
    size: int
    name: str


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)


# The function at place k makes a file of version k one of version k + 1; the first makes an empty file a stream.
MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_create_tables]


class Database:
    """A connection to the file. Threads may share it if they hold a lock of theirs."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        with self._telling():
            self._connection = _connect(path, read_only=read_only)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        version = self._checked_version()
        if self._read_only:
            if version < len(MIGRATIONS):
                raise ValueError(f'"{self.path}" is of an older textmix; open it once to bring it up to date')
            return
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = OFF")
        self._connection.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
        if version < len(MIGRATIONS):
            with self.transaction():
                self._migrate()
            flush_folder(self.path.parent)

    def _checked_version(self) -> int:
        """The version of the file, 0 for an empty one; ValueError if this textmix cannot read it."""
        application, version, n_tables = (
            self._value(sql)
            for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if application != APPLICATION_ID and (application or version or n_tables):
            raise ValueError(f'"{self.path}" is not a textmix stream')
        if version > len(MIGRATIONS):
            raise ValueError(
                f'"{self.path}" was written by a newer textmix (format {version}; this one reads up to '
                f"{len(MIGRATIONS)}); upgrade textmix"
            )
        return int(version)

    def _migrate(self) -> None:
        """Bring the file up to date, one version after the other."""
        for migrate in MIGRATIONS[self._checked_version() :]:
            migrate(self._connection)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def close(self) -> None:
        """Let go of the file. What was written ahead goes into it first, unless another connection reads just now.

        Else texts that were removed would stay beside the file as long as others have it open.
        """
        try:
            if not self._read_only:
                with suppress(sqlite3.Error):  # all that was answered is on disk in any case
                    self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * _WAIT_AT_END)}")
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is on disk when it ends, or none of it."""
        with self._telling():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever others write."""
        with self._telling():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Errors of SQLite as those of files or values, with the file's name."""
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, no permission
            raise OSError(f'"{self.path}": {error}') from error
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise ValueError(f'"{self.path}" is not a textmix stream') from error
            raise DamagedStateError(f'"{self.path}" is damaged: {error}') from error

    def _value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        return self._connection.execute(sql, parameters).fetchone()[0]

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._telling():
            return self._connection.execute(sql, parameters).fetchall()

    # ------------------------------------------------------------------ settings and state

    def read_meta(self) -> dict[str, Any]:
        """All that is stored by a key."""
        rows = self._rows("SELECT key, value FROM meta")
        try:
            return {key: json.loads(value) for key, value in rows}
        except ValueError as error:
            raise DamagedStateError(f'"{self.path}" is damaged: table meta, {error}') from error

    def put_meta(self, values: Mapping[str, Any]) -> None:
        """Store plain data by keys."""
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    # ------------------------------------------------------------------ documents

    def n_documents(self) -> int:
        """The number of documents."""
        return int(self._rows("SELECT count(*) FROM documents")[0][0])

    def documents(self) -> Iterator[DocumentRow]:
        """All documents in the order in which they came."""
        with self._telling():
            cursor = self._connection.execute(f"SELECT {_DOCUMENT} FROM documents ORDER BY sequence")
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from map(DocumentRow._make, rows)

    def document(self, id: str) -> DocumentRow | None:
        """A document by its id."""
        rows = self._rows(f"SELECT {_DOCUMENT} FROM documents WHERE id = ?", (id,))
        return DocumentRow._make(rows[0]) if rows else None

    def documents_of(self, cluster: int, limit: int) -> list[DocumentRow]:
        """The newest documents of a cluster, newest first."""
        order = "ORDER BY time DESC, sequence DESC LIMIT ?"
        rows = self._rows(f"SELECT {_DOCUMENT} FROM documents WHERE cluster = ? {order}", (cluster, limit))
        return [DocumentRow._make(row) for row in rows]

    def put_documents(self, rows: Iterable[DocumentRow]) -> None:
        """Add documents; one whose id is there takes the other's place, and is the newest then."""
        self._connection.executemany(
            f"INSERT OR REPLACE INTO documents ({_DOCUMENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
        )

    def remove_documents(self, ids: Iterable[str]) -> None:
        """Take documents out."""
        self._connection.executemany("DELETE FROM documents WHERE id = ?", ((id,) for id in ids))

    def move_documents(self, cluster: int, into: int) -> None:
        """Put all documents of a cluster into another."""
        self._connection.execute("UPDATE documents SET cluster = ? WHERE cluster = ?", (into, cluster))

    def relabel_documents(self, labels: Iterable[tuple[str, int]]) -> None:
        """Put documents, by their ids, into other clusters."""
        self._connection.executemany("UPDATE documents SET cluster = ?2 WHERE id = ?1", labels)

    # ------------------------------------------------------------------ clusters

    def clusters(self) -> list[ClusterRow]:
        """All clusters by rising id."""
        rows = self._rows("SELECT id, born, name, size, n_words FROM clusters ORDER BY id")
        return [ClusterRow._make(row) for row in rows]

    def put_clusters(self, rows: Iterable[tuple[int, int, int, int]]) -> None:
        """Write (id, born, size, n_words) of clusters; of one that is there the name and when it was born stay."""
        self._connection.executemany(
            "INSERT INTO clusters (id, born, size, n_words) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET size = excluded.size, n_words = excluded.n_words",
            rows,
        )

    def remove_clusters(self, ids: Iterable[int]) -> None:
        """Take clusters out."""
        self._connection.executemany("DELETE FROM clusters WHERE id = ?", ((id,) for id in ids))

    def name_clusters(self, names: Mapping[int, str | None]) -> None:
        """Give clusters names, or take them away."""
        rows = ((name, id) for id, name in names.items())
        self._connection.executemany("UPDATE clusters SET name = ? WHERE id = ?", rows)

    # ------------------------------------------------------------------ events

    def events(self, after: int, limit: int) -> list[EventRow]:
        """The events with higher numbers, by rising number."""
        columns = "number, time, kind, cluster, into_cluster, size, name"
        sql = f"SELECT {columns} FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return [EventRow._make(row) for row in self._rows(sql, (after, limit))]

    def last_event(self) -> int:
        """The number of the last event, 0 if there was none."""
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
        return int(rows[0][0]) if rows else 0

    def add_events(self, rows: Sequence[tuple[int, str, int, int | None, int, str]]) -> None:
        """Write (time, kind, cluster, into, size, name) of events; the oldest beyond those kept go."""
        if rows:
            self._connection.executemany(
                "INSERT INTO events (time, kind, cluster, into_cluster, size, name) VALUES (?, ?, ?, ?, ?, ?)", rows
            )
            self._connection.execute("DELETE FROM events WHERE number <= ?", (self.last_event() - EVENTS_KEPT,))

    # ------------------------------------------------------------------ the file itself

    def find_damage(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        return [text for (text,) in self._rows("PRAGMA integrity_check") if text != "ok"]


_DOCUMENT = ", ".join(DocumentRow._fields)


def copy_database(source: Path, target: Path) -> None:
    """Copy a stream's file as it is at one moment, also while it is written; the copy is whole or not there."""
    if target.exists():
        raise ValueError(f'"{target}" is there already; name a new file')
    if not target.parent.is_dir():
        raise ValueError(f'there is no folder "{target.parent}" to write "{target.name}" to')
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    database = Database(source, read_only=True)
    try:
        with database._telling(), closing(sqlite3.connect(temporary)) as copy:
            database._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, that needs none beside it
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        flush_folder(target.parent)
    finally:
        database.close()
        temporary.unlink(missing_ok=True)


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT)

"""The file of a stream as SQLite has it: opened, checked, written in transactions; it knows nothing of its rows."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from textmix.corpus.files import flush_folder
from textmix.stream import schema
from textmix.stream.side_files import Head, Reserve

TRANSACTIONS = "transactions"  # key of the table meta: how many there were

_WAIT = 60.0  # seconds for another connection to finish what it writes
_WAIT_AT_END = 1.0  # seconds for readers to finish, so that nothing is left beside the file
_HEAD_SIZE = 100  # bytes that each file of SQLite begins with
# What SQLite calls a full disk, and a quota or limit that is reached.
_FULL = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")
_NOT_TO_BE_OPENED = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
_OF_THE_SYSTEM = (*_FULL, *_NOT_TO_BE_OPENED, "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PERM")


class DamagedStateError(ValueError):
    """The file cannot be read, or what it says cannot be so."""


class DiskFullError(OSError):
    """There is no room for what is to be written."""


class StateFile:
    """A connection to the file. Threads may share it if they hold a lock of theirs."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._file = Path(os.path.realpath(path))  # beside which SQLite has its own files
        self._head, self._reserve = Head(self._file), Reserve(self._file)
        try:
            self._open()
        except DiskFullError:
            if read_only or not self._reserve.release():
                raise
            self._open()

    def _open(self) -> None:
        with self._translating_errors():
            self._check_not_emptied()
            if not self._read_only and _size(self._file) and not _size(Path(f"{self._file}-journal")):
                # Nothing is changed in a file that is refused: what is written ahead stays where it is.
                self._connection = _connect(self._file, "mode=ro")
                with closing(self._connection):
                    self._check()
                    self.verify()
            self._connection = self._connect_read_only() if self._read_only else _connect(self._file, "mode=rwc")
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _check_not_emptied(self) -> None:
        """SQLite takes a file without a whole head for a new one, and deletes what was written ahead."""
        if _size(self._file) < _HEAD_SIZE and (self._read_head() or _size(Path(f"{self._file}-wal"))):
            raise DamagedStateError(
                f'"{self.path}" is empty, but there was a stream in it; restore a copy, or delete what is beside it to '
                "begin anew"
            )

    def _connect_read_only(self) -> sqlite3.Connection:
        """In a folder that cannot be written, a file that was closed is taken as one that nobody changes."""
        connection = _connect(self._file, "mode=ro")
        try:
            connection.execute("PRAGMA user_version")
        except sqlite3.OperationalError as error:
            connection.close()
            if not _name(error).startswith(_NOT_TO_BE_OPENED) or not self._file.is_file():
                raise
            if any(_size(Path(f"{self._file}-{name}")) for name in ("wal", "journal")):
                raise OSError(
                    f'"{self.path}" was not closed, and its folder cannot be written; copy all files of the folder to '
                    "one that can be"
                ) from error
            return _connect(self._file, "mode=ro&immutable=1")
        return connection

    def _check(self) -> int:
        """The version of the file; ValueError if it is not that of a stream, or something is missing."""
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute("PRAGMA cell_size_check = ON")
        answered = self._read_head()  # before the file, to which others may write meanwhile
        version = self._checked_version()
        self._check_schema(version)
        self._check_nothing_is_lost(answered, version)
        return version

    def _prepare(self) -> None:
        version = self._check()
        if self._read_only:
            if version < len(schema.MIGRATIONS):
                raise ValueError(f'"{self.path}" is of an older textmix; open it once to bring it up to date')
            return
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = OFF")
        self._connection.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
        if version < len(schema.MIGRATIONS):  # a new file gets its tables before anything is written ahead
            with self._translating_errors(), self._all_or_nothing():
                self._migrate()
            flush_folder(self._file.parent)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._reserve.fill()

    def _checked_version(self) -> int:
        """The version of the file, 0 for an empty one; ValueError if this textmix cannot read it."""
        application, version, n_tables = (
            self._value(sql)
            for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if application != schema.APPLICATION_ID and (application or version or n_tables):
            raise ValueError(f'"{self.path}" is not a textmix stream')
        if version > len(schema.MIGRATIONS):
            raise ValueError(
                f'"{self.path}" was written by a newer textmix (format {version}; this one reads up to '
                f"{len(schema.MIGRATIONS)}); upgrade textmix"
            )
        if version <= 0 and (self._read_only or version or _size(self._file)):
            raise DamagedStateError(
                f'"{self.path}" has no stream in it; restore a copy, or delete it and what is beside it to begin anew'
            )
        return int(version)

    def _check_schema(self, version: int) -> None:
        """What a stranger put into the file, such as triggers, is never run."""
        for mistake in schema.find_strange_objects(self._connection, version):
            raise DamagedStateError(f'"{self.path}" is damaged: {mistake}')

    def _read_head(self) -> int:
        try:
            return self._head.read()
        except ValueError as error:
            raise DamagedStateError(str(error)) from error

    def _check_nothing_is_lost(self, answered: int, version: int) -> None:
        there = self._n_transactions() if version else 0
        if there < answered:
            raise DamagedStateError(
                f'"{self.path}" is damaged: the last {answered - there:,} of {answered:,} transactions that were '
                f'answered are missing, so "{self._file.name}-wal" was cut, damaged or removed, or an older copy was '
                f'put here; restore what is missing, or delete "{self._head.path.name}" to go on with what is there'
            )

    def _migrate(self) -> None:
        """Bring the file up to date, one version after the other."""
        for migrate in schema.MIGRATIONS[self._checked_version() :]:
            migrate(self._connection)
        self._connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS)}")

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
            self._head.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is on disk when it ends, or none of it."""
        with self._translating_errors():
            with self._all_or_nothing():
                yield
                number = self._n_transactions() + 1
                self.put_meta({TRANSACTIONS: number})
            self._head.write(number)
            if not self._reserve.is_there:
                self._reserve.fill()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _n_transactions(self) -> int:
        rows = self._connection.execute("SELECT value FROM meta WHERE key = ?", (TRANSACTIONS,)).fetchall()
        with self.parsing():
            return int(rows[0][0]) if rows else 0

    def checkpoint(self) -> None:
        """Put what was written ahead into the file itself, as far as others who read it allow."""
        with self._translating_errors():
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def make_room(self) -> None:
        """Give up the reserve on a full disk, and write ahead from the start again, where there is room already."""
        self._reserve.release()
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(RESTART)")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever others write."""
        with self._translating_errors():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Errors of SQLite as those of files or values, with the file's name."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            name = _name(error)
            if name.startswith(_FULL):
                raise DiskFullError(f'"{self.path}": there is no room on the disk ({error})') from error
            if name.startswith(_OF_THE_SYSTEM):
                raise OSError(f'"{self.path}": {error}') from error
            if name == "SQLITE_NOTADB":
                raise ValueError(f'"{self.path}" is not a textmix stream') from error
            raise DamagedStateError(f'"{self.path}" is damaged: {error}') from error

    @contextmanager
    def parsing(self) -> Iterator[None]:
        """Errors of what reads stored data as those of a damaged file."""
        try:
            yield
        except DamagedStateError:
            raise
        except (TypeError, AttributeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            said = str(error) if type(error) is ValueError else repr(error)
            raise DamagedStateError(f'"{self.path}" is damaged: {" ".join(said.split())[:300]}') from error

    def _value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        return self._connection.execute(sql, parameters).fetchone()[0]

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._translating_errors():
            return self._connection.execute(sql, parameters).fetchall()

    def read_meta(self) -> dict[str, Any]:
        """All that is stored by a key."""
        rows = self._rows("SELECT key, value FROM meta WHERE key <> ?", (TRANSACTIONS,))
        with self.parsing():
            return {key: _from_json(key, value) for key, value in rows}

    def put_meta(self, values: Mapping[str, Any]) -> None:
        """Store plain data by keys."""
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def find_damage(self) -> list[str]:
        """What SQLite finds wrong with the file, or else values that a stream never stores."""
        with self._translating_errors():
            found = self._connection.execute("PRAGMA integrity_check").fetchall()
            damage = [" ".join(text.split()) for (text,) in found if text != "ok"]
            return damage or list(schema.find_invalid_rows(self._connection))

    def verify(self) -> None:
        """DamagedStateError if the file is damaged."""
        for damage in self.find_damage():
            raise DamagedStateError(f'"{self.path}" is damaged: {damage}')

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy the file as it is at one moment."""
        with self._translating_errors():
            self._connection.backup(target)


def _from_json(key: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"table meta, {key}: {error}") from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.as_uri()}?{mode}"
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT)


def _name(error: sqlite3.Error) -> str:
    """What SQLite calls an error; those of Python's module have no name."""
    return getattr(error, "sqlite_errorname", None) or ""


def _size(path: Path) -> int:
    """The size of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0

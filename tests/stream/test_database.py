"""The file of a stream: rows come back as they were written, older versions are brought up to date, others refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from textmix.corpus.folder_lock import FolderLock
from textmix.stream import copies, schema
from textmix.stream import database as module
from textmix.stream.copies import copy_database
from textmix.stream.database import FILE, ClusterRow, Database, DocumentRow
from textmix.stream.schema import APPLICATION_ID
from textmix.stream.state_file import DamagedStateError


@pytest.fixture
def path(tmp_path):
    return tmp_path / FILE


@pytest.fixture
def database(path):
    with closing(Database(path)) as opened:
        yield opened


def row(id: str, cluster: int = 0, time: int = 0, text: str = "text") -> DocumentRow:
    return DocumentRow(id, text, time, cluster, 0.5, -1.0, '{"text": 1}')


def pragma(path, name):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def fill(database, *rows):
    with database.transaction():
        database.put_documents(rows)


def test_a_new_file_has_the_version_and_writes_ahead(path, database):
    assert pragma(path, "application_id") == APPLICATION_ID
    assert pragma(path, "user_version") == len(schema.MIGRATIONS)
    assert pragma(path, "journal_mode") == "wal"
    assert database._value("PRAGMA synchronous") == 2  # FULL
    assert database._value("PRAGMA foreign_keys") == 0


def test_documents_come_back_as_they_were_written(path, database):
    rows = [row("b", text="nul \0 and ☃"), row("a")._replace(probability=None, outlier_score=None)]
    fill(database, *rows)
    with closing(Database(path)) as other:
        assert list(other.documents()) == rows
        assert other.document("b") == rows[0]
        assert other.document("c") is None


def test_a_document_whose_id_is_there_takes_its_place_and_is_the_newest(database):
    fill(database, row("a"), row("b"))
    fill(database, row("a", text="other"))
    assert [(each.id, each.text) for each in database.documents()] == [("b", "text"), ("a", "other")]


def test_documents_of_a_cluster_come_newest_first(database):
    fill(database, row("old", 1, 10), row("new", 1, 30), row("other", 2, 40), row("also new", 1, 30))
    assert [each.id for each in database.documents_of(1, 2)] == ["also new", "new"]


def test_clusters_keep_their_name_and_birth_when_they_change(database):
    with database.transaction():
        database.put_clusters([(4, 100, 1, 3)])
        database.name_clusters({4: "Refunds"})
        database.put_clusters([(4, 200, 2, 6), (5, 200, 1, 2)])
        database.remove_clusters([5])
    assert database.clusters() == [ClusterRow(4, 100, "Refunds", 2, 6)]


def test_the_last_events_are_kept_and_their_numbers_go_on(database, monkeypatch):
    monkeypatch.setattr(module, "EVENTS_KEPT", 3)
    for first in (0, 4):
        with database.transaction():
            database.add_events([(0, "born", cluster, None, 1, "name") for cluster in range(first, first + 4)])
    assert [(event.number, event.cluster) for event in database.events(0, 100)] == [(6, 5), (7, 6), (8, 7)]
    assert [event.number for event in database.events(6, 1)] == [7]
    assert database.last_event() == 8


def test_a_transaction_that_fails_leaves_nothing_behind(database):
    def rows():
        yield row("a")
        raise KeyError

    with pytest.raises(KeyError), database.transaction():
        database.put_documents(rows())
    assert database.n_documents() == 0
    fill(database, row("a"))
    assert database.n_documents() == 1


def test_what_is_read_in_a_snapshot_is_of_one_moment(path, database):
    fill(database, row("a"))
    with closing(Database(path, read_only=True)) as reader, reader.snapshot():
        assert reader.n_documents() == 1
        fill(database, row("b"))
        assert reader.n_documents() == 1
    assert database.n_documents() == 2


def test_an_empty_file_becomes_a_stream(path):
    path.touch()
    with closing(Database(path)) as database:
        assert database.n_documents() == 0


def test_an_older_file_is_brought_up_to_date_step_by_step(path, monkeypatch):
    with closing(Database(path)) as database:
        fill(database, row("a"))
    add_column = ["ALTER TABLE documents ADD COLUMN author TEXT", "UPDATE documents SET author = id"]
    steps = [lambda connection, sql=sql: connection.execute(sql) for sql in add_column]
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, *steps])
    with closing(Database(path)) as database:
        assert database._rows("SELECT id, author FROM documents") == [("a", "a")]
    assert pragma(path, "user_version") == 3


def test_a_migration_that_fails_leaves_the_file_as_it_was(path, monkeypatch):
    with closing(Database(path)) as database:
        fill(database, row("a"))

    def empty_and_fail(connection):
        connection.execute("DELETE FROM documents")
        raise RuntimeError

    with monkeypatch.context() as context:
        context.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, empty_and_fail])
        with pytest.raises(RuntimeError):
            Database(path)
    with closing(Database(path)) as database:
        assert database.n_documents() == 1


def test_an_older_file_is_not_changed_by_readers(path, monkeypatch):
    Database(path).close()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, lambda connection: None])
    with pytest.raises(ValueError, match="is of an older textmix"):
        Database(path, read_only=True)


def test_a_newer_file_is_refused(path):
    Database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match=r"newer textmix \(format 99; this one reads up to 1\); upgrade"):
        Database(path)


@pytest.mark.parametrize("sql", ["CREATE TABLE photos (id)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"])
def test_a_database_of_another_program_is_refused(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
    with pytest.raises(ValueError, match="is not a textmix stream"):
        Database(path)


def test_a_file_that_is_no_database_is_refused(path):
    path.write_bytes(b"a text of some length, that is no database at all" * 50)
    with pytest.raises(ValueError, match="is not a textmix stream"):
        Database(path)


def test_a_damaged_file_is_told_as_such(path):
    with closing(Database(path)) as database:
        fill(database, *(row(str(number), text="words " * 100) for number in range(200)))
    content = bytearray(path.read_bytes())
    content[8192:-4096] = bytes(len(content) - 8192 - 4096)
    path.write_bytes(content)
    with pytest.raises(DamagedStateError, match="is damaged"):
        Database(path)
    with closing(Database(path, read_only=True)) as database, pytest.raises(DamagedStateError, match="is damaged"):
        list(database.documents())


def test_an_error_of_the_disk_is_one_of_the_system_with_the_name_of_the_file(path):
    Database(path).close()
    with (
        closing(Database(path, read_only=True)) as database,
        pytest.raises(OSError, match=r"stream\.sqlite3.*readonly"),
    ):
        fill(database, row("a"))


def test_a_copy_is_one_whole_file_of_one_moment(path, database, tmp_path):
    fill(database, row("a"))
    copy_database(path, tmp_path / "copy.sqlite3")
    fill(database, row("b"))
    with closing(Database(tmp_path / "copy.sqlite3", read_only=True)) as copy:
        assert [each.id for each in copy.documents()] == ["a"]
    assert {each.name for each in tmp_path.iterdir()} == {
        "copy.sqlite3",
        FILE,
        *(f"{FILE}-{more}" for more in ("wal", "shm", "head", "reserve")),
    }


def test_a_copy_never_overwrites(path, database, tmp_path):
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(ValueError, match="is there already"):
        copy_database(path, tmp_path / "precious")
    with pytest.raises(ValueError, match="there is no folder"):
        copy_database(path, tmp_path / "nowhere" / "copy")
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_copy_that_fails_leaves_nothing_behind(path, database, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(copies.os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        copy_database(path, tmp_path / "copy")
    assert not [each for each in tmp_path.iterdir() if "copy" in each.name]


def test_what_a_copy_that_was_killed_has_left_goes_with_the_next(path, database, tmp_path):
    left, used, other = (tmp_path / f".textmix-copy-{name}" for name in ("left", "used", "other"))
    for each in (left, used):
        each.mkdir()
        (each / "copy.sqlite3").write_text("texts")
    other.write_text("not a folder of ours")
    lock = FolderLock(used)
    lock.hold("")
    copy_database(path, tmp_path / "copy")
    assert (left.exists(), used.exists(), other.exists()) == (False, True, True)
    lock.release()
    copies.remove_abandoned_copies(tmp_path)
    assert (used.exists(), other.exists()) == (False, True)


def test_a_copy_is_locked_while_it_is_made(path, database, tmp_path, monkeypatch):
    fill(database, row("a"))
    fsync = os.fsync

    def sweep_first(descriptor):
        copies.remove_abandoned_copies(tmp_path)
        fsync(descriptor)

    monkeypatch.setattr(copies.os, "fsync", sweep_first)
    copy_database(path, tmp_path / "copy.sqlite3")
    with closing(Database(tmp_path / "copy.sqlite3", read_only=True)) as copy:
        assert copy.n_documents() == 1


def test_functions_of_a_strangers_file_are_not_run(path):
    Database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER spy AFTER INSERT ON documents BEGIN DELETE FROM documents; END")
    for read_only in (False, True):
        with pytest.raises(DamagedStateError, match="there is a trigger 'spy' that textmix did not make"):
            Database(path, read_only=read_only)

"""A stream whose files were damaged is refused in one sentence, or has all that was answered; never a traceback."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing

import pytest
from stream_texts import make_documents

from textmix.stream.checking import check_folder
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.copies import copy_database
from textmix.stream.database import FILE
from textmix.stream.durable import Document, DurableStream, Policy

TEXTS = {document.id: document.text for document in [*make_documents(30), *make_documents(30, seed=1, prefix="e")]}
PAGE = 4096


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A stream that was closed, and one that was killed, whose second half was only written ahead."""
    root = tmp_path_factory.mktemp("streams")
    documents = [Document(id, text) for id, text in TEXTS.items()]
    with DurableStream(root / "open", clusterer=StreamClusterer(beta=0.1), policy=Policy(keep=1000)) as stream:
        stream.add(documents[:30])
        stream._database.checkpoint()
        stream.add(documents[30:])
        stream.rename(stream.clusters()[0].id, "A name")
        shutil.copytree(root / "open", root / "killed")
    (root / "open").rename(root / "closed")
    return root


@pytest.fixture(params=["closed", "killed"])
def folder(request, folders, tmp_path):
    return shutil.copytree(folders / request.param, tmp_path / "state")


@pytest.fixture
def closed(folders, tmp_path):
    return shutil.copytree(folders / "closed", tmp_path / "state")


@pytest.fixture
def killed(folders, tmp_path):
    return shutil.copytree(folders / "killed", tmp_path / "state")


def refusal(call, *arguments):
    """The sentence with which a call is refused; None if it is not."""
    try:
        call(*arguments)
    except (ValueError, OSError) as error:
        said = str(error)
        assert said
        assert "\n" not in said
        return said
    return None


def use(folder):
    """Open a stream and do with it what can be done; it must have all that was answered."""
    with DurableStream(folder, create=False) as stream:
        assert {id: stream.document(id) is not None for id in TEXTS} == dict.fromkeys(TEXTS, True)
        assert stream.n_documents == len(TEXTS)
        for cluster in stream.clusters():
            assert stream.documents_of(cluster.id, 100)
        assert stream.events()
        stream.assign(["parcel late"])
        stream.add([Document("new", "parcel courier late")])
        stream.remove(["new"])
        assert stream.check() == []


def outcome(folder):
    """The sentence with which the stream is refused; None: it has all that was answered. A check says the same."""
    mistakes, before = [], contents(folder)
    refused_check = refusal(lambda: mistakes.extend(check_folder(folder)))
    refused_copy = refusal(copy_database, folder / FILE, folder.parent / "copy.sqlite3")
    refused = refusal(use, folder)
    assert bool(refused) == bool(refused_check or mistakes), (refused, refused_check, mistakes)
    assert all("\n" not in mistake for mistake in mistakes)
    assert refused_copy is None or refused
    assert not refused or contents(folder).items() >= before.items()  # nothing was changed
    return refused


def contents(folder):
    """What is in each file but the index of what was written ahead, which anyone who reads makes anew."""
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name != f"{FILE}-shm"}


def change(folder, *statements):
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def overwrite(path, start, data):
    content = bytearray(path.read_bytes())
    content[start : start + len(data)] = data
    path.write_bytes(content)


def test_what_was_not_damaged_has_all_that_was_answered(folder):
    assert outcome(folder) is None


# ---------------------------------------------------------------------- the file itself


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_file_that_was_cut_is_refused(folder, share):
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[: int(share * len(content))])
    assert outcome(folder)


def test_pages_of_zeros_are_refused(closed, tmp_path):
    n_pages = (closed / FILE).stat().st_size // PAGE
    for page in range(n_pages):
        folder = shutil.copytree(closed, tmp_path / f"page{page}" / "state")
        overwrite(folder / FILE, page * PAGE, bytes(PAGE))
        assert outcome(folder), page


@pytest.mark.parametrize("seed", range(60))
def test_flipped_bits_never_give_a_traceback(closed, seed):
    rng = random.Random(seed)
    size = (closed / FILE).stat().st_size
    for _ in range(1 + seed % 3):
        place = rng.randrange(100 if seed % 4 == 0 else size)
        byte = (closed / FILE).read_bytes()[place]
        overwrite(closed / FILE, place, bytes([byte ^ (1 << rng.randrange(8))]))
    outcome(closed)


@pytest.mark.parametrize("content", [b"a text\n" * 1000, b"x", bytes(5000), b"SQLite format 3\0" + bytes(5000)])
def test_another_file_in_its_place_is_refused(folder, content):
    (folder / FILE).write_bytes(content)
    assert outcome(folder)


def test_a_folder_in_its_place_is_refused(closed):
    (closed / FILE).unlink()
    (closed / FILE).mkdir()
    assert refusal(use, closed)
    assert refusal(check_folder, closed)


def test_a_file_that_is_missing_is_not_taken_for_a_new_stream(closed):
    (closed / FILE).unlink()
    assert "stream.sqlite3" in refusal(DurableStream, closed)


# ---------------------------------------------------------------------- what was written ahead


def cut(share):
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


WAL_DAMAGES = {
    "removed": lambda path: path.unlink(),
    "emptied": cut(0),
    "cut in its head": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "cut to a quarter": cut(0.25),
    "cut by half": cut(0.5),
    "cut at its end": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "garbage": lambda path: path.write_bytes(random.Random(0).randbytes(path.stat().st_size)),
    "a flipped byte": lambda path: overwrite(path, path.stat().st_size // 2, b"\xff"),
    "another head": lambda path: overwrite(path, 0, b"\xff" * 32),
}


@pytest.mark.parametrize("damage", WAL_DAMAGES)
def test_lost_transactions_are_noticed(killed, damage):
    WAL_DAMAGES[damage](killed / f"{FILE}-wal")
    assert "transactions that were answered are missing" in outcome(killed)


def test_a_stream_goes_on_without_what_is_lost_when_told_to(killed):
    (killed / f"{FILE}-wal").unlink()
    (killed / f"{FILE}-head").unlink()
    with DurableStream(killed) as stream:
        assert (stream.n_documents, stream.check()) == (30, [])


@pytest.mark.parametrize("content", [None, b"", b"garbage" * 5000])
def test_the_index_of_what_was_written_ahead_is_made_anew(killed, content):
    (killed / f"{FILE}-shm").unlink()
    if content is not None:
        (killed / f"{FILE}-shm").write_bytes(content)
    assert outcome(killed) is None


def test_a_new_stream_is_one_before_anything_is_written_ahead(tmp_path):
    with DurableStream(tmp_path / "state"):
        shutil.copytree(tmp_path / "state", tmp_path / "killed")
    for name in ("wal", "shm", "head"):
        (tmp_path / "killed" / f"{FILE}-{name}").unlink(missing_ok=True)
    assert check_folder(tmp_path / "killed") == []


def test_a_stream_whose_creation_was_killed_is_begun_anew(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE meta (key)")
        connection.executemany("INSERT INTO meta VALUES (?)", [("x" * 1000,)] * 100)
        for name in (FILE, f"{FILE}-journal"):
            shutil.copy(tmp_path / name, folder / name)
    assert (folder / FILE).stat().st_size > 0
    assert refusal(check_folder, folder)
    with DurableStream(folder) as stream:
        stream.add(make_documents(3))
        assert (stream.n_documents, stream.check()) == (3, [])


def test_a_file_without_a_version_is_not_taken_for_a_new_stream(closed):
    change(closed, "PRAGMA user_version = 0")
    assert "has no stream in it" in outcome(closed)


@pytest.mark.parametrize("content", [b"garbage", b"00000000000000000007 00000000\n"])
def test_a_damaged_number_of_transactions_is_told(closed, content):
    (closed / f"{FILE}-head").write_bytes(content)
    assert '-head" is damaged; delete it' in outcome(closed)


@pytest.mark.parametrize("content", [b"", bytes(30)])
def test_a_number_of_transactions_that_never_reached_the_disk_is_no_damage(closed, content):
    (closed / f"{FILE}-head").write_bytes(content)
    assert outcome(closed) is None


# ---------------------------------------------------------------------- tables and rows


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE documents",
        "DROP TABLE clusters",
        "DROP TABLE events",
        "DROP TABLE meta",
        "DROP INDEX documents_by_cluster",
        "ALTER TABLE documents DROP COLUMN probability",
        "ALTER TABLE documents RENAME COLUMN time TO moment",
        "ALTER TABLE documents ADD COLUMN other TEXT",
        "CREATE VIEW other AS SELECT * FROM documents",
        "CREATE TRIGGER spy AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "CREATE TABLE other (id)",
        "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'documents'",
        "UPDATE sqlite_master SET sql = 'garbage' WHERE name = 'documents'",
        "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'clusters'",
    ],
)
def test_tables_that_are_not_those_of_a_stream_are_refused(closed, statement):
    change(closed, statement)
    assert outcome(closed)


DOCUMENT = "WHERE id = 'd0'"
META = "UPDATE meta SET value = json_set(value, '$.{}', {}) WHERE key = '{}'"


@pytest.mark.parametrize(
    "statement",
    [
        *(
            f"UPDATE documents SET counts = '{counts}' {DOCUMENT}"
            for counts in (
                "",
                "{",
                "null",
                "[1]",
                "3",
                '"x"',
                '{"parcel": "1"}',
                '{"parcel": 1.5}',
                '{"parcel": -1}',
                '{"parcel": 0}',
                '{"parcel": true}',
                '{"parcel": null}',
                '{"parcel": [1]}',
                '{"parcel": 99999999999999999999}',
                '{"parcel": 4000000000}',
                '{"parcel": NaN}',
                "[" * 100_000,
                "{}",
            )
        ),
        f"UPDATE documents SET counts = x'ff' {DOCUMENT}",
        f"UPDATE documents SET counts = 7 {DOCUMENT}",
        *(
            f"UPDATE documents SET cluster = {cluster} {DOCUMENT}"
            for cluster in (-7, -1, 1000, 2**40, 2**63 - 1, 1.5, "'x'", "x'00'")
        ),
        *(f"UPDATE documents SET time = {time} {DOCUMENT}" for time in (2**62, -(2**63) + 1, 0.5, "'x'", "x'00'")),
        *(f"UPDATE documents SET text = {text} {DOCUMENT}" for text in ("x'00'", "CAST(x'ff' AS TEXT)")),
        *(f"UPDATE documents SET id = {id} {DOCUMENT}" for id in ("x'00'", "CAST(x'ff' AS TEXT)")),
        f"UPDATE documents SET probability = 'x' {DOCUMENT}",
        f"UPDATE documents SET outlier_score = x'00' {DOCUMENT}",
        f"DELETE FROM documents {DOCUMENT}",
        "DELETE FROM documents",
        "DELETE FROM clusters WHERE id = 1",
        "UPDATE clusters SET size = size + 1",
        "UPDATE clusters SET id = id + 1000",
        "UPDATE clusters SET born = 'x'",
        "UPDATE clusters SET name = x'00'",
        "UPDATE clusters SET name = CAST(x'ff' AS TEXT)",
        "UPDATE clusters SET n_words = 'x'",
        "UPDATE events SET time = 'x'",
        "UPDATE events SET cluster = 'x'",
        "UPDATE events SET name = x'00'",
        "UPDATE events SET size = 'x'",
        "UPDATE sqlite_sequence SET seq = 'x'",
        *(f"DELETE FROM meta WHERE key = '{key}'" for key in ("settings", "policy", "state", "transactions")),
        *(
            f"UPDATE meta SET value = {value} WHERE key = '{key}'"
            for key in ("settings", "policy", "state", "transactions")
            for value in ("'}'", "'null'", "'[]'", "''", "x'00'", f"'{'[' * 100_000}'")
        ),
        *(META.format("alpha", value, "settings") for value in ("'x'", "-1", "null", "json('[]')")),
        *(META.format("beta", value, "settings") for value in ("'x'", "-1", "null", "1e999")),
        *(META.format("tokenizer", value, "settings") for value in ("'x'", "json('[]')", "json('{}')")),
        META.format("surprise", "1", "settings"),
        *(META.format("max_age", value, "policy") for value in ("1e300", "-1", "'30'", "json('[]')", "'soon'")),
        *(META.format("half_life", value, "policy") for value in ("1e300", "0", "1e-300")),
        *(META.format("keep", value, "policy") for value in ("0", "-5", "1.5", "'x'", "1e300")),
        META.format("surprise", "1", "policy"),
        *(
            META.format(key, value, "state")
            for key in ("seed", "next_number", "n_batches", "next_cluster", "next_sequence")
            for value in ("'x'", "-1", "1.5", "1e300", "null", "json('[]')")
        ),
        META.format("next_cluster", "0", "state"),
        META.format("next_sequence", "0", "state"),
        *(META.format("tokenizer", value, "state") for value in ("'x'", "json('{}')", "null")),
        *(META.format("language_evidence", value, "state") for value in ("'x'", "json('[1]')", "null")),
        META.format("language_evidence", 'json(\'{"words": {"a": "b"}}\')', "state"),
        "UPDATE meta SET value = replace(value, '\"max_age\": null', '\"max_age\": NaN') WHERE key = 'policy'",
        "UPDATE meta SET value = replace(value, '\"max_age\": null', '\"max_age\": Infinity') WHERE key = 'policy'",
    ],
)
def test_rows_that_no_stream_stores_are_refused(closed, statement):
    change(closed, statement)
    assert outcome(closed)


def test_an_id_that_is_there_twice_is_refused(closed):
    definition = "(sequence INTEGER PRIMARY KEY, id TEXT, text, time, cluster, probability, outlier_score, counts)"
    with closing(sqlite3.connect(closed / FILE)) as connection:
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'documents'").fetchone()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            f"UPDATE sqlite_master SET sql = 'CREATE TABLE documents {definition}' WHERE name = 'documents'"
        )
        connection.execute("DELETE FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_documents%'")
        connection.commit()
    with closing(sqlite3.connect(closed / FILE)) as connection:
        connection.execute("UPDATE documents SET id = 'd1' WHERE id = 'd0'")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'documents'", (sql,))
        connection.commit()
    assert outcome(closed)


def test_a_policy_that_is_not_valid_can_be_replaced(closed):
    change(closed, META.format("max_age", "1e300", "policy"))
    assert "replace it: textmix stream STATE --max-age none" in refusal(DurableStream, closed)
    DurableStream(closed, policy=Policy(max_age="30d")).close()
    with DurableStream(closed) as stream:
        assert stream.policy == Policy(max_age="30d")


def test_statistics_that_sqlite_made_are_no_damage(folder):
    change(folder, "ANALYZE")
    assert outcome(folder) is None


def test_a_stream_whose_file_was_deleted_can_be_begun_anew(folder):
    (folder / FILE).unlink()
    with pytest.raises(ValueError, match=r"is missing, .* or delete what is beside it .* to begin anew"):
        DurableStream(folder)
    for name in ("head", "wal", "shm"):
        (folder / f"{FILE}-{name}").unlink(missing_ok=True)
    with DurableStream(folder) as stream:
        assert stream.n_documents == 0

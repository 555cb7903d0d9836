"""The names of files and folders say nothing about what is in them, whatever DuckDB would make of them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import duckdb
import pytest
from reader_helpers import read, write

from textmix.corpus.readers import InputError, duck
from textmix.results.tables import read_parquet

CONTENTS = {
    "a.csv": "text,n\nright,1\n",
    "a.csv.gz": "text,n\nright,1\n",
    "a.csv.zst": "text,n\nright,1\n",
    "a.tsv": "text\tn\nright\t1\n",
    "a.jsonl": '{"text": "right"}\n',
    "a.jsonl.zst": '{"text": "right"}\n',
    "a.json": '[{"text": "right"}]',
    "a.txt": "right\nright\n",
    "a.txt.zst": "right\nright\n",
    "a.parquet": "right",
}
# A posix file system takes all of them; Windows knows a backslash as a separator only.
ODD = [
    "a\\b",
    "a\\*b",
    "a\\[b",
    "\\",
    "a\\?",
    "st*r",
    "q?",
    "br[1]",
    "[!a]",
    "**",
    "{a,b}",
    "$HOME",
    "%20",
    "a#b",
    "'",
    '"',
]


def put(path: Path, kind: str, text: str = "right") -> Path:
    """A file of this kind that holds the text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not kind.endswith("parquet"):
        return write(path, CONTENTS[kind].replace("right", text))
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "t")
        duckdb.connect().execute(f"COPY (SELECT '{text}' AS text, 1 AS row) TO '{plain}' (FORMAT parquet)")
        path.write_bytes(plain.read_bytes())
    return path


@pytest.mark.parametrize("column", ["c0", "text", "line", "json", "n"])
@pytest.mark.parametrize("kind", CONTENTS)
def test_a_folder_named_after_a_column_does_not_fill_it(tmp_path: Path, kind: str, column: str) -> None:
    path = put(tmp_path / f"{column}=wrong" / kind, kind)
    assert set(read(path).texts) == {"right"}


def test_a_folder_named_like_json_does_not_replace_the_objects(tmp_path: Path) -> None:
    assert read(put(tmp_path / 'json={"text": "wrong"}' / "a.jsonl", "a.jsonl")).texts == ["right"]


def test_a_run_in_a_folder_named_after_a_column_is_read_as_written(tmp_path: Path) -> None:
    path = put(tmp_path / "text=wrong" / "row=7" / "texts.parquet", "a.parquet")
    assert read_parquet(path, ["text", "row"]) == [("right", 1)]


@pytest.mark.skipif(os.sep == "\\", reason="Windows allows none of these names")
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", ["a.csv", "a.jsonl", "a.txt.zst", "a.parquet"])
def test_no_character_of_a_name_is_special(tmp_path: Path, kind: str, odd: str) -> None:
    suffixes = "".join(Path(kind).suffixes)
    for wrong in ("ab", "aXb", "a[b", "a*b", "q", "qq", "br1", "b", "a", "\\"):
        put(tmp_path / f"{wrong}{suffixes}", kind, "wrong")
    assert set(read(put(tmp_path / f"{odd}{suffixes}", kind)).texts) == {"right"}
    assert set(read(put(tmp_path / odd / kind, kind)).texts) == {"right"}


@pytest.mark.parametrize("kind", ["a.csv", "a.parquet", "a.txt.zst"])
def test_names_are_patterns_where_there_can_be_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", refuse)
    put(tmp_path / "br1" / kind, kind, "wrong")
    assert set(read(put(tmp_path / "br[1]" / "text=wrong" / kind, kind)).texts) == {"right"}


@pytest.mark.parametrize("scheme", ["http", "https", "s3", "gcs", "hf", "file"])
def test_an_address_is_the_name_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("a.csv", "a.jsonl", "a.parquet", "a.txt.zst"):
        with pytest.raises(InputError, match="no such file"):
            read(f"{scheme}://127.0.0.1:1/{kind}")
        with pytest.raises(InputError, match="no file matches"):
            read(f"{scheme}://127.0.0.1:1/*{kind}")
        put(tmp_path / f"{scheme}:" / "127.0.0.1:1" / kind, kind)
        assert set(read(f"{scheme}://127.0.0.1:1/{kind}").texts) == {"right"}


def test_a_tilde_is_not_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for kind in ("a.csv", "a.parquet"):
        put(tmp_path / "home" / kind, kind, "wrong")
        put(tmp_path / "~" / kind, kind)
        assert read(f"~/{kind}").texts == ["right"]


def test_duckdb_loads_nothing_that_could_reach_the_network() -> None:
    with duck.connect() as connection:
        query = "SELECT name FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions' AND value = 'false'"
        assert len(connection.execute(query).fetchall()) == 2
        with pytest.raises(duckdb.Error):
            connection.execute("SELECT * FROM read_csv('http://127.0.0.1:1/a.csv')")

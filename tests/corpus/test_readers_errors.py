"""Inputs that cannot be read: one clear sentence each, and never a traceback of DuckDB."""

from __future__ import annotations

import builtins
import gzip
import os
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from reader_helpers import read, write, zstd_frame

from textmix.corpus.readers import DocumentReader, InputError
from textmix.corpus.readers.formats import FORMAT_OPTIONS
from textmix.corpus.readers.inputs import Spool


def message(*paths: str | Path, **options: Any) -> str:
    """What the error says; one line."""
    with pytest.raises(InputError) as caught:
        read(*paths, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "tickets.csv", "id,created,text,topic\n1,2024-01-31,a,x\n")


def test_a_missing_file(table: Path) -> None:
    assert message("nowhere.csv") == 'no such file: "nowhere.csv"'
    wrong = table.with_name("tikets.csv")
    assert message(wrong) == f'no such file: "{wrong}"; did you mean "{table}"?'


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    assert message(f"{tmp_path}/*.csv") == f'no file matches "{tmp_path}/*.csv"'


def test_no_paths_at_all() -> None:
    assert message().startswith("no input was given")


def test_standard_input_given_twice() -> None:
    assert "more than once" in message("-", "-")


def test_a_missing_column(table: Path) -> None:
    has = "it has: id, created, text, topic."
    assert message(table, text="txet") == f'no column "txet" in {table}; {has} Did you mean "text"?'
    assert message(table, label="zzz") == f'no column "zzz" in {table}; {has}'


def test_a_column_is_found_in_any_case_but_an_exact_name_wins(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "TEXT,Text,n\na,b,1\n")
    assert read(path, text="Text").texts == ["b"]
    assert read(path, text="text").texts == ["a"]
    assert read(path, text="Text").report.text_column == "Text"


@pytest.mark.parametrize(
    ("header", "row", "chosen"),
    [
        ("id,Title,author", "1,a,b", "Title"),
        ("message,body", "a,b", "body"),
        ("id,words,day,ok,share", "1,hello,2024-01-31,true,0.5", "words"),
    ],
)
def test_the_text_column_is_chosen_by_name_or_as_the_only_one(
    tmp_path: Path, header: str, row: str, chosen: str
) -> None:
    path = write(tmp_path / "a.csv", f"{header}\n{row}\n")
    assert read(path).report.text_column == chosen


def test_a_text_column_that_cannot_be_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,who,what\n1,x,y\n")
    expected = f"cannot tell which column of {path} holds the texts; it has: id, who, what. Pick one with --text"
    assert message(path) == expected


def test_files_with_other_columns(tmp_path: Path, table: Path) -> None:
    other = write(tmp_path / "other.csv", "id,text,topic,tag\n1,a,x,y\n")
    expected = f'{other} has other columns than {table}: it lacks "created" and it has "tag" besides'
    assert message(table, other) == expected


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ""),
        ("a.csv", "id,text\n"),
        ("a.csv", "id,text"),
        ("a.jsonl", "\n \n"),
        ("a.json", "[]"),
        ("a.txt", ""),
        ("a.csv.gz", ""),
        ("a.csv.zst", ""),
        ("a.parquet", ""),
        ("a.unknown", ""),
    ],
)
def test_a_file_without_rows(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    assert message(path) == f'there are no rows in "{path}"'


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    duckdb.connect().execute(f"COPY (SELECT 'a' AS text WHERE false) TO '{path}'")
    assert message(path) == f'there are no rows in "{path}"'


def test_one_empty_file_among_others_is_only_noted(tmp_path: Path, table: Path) -> None:
    empty = write(tmp_path / "empty.csv", "id,created,text,topic\n")
    reading = read(empty, table)
    assert (reading.texts, reading.report.notes) == (["a"], [f"{empty} has no rows."])


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "looks like a PNG image"),
        (b"%PDF-1.7 text", "looks like a PDF file; extract its text first"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
            "looks like an old Excel or Word file; save it as CSV",
        ),
        (b"SQLite format 3\x00", "looks like an SQLite database; export the table as CSV"),
        (bytes(range(256)) * 10, "is a binary file, not text"),
        ("id,text\n1,a\n".encode("utf-16"), "is encoded as UTF-16; save it as UTF-8"),
        ("id,text\n1,a\n".encode("utf-16-le"), "seems to be encoded as UTF-16; save it as UTF-8"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl", "a.csv.gz", "a"])
def test_a_file_that_is_not_text(tmp_path: Path, name: str, content: bytes, finding: str) -> None:
    path = write(tmp_path / name, content)
    assert message(path) == f'"{path}" {finding}'


def test_a_table_whose_first_letters_are_those_of_another_format(tmp_path: Path) -> None:
    for header in ("ORCID", "BZh", "GIF8", "PAR", "Obj"):
        assert read(write(tmp_path / "a.csv", f"{header},text\n1,a\n")).texts == ["a"]


def test_archives_and_office_files(tmp_path: Path) -> None:
    members = {"zip": "a.csv", "xlsx": "xl/workbook.xml", "docx": "word/document.xml"}
    for extension, member in members.items():
        with zipfile.ZipFile(tmp_path / f"a.{extension}", "w") as archive:
            archive.writestr(member, "content")
    assert message(tmp_path / "a.zip").endswith("looks like a zip archive; unpack it first")
    assert message(tmp_path / "a.xlsx").endswith("looks like an Excel file; save it as CSV")
    assert message(tmp_path / "a.docx").endswith("looks like a Word file; save it as plain text")


def test_a_folder_without_text_files(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "text\na\n")
    assert message(tmp_path).startswith(f'the folder "{tmp_path}" holds no .txt files')
    assert f'"{tmp_path}/*.csv"' in message(tmp_path)


def test_a_folder_read_as_a_table(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "a")
    assert "give a pattern such as" in message(tmp_path, format="csv")


def test_a_folder_beside_a_file(tmp_path: Path, table: Path) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "a.txt", "a")
    assert "cannot be read together" in message(tmp_path / "folder", table)


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="the system has no such device")
def test_a_device_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spool, "keep", None)
    assert message(Path("/dev/zero")) == '"/dev/zero" is a device; give a file, a pipe, or - for standard input'


@pytest.mark.skipif(os.name != "posix", reason="the device has another name")
def test_the_device_without_content_has_no_rows() -> None:
    assert message(Path(os.devnull)) == f'there are no rows in "{os.devnull}"'


def test_columns_of_plain_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "a\n")
    assert message(path, text="text").startswith(f'"{path}" is plain text and has no column "text"')


def test_a_file_that_may_not_be_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = builtins.open

    def refusing_open(file: Any, *arguments: Any, **options: Any) -> Any:
        if str(file) == str(table):
            raise PermissionError(13, "Permission denied")
        return real_open(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refusing_open)
    assert message(table) == f'cannot read "{table}": permission denied'


@pytest.mark.parametrize("inner", ["csv", "jsonl", "txt"])
@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "changed", "replaced"])
def test_a_damaged_packed_file(tmp_path: Path, inner: str, packing: str, damage: str) -> None:
    line = '{"text": "a"}\n' if inner == "jsonl" else "text\n"
    data = (line * 50_000).encode()
    packed = gzip.compress(data) if packing == "gz" else zstd_frame(data)
    middle = len(packed) // 2
    if damage == "cut":
        packed = packed[: -len(packed) // 4]
    elif damage == "changed":
        packed = packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :]
        if packing == "zst":  # a frame that is not compressed shows no damage except in its headers
            packed = packed[:13] + b"\xff\xff\xff" + packed[16:]
    else:
        packed = data
    path = tmp_path / f"a.{inner}.{packing}"
    path.write_bytes(packed)
    assert message(path).startswith(f'"{path}" is damaged')


@pytest.mark.parametrize("damage", ["cut", "changed", "replaced"])
def test_a_damaged_parquet_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.parquet"
    query = f"COPY (SELECT 'text ' || hash(i) AS text FROM range(20000) t(i)) TO '{path}'"
    duckdb.connect().execute(query)
    data = bytearray(path.read_bytes())
    if damage == "changed":
        data[1000:1400] = bytes(400)
    path.write_bytes(bytes({"cut": data[:-100], "changed": data, "replaced": b"text\na\n"}[damage]))
    assert message(path) == f'"{path}" is not a Parquet file, or a damaged one'


def test_a_packed_parquet_file(tmp_path: Path) -> None:
    duckdb.connect().execute(f"COPY (SELECT 'a' AS text) TO '{tmp_path}/a.parquet'")
    path = write(tmp_path / "a.parquet.gz", (tmp_path / "a.parquet").read_bytes())
    assert message(path) == f'"{path}" is a compressed Parquet file; unpack it first'


def test_a_file_of_unknown_format(tmp_path: Path) -> None:
    path = write(tmp_path / "notes.log", "some lines\nof a log\n")
    assert message(path) == f'cannot tell what "{path}" is; say so with {FORMAT_OPTIONS}'
    assert read(path, format="txt").texts == ["some lines", "of a log"]


def test_an_unknown_format_name(table: Path) -> None:
    assert message(table, format="xml").startswith('unknown format "xml"; use one of csv, tsv, jsonl')


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", "id,text\n1\n2\n", "wrong number of columns (1 instead of 2)"),
        ("a.jsonl", "5\n6\n", "not a JSON object"),
    ],
)
def test_a_file_of_bad_rows_only(tmp_path: Path, name: str, content: str, reason: str) -> None:
    path = write(tmp_path / name, content)
    options = {"text": "text"} if name == "a.csv" else {}
    assert reason in message(path, **options)


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.csv.zst"])
def test_a_file_in_latin_1(tmp_path: Path, name: str) -> None:
    rows = "".join(f"{number},Käse und Brot\n" for number in range(60))
    rows += "".join(f"{number},bread\n" for number in range(40))
    path = write(tmp_path / name, ("id,text\n" + rows).encode("latin-1"))
    n_rows = 101 if name == "a.txt" else 100
    assert f"does not look like UTF-8: 60 of {n_rows} rows are not valid" in message(path)


def test_a_header_that_cannot_be_read(tmp_path: Path) -> None:
    for content in (b"id,caf\xe9\n1,a\n", b'id,"text\n1,a\n', b'"id" x,text\n1,a\n', b'"text\na\n'):
        path = write(tmp_path / "a.csv", content)
        assert message(path).startswith(f'the header line of "{path}" cannot be read')


def test_a_batch_size_of_nothing(table: Path) -> None:
    with pytest.raises(InputError, match="batch_size must be at least 1"):
        DocumentReader([table], batch_size=0)

"""What is read, from every format, packing and place, when all is well."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from reader_helpers import PACKINGS, read, write

from textmix.corpus.readers import DocumentReader, InputError, formats
from textmix.corpus.readers.csv_table import CsvTable
from textmix.corpus.readers.duck import interruptible
from textmix.corpus.readers.json_table import JsonTable
from textmix.corpus.readers.text_table import LinesTable

TEXTS = ["plain", 'with "quotes", a comma', "two\nlines", "ünï ✓", "  spaces  ", "", "007"]


def as_csv(delimiter: str = ",", end: str = "\n") -> str:
    rows = [f'{number}{delimiter}"{text.replace(chr(34), chr(34) * 2)}"' for number, text in enumerate(TEXTS)]
    return f"id{delimiter}text{end}" + "".join(row + end for row in rows)


def as_json_lines() -> str:
    return "".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(TEXTS))


FORMATS: dict[str, Callable[[], str]] = {
    "csv": as_csv,
    "tsv": lambda: as_csv("\t"),
    "jsonl": as_json_lines,
    "ndjson": as_json_lines,
    "json": as_json_lines,
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_and_packing_gives_the_same_documents(tmp_path: Path, format: str, packing: str) -> None:
    path = write(tmp_path / f"tickets.{format}{packing}", FORMATS[format]())
    reading = read(path, id="id")
    assert reading.texts == TEXTS
    assert reading.ids == [str(number) for number in range(len(TEXTS))]
    assert reading.report.n_rows == len(TEXTS)
    assert reading.report.text_column == "text"
    assert reading.report.files == [str(path)]
    assert reading.report.describe() == []


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_text_file_has_a_document_a_line(tmp_path: Path, packing: str) -> None:
    path = write(tmp_path / f"lines.txt{packing}", 'one\n\n  two, "2"  \nno line end')
    reading = read(path)
    assert reading.texts == ["one", "", '  two, "2"  ', "no line end"]
    assert reading.report.text_column is None


@pytest.mark.parametrize("packing", PACKINGS)
def test_windows_line_ends_are_no_part_of_the_text(tmp_path: Path, packing: str) -> None:
    assert read(write(tmp_path / f"a.txt{packing}", "one\r\n\r\ntwo\r\n")).texts == ["one", "", "two"]
    assert read(write(tmp_path / f"a.csv{packing}", "text,n\r\none,1\r\ntwo,2\r\n")).texts == ["one", "two"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_windows_rows_may_hold_other_line_ends_within_quotes(tmp_path: Path, packing: str) -> None:
    path = write(tmp_path / f"a.csv{packing}", 'id,text\r\n1,"two\nlines"\r\n2,b\r\n')
    assert read(path).texts == ["two\nlines", "b"]


@pytest.mark.parametrize("content", ["\r\n", "\r", "\n", "a\r\n", "\r\na\r\n", "\na\n", "\n\n", "\r\n\r\n"])
@pytest.mark.parametrize("packing", PACKINGS)
def test_a_blank_line_is_one_document(tmp_path: Path, content: str, packing: str) -> None:
    texts = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    assert read(write(tmp_path / f"a.txt{packing}", content)).texts == texts


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\r"])
def test_lines_are_read_alike_in_blocks_with_and_without_faults(tmp_path: Path, separator: str) -> None:
    texts = ["", "a", "", "ü\tb", "x" * 3000, "c\x1dd\x85e\u2028f"] * 1000
    lines = [text.encode() for text in texts]
    end = separator.encode()
    path = write(tmp_path / "a.txt", end.join(lines) + end)
    assert read(path).texts == texts
    lines[2500:2500] = [b"caf\xe9"]
    reading = read(write(path, end.join(lines) + end))
    assert reading.texts == texts
    assert reading.skipped == [(2501, "invalid UTF-8")]


def test_old_macintosh_line_ends_work(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.txt", "one\rtwo\r")).texts == ["one", "two"]
    assert read(write(tmp_path / "a.csv", 'id,text\r1,"a\rb"\r2,c\r')).texts == ["a\rb", "c"]


def test_line_ends_may_be_mixed(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", "id,text\r\n1,a\n2,b\r\n3,c\n")).texts == ["a", "b", "c"]


def test_a_carriage_return_within_an_unquoted_text_stays(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", "id,text\n1,a\rb\n2,c\n")).texts == ["a\rb", "c"]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.csv.zst"])
def test_a_byte_order_mark_is_removed(tmp_path: Path, name: str) -> None:
    content = {"csv": "text,n\nb,1\n", "jsonl": '{"text": "b"}\n', "txt": "b\n"}[name.split(".")[1]]
    assert read(write(tmp_path / name, "\ufeff" + content)).texts == ["b"]


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_files_that_duckdb_packed_are_read(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"a.csv.{ {'gzip': 'gz', 'zstd': 'zst'}[compression] }"
    query = f"COPY (SELECT 'text ' || i AS text FROM range(5000) t(i)) TO '{path}' (COMPRESSION {compression})"
    duckdb.connect().execute(query)
    assert read(path).texts == [f"text {number}" for number in range(5000)]


def test_parquet_is_read_with_values_of_any_type_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    values = "(1, 'one', DATE '2024-01-31', 1.5), (2, NULL, NULL, NULL)"
    duckdb.connect().execute(f"COPY (SELECT * FROM (VALUES {values}) t(id, text, day, x)) TO '{path}'")
    assert read(path, id="id", label="day").texts == ["one", ""]
    assert read(path, id="id", label="day").labels == ["2024-01-31", ""]
    assert read(path, text="x").texts == ["1.5", ""]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_is_found(tmp_path: Path, delimiter: str) -> None:
    assert read(write(tmp_path / "a.csv", as_csv(delimiter))).texts == TEXTS


def test_blank_lines_between_rows_are_no_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text\n\n1,a\n\n\n2,b\n\n")
    assert read(path).texts == ["a", "b"]
    assert read(write(tmp_path / "b.csv", "\n\nid,text\n1,a\n")).texts == ["a"]


def test_a_table_of_one_column_needs_no_quotes_around_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'text\nhello, there\n"a, ""b"""\n\nlast\n')
    assert read(path).texts == ["hello, there", 'a, "b"', "", "last"]


def test_values_that_look_like_numbers_nulls_or_comments_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text\n1,007\n2,1.50\n3,NULL\n4,\n5,#6\n6,2024-01-31\n")
    assert read(path).texts == ["007", "1.50", "NULL", "", "#6", "2024-01-31"]


def test_quotes_within_an_unquoted_value_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text\n1,he said "hi" there\n2,5" pipe\n3, "q"\n4,end"\n')
    assert read(path).texts == ['he said "hi" there', '5" pipe', ' "q"', 'end"']


def test_a_zero_byte_in_a_text_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text\n1,a longer text before\n2,b\0c\n3,ok\n")
    assert read(path).texts == ["a longer text before", "b\0c", "ok"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.txt"])
def test_a_text_of_several_megabytes_is_read(tmp_path: Path, name: str) -> None:
    long = "word " * 1_000_000
    content = {
        "csv": f'id,text\n1,a\n2,"{long}"\n3,c\n',
        "jsonl": f'{{"text": "a"}}\n{{"text": "{long}"}}\n{{"text": "c"}}\n',
        "txt": f"a\n{long}\nc\n",
    }[name.split(".")[1]]
    assert read(write(tmp_path / name, content)).texts == ["a", long, "c"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_clean_file_is_read_the_fast_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str) -> None:
    monkeypatch.setattr(JsonTable, "_careful_rows", None)
    monkeypatch.setattr(CsvTable, "_careful_rows", None)
    monkeypatch.setattr(LinesTable, "_rows", None)
    assert read(write(tmp_path / f"a.txt{packing}", "a\n\nü\n")).texts == ["a", "", "ü"]
    assert read(write(tmp_path / f"a.jsonl{packing}", as_json_lines())).texts == TEXTS
    assert read(write(tmp_path / f"a.csv{packing}", as_csv())).texts == TEXTS


def test_a_json_array_has_the_same_rules(tmp_path: Path) -> None:
    objects = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]
    for layout in (json.dumps(objects), json.dumps(objects, indent=2)):
        reading = read(write(tmp_path / "a.json", layout), id="id")
        assert (reading.texts, reading.ids) == (TEXTS, [str(number) for number in range(len(TEXTS))])
    with pytest.raises(InputError, match=r'no column "txet" in .*a.json; it has: id, text. Did you mean "text"'):
        read(tmp_path / "a.json", text="txet")


def test_json_objects_may_span_lines_or_share_one(tmp_path: Path) -> None:
    content = "\n".join(json.dumps({"text": text}, indent=1) for text in TEXTS)
    assert read(write(tmp_path / "a.json", content)).texts == TEXTS
    content = " ".join(json.dumps({"text": text}) for text in TEXTS)
    assert read(write(tmp_path / "a.json", content)).texts == TEXTS


def test_json_values_of_any_kind_become_text_alike_in_a_clean_and_in_a_broken_file(tmp_path: Path) -> None:
    values = ['"a"', "1.50", "true", "null", '{"b":[1,"ü"]}', "12345678901234567890", "[]"]
    lines = "".join(f'{{"text": {value}, "other": 1}}\n' for value in values) + '{"other": 2}\n{"other": 3}\n'
    clean = read(write(tmp_path / "a.jsonl", lines)).texts
    broken = read(write(tmp_path / "b.jsonl", lines + '{"text": \n')).texts
    assert clean == broken == ["a", "1.5", "true", "", '{"b":[1,"ü"]}', "12345678901234567890", "[]", "", ""]


def test_json_keys_may_be_named_anything(tmp_path: Path) -> None:
    for key in ("a/b", "c~d", "$.e", 'it\'s "x"', "a.b", "0", "ü"):
        path = write(tmp_path / "a.jsonl", json.dumps({key: "found", "a": {"b": "wrong"}}) + "\n")
        assert read(path, text=key).texts == ["found"]


def test_a_json_key_that_turns_up_late_is_found(tmp_path: Path) -> None:
    lines = ['{"text": "a"}\n'] * 2000 + ['{"text": "b", "topic": "late"}\n']
    reading = read(write(tmp_path / "a.jsonl", "".join(lines)), label="topic")
    assert reading.labels == [""] * 2000 + ["late"]


@pytest.mark.parametrize(
    "name",
    ["a b.csv", "it's.csv", 'dq".csv', "br[1].csv", "st*r.csv", "q?.csv", "ünï✓.csv", "-.csv", "a;--.csv"],
)
def test_a_file_may_be_named_anything(tmp_path: Path, name: str) -> None:
    for wrong in ("br1.csv", "star.csv", "qq.csv"):
        write(tmp_path / wrong, "text,n\nwrong,1\n")
    assert read(write(tmp_path / name, "text,n\nright,1\n")).texts == ["right"]
    jsonl = write(tmp_path / name.replace(".csv", ".jsonl"), '{"text": "right"}\n')
    assert read(jsonl).texts == ["right"]


def test_a_pattern_gives_its_files_in_order_of_name(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        write(tmp_path / f"{name}.csv", f"text,n\n{name},1\n")
    write(tmp_path / "d.txt", "not this one\n")
    reading = read(f"{tmp_path}/*.csv")
    assert reading.texts == ["a", "b", "c"]
    assert reading.report.files == [f"{tmp_path}/{name}.csv" for name in "abc"]


def test_several_files_may_order_their_columns_differently(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "id,text\n1,a\n")
    second = write(tmp_path / "b.csv", "text,id\nb,2\n")
    assert read(first, second, id="id").ids == ["1", "2"]


def test_a_folder_has_a_document_a_file(tmp_path: Path) -> None:
    (tmp_path / "news" / "deep").mkdir(parents=True)
    write(tmp_path / "news" / "b.txt", "two\nlines\n")
    write(tmp_path / "news" / "a.txt", "\ufeffone")
    write(tmp_path / "news" / "deep" / "c.TXT", "")
    write(tmp_path / "news" / "d.csv", "text\nnot this one\n")
    reading = read(tmp_path / "news")
    assert reading.texts == ["one", "two\nlines\n", ""]
    assert reading.ids == ["a.txt", "b.txt", "deep/c.TXT"]


def test_batches_have_the_size_asked_for_across_files(tmp_path: Path) -> None:
    rows = "".join(f"{number}\n" for number in range(5000))
    paths = [write(tmp_path / f"{name}.csv", "text\n" + rows) for name in "ab"]
    reading = read(*paths, batch_size=3000)
    assert reading.batch_sizes == [3000, 3000, 3000, 1000]
    assert reading.texts == [str(number) for number in range(5000)] * 2


def test_a_reader_can_be_read_again(tmp_path: Path) -> None:
    reader = DocumentReader([write(tmp_path / "a.csv", "id,text\n1,a\n2\n")])
    for _ in range(2):
        assert [batch.texts for batch in reader] == [["a"]]
        assert (reader.report.n_rows, reader.report.n_skipped) == (1, 1)


def set_standard_input(monkeypatch: pytest.MonkeyPatch, content: str | bytes) -> None:
    data = content.encode("utf-8") if isinstance(content, str) else content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ('{"text": "a"}\n{"text": "b"}\n', {}),
        ('[{"text": "a"}, {"text": "b"}]', {}),
        ("id,text\n1,a\n2,b\n", {}),
        ("id;words\n1;a\n2;b\n", {"text": "words"}),
        ("a\nb\n", {}),
        ("text\na\nb\n", {"format": "csv"}),
        ("text\na\nb\n", {"text": "text"}),
    ],
)
def test_the_format_of_standard_input_is_found(
    monkeypatch: pytest.MonkeyPatch, content: str, options: dict[str, str]
) -> None:
    set_standard_input(monkeypatch, content)
    reading = read("-", **options)
    assert reading.texts == ["a", "b"]
    assert reading.report.files == ["standard input"]


def test_prose_on_standard_input_is_a_document_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["Well, yes", "No, never", "Oh, my text, really", "Hm"]
    set_standard_input(monkeypatch, "\n".join(lines))
    assert read("-").texts == lines


def test_standard_input_may_be_packed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for packing in (".gz", ".zst"):
        set_standard_input(monkeypatch, write(tmp_path / f"a{packing}", "id,text\n1,a\n").read_bytes())
        assert read("-").texts == ["a"]


def test_the_copy_of_standard_input_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    set_standard_input(monkeypatch, "a\nb\n")
    reader = DocumentReader(["-"])
    assert len(list(tmp_path.iterdir())) == 1
    assert [batch.texts for batch in reader] == [batch.texts for batch in reader] == [["a", "b"]]
    del reader
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    set_standard_input(monkeypatch, "")
    with pytest.raises(InputError, match="there are no rows"):
        DocumentReader(["-"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("id,text\n1,a\n",))
    writer.start()
    assert read(path).texts == ["a"]
    writer.join()


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.dat", '{"text": "a"}\n'), ("a.data", "id,text\n1,a\n"), ("noextension", "id;text\n1;a\n")],
)
def test_the_content_tells_where_the_extension_does_not(tmp_path: Path, name: str, content: str) -> None:
    assert read(write(tmp_path / name, content)).texts == ["a"]


def test_a_given_format_beats_the_extension(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "id,text\n1,a\n")
    assert read(path).texts == ["id,text", "1,a"]
    assert read(path, format="csv").texts == ["a"]


@pytest.mark.parametrize("message", ["Query interrupted", "INTERRUPT Error: Interrupted!"])
def test_ctrl_c_while_duckdb_works_is_ctrl_c(message):
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise RuntimeError(message)  # what DuckDB makes of it


def test_other_errors_of_duckdb_stay_what_they_are():
    with pytest.raises(RuntimeError, match="another"), interruptible():
        raise RuntimeError("another")


CONTENTS = {
    "a.txt": ["one line", "a\r\nb\nc\r\n", "a\r\n\r\nb\n", "a\rb\n", "a\n\n\n", "\r\na\n", "\ra\n", "\r\n\n"],
    "a.csv": ['id,text\r\n1,"two\r\nlines"\r\n2,"b\nc"\r\n', 'text\na\r\n"b\rc"\n', 'text,id\n"a",1'],
    "a.jsonl": ['{"text": "a"}\r\n{"text": "b"}\n', '{"text": "a"}'],
}


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize(
    ("name", "content"), [(name, each) for name, contents in CONTENTS.items() for each in contents]
)
def test_a_packed_file_gives_the_rows_of_the_file_itself(tmp_path, name, content, packing):
    plain, packed = (read(write(tmp_path / f"{name}{ending}", content)) for ending in ("", packing))
    assert (packed.texts, packed.skipped, packed.report.notes) == (plain.texts, plain.skipped, plain.report.notes)


def test_no_two_formats_share_a_name_or_an_ending():
    endings = [
        ending for format in formats.FORMATS for ending in (format.name, *format.other_names, *format.other_endings)
    ]
    assert len(endings) == len(set(endings))
    assert formats.FORMATS_BY_EXTENSION.keys() == {f".{ending}" for ending in endings}

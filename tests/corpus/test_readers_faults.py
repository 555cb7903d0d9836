"""Bad rows: each is skipped, counted and reported with its line, and nothing else is lost."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from reader_helpers import PACKINGS, csv_rows, read, write

from textmix.corpus.readers import DocumentReader, InputError, SkippedRow, csv_table, parquet_table, text_table
from textmix.corpus.readers.duck import stream_rows
from textmix.corpus.readers.table import Rows

HEADER = "id,text,topic\n"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize(
    "broken_row",
    [
        '5000,"text 5000,even\n',
        '5000,text 5000,"even\n',
        '5000,""text 5000,even\n',
        '5000,"text" 5000,even\n',
    ],
)
def test_a_broken_quote_amid_ten_thousand_rows_costs_one_row(tmp_path: Path, broken_row: str, packing: str) -> None:
    content = HEADER + csv_rows(0, 5000) + broken_row + csv_rows(5001, 10_000)
    path = write(tmp_path / f"a.csv{packing}", content)
    reading = read(path, id="id")
    assert reading.ids == [str(number) for number in range(10_000) if number != 5000]
    assert (reading.report.n_rows, reading.report.n_skipped) == (9999, 1)
    (skipped,) = reading.report.skipped
    assert (skipped.file, skipped.line) == (str(path), 5002)
    assert skipped.reason in ("unclosed quote", "text after a closing quote")


def test_an_unclosed_quote_costs_one_row_where_no_other_row_has_quotes(tmp_path: Path) -> None:
    rows = [f"{number},text {number},a\n" for number in range(10_000)]
    rows[5000] = '5000,"text 5000,a\n'
    reading = read(write(tmp_path / "a.csv", HEADER + "".join(rows)), id="id")
    assert reading.ids == [str(number) for number in range(10_000) if number != 5000]
    assert reading.skipped == [(5002, "unclosed quote")]


def test_many_unclosed_quotes_cost_a_row_each(tmp_path: Path) -> None:
    rows = [f"{number},{chr(34) * (number % 7 == 3)}text {number},a\n" for number in range(10_000)]
    reading = read(write(tmp_path / "a.csv", HEADER + "".join(rows)), id="id")
    assert reading.ids == [str(number) for number in range(10_000) if number % 7 != 3]
    assert reading.report.reasons == {"unclosed quote": 1429}
    assert len(reading.report.skipped) == 100
    assert [row.line for row in reading.report.skipped[:3]] == [5, 12, 19]


def test_an_unclosed_quote_in_the_last_line_is_found(tmp_path: Path) -> None:
    reading = read(write(tmp_path / "a.csv", HEADER + '1,a,b\n2,"c,d'))
    assert (reading.texts, reading.skipped) == (["a"], [(3, "unclosed quote")])


def test_rows_before_and_after_a_broken_one_may_span_lines(tmp_path: Path) -> None:
    content = HEADER + '1,"one\ntwo, ""x""",a\n2,"broken,b\n3,"three\r\n\nfour",c\n4,plain,d\n'
    reading = read(write(tmp_path / "a.csv", content))
    assert reading.texts == ['one\ntwo, "x"', "three\r\n\nfour", "plain"]
    assert reading.skipped == [(4, "unclosed quote")]


def test_a_quoted_value_that_holds_rows_is_delivered_but_noted(tmp_path: Path) -> None:
    rows = [f"{number},text {number},a\n" for number in range(100)]
    rows[50], rows[80] = '50,"text 50,a\n', '80,text 80",a\n'
    reading = read(write(tmp_path / "a.csv", HEADER + "".join(rows)))
    assert len(reading.texts) == 70
    assert reading.report.n_skipped == 0
    (note,) = reading.report.notes
    assert "line 52: one quoted value spans 31 lines" in note


def test_rows_of_the_wrong_width_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", HEADER + "1,a,x\n2,b\n3,c,x,y\n4,d,x\n\n5,e,x,\n")
    reading = read(path)
    assert reading.texts == ["a", "d"]
    assert reading.skipped == [
        (3, "wrong number of columns (2 instead of 3)"),
        (4, "wrong number of columns (4 instead of 3)"),
        (7, "wrong number of columns (4 instead of 3)"),
    ]
    assert reading.report.reasons == {"wrong number of columns": 3}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"id,text\n1,a\n2,caf\xe9\n3,\xc3\xa9\n"),
        ("a.csv", b'id,text\n1,a\n2,"caf\xe9"\n3,\xc3\xa9\n'),
        ("a.jsonl", b'{"text": "a"}\n\n{"text": "caf\xe9"}\n{"text": "\xc3\xa9"}\n'),
        ("a.txt", b"a\n\nis caf\xe9\n\xc3\xa9\n"),
    ],
)
def test_a_row_that_is_not_utf8_is_skipped(tmp_path: Path, name: str, content: bytes, packing: str) -> None:
    reading = read(write(tmp_path / (name + packing), content))
    assert [text for text in reading.texts if text] == ["a", "é"]
    assert reading.skipped == [(3, "invalid UTF-8")]


def test_invalid_bytes_in_a_column_that_is_not_wanted_do_no_harm(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", b"name,text\nJos\xe9,a\nAna,b\n")).texts == ["a", "b"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_json_lines_that_are_no_objects_are_skipped(tmp_path: Path, packing: str) -> None:
    lines = [
        '{"text": "a"}',
        '{"text": "b',
        "",
        "5",
        '["text"]',
        "null",
        '{"text": "c"} x',
        '{"text": "d"}',
        '{"te',
    ]
    path = write(tmp_path / f"a.jsonl{packing}", "\n".join(lines))
    reading = read(path)
    assert reading.texts == ["a", "d"]
    assert [(line, reason.split(" (")[0]) for line, reason in reading.skipped] == [
        (2, "invalid JSON"),
        (4, "not a JSON object"),
        (5, "not a JSON object"),
        (6, "not a JSON object"),
        (7, "invalid JSON"),
        (9, "invalid JSON"),
    ]
    assert reading.report.reasons == {"invalid JSON": 3, "not a JSON object": 3}


def test_half_a_surrogate_pair_is_not_text(tmp_path: Path) -> None:
    content = '{"text": "\\ud83d\\ude00"}\n{"text": "\\ud800"}\n{"text": "\\u00e9"}\n'
    reading = read(write(tmp_path / "a.jsonl", content))
    assert reading.texts == ["😀", "é"]
    assert reading.skipped == [(2, "invalid JSON (half of a surrogate pair)")]


def test_missing_and_null_texts_are_empty_documents(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": null}\n{"other": 1}\n{}\n')
    reading = read(path)
    assert (reading.texts, reading.report.n_skipped) == (["a", "", "", ""], 0)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_broken_element_of_a_json_array_is_skipped(tmp_path: Path, indent: int | None) -> None:
    elements = [json.dumps({"id": number, "text": f"t{number}"}, indent=indent) for number in range(5)]
    elements[2] = elements[2].replace('"t2"', "t2")
    reading = read(write(tmp_path / "a.json", "[" + ",\n".join([*elements, "7"]) + "]"))
    assert reading.texts == ["t0", "t1", "t3", "t4"]
    line = 3 if indent is None else 9
    assert [(row.line, row.reason.split(" (")[0]) for row in reading.report.skipped] == [
        (line, "invalid JSON"),
        (6 if indent is None else 21, "not a JSON object"),
    ]


def test_a_json_array_that_breaks_off_keeps_what_is_complete(tmp_path: Path) -> None:
    content = json.dumps([{"text": f"text {number}"} for number in range(30_000)])[:-20]
    reading = read(write(tmp_path / "a.json", content))
    assert reading.texts == [f"text {number}" for number in range(29_999)]
    assert reading.report.n_skipped == 1


def test_an_invalid_byte_in_a_json_array_costs_one_element(tmp_path: Path) -> None:
    content = b'[{"text": "a"},\n{"text": "caf\xe9"},\n{"text": "\xc3\xa9"}]'
    reading = read(write(tmp_path / "a.json", content))
    assert reading.texts == ["a", "é"]
    assert reading.skipped == [(2, "invalid UTF-8")]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_a_row_longer_than_16_megabytes_is_skipped(tmp_path: Path, name: str) -> None:
    long = "x" * (17 << 20)
    content = {
        "a.csv": f"id,text\n1,a\n2,{long}\n3,c\n",
        "a.jsonl": f'{{"text": "a"}}\n{{"text": "{long}"}}\n{{"text": "c"}}\n',
        "a.txt": f"a\nb\n{long}\nc\n",
    }[name]
    reading = read(write(tmp_path / name, content))
    assert [text for text in reading.texts if text != "b"] == ["a", "c"]
    assert [reason for _, reason in reading.skipped] == ["longer than 16 MB"]
    assert reading.report.skipped[0].line == (2 if name == "a.jsonl" else 3)


def test_a_document_of_a_folder_that_is_not_text_is_skipped(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "good")
    write(tmp_path / "b.txt", b"one\nis caf\xe9")
    write(tmp_path / "c.txt", "also good".encode("utf-16"))
    reading = read(tmp_path)
    assert (reading.texts, reading.ids) == (["good"], ["a.txt"])
    assert reading.report.skipped == [
        SkippedRow(str(tmp_path / "b.txt"), 2, "invalid UTF-8"),
        SkippedRow(str(tmp_path / "c.txt"), None, "not UTF-8 text (is encoded as UTF-16; save it as UTF-8)"),
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_or_a_socket_in_a_folder_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_file(path: Path, mode: str) -> Any:
        assert path.is_file(), "to open a pipe is to wait for ever"
        return path.open(mode)

    monkeypatch.setattr(text_table, "open", open_file, raising=False)
    write(tmp_path / "a.txt", "good")
    os.mkfifo(tmp_path / "b.txt")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("c.txt")
        reading = read(tmp_path)
    assert (reading.texts, reading.ids) == (["good"], ["a.txt"])
    assert reading.report.skipped == [
        SkippedRow(str(tmp_path / name), None, "a pipe, socket or device") for name in ("b.txt", "c.txt")
    ]


def parquet_with_bad_bytes(path: Path) -> Path:
    """5,000 rows; the texts in rows 3,001 and 4,001 and the note in row 8 are not UTF-8."""
    texts = "CASE WHEN i IN (3000, 4000) THEN 'caf~ au lait' WHEN i = 10 THEN NULL ELSE 'text ' || i END"
    notes = "CASE WHEN i = 7 THEN 'na~ve' ELSE 'plain' END"
    rows = f"SELECT i AS id, {texts} AS text, {notes} AS note FROM range(5000) t(i)"
    duckdb.connect().execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet, COMPRESSION uncompressed)")
    path.write_bytes(path.read_bytes().replace(b"caf~", b"caf\xe9").replace(b"na~ve", b"na\xefve"))
    return path


@pytest.mark.skipif(tuple(map(int, duckdb.__version__.split(".")[:1])) < (2,), reason="DuckDB stops at such rows")
def test_a_parquet_row_that_is_not_utf8_is_skipped(tmp_path: Path) -> None:
    path = parquet_with_bad_bytes(tmp_path / "a.parquet")
    reading = read(path, id="id")
    assert reading.ids == [str(number) for number in range(5000) if number not in (3000, 4000)]
    assert reading.texts[10] == ""
    assert reading.texts[3000] == "text 3001"
    assert reading.skipped == [(None, "invalid UTF-8 (row 3,001)"), (None, "invalid UTF-8 (row 4,001)")]
    assert read(path, id="id", label="note").report.n_skipped == 3
    assert read(path, text="id").report.n_skipped == 0


def test_a_parquet_value_that_is_not_utf8_is_named_where_duckdb_stops_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "LENIENT", "no_such_option = '{}'")
    path = parquet_with_bad_bytes(tmp_path / "a.parquet")
    with pytest.raises(InputError) as refused:
        read(path, id="id")
    assert str(refused.value) == (
        f'"{path}" holds a text that is not UTF-8 in column "text": "caf\\xE9 au lait"; '
        "write it as UTF-8, or update DuckDB (pip install -U duckdb), with which such rows are skipped"
    )


def test_the_report_speaks_in_sentences(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text\n1,a\n" + "2\n" * 7 + '3,"b\n4,c\n')
    assert read(path).report.describe() == [
        "Skipped 8 of 10 rows: wrong number of columns 7, unclosed quote 1.",
        *(f"{path}, line {line}: wrong number of columns (1 instead of 2)." for line in range(3, 8)),
        "And 3 more.",
    ]


def test_a_failure_of_duckdb_on_the_way_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_stream = stream_rows

    def failing_stream(*arguments: Any) -> Iterator[Rows]:
        yield next(real_stream(*arguments))
        raise duckdb.Error("on the way")

    monkeypatch.setattr(csv_table, "stream_rows", failing_stream)
    reading = read(write(tmp_path / "a.csv", HEADER + csv_rows(0, 5000)), id="id")
    assert reading.ids == [str(number) for number in range(5000)]


def test_rows_that_duckdb_swallows_are_not_lost_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_stream = stream_rows

    def lossy_stream(*arguments: Any) -> Iterator[Rows]:
        yield next(real_stream(*arguments))

    monkeypatch.setattr(csv_table, "stream_rows", lossy_stream)
    with pytest.raises(InputError, match="holds 5,000 rows but 2,048 were read"):
        read(write(tmp_path / "a.csv", HEADER + csv_rows(0, 5000)))


def test_the_report_of_a_reading_that_was_not_finished_counts_what_was_delivered(tmp_path: Path) -> None:
    reader = DocumentReader([write(tmp_path / "a.csv", HEADER + csv_rows(0, 5000))], batch_size=1000)
    batches = iter(reader)
    next(batches)
    assert reader.report.n_rows == 1000

"""What holds for all tables: nothing changes on the way, both ways through agree, memory stays bounded."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reader_helpers import read, write

from textmix.corpus.readers import csv_table
from textmix.corpus.readers.csv_check import CsvCheck, check_csv
from textmix.corpus.readers.csv_records import CsvRecords
from textmix.corpus.readers.csv_table import CsvTable
from textmix.corpus.readers.report import Fault, ReadReport
from textmix.corpus.readers.source import ByteSource, split_lines

PROPERTY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
FEWER = settings(PROPERTY, max_examples=20)
MORE = settings(PROPERTY, max_examples=300)

# Control characters are left to tests of their own: a small file full of them passes for a binary one.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",;|\t\n\r')
VALUES = st.text(CHARACTERS, max_size=20)
TABLES = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=20)


def written(rows: list[tuple[str, str, str]], **options: str | int) -> str:
    content = io.StringIO()
    writer = csv.writer(content, **options)  # type: ignore[arg-type]
    writer.writerow(["id", "text", "topic"])
    writer.writerows(rows)
    return content.getvalue()


@PROPERTY
@given(rows=TABLES)
def test_what_the_csv_module_writes_comes_back(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    reading = read(write(tmp_path / "a.csv", written(rows)), id="id", label="topic")
    assert list(zip(reading.ids, reading.texts, reading.labels, strict=True)) == rows
    assert reading.report.n_skipped == 0


@PROPERTY
@given(rows=TABLES, delimiter=st.sampled_from(",;\t|"), end=st.sampled_from(["\n", "\r\n"]))
def test_what_the_csv_module_writes_comes_back_on_the_careful_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str, str]], delimiter: str, end: str
) -> None:
    monkeypatch.setattr(csv_table, "check_csv", lambda *_: CsvCheck(is_clean=False))
    content = written(rows, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    reading = read(write(tmp_path / "a.csv", content), id="id", label="topic")
    assert list(zip(reading.ids, reading.texts, reading.labels, strict=True)) == rows
    assert reading.report.n_skipped == 0


FRAGMENTS = st.sampled_from(
    ['"', '""', ",", "\n", "\r\n", "\r", "a", " ", "é", '"a"', '"a\nb"', '"a""b"', "a,b\n", "\\"]
)


@MORE
@given(body=st.lists(FRAGMENTS, min_size=1, max_size=12).map("".join), header=st.sampled_from(["x\n", "x,y\n"]))
def test_a_file_found_clean_reads_the_same_both_ways(tmp_path: Path, body: str, header: str) -> None:
    source = ByteSource(write(tmp_path / "a.csv", header + body), "a.csv")
    table = CsvTable(source, source.head())
    chosen = range(len(table.columns))
    report = ReadReport()
    careful = [tuple(value or "" for value in row) for row in table._careful_rows(chosen, report)]
    check = check_csv(source.blocks(), table._dialect.delimiter, len(table.columns))
    if check.is_clean:
        fast = [tuple(value or "" for value in row) for rows in table._fast_rows(chosen) for row in rows]
        assert check.n_records == len(careful) + 1
        assert fast == careful
        assert report.n_skipped == 0


@MORE
@given(body=st.lists(FRAGMENTS, min_size=1, max_size=30).map("".join), width=st.integers(1, 3))
def test_every_line_is_part_of_a_record_or_reported_or_blank(body: str, width: int) -> None:
    lines = list(split_lines([body.encode()]))
    n_times_covered = [0] * (len(lines) + 1)
    for number, record in CsvRecords(lines, b",", width):
        n_line_ends = 0 if isinstance(record, Fault) else sum(field.count(b"\n") for field in record)
        for covered in range(number, number + n_line_ends + 1):
            n_times_covered[covered] += 1
    for number, line in enumerate(lines, start=1):
        is_blank = line in (b"", b"\r")
        assert n_times_covered[number] == 1 or (is_blank and n_times_covered[number] == 0)


@FEWER
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=20))
def test_json_texts_come_back(tmp_path: Path, texts: list[str]) -> None:
    lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
    assert read(write(tmp_path / "a.jsonl", lines)).texts == texts
    broken = read(write(tmp_path / "b.jsonl", lines + "{\n"))
    assert (broken.texts, broken.report.n_skipped) == (texts, 1)
    array = json.dumps([{"text": text} for text in texts])
    assert read(write(tmp_path / "c.json", array)).texts == texts
    cut = read(write(tmp_path / "d.json", array[:-1]))
    assert cut.texts == texts


@pytest.mark.parametrize(
    ("content", "is_clean", "n_records"),
    [
        ("a,b\n1,2\n", True, 2),
        ("a,b\n1,2", True, 2),
        ("a,b\r\n1,2\r\n\r\n3,4", True, 3),
        ('a,b\n"1\n\r\n2","""x"""\n', True, 2),
        ("a,b\n1,2\r\n", False, None),
        ("a,b\n1\r,2\n", False, None),
        ('a,b\n1,"2\n', False, None),
        ('a,b\n1,"2"x\n', False, None),
        ('a,b\n1,x"2"\n', False, None),
        ('a,b\n1, "2"\n', False, None),
        ("a,b\n1,2,\n", False, None),
        ("a,b\n1\n", False, None),
        ("\na,b\n1,2\n", False, None),
        ("a,b\n1,\xe9\n", True, 2),
    ],
)
def test_the_check_knows_a_clean_file(content: str, is_clean: bool, n_records: int | None) -> None:
    data = content.encode("utf-8")
    for size in (1, 2, 3, len(data)):
        blocks = [data[start : start + size] for start in range(0, len(data), size)]
        check = check_csv(blocks, b",", 2)
        assert check.is_clean == is_clean
        assert n_records is None or check.n_records == n_records


def test_the_check_finds_invalid_utf8() -> None:
    assert not check_csv([b"a,b\n1,\xe9\n"], b",", 2).is_clean


@pytest.mark.parametrize("broken_row", ["", "7\n"])
def test_no_row_is_lost_or_moved_in_a_file_of_many_blocks(tmp_path: Path, broken_row: str) -> None:
    text = 'line one, with "quotes"\nline two ' * 20
    quoted = text.replace('"', '""')
    rows = "".join(f'{number},"{quoted}{number}",x\n' for number in range(20_000))
    reading = read(write(tmp_path / "a.csv", "id,text,topic\n" + rows + broken_row), id="id")
    assert reading.ids == [str(number) for number in range(20_000)]
    assert all(found == f"{text}{number}" for number, found in enumerate(reading.texts))
    assert reading.report.n_skipped == bool(broken_row)


MEASURE_MEMORY = """
import resource, sys
from textmix.corpus.readers import DocumentReader
for path in sys.argv[1:]:
    n_rows = sum(len(batch.texts) for batch in DocumentReader([path], batch_size=1000))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(n_rows, peak >> (20 if sys.platform == "darwin" else 10))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the peak of memory is measured the Unix way")
@pytest.mark.parametrize("kind", ["clean.csv", "broken.csv", "clean.jsonl", "broken.jsonl", "lines.txt"])
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path, kind: str) -> None:
    text = "word " * 300
    start, row, bad_row = {
        "csv": ("id,text\n", f"1,{text}\n", "1\n"),
        "jsonl": ("", f'{{"text": "{text}"}}\n', "{\n"),
        "txt": ("", f"{text}\n", ""),
    }[kind.split(".")[1]]
    bad_rows = bad_row if kind.startswith("broken") else ""
    small = write(tmp_path / f"small.{kind}", start + row * 8_000 + bad_rows)
    large = write(tmp_path / f"large.{kind}", start + row * 32_000 + bad_rows)
    command = [sys.executable, "-c", MEASURE_MEMORY, str(small), str(large)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    lines = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()
    n_small, small_megabytes, n_large, large_megabytes = map(int, lines)
    assert (n_small, n_large) == (8_000, 32_000)
    # The large file is 36 MB longer than the small one.
    assert large_megabytes - small_megabytes < 18


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_blank_lines_do_not_make_a_file_one_to_read_with_care(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(CsvTable, "_careful_rows", None)
    blank = "\n" * 100_000
    assert read(write(tmp_path / name, f"text,n\na,1\n{blank}b,2\n{blank}")).texts == ["a", "b"]


def test_millions_of_blank_lines_are_not_left_to_duckdb() -> None:
    blank = b"\n" * (1 << 20)
    assert check_csv([b"text,n\na,1\n", blank, blank], b",", 2).is_clean
    assert not check_csv([b"text,n\na,1\n", *[blank] * 5], b",", 2).is_clean


def test_a_check_that_stops_early_is_not_fooled_by_a_long_record() -> None:
    data = b'a,b\n1,"' + b"x" * (3 << 20) + b'"\n'
    assert not check_csv([data[start : start + 1000] for start in range(0, len(data), 1000)], b",", 2).is_clean

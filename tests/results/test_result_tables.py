"""CSV and Parquet: what goes in comes out."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from textmix.results.tables import Column, escape_formula, read_parquet, save_csv, save_parquet

TEXTS = [
    "a\rb",
    "plain",
    'with "quotes", commas',
    "two\nlines\r\nthree",
    "",
    " blanks ",
    "ümlaut 漢字 🙂",
    "tab\there",
    "'",
]


def columns(texts: list[str]) -> list[Column]:
    n = len(texts)
    return [
        Column("row", "BIGINT", np.arange(n)),
        Column("score", "DOUBLE", np.linspace(0, 1, n)),
        Column("flag", "BOOLEAN", np.arange(n) % 2 == 0),
        Column("text", "VARCHAR", texts),
    ]


def test_texts_survive_in_both_formats(tmp_path):
    save_csv(tmp_path / "t.csv", columns(TEXTS))
    save_parquet(tmp_path / "t.parquet", columns(TEXTS))
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == TEXTS
    assert [text for (text,) in read_parquet(tmp_path / "t.parquet", ["text"])] == TEXTS


def test_tables_can_be_written_one_after_the_other(tmp_path):
    for number in range(3):
        save_parquet(tmp_path / f"{number}.parquet", columns(TEXTS[: number + 1]))
    assert [len(read_parquet(tmp_path / f"{number}.parquet", ["row"])) for number in range(3)] == [1, 2, 3]


def test_more_rows_than_a_chunk_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("textmix.results.tables.CHUNK", 3)
    save_parquet(tmp_path / "t.parquet", columns(TEXTS))
    rows = read_parquet(tmp_path / "t.parquet", ["row", "text", "flag"])
    assert rows == [(i, text, i % 2 == 0) for i, text in enumerate(TEXTS)]


def test_a_null_byte_survives_in_parquet_and_is_marked_in_csv(tmp_path):
    save_csv(tmp_path / "t.csv", columns(["a\0b"]))
    save_parquet(tmp_path / "t.parquet", columns(["a\0b"]))
    assert read_parquet(tmp_path / "t.parquet", ["text"]) == [("a\0b",)]
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").endswith("a\ufffdb\n")


def test_lone_surrogates_are_marked(tmp_path):
    save_csv(tmp_path / "t.csv", columns(["a\ud800b"]))
    save_parquet(tmp_path / "t.parquet", columns(["a\ud800b"]))
    assert read_parquet(tmp_path / "t.parquet", ["text"]) == [("a\ufffdb",)]
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").endswith("a\ufffdb\n")


def test_nan_is_nothing_and_infinity_stays(tmp_path):
    table = [Column("score", "DOUBLE", np.array([math.nan, math.inf, -math.inf, 0.123456789]))]
    save_csv(tmp_path / "t.csv", table)
    save_parquet(tmp_path / "t.parquet", table)
    assert (tmp_path / "t.csv").read_text().split("\n") == ["score", '""', "inf", "-inf", "0.123457", ""]
    found = [score for (score,) in read_parquet(tmp_path / "t.parquet", ["score"])]
    assert found == [None, math.inf, -math.inf, 0.123456789]


FORMULAS = ["=1+1", "+1+1", "-1-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", '=cmd|"/c calc"!A1']
HARMLESS = ["", "a=b", " =1", "'=1", "1-1", "e-mail", "'"]


def test_texts_that_a_spreadsheet_would_run_are_escaped_in_csv_alone(tmp_path):
    table = [
        Column("number", "BIGINT", -np.arange(1, len(FORMULAS) + len(HARMLESS) + 1)),
        Column("score", "DOUBLE", np.full(len(FORMULAS) + len(HARMLESS), -0.5)),
        Column("text", "VARCHAR", [*FORMULAS, *HARMLESS]),
    ]
    for options, expected in (({}, [f"'{text}" for text in FORMULAS]), ({"escape_formulas": False}, FORMULAS)):
        save_csv(tmp_path / "t.csv", table, **options)
        with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["text"] for row in rows] == [*expected, *HARMLESS]
        assert {row["score"] for row in rows} == {"-0.5"}
        assert [int(row["number"]) for row in rows] == table[0].values.tolist()
    save_parquet(tmp_path / "t.parquet", table)
    assert [text for (text,) in read_parquet(tmp_path / "t.parquet", ["text"])] == [*FORMULAS, *HARMLESS]


def test_escaping_twice_is_escaping_once():
    for text in (*FORMULAS, *HARMLESS):
        assert escape_formula(escape_formula(text)) == escape_formula(text)


def test_odd_folder_names_are_taken_literally(tmp_path):
    folder = tmp_path / "it's [a] folder*"
    folder.mkdir()
    save_parquet(folder / "t.parquet", columns(TEXTS))
    assert len(read_parquet(folder / "t.parquet", ["text"])) == len(TEXTS)


def test_a_damaged_or_missing_parquet_file_is_reported(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nonsense")
    for name in ("t.parquet", "missing.parquet"):
        with pytest.raises(ValueError, match="missing or damaged"):
            read_parquet(tmp_path / name, ["text"])


@pytest.mark.parametrize("number", ["-1", "+5", "-3.25", "-0,5"])
def test_a_signed_number_is_no_formula(number):
    assert escape_formula(number) == number
    assert escape_formula(f"{number}+1") == f"'{number}+1"

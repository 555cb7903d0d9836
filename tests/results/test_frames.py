"""Tables as users take them."""

from __future__ import annotations

import csv
import io
import pickle
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from textmix.results.frames import Frame
from textmix.results.tables import Column


@pytest.fixture
def frame():
    return Frame(
        [
            Column("n", "BIGINT", np.array([1, 20_000], dtype=np.int32)),
            Column("x", "DOUBLE", [0.5, float("nan")]),
            Column("is", "BOOLEAN", [True, False]),
            Column("text", "VARCHAR", ["<b>", "é, \ud800"]),
        ]
    )


def without(monkeypatch, *packages):
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)


def test_it_is_a_frame_of_any_package(frame):
    for made in (frame.to_pandas(), frame.to_polars(), pandas.DataFrame(frame.to_dict())):
        assert list(made.columns) == ["n", "x", "is", "text"]
        assert made["n"].to_list() == [1, 20_000]
        assert made["text"].to_list() == ["<b>", "é, \ufffd"]
    assert frame.to_polars()["x"].to_list() == [0.5, None]
    assert frame.to_arrow().schema.names == frame.columns
    assert frame.to_arrow()["x"].null_count == 1


def test_packages_that_know_arrow_take_it_as_it_is(frame):
    assert pyarrow.table(frame).num_rows == 2
    assert polars.DataFrame(frame).shape == (2, 4)


def test_it_has_what_a_data_frame_has(frame):
    assert isinstance(frame.to_frame(), pandas.DataFrame)
    assert frame.head(1)["n"].tolist() == [1]
    assert frame[["n", "x"]].shape == (2, 2)
    assert frame["n"].tolist() == [1, 20_000]
    assert len(frame) == 2
    assert list(frame) == frame.columns
    with pytest.raises(KeyError, match="no column 'size'; there are: n, x, is, text"):
        frame["size"]
    with pytest.raises(AttributeError):
        frame.frobnicate()
    with pytest.raises(TypeError, match="this is a table; take to_pandas"):
        pandas.DataFrame(frame)


def test_without_pandas_polars_is_taken_and_without_both_it_is_said(frame, monkeypatch):
    without(monkeypatch, "pandas")
    assert isinstance(frame.to_frame(), polars.DataFrame)
    without(monkeypatch, "polars", "pyarrow")
    with pytest.raises(ImportError, match="needs the package pandas or polars"):
        frame.to_frame()
    with pytest.raises(ImportError, match="pip install pyarrow"):
        frame.to_arrow()
    assert frame["n"].tolist() == [1, 20_000]  # needs none of them


def test_csv_goes_to_a_path_or_a_file(frame, tmp_path):
    frame.to_csv(tmp_path / "table.csv")
    buffer = io.StringIO()
    frame.to_csv(buffer)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == buffer.getvalue()
    rows = list(csv.DictReader(io.StringIO(buffer.getvalue())))
    assert rows[1] == {"n": "20000", "x": "", "is": "false", "text": "é, \ufffd"}


def test_csv_escapes_formulas_unless_that_is_not_wanted():
    table, written = Frame([Column("n", "BIGINT", [-1]), Column("text", "VARCHAR", ["=1+1"])]), []
    for options in ({}, {"escape_formulas": False}):
        buffer = io.StringIO()
        table.to_csv(buffer, **options)
        written.append(buffer.getvalue())
    assert written == ["n,text\n-1,'=1+1\n", "n,text\n-1,=1+1\n"]
    assert table.to_dict() == {"n": [-1], "text": ["=1+1"]}


def test_it_is_shown_neatly_and_markup_is_text(frame):
    assert repr(frame).splitlines()[0].split() == ["n", "x", "is", "text"]
    assert "20,000" in repr(frame)
    assert "<td>&lt;b&gt;</td>" in frame._repr_html_()
    assert "<b>" not in frame._repr_html_()
    long = Frame([Column("text", "VARCHAR", ["word " * 40] * 12)])
    assert max(map(len, repr(long).splitlines())) <= 60
    assert repr(long).endswith("… 12 rows")


def test_an_empty_table_and_copies(frame):
    empty = Frame([Column("n", "BIGINT", []), Column("text", "VARCHAR", [])])
    assert len(empty) == 0
    assert empty.to_polars().shape == empty.to_pandas().shape == (0, 2)
    assert repr(empty) == "n  text"
    assert pickle.loads(pickle.dumps(frame)).to_dict()["n"] == [1, 20_000]

"""Times as people and programs write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas
import pytest

from textmix import Corpus
from textmix.corpus.times import parse_times


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-03-04", "2024-03-04T00:00:00"),
        ("20240304", "2024-03-04T00:00:00"),
        ("202403040602", "2024-03-04T06:02:00"),
        ("20240304060253", "2024-03-04T06:02:53"),
        (pandas.NA, "NaT"),
        (" 2024-03-04 06:02 ", "2024-03-04T06:02:00"),
        ("2024-03-04T06:02:53Z", "2024-03-04T06:02:53"),
        ("2024-03-04T06:02:53.75+02:00", "2024-03-04T04:02:53"),
        (1709532173, "2024-03-04T06:02:53"),
        ("1709532173", "2024-03-04T06:02:53"),
        (1709532173000, "2024-03-04T06:02:53"),
        ("1709532173.9", "2024-03-04T06:02:53"),
        (date(2024, 3, 4), "2024-03-04T00:00:00"),
        (datetime(2024, 3, 4, 6, 2, 53), "2024-03-04T06:02:53"),
        (datetime(2024, 3, 4, 6, 2, 53, tzinfo=timezone(timedelta(hours=-1))), "2024-03-04T07:02:53"),
        (datetime(2024, 3, 4, tzinfo=UTC), "2024-03-04T00:00:00"),
        (np.datetime64("2024-03-04T06:02"), "2024-03-04T06:02:00"),
        (pandas.Timestamp("2024-03-04T06:02:53Z"), "2024-03-04T06:02:53"),
        ("", "NaT"),
        (None, "NaT"),
        (float("nan"), "NaT"),
        (pandas.NaT, "NaT"),
    ],
    ids=str,
)
def test_times_are_moments_in_utc(value, expected):
    assert parse_times([value]).astype(str).tolist() == [expected]


def test_columns_of_other_packages_are_taken():
    column = pandas.Series(pandas.to_datetime(["2024-03-04", None]))
    assert parse_times(column).astype(str).tolist() == ["2024-03-04T00:00:00", "NaT"]
    assert parse_times(np.array(["2024-03-04"], dtype="datetime64[D]")).astype(str).tolist() == ["2024-03-04T00:00:00"]


@pytest.mark.parametrize("value", ["yesterday", "2024-13-01", "03/04/2024", float("inf"), True, [2024], 1e300], ids=str)
def test_what_is_no_time_is_named_with_its_row(value):
    with pytest.warns(UserWarning, match=r'column "when", row 2: .* is no time; write .* \(1 more such rows\)'):
        times = parse_times(["2024-03-04", value, value], 'column "when"')
    assert np.isnat(times).tolist() == [False, True, True]
    with pytest.raises(ValueError, match=r'column "when", row 1: .* is no time; write 2024-03-04'):
        parse_times([value], 'column "when"')


def test_a_corpus_keeps_its_times(tmp_path):
    corpus = Corpus.from_texts(["a parcel", "a van"], times=["2024-03-04", ""])
    corpus.save(tmp_path / "corpus")
    np.testing.assert_array_equal(Corpus.load(tmp_path / "corpus").times, corpus.times)
    assert Corpus.from_texts(["a parcel"]).times is None
    with pytest.raises(ValueError, match="there are 1 times, but 2 documents"):
        Corpus.from_texts(["a parcel", "a van"], times=["2024-03-04"])

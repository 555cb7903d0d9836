"""What goes into a stream and what comes out of it, as plain data."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.times import parse_times
from textmix.results.tables import REPLACEMENT

MAX_ID_LENGTH = 1000
MAX_NAME_LENGTH = 200
YEARS = range(1, 10_000)  # those that dates are written in

_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of characters, which UTF-8 cannot hold


class Document(NamedTuple):
    """A text to add: without an id it gets one; without a time it is of now. Times are as `parse_times` reads them."""

    id: str | None
    text: str
    time: Any = None


class Answer(NamedTuple):
    """Where a text went: cluster −1 and None without words; `new`: the cluster came about with it."""

    id: str
    cluster: int
    name: str
    probability: float | None
    outlier_score: float | None
    new: bool


class StoredDocument(NamedTuple):
    """A document that is kept; times are ISO 8601."""

    id: str
    text: str
    time: str
    cluster: int
    probability: float | None
    outlier_score: float | None


class StreamCluster(NamedTuple):
    """A cluster, its words the most telling first."""

    id: int
    name: str
    size: int
    words: list[tuple[str, float]]
    born: str


class StoredEvent(NamedTuple):
    """Something that happened to a cluster: born, grows, merged (into another), died."""

    number: int
    time: str
    kind: str
    cluster: int
    into: int | None
    size: int
    name: str


def check_documents(documents: Iterable[Document]) -> list[Document]:
    """The documents, each as `check_document` has it; ValueError with the place of one that cannot be stored."""
    checked = []
    for position, document in enumerate(documents):
        try:
            checked.append(check_document(document))
        except ValueError as error:
            raise ValueError(f"document {position}: {error}") from error
    return checked


def check_document(document: Document) -> Document:
    """The document with an id, a text that can be stored and its time read; ValueError if it cannot be."""
    id, text, time = document
    if not isinstance(text, str):
        raise ValueError(f"the text is {type(text).__name__}, not str")
    if id is None:
        id = uuid.uuid4().hex
    if not text.isascii():
        text = _SURROGATES.sub(REPLACEMENT, text)
    return Document(check_id(id), text, check_time(time))


def check_id(id: Any) -> str:
    """The id, if it is one."""
    if not isinstance(id, str):
        raise ValueError(f"the id is {type(id).__name__}, not str")
    if not id:
        raise ValueError("the id is empty; leave it out to have one made")
    if len(id) > MAX_ID_LENGTH:
        raise ValueError(f"the id has {len(id):,} characters; at most {MAX_ID_LENGTH:,} are allowed")
    if not id.isascii() and _SURROGATES.search(id):
        raise ValueError("the id has half a character (a surrogate) in it")
    return id


def check_name(name: str | None) -> str | None:
    """The name that a cluster is to be given, if it is one; None: none is given."""
    if name is not None and (not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_LENGTH):
        raise ValueError(f"a name is a text of 1 to {MAX_NAME_LENGTH} characters, not {name!r}")
    return name


def check_time(time: Any) -> np.datetime64 | None:
    """The moment; None if none is given."""
    if time is None:
        return None
    if isinstance(time, np.datetime64):
        return None if np.isnat(time) else _check_year(time)
    try:
        moment: np.datetime64 = parse_times([time])[0]
    except ValueError as error:
        shown = repr(str(time)[:60])
        raise ValueError(f"{shown} is no time; write 2024-03-04 or 2024-03-04T06:02:53Z") from error
    return None if np.isnat(moment) else moment


def _check_year(moment: np.datetime64) -> np.datetime64:
    """The moment, if it can be written; others would be another moment in seconds, without a word."""
    try:
        year = 1970 + int(moment.astype("datetime64[Y]").astype(np.int64))
    except OverflowError:  # units so fine that all their moments are close to 1970
        return moment
    if year not in YEARS:
        raise ValueError(f"the time is in the year {year}; times are kept of the years {YEARS[0]} to {YEARS[-1]}")
    return moment


def times_of(documents: Sequence[Document], now: int) -> NDArray[np.datetime64]:
    """The time of each document; now where there is none."""
    if all(document.time is None for document in documents):
        return np.full(len(documents), np.datetime64(now, "s"))
    return np.array([now if each.time is None else each.time for each in documents], dtype="datetime64[s]")


def iso_time(seconds: int) -> str:
    """Seconds since 1970 as ISO 8601."""
    return str(np.datetime_as_string(np.datetime64(seconds, "s"), unit="s", timezone="UTC"))


def nan_to_none(number: float | None) -> float | None:
    """The number; None for NaN."""
    return None if number is None or math.isnan(number) else float(number)


def finite_or_none(score: float | None) -> float | None:
    """The score; None for infinity, which JSON has not: the outlier score of the first text of all."""
    return score if score is not None and math.isfinite(score) else None

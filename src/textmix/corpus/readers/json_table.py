"""JSON files: an object a line, or one array of objects, or objects one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import duckdb

from textmix.corpus.readers.columns import Column
from textmix.corpus.readers.csv_check import LONGEST_MEAN_RECORD
from textmix.corpus.readers.duck import fetch_row, literal_path, stream_rows
from textmix.corpus.readers.json_records import JsonValues, Record, read_json_lines, value_text
from textmix.corpus.readers.report import Fault, ReadReport
from textmix.corpus.readers.source import LONGEST_RECORD, Source, lists_of_lines, split_lines
from textmix.corpus.readers.table import Row, Rows, Table, fast_then_careful, in_chunks

Layout = Literal["newline_delimited", "array", "unstructured"]

SAMPLED_OBJECTS = 1000

_OBJECTS = "read_json_objects(?, format = ?, compression = ?, ignore_errors = {lenient})"


class JsonTable(Table):
    """A file of objects; its columns are the keys of the first thousand."""

    has_fixed_columns = False

    def __init__(self, source: Source, head: bytes) -> None:
        self.name = source.name
        self._source = source
        self._is_empty = not head.strip()
        self._layout = _detect_layout(head)
        # Broken lines become NULL, which is counted; for other layouts DuckDB has no such mercy.
        self._objects = _OBJECTS.format(lenient=str(self._layout == "newline_delimited").lower())
        self._parameters = [literal_path(source.path), self._layout, source.compression]
        self.columns = self._sample_columns(head)

    def is_empty(self) -> bool:
        """Whether the file begins with nothing but white space."""
        return self._is_empty

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Through DuckDB if it finds an object in every line that is not blank, else with care."""
        keys = [self.columns[position].name for position in chosen]

        def careful(n_delivered: int) -> Iterator[Rows]:
            return in_chunks(islice(self._careful_rows(keys, report), n_delivered, None))

        if not self._is_clean():
            return careful(0)
        values = ", ".join("json ->> ?" for _ in keys)
        query = f"SELECT {values} FROM {self._objects}"
        return fast_then_careful(
            stream_rows(query, [*(_pointer(key) for key in keys), *self._parameters]), careful
        )

    def has_hidden_column(self, name: str) -> bool:
        """Search all objects for the key."""
        query = f"SELECT count(*) FROM (SELECT 1 FROM {self._objects} WHERE json_exists(json, ?) LIMIT 1)"
        try:
            found = bool(fetch_row(query, [*self._parameters, _pointer(name)])[0])
        except duckdb.Error:
            found = any(name in record for _, record in self._records() if isinstance(record, dict))
        if found:
            self.columns.append(Column(name, is_text=False))
        return found

    def _is_clean(self) -> bool:
        """Whether DuckDB finds as many objects as there are lines (or values) and they are not too long."""
        query = f"SELECT count(*), count(*) FILTER (json_type(json) = 'OBJECT') FROM {self._objects}"
        try:
            n_values, n_objects = fetch_row(query, self._parameters)
        except duckdb.Error:
            return False
        if n_values != n_objects:
            return False
        n_lines, n_bytes = self._measure()
        is_complete = self._layout != "newline_delimited" or n_objects == n_lines
        return is_complete and n_bytes <= LONGEST_MEAN_RECORD * max(int(n_objects), 1)

    def _measure(self) -> tuple[int, int]:
        """The number of lines that are not empty, and of bytes."""
        n_lines, n_bytes = 0, 0
        for lines in lists_of_lines(self._source.blocks()):
            n_lines += len(lines) - lines.count(b"") - lines.count(b"\r")
            n_bytes += sum(LONGEST_RECORD if line is None else len(line) for line in lines)
        return n_lines, n_bytes

    def _records(self) -> Iterator[tuple[int, Record]]:
        if self._layout == "newline_delimited":
            return read_json_lines(self._source.lines())
        return iter(JsonValues(self._source.blocks()))

    def _careful_rows(self, keys: Sequence[str], report: ReadReport) -> Iterator[Row]:
        for number, record in self._records():
            if isinstance(record, Fault):
                report.skip(self.name, number, record)
            else:
                yield tuple([value_text(record.get(key)) for key in keys])

    def _sample_columns(self, head: bytes) -> list[Column]:
        is_text: dict[str, bool] = {}
        if self._layout == "newline_delimited":
            records = read_json_lines(split_lines([head]))
        else:
            records = iter(JsonValues([head]))
        for _, record in islice(records, SAMPLED_OBJECTS):
            if isinstance(record, dict):
                for key, value in record.items():
                    is_text[key] = is_text.get(key, False) or isinstance(value, str)
        return [Column(name, flag) for name, flag in is_text.items()]


def _detect_layout(head: bytes) -> Layout:
    if re.match(rb"\s*\[", head):
        return "array"
    text = head.decode("utf-8", errors="replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return "newline_delimited"
    return "unstructured" if "\n" in text[:end] else "newline_delimited"


def _pointer(key: str) -> str:
    """The key as a JSON pointer (RFC 6901), which can name any key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")

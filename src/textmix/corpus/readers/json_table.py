"""JSON files: an object a line, or one array of objects, or objects one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import duckdb

from textmix.corpus.readers.columns import InputColumn
from textmix.corpus.readers.csv_check import LONGEST_MEAN_RECORD
from textmix.corpus.readers.duck import fetch_row, from_file, literal_path, stream_rows
from textmix.corpus.readers.json_records import JsonValues, Record, read_json_lines, value_text
from textmix.corpus.readers.report import Fault, InputError, ReadReport
from textmix.corpus.readers.source import HEAD_BYTES, LONGEST_RECORD, ByteSource, lists_of_lines, split_lines
from textmix.corpus.readers.table import Row, Rows, Table, fast_then_careful, in_chunks

Layout = Literal["newline_delimited", "array", "unstructured"]

SAMPLED_OBJECTS = 1000

_OPTIONS = "format = ?, compression = ?, ignore_errors = {lenient}"


class JsonTable(Table):
    """A file of objects; its columns are the keys of the first thousand."""

    has_fixed_columns = False

    def __init__(self, source: ByteSource, head: bytes) -> None:
        self.name = source.name
        self._source = source
        self._layout = _detect_layout(head)
        # Broken lines become NULL, which is counted; for other layouts DuckDB has no such mercy.
        options = _OPTIONS.format(lenient=str(self._layout == "newline_delimited").lower())
        self._objects = from_file("read_json_objects", options)
        self._parameters = [literal_path(source.path), self._layout, source.compression]
        sample = self._sample(head)
        self._is_empty = not sample and len(head) < HEAD_BYTES
        self.columns = self._sample_columns(sample)

    def is_empty(self) -> bool:
        """Whether the file has nothing but white space or an empty array."""
        return self._is_empty

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Through DuckDB if it finds an object in every line that is not blank, else with care."""
        keys = [self.columns[position].name for position in chosen]

        def careful(n_delivered: int) -> Iterator[Rows]:
            return in_chunks(islice(self._careful_rows(keys, report), n_delivered, None))

        n_clean = self._count_if_clean()
        if n_clean is None:
            return careful(0)
        values = ", ".join("json ->> ?" for _ in keys)
        query = f"SELECT {values} FROM {self._objects}"
        fast = stream_rows(query, [*(_pointer(key) for key in keys), *self._parameters])
        return fast_then_careful(fast, n_clean, careful, self.name)

    def has_hidden_column(self, name: str) -> bool:
        """Search all objects for the key."""
        query = f"SELECT count(*) FROM (SELECT 1 FROM {self._objects} WHERE json_exists(json, ?) LIMIT 1)"
        try:
            found = bool(fetch_row(query, [*self._parameters, _pointer(name)])[0])
        except duckdb.Error:
            found = any(name in record for _, record in self._records() if isinstance(record, dict))
        if found:
            self.columns.append(InputColumn(name, is_text=False))
        return found

    def _count_if_clean(self) -> int | None:
        """The number of objects, if every line (or value) is one and they are not too long for DuckDB."""
        query = f"SELECT count(*), count(*) FILTER (json_type(json) = 'OBJECT') FROM {self._objects}"
        try:
            n_values, n_objects = fetch_row(query, self._parameters)
        except duckdb.Error:
            return None
        if n_values != n_objects:
            return None
        n_lines, n_bytes = self._measure()
        is_complete = self._layout != "newline_delimited" or n_objects == n_lines
        return n_objects if is_complete and n_bytes <= LONGEST_MEAN_RECORD * max(n_objects, 1) else None

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

    def _sample(self, head: bytes) -> list[tuple[int, Record]]:
        is_lines = self._layout == "newline_delimited"
        records = read_json_lines(split_lines([head])) if is_lines else iter(JsonValues([head]))
        sample = list(islice(records, SAMPLED_OBJECTS))
        is_cut = len(head) >= HEAD_BYTES and bool(sample) and isinstance(sample[-1][1], Fault)
        return sample[:-1] if is_cut else sample

    def _sample_columns(self, sample: list[tuple[int, Record]]) -> list[InputColumn]:
        is_text: dict[str, bool] = {}
        faults = [(number, record) for number, record in sample if isinstance(record, Fault)]
        if faults and len(faults) == len(sample):
            number, fault = faults[0]
            raise InputError(f'"{self.name}" does not start with JSON objects; line {number}: {fault.reason}')
        for _, record in sample:
            for key, value in record.items() if isinstance(record, dict) else ():
                is_text[key] = is_text.get(key, False) or isinstance(value, str)
        return [InputColumn(name, flag) for name, flag in is_text.items()]


def _detect_layout(head: bytes) -> Layout:
    if re.match(rb"\s*\[", head):
        return "array"
    text = head.decode("utf-8", errors="replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return "newline_delimited"
    has_two_a_line = text[end:].lstrip(" \t").startswith("{")
    return "unstructured" if "\n" in text[:end] or has_two_a_line else "newline_delimited"


def _pointer(key: str) -> str:
    """The key as a JSON pointer (RFC 6901), which can name any key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")

"""The delimiter and the header of a CSV file, from its first bytes.

DuckDB's own detection is not used: for a file with one unclosed quote it decides that there are no quotes at
all and hands out the quote characters as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from textmix.corpus.readers.columns import InputColumn
from textmix.corpus.readers.csv_records import CsvRecords
from textmix.corpus.readers.report import Fault
from textmix.corpus.readers.source import HEAD_BYTES

DELIMITERS = (b",", b";", b"\t", b"|")
# In a table of one column the delimiter is one that does not occur: a comma there is part of the text.
NO_DELIMITER = b"\x1f"
SAMPLED_RECORDS = 200

_NUMBER_DATE_OR_FLAG = re.compile(
    rb"[-+]?[\d., ]*\d[\d., ]*(?:[eE][-+]?\d+)?%?"  # 1,234.5  -2e10  7%
    rb"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:.*)?"  # 2024-01-31T10:00:00Z
    rb"|true|false|yes|no|nan|null|none",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CsvDialect:
    """How a CSV file is written, and the sample that says so."""

    delimiter: bytes
    separator: bytes
    columns: tuple[InputColumn, ...]
    n_sampled: int
    n_as_wide_as_header: int

    @property
    def names(self) -> list[str]:
        """The header."""
        return [column.name for column in self.columns]

    @property
    def is_regular(self) -> bool:
        """Whether every sampled row is as wide as the header."""
        return self.n_as_wide_as_header == self.n_sampled


def detect_dialect(head: bytes, delimiter: bytes | None = None) -> CsvDialect | None:
    """The dialect in which most rows are as wide as the header; None if the header cannot be read."""
    separator = line_separator(head)
    lines = head.removesuffix(separator).split(separator)
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        del lines[-1]  # it may be cut
    if delimiter is not None:
        return _try_delimiter(lines, delimiter, separator)
    tried = [_try_delimiter(lines, candidate, separator) for candidate in DELIMITERS]
    tables = [dialect for dialect in tried if dialect is not None and len(dialect.columns) > 1]
    if not tables:
        is_header_broken = None in tried
        return None if is_header_broken else _try_delimiter(lines, NO_DELIMITER, separator)
    return max(tables, key=lambda dialect: dialect.n_as_wide_as_header / max(dialect.n_sampled, 1))


def line_separator(head: bytes) -> bytes:
    """A line feed; a carriage return in files that have no line feed (old Macintosh programs)."""
    return b"\r" if b"\n" not in head and b"\r" in head else b"\n"


def _try_delimiter(lines: list[bytes], delimiter: bytes, separator: bytes) -> CsvDialect | None:
    records = iter(CsvRecords(lines, delimiter, separator=separator))
    header = next((record for _, record in records), None)
    if header is None or isinstance(header, Fault):
        return None
    try:
        names = [name.decode("utf-8") for name in header]
    except UnicodeDecodeError:
        return None
    sample = [record for _, record in islice(records, SAMPLED_RECORDS)]
    rows = [record for record in sample if not isinstance(record, Fault)]
    columns = tuple(
        InputColumn(name, any(_is_text(row[position]) for row in rows)) for position, name in enumerate(names)
    )
    return CsvDialect(delimiter, separator, columns, len(sample), len(rows))


def _is_text(value: bytes) -> bool:
    return bool(value.strip()) and not _NUMBER_DATE_OR_FLAG.fullmatch(value.strip())

"""The formats of files that can be read: one row each, from which options, help and messages derive.

A reader is imported when a file of its format is opened, so that `textmix --help` can list the formats at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textmix.corpus.readers.source import ByteSource, Compression
    from textmix.corpus.readers.table import Table


def _open_csv(source: ByteSource, head: bytes) -> Table:
    from textmix.corpus.readers.csv_table import CsvTable

    return CsvTable(source, head)


def _open_tsv(source: ByteSource, head: bytes) -> Table:
    from textmix.corpus.readers.csv_table import CsvTable

    return CsvTable(source, head, delimiter=b"\t")


def _open_json(source: ByteSource, head: bytes) -> Table:
    from textmix.corpus.readers.json_table import JsonTable

    return JsonTable(source, head)


def _open_parquet(source: ByteSource, head: bytes) -> Table:
    from textmix.corpus.readers.parquet_table import ParquetTable

    return ParquetTable(source)


def _open_text(source: ByteSource, head: bytes) -> Table:
    from textmix.corpus.readers.text_table import LinesTable

    return LinesTable(source, head)


class Format(NamedTuple):
    """A format of files."""

    name: str  # of --format, and the ending of files
    title: str  # in help and messages
    open: Callable[[ByteSource, bytes], Table]  # a file that is not empty, and its first bytes
    other_names: tuple[str, ...] = ()  # of --format, and endings too
    other_endings: tuple[str, ...] = ()
    magic: bytes = b""  # how every file begins; files of such a format are not unpacked


FORMATS = (
    Format("csv", "CSV", _open_csv),
    Format("tsv", "TSV", _open_tsv, other_endings=("tab",)),
    Format("jsonl", "JSON", _open_json, other_names=("ndjson", "json")),
    Format("parquet", "Parquet", _open_parquet, other_endings=("pq",), magic=b"PAR1"),
    Format("txt", "text", _open_text, other_endings=("text",)),
)
FORMATS_BY_NAME = {name: format for format in FORMATS for name in (format.name, *format.other_names)}
FORMATS_BY_EXTENSION = {
    **{f".{name}": format for name, format in FORMATS_BY_NAME.items()},
    **{f".{ending}": format for format in FORMATS for ending in format.other_endings},
}
FORMAT_OPTIONS = f"--format {'|'.join(format.name for format in FORMATS)}"
COMPRESSIONS_BY_EXTENSION: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}

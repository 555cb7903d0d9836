"""CSV and TSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from textmix.corpus.readers.csv_check import check_csv
from textmix.corpus.readers.csv_dialect import CsvDialect, detect_dialect
from textmix.corpus.readers.csv_records import CsvRecords
from textmix.corpus.readers.duck import from_file, literal_path, stream_rows
from textmix.corpus.readers.report import INVALID_UTF8, Fault, InputError, ReadReport
from textmix.corpus.readers.source import HEAD_BYTES, ByteSource
from textmix.corpus.readers.table import (
    Row,
    Rows,
    Table,
    fast_then_careful,
    in_chunks,
)

# Without it DuckDB keeps 32 MB for each thread; `parallel = false` is no way to save memory, it keeps the
# whole file.
DUCKDB_BUFFER_BYTES = 8 << 20

_OPTIONS = """
    compression = ?, delim = ?, auto_detect = false, header = true, quote = '"', escape = '"', strict_mode = true,
    nullstr = '', buffer_size = {buffer}, columns = {{{columns}}}
"""


class CsvTable(Table):
    """A file of records with a header line."""

    def __init__(self, source: ByteSource, head: bytes, delimiter: bytes | None = None) -> None:
        self.name = source.name
        self._source = source
        self._is_head_all = len(head) < HEAD_BYTES
        self._dialect = _dialect(head, source.name, delimiter)
        self.columns = list(self._dialect.columns)

    def is_empty(self) -> bool:
        """Whether the file ends after its header."""
        return self._is_head_all and self._dialect.n_sampled == 0

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Through DuckDB if the file is clean, else with care."""

        def careful(n_delivered: int) -> Iterator[Rows]:
            return in_chunks(islice(self._careful_rows(chosen, report), n_delivered, None))

        check = check_csv(self._source.blocks(), self._dialect.delimiter, len(self.columns))
        if not check.is_clean:
            return careful(0)
        return fast_then_careful(self._fast_rows(chosen), check.n_records - 1, careful, self.name)

    def _fast_rows(self, chosen: Sequence[int]) -> Iterator[Rows]:
        columns = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(self.columns)))
        table = from_file("read_csv", _OPTIONS.format(columns=columns, buffer=DUCKDB_BUFFER_BYTES))
        values = ", ".join(f"c{position}" for position in chosen)
        path, compression = literal_path(self._source.path), self._source.compression
        return stream_rows(f"SELECT {values} FROM {table}", [path, compression, self._dialect.delimiter.decode()])

    def _careful_rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Row]:
        dialect = self._dialect
        lines = self._source.lines(dialect.separator)
        records = CsvRecords(lines, dialect.delimiter, len(self.columns), dialect.separator)
        for number, record in islice(records, 1, None):
            if isinstance(record, Fault):
                report.skip(self.name, number, record)
                continue
            try:
                yield tuple([record[position].decode("utf-8") for position in chosen])
            except UnicodeDecodeError:
                report.skip(self.name, number, Fault(INVALID_UTF8))
        if records.suspects:
            number, n_lines = records.suspects[0]
            n_more = len(records.suspects) - 1
            others = f" ({n_more:,} more such rows follow)" if n_more else ""
            report.notes.append(
                f"{self.name}, line {number:,}: one quoted value spans {n_lines:,} lines, many of which look "
                f"like rows; if they are rows, a quote is missing there{others}."
            )


def _dialect(head: bytes, name: str, delimiter: bytes | None) -> CsvDialect:
    dialect = detect_dialect(head, delimiter)
    if dialect is None:
        raise InputError(f'the header line of "{name}" cannot be read; it must be UTF-8 and its quotes must be closed')
    return dialect

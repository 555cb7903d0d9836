"""Plain text: a file with a document a line, or a folder with a document a file."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from textmix.corpus.readers.columns import InputColumn
from textmix.corpus.readers.csv_dialect import line_separator
from textmix.corpus.readers.identify import describe_binary
from textmix.corpus.readers.inputs import InputFolder
from textmix.corpus.readers.report import INVALID_UTF8, NOT_A_FILE, NOT_TEXT, TOO_LONG, Fault, ReadReport
from textmix.corpus.readers.source import BYTE_ORDER_MARK, HEAD_BYTES, LONGEST_RECORD, ByteSource, unreadable
from textmix.corpus.readers.table import ROWS_PER_CHUNK, Row, Rows, Table, in_chunks


class LinesTable(Table):
    """A document a line; an empty line is an empty document."""

    has_columns = False

    def __init__(self, source: ByteSource, head: bytes) -> None:
        self.name = source.name
        self.columns: list[InputColumn] = []
        self._source = source
        self._separator = line_separator(head)
        self._is_empty = not head

    def is_empty(self) -> bool:
        """Whether the file has no bytes."""
        return self._is_empty

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Many lines at a time; one by one only where some of them cannot be read."""
        first = 1
        for lines in self._source.lists_of_lines(self._separator):
            for start in range(0, len(lines), ROWS_PER_CHUNK):
                some = lines[start : start + ROWS_PER_CHUNK]
                texts = self._decode(some)
                rows: Rows = [*zip(texts)] if texts is not None else [*self._rows(some, first, report)]
                if rows:
                    yield rows
                first += len(some)

    def _decode(self, lines: Sequence[bytes | None]) -> list[str] | None:
        """The lines as texts; None if one is too long or not UTF-8."""
        try:
            together = self._separator.join(cast(Sequence[bytes], lines)).decode("utf-8")
        except (TypeError, UnicodeDecodeError):  # a line that is too long is None
            return None
        texts = together.split(self._separator.decode())
        return [text.removesuffix("\r") for text in texts] if "\r" in together else texts

    def _rows(self, lines: Sequence[bytes | None], first: int, report: ReadReport) -> Iterator[Row]:
        for number, line in enumerate(lines, start=first):
            if line is None:
                report.skip(self.name, number, Fault(TOO_LONG))
                continue
            try:
                yield (line.removesuffix(b"\r").decode("utf-8"),)
            except UnicodeDecodeError:
                report.skip(self.name, number, Fault(INVALID_UTF8))


class FolderTable(Table):
    """A document a file, its name the path within the folder."""

    has_columns = False
    has_document_names = True

    def __init__(self, folder: InputFolder) -> None:
        self.name = folder.name
        self.columns: list[InputColumn] = []
        self._folder = folder

    def is_empty(self) -> bool:
        """Never: a folder without documents is refused before."""
        return False

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """File by file."""
        return in_chunks(self._rows(report))

    def _rows(self, report: ReadReport) -> Iterator[Row]:
        for path in self._folder.files:
            content = self._read(path)
            if content is None:
                report.skip(str(path), None, Fault(NOT_A_FILE))
                continue
            not_text = describe_binary(content[:HEAD_BYTES])
            if not_text is not None or len(content) > LONGEST_RECORD:
                report.skip(str(path), None, Fault(NOT_TEXT, not_text) if not_text else Fault(TOO_LONG))
                continue
            try:
                text = content.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
            except UnicodeDecodeError as error:
                report.skip(str(path), content[: error.start].count(b"\n") + 1, Fault(INVALID_UTF8))
                continue
            yield text, path.relative_to(self._folder.path).as_posix()

    def _read(self, path: Path) -> bytes | None:
        """The beginning of a file, one byte more than may be; None for a pipe, which may never have any."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                return None
            with open(path, "rb") as file:
                return file.read(LONGEST_RECORD + 1)
        except OSError as error:
            raise unreadable(str(path), error) from error

"""Plain text: a file with a document a line, or a folder with a document a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textmix.corpus.readers.columns import Column
from textmix.corpus.readers.csv_dialect import line_separator
from textmix.corpus.readers.identify import describe_binary
from textmix.corpus.readers.inputs import InputFolder
from textmix.corpus.readers.report import INVALID_UTF8, NOT_TEXT, TOO_LONG, Fault, ReadReport
from textmix.corpus.readers.source import BYTE_ORDER_MARK, HEAD_BYTES, LONGEST_RECORD, Source, unreadable
from textmix.corpus.readers.table import Row, Rows, Table, in_chunks


class LinesTable(Table):
    """A document a line; an empty line is an empty document."""

    has_columns = False

    def __init__(self, source: Source, head: bytes) -> None:
        self.name = source.name
        self.columns: list[Column] = []
        self._source = source
        self._separator = line_separator(head)
        self._is_empty = not head

    def is_empty(self) -> bool:
        """Whether the file has no bytes."""
        return self._is_empty

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """Line by line."""
        return in_chunks(self._rows(report))

    def _rows(self, report: ReadReport) -> Iterator[Row]:
        for number, line in enumerate(self._source.lines(self._separator), start=1):
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
        self.columns: list[Column] = []
        self._folder = folder

    def is_empty(self) -> bool:
        """Never: a folder without documents is refused before."""
        return False

    def rows(self, chosen: Sequence[int], report: ReadReport) -> Iterator[Rows]:
        """File by file."""
        return in_chunks(self._rows(report))

    def _rows(self, report: ReadReport) -> Iterator[Row]:
        for path in self._folder.files:
            try:
                with open(path, "rb") as file:
                    content = file.read(LONGEST_RECORD + 1)
            except OSError as error:
                raise unreadable(str(path), error) from error
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

"""The reader of documents: checks everything at once, then hands out batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from textmix.corpus.readers.columns import (
    choose_text_column,
    differing_columns,
    find_column,
    missing_column,
)
from textmix.corpus.readers.formats import FORMAT_OPTIONS
from textmix.corpus.readers.identify import check_format_name, identify, open_source
from textmix.corpus.readers.inputs import InputFile, InputFolder, Spool, find_inputs
from textmix.corpus.readers.report import INVALID_UTF8, Batch, InputError, ReadReport
from textmix.corpus.readers.table import Rows, Table
from textmix.corpus.readers.text_table import FolderTable, LinesTable

# A batch ends before `batch_size` documents if these are long: memory is bounded by characters too.
CHARACTERS_PER_BATCH = 1 << 26


class DocumentReader:
    """Documents from files in batches, in file order, in memory that does not grow with the number of rows.

    Everything that can be checked is checked here: that the files exist, what they are, that the columns are
    there. Bad rows are skipped, counted and listed in `report`, which is complete after an iteration; each
    iteration reads the files anew and starts a new report. What was copied from standard input is removed by
    `close`, at the end of a `with` block, or with the reader itself.
    """

    def __init__(
        self,
        paths: Sequence[str | Path] | str | Path,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        more: Sequence[str] = (),
        format: str | None = None,
        batch_size: int = 20_000,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {batch_size}")
        check_format_name(format)
        self._batch_size = batch_size
        self._has_ids, self._has_labels = id is not None, label is not None
        self._spool = Spool()
        try:
            inputs = find_inputs(paths, self._spool)
            opened = [_open_table(found, format, text) for found in inputs]
            self._known = ReadReport(files=[found.name for found in inputs])
            self._tables = self._drop_empty(opened)
            self._check_same_kind()
            self._chosen = self._choose_columns(text, [*(name for name in (id, label) if name is not None), *more])
        except BaseException:
            self.close()
            raise
        self.report = self._new_report()

    def __iter__(self) -> Iterator[Batch]:
        report = self.report = self._new_report()
        for columns in _in_batches(self._all_rows(report), self._batch_size):
            report.n_rows += len(columns[0])
            yield self._batch(columns)
        if report.n_rows == 0:
            raise _no_rows(report)

    def __enter__(self) -> DocumentReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was copied from standard input."""
        self._spool.close()

    def _new_report(self) -> ReadReport:
        known = self._known
        return ReadReport(files=list(known.files), text_column=known.text_column, notes=list(known.notes))

    def _drop_empty(self, tables: list[Table]) -> list[Table]:
        """The tables with rows; some must have any."""
        full = [table for table in tables if not table.is_empty()]
        empty_names = [table.name for table in tables if table.is_empty()]
        if not full:
            raise _no_rows(self._known)
        self._known.notes.extend(f"{name} has no rows." for name in empty_names)
        return full

    def _check_same_kind(self) -> None:
        first = self._tables[0]
        fixed = [table for table in self._tables if table.has_columns and table.has_fixed_columns]
        for table in fixed[1:]:
            error = differing_columns(table.columns, table.name, fixed[0].columns, fixed[0].name)
            if error is not None:
                raise error
        if any(table.has_document_names != first.has_document_names for table in self._tables):
            raise InputError("folders and files cannot be read together; give one or the other")

    def _choose_columns(self, text: str | None, others: list[str]) -> list[list[int]]:
        """For each table the positions of the text column and of the other columns."""
        with_columns = [table for table in self._tables if table.has_columns]
        without = [table for table in self._tables if not table.has_columns]
        asked = [name for name in (text, *others) if name is not None]
        if asked and without:
            raise InputError(
                f'"{without[0].name}" is plain text and has no column "{asked[0]}"; '
                f"if it is a table, say so with {FORMAT_OPTIONS}"
            )
        if text is None and with_columns:
            text = choose_text_column(with_columns[0].columns, with_columns[0].name)
        names = [*([text] if text is not None else []), *others]
        chosen = [[_position(table, name) for name in names] if table.has_columns else [] for table in self._tables]
        for table, positions in zip(self._tables, chosen, strict=True):
            if positions and self._known.text_column is None:
                self._known.text_column = table.columns[positions[0]].name
        return chosen

    def _all_rows(self, report: ReadReport) -> Iterator[Rows]:
        for table, chosen in zip(self._tables, self._chosen, strict=True):
            n_delivered, n_invalid_before = 0, report.reasons.get(INVALID_UTF8, 0)
            for rows in table.rows(chosen, report):
                n_delivered += len(rows)
                yield rows
            n_invalid = report.reasons.get(INVALID_UTF8, 0) - n_invalid_before
            if n_invalid > n_delivered:
                raise InputError(
                    f'"{table.name}" does not look like UTF-8: {n_invalid:,} of {n_invalid + n_delivered:,} '
                    "rows are not valid; convert it first (iconv -f LATIN1 -t UTF-8)"
                )

    def _batch(self, columns: list[list[str]]) -> Batch:
        if self._tables[0].has_document_names:
            return Batch(columns[0], ids=columns[1])
        ids = columns[1] if self._has_ids else None
        labels = columns[1 + self._has_ids] if self._has_labels else None
        return Batch(columns[0], ids, labels, columns[1 + self._has_ids + self._has_labels :])


def _in_batches(chunks: Iterator[Rows], batch_size: int) -> Iterator[list[list[str]]]:
    """The columns of the rows in lists of bounded length and size.

    Rows become columns at once: the garbage collector goes through tuples that wait, but not through strings.
    """
    waiting: list[list[str]] = []
    n_characters = 0
    for rows in chunks:
        columns = [[row[position] or "" for row in rows] for position in range(len(rows[0]))]
        waiting = waiting or [[] for _ in columns]
        for column, values in zip(waiting, columns, strict=True):
            column += values
        n_characters += sum(map(len, columns[0]))
        while len(waiting[0]) >= batch_size or n_characters >= CHARACTERS_PER_BATCH:
            yield [column[:batch_size] for column in waiting]
            waiting = [column[batch_size:] for column in waiting]
            n_characters = sum(map(len, waiting[0]))
    if waiting and waiting[0]:
        yield waiting


def _open_table(found: InputFile | InputFolder, format: str | None, text: str | None) -> Table:
    if isinstance(found, InputFolder):
        if format is not None and format.lower() != "txt":
            pattern = found.path / f"*.{format.lower()}"
            raise InputError(
                f'"{found.name}" is a folder, of which only .txt files are read; give a pattern such as "{pattern}"'
            )
        return FolderTable(found)
    source = open_source(found)
    head = source.head()
    identified = identify(found, source, head, given=format, text=text)
    return identified.open(source, head) if head else LinesTable(source, head)


def _position(table: Table, name: str) -> int:
    position = find_column(name, table.columns)
    if position is None and table.has_hidden_column(name):
        position = find_column(name, table.columns)
    if position is None:
        raise missing_column(name, table.columns, table.name)
    return position


def _no_rows(report: ReadReport) -> InputError:
    names = ", ".join(f'"{name}"' for name in report.files[:3])
    if not report.skipped:
        return InputError(f"there are no rows in {names}")
    first = report.skipped[0]
    place = f"line {first.line} of {first.file}" if first.line is not None else first.file
    return InputError(f"not one row of {names} can be read; {place}, for example: {first.reason}")

"""CSV read with care, record by record: every bad row is named and the rows after it are recovered.

A quoted field may hold line ends. So an unclosed quote looks at first like a long field, until the next quote
of the file turns out to be no closing quote (text follows it), or the record ends up with the wrong number of
columns, or the file ends. Then the quote is blamed on the line where the record starts: that line is skipped,
and reading goes on at the line after it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, cast

from textmix.corpus.readers.report import INVALID_UTF8, TEXT_AFTER_QUOTE, TOO_LONG, UNCLOSED_QUOTE, WRONG_WIDTH, Fault
from textmix.corpus.readers.source import LONGEST_RECORD

# Prose hardly ever has this many lines in a row with the same number of delimiters as the table.
SUSPECT_LINES = 10

_QUOTED_TEXT = re.compile(rb'[^"]*+(?:""[^"]*+)*+')


_END: Any = object()  # after the last line


class _State(Enum):
    DONE = 1
    OPEN = 2
    BROKEN = 3


class CsvRecords:
    """Iterates over (line number, fields or fault) of the records in lines, the header among them.

    `width` is the number of columns to expect; None means that of the first record. Blank lines are no
    records, except in a table of one column, where they are empty values. `suspects` collects (line number,
    number of lines) of records that hold a run of lines each of which looks like a row: maybe a quote was
    never closed.
    """

    def __init__(
        self,
        lines: Iterable[bytes | None],
        delimiter: bytes,
        width: int | None = None,
        separator: bytes = b"\n",
    ) -> None:
        self.suspects: list[tuple[int, int]] = []
        self._lines = iter(lines)
        self._returned: deque[bytes | None] = deque()
        self._delimiter = delimiter
        self._separator = separator
        self._width = width

    def __iter__(self) -> Iterator[tuple[int, list[bytes] | Fault]]:
        number = 0
        returned, lines = self._returned, self._lines
        while (line := returned.popleft() if returned else next(lines, _END)) is not _END:
            number += 1
            if line is None:
                yield number, Fault(TOO_LONG)
            elif b'"' in line:
                record, n_more_lines = self._read_quoted(line, number)
                yield number, _blame_encoding(record, line)
                number += n_more_lines
            elif line and line != b"\r":
                fields = (line[:-1] if line.endswith(b"\r") else line).split(self._delimiter)
                yield number, _blame_encoding(self._check_width(fields), line)
            elif self._width == 1:
                yield number, [b""]

    def _take(self) -> bytes | None:
        return self._returned.popleft() if self._returned else next(self._lines)

    def _check_width(self, fields: list[bytes]) -> list[bytes] | Fault:
        if self._width is None:
            self._width = len(fields)
        if len(fields) != self._width:
            return Fault(WRONG_WIDTH, f"{len(fields)} instead of {self._width}")
        return fields

    def _read_quoted(self, line: bytes, number: int) -> tuple[list[bytes] | Fault, int]:
        """The record that starts with this line, and how many lines more it takes."""
        fields: list[bytes] = []
        open_parts: list[bytes] = []
        more_lines: list[bytes | None] = []
        n_bytes = len(line)
        state = self._scan(line, fields, open_parts)
        while state is _State.OPEN:
            try:
                following = self._take()
            except StopIteration:
                break
            more_lines.append(following)
            n_bytes += len(following or b"")
            if following is None or n_bytes > LONGEST_RECORD:
                break
            state = self._scan(following, fields, open_parts)
        if state is _State.DONE and (not more_lines or len(fields) == (self._width or len(fields))):
            self._note_suspect(number, more_lines)
            return self._check_width(fields), len(more_lines)
        if state is _State.BROKEN and not more_lines:
            return Fault(TEXT_AFTER_QUOTE), 0
        self._returned.extendleft(reversed(more_lines))
        return Fault(UNCLOSED_QUOTE), 0

    def _scan(self, line: bytes, fields: list[bytes], open_parts: list[bytes]) -> _State:
        """Add the line's fields; `open_parts` holds the lines so far of a quoted field that is still open."""
        return_character = b"\r" if line.endswith(b"\r") else b""
        line = line.removesuffix(return_character)
        position, end = 0, len(line)
        while True:
            if not open_parts:
                if line[position : position + 1] != b'"':
                    stop = line.find(self._delimiter, position)
                    fields.append(line[position:] if stop < 0 else line[position:stop])
                    if stop < 0:
                        return _State.DONE
                    position = stop + 1
                    continue
                position += 1
            part = cast(re.Match[bytes], _QUOTED_TEXT.match(line, position))
            position = part.end() + 1
            if part.end() == end:
                open_parts.append(part.group() + return_character)
                return _State.OPEN
            open_parts.append(part.group())
            fields.append(self._separator.join(open_parts).replace(b'""', b'"'))
            open_parts.clear()
            if position == end:
                return _State.DONE
            if line[position : position + 1] != self._delimiter:
                return _State.BROKEN
            position += 1

    def _note_suspect(self, number: int, more_lines: list[bytes | None]) -> None:
        """Remember a record with a run of lines that are as wide as a row, none of them with a quote."""
        if len(more_lines) <= SUSPECT_LINES or self._width is None or self._width == 1:
            return
        n_delimiters = self._width - 1
        run = 0
        for line in more_lines[:-1]:
            is_like_row = line is not None and b'"' not in line and line.count(self._delimiter) == n_delimiters
            run = run + 1 if is_like_row else 0
            if run >= SUSPECT_LINES:
                self.suspects.append((number, len(more_lines) + 1))
                return


def _blame_encoding(record: list[bytes] | Fault, line: bytes) -> list[bytes] | Fault:
    """A bad line that is not even UTF-8 is bad because of that."""
    if isinstance(record, Fault) and not is_utf8(line):
        return Fault(INVALID_UTF8)
    return record


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

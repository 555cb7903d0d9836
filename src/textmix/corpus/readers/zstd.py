"""Zstandard files: whether one is complete, and its lines.

Python 3.11 cannot unpack them, so DuckDB does, through its CSV reader set to one column and no quotes. Four
things need care:

- DuckDB reads a truncated file to where it breaks off and says nothing: `check_complete` follows the block
  headers to the end of the file.
- Bytes 0x0D and 0x0A both end a line, so that a Windows line ending gives a line and an empty one: the
  `LineEndings` tell them apart.
- Lines that are not UTF-8 or too long are left out of the result: `examine` learns their numbers from
  DuckDB's table of rejects, and `ZstdContent.lines` puts them back.
- The delimiter must not occur: it is the four separators of ASCII in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import duckdb

from textmix.corpus.readers.duck import connect, literal_path
from textmix.corpus.readers.report import InputError

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGICS = {bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)}
LINES_PER_FETCH = 2048
LONGEST_LINE = 16 << 20
MOST_REJECTS = 10_000

_LINES = """
    SELECT {what} FROM read_csv(?, compression = 'zstd', auto_detect = false, header = false,
        delim = '\x1c\x1d\x1e\x1f', quote = '', escape = '', new_line = '\\n', max_line_size = {longest},
        buffer_size = {buffer}, strict_mode = {strict}, {rejects}, columns = {{'line': 'VARCHAR'}})
"""


class LineEndings(Enum):
    """How the lines of a file end."""

    LF = "\\n"
    CRLF = "\\r\\n"
    MIXED = "mixed"


def check_complete(path: Path, name: str) -> None:
    """Raise an InputError if the file's last frame breaks off (format: RFC 8878, section 3.1)."""
    with path.open("rb") as file:
        size = path.stat().st_size
        while file.tell() < size:
            if not _skip_frame(file) or file.tell() > size:
                raise InputError(f'"{name}" is damaged: the Zstandard data breaks off before its end')


def _skip_frame(file: BinaryIO) -> bool:
    """Move past one frame; False if it is cut short or is no frame."""
    magic = file.read(4)
    if magic in SKIPPABLE_MAGICS:
        length = file.read(4)
        file.seek(int.from_bytes(length, "little"), 1)
        return len(length) == 4
    descriptor_byte = file.read(1)
    if magic != MAGIC or not descriptor_byte:
        return False
    descriptor = descriptor_byte[0]
    is_single_segment = bool(descriptor & 0x20)
    window_bytes = 0 if is_single_segment else 1
    dictionary_bytes = (0, 1, 2, 4)[descriptor & 3]
    content_size_bytes = (1 if is_single_segment else 0, 2, 4, 8)[descriptor >> 6]
    file.seek(window_bytes + dictionary_bytes + content_size_bytes, 1)
    is_last = False
    while not is_last:
        block_header = file.read(3)
        if len(block_header) < 3:
            return False
        value = int.from_bytes(block_header, "little")
        is_last, is_repeated_byte = bool(value & 1), (value >> 1) & 3 == 1
        file.seek(1 if is_repeated_byte else value >> 3, 1)
    has_checksum = bool(descriptor & 4)
    file.seek(4 if has_checksum else 0, 1)
    return True


@dataclass(frozen=True)
class ZstdContent:
    """An unpacked file: how its lines end, and those that DuckDB leaves out, by number.

    A line that is too long is None; of one that is not UTF-8 not all bytes are known.
    """

    path: Path
    name: str
    endings: LineEndings
    rejected: dict[int, bytes | None]

    def lines(self) -> Iterator[bytes | None]:
        """The file's lines, without the empty ones that are the second byte of a Windows line ending."""
        if self.endings is LineEndings.CRLF:
            return islice(self.unpacked_lines(), 0, None, 2)
        return self.unpacked_lines()

    def unpacked_lines(self) -> Iterator[bytes | None]:
        """Every run of bytes that a 0x0D or a 0x0A ends, without it."""
        number = 1
        for line in self._accepted_lines():
            while number in self.rejected:
                yield self.rejected[number]
                number += 1
            yield line
            number += 1
        while number in self.rejected:
            yield self.rejected[number]
            number += 1

    def _accepted_lines(self) -> Iterator[bytes]:
        query = _query("line", strict=False, rejects="ignore_errors = true")
        try:
            with connect() as connection:
                cursor = connection.execute(query, [literal_path(self.path)])
                while lines := cursor.fetchmany(LINES_PER_FETCH):
                    for (line,) in lines:
                        yield (line or "").encode("utf-8")
        except duckdb.Error as error:
            raise _damaged(self.name) from error


def examine(path: Path, name: str) -> ZstdContent:
    """Look through the whole file; strict mode refuses carriage returns, so if it consents there are none."""
    try:
        return ZstdContent(path, name, LineEndings.LF, _find_rejects(path, name, strict=True))
    except duckdb.Error:
        pass
    try:
        rejected = _find_rejects(path, name, strict=False)
    except duckdb.Error as error:
        raise _damaged(name) from error
    content = ZstdContent(path, name, LineEndings.MIXED, rejected)
    has_only_empty_between = all(line == b"" for line in islice(content.unpacked_lines(), 1, None, 2))
    return replace(content, endings=LineEndings.CRLF) if has_only_empty_between else content


def _find_rejects(path: Path, name: str, *, strict: bool) -> dict[int, bytes | None]:
    """The lines that DuckDB leaves out."""
    rejects = f"store_rejects = true, rejects_limit = {MOST_REJECTS + 1}"
    with connect() as connection:
        query = _query("count(line)", strict=strict, rejects=rejects)
        connection.execute(query, [literal_path(path)]).fetchall()
        found = connection.execute("SELECT line, error_type, csv_line FROM reject_errors").fetchall()
    if len(found) > MOST_REJECTS:
        raise InputError(
            f'"{name}" does not look like UTF-8: more than {MOST_REJECTS:,} lines are not valid; '
            "unpack it (zstd -d) and convert it first (iconv -f LATIN1 -t UTF-8)"
        )
    rejected: dict[int, bytes | None] = {}
    for number, kind, line in found:
        # DuckDB shows a question mark for what is invalid; as an invalid byte again the line stays invalid.
        is_invalid = kind == "INVALID ENCODING"
        rejected[number] = line.encode("utf-8").replace(b"?", b"\xff") if is_invalid else None
    return rejected


def _query(what: str, *, strict: bool, rejects: str) -> str:
    return _LINES.format(
        what=what,
        longest=LONGEST_LINE,
        buffer=2 * LONGEST_LINE,
        strict=str(strict).lower(),
        rejects=rejects,
    )


def _damaged(name: str) -> InputError:
    return InputError(f'"{name}" is damaged: it cannot be unpacked as Zstandard')

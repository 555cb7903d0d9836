"""JSON read with care: an object a line, or objects one after another in an array or without one."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from textmix.corpus.readers.report import INVALID_JSON, INVALID_UTF8, NOT_AN_OBJECT, TOO_LONG, Fault
from textmix.corpus.readers.source import LONGEST_RECORD

Record = dict[str, Any] | Fault

_BETWEEN_VALUES = re.compile(r"[\s,]*+")
# Where an object starts after a broken one: behind the comma that follows a closing brace, or on a line of
# its own.
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)|\n\s*(?=\{)")


def read_json_lines(lines: Iterable[bytes | None]) -> Iterator[tuple[int, Record]]:
    """(line number, object or fault) for every line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if line is None:
            yield number, Fault(TOO_LONG)
        elif line and not line.isspace():
            yield number, _parse_line(line)


def value_text(value: Any) -> str | None:
    """A value as DuckDB writes it: a string as it is, anything else as JSON, null as None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse_line(line: bytes) -> Record:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return Fault(INVALID_UTF8)
    try:
        return _checked(_DECODER.decode(text), text)
    except json.JSONDecodeError as error:
        return Fault(INVALID_JSON, f"column {error.colno}: {error.msg}")
    except (ValueError, RecursionError):
        return Fault(INVALID_JSON, "a number too long or objects nested too deep")


def _checked(value: Any, text: str) -> Record:
    """Refuse what is not an object and strings that are no Unicode text (half of a surrogate pair)."""
    if not isinstance(value, dict):
        return Fault(NOT_AN_OBJECT)
    if ("\\ud" in text or "\\uD" in text) and not _is_unicode(json.dumps(value, ensure_ascii=False)):
        return Fault(INVALID_JSON, "half of a surrogate pair")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _first_of_equal_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The first of several equal keys counts, as in DuckDB."""
    record = dict(pairs)
    if len(record) < len(pairs):
        record.update(reversed(pairs))
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_first_of_equal_keys)


class JsonValues:
    """Iterates over (line number, object or fault) of the values in an array, or of values in a row.

    After a broken value the reading goes on at what looks like the start of the next object.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        # Invalid bytes become lone surrogates, which are found in the one value that they spoil.
        self._to_text = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
        self._text = ""
        self._position = 0
        self._line = 1
        self._is_at_end = False

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        self._read_more()
        self._skip(_BETWEEN_VALUES)
        is_array = self._text.startswith("[", self._position)
        self._move_to(self._position + int(is_array))
        while self._find_value():
            if is_array and self._text[self._position] == "]":
                self._move_to(self._position + 1)
                continue
            line = self._line
            yield line, self._next_value()

    def _find_value(self) -> bool:
        """Move to the next value; False if there is none."""
        self._skip(_BETWEEN_VALUES)
        while self._position == len(self._text) and not self._is_at_end:
            self._read_more()
            self._skip(_BETWEEN_VALUES)
        return self._position < len(self._text)

    def _next_value(self) -> Record:
        """The value at the position, which may need more of the file to be complete."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._is_at_end or len(self._text) - self._position > LONGEST_RECORD:
                    self._skip_broken_value()
                    return Fault(INVALID_JSON, error.msg)
            except (ValueError, RecursionError):
                self._skip_broken_value()
                return Fault(INVALID_JSON, "a number too long or objects nested too deep")
            else:
                if end < len(self._text) or self._is_at_end:
                    text = self._text[self._position : end]
                    self._move_to(end)
                    return _checked(value, text) if _is_unicode(text) else Fault(INVALID_UTF8)
            self._read_more()

    def _skip_broken_value(self) -> None:
        found = _NEXT_OBJECT.search(self._text, self._position + 1)
        while found is None and not self._is_at_end:
            self._move_to(max(self._position, len(self._text) - 1))
            self._read_more()
            found = _NEXT_OBJECT.search(self._text, self._position)
        self._move_to(len(self._text) if found is None else found.end())

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._position)
        if found:
            self._move_to(found.end())

    def _move_to(self, position: int) -> None:
        self._line += self._text.count("\n", self._position, position)
        self._position = position

    def _read_more(self) -> None:
        block = next(self._blocks, None)
        self._is_at_end = block is None
        more = self._to_text.decode(block or b"", final=block is None)
        self._text = self._text[self._position :] + more
        self._position = 0

"""JSON lines in, JSON lines out: what `textmix stream` reads and answers."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from textmix.stream.durable import Document, DurableStream, StoredEvent
from textmix.stream.records import check_document, check_id, finite_or_none

MAX_LINE = 1_000_000  # bytes
BATCH = 1000  # lines at most that are answered at once

T = TypeVar("T")

_CHUNK = 1 << 16  # bytes read at a time
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class InputLine(NamedTuple):
    """A line, numbered from 1; None if it was too long to be kept."""

    number: int
    data: bytes | None


class Removal(NamedTuple):
    """A document to take out."""

    id: str


class Mistake(NamedTuple):
    """A line that is none of both."""

    line: int
    error: str


Operation = Document | Removal | Mistake


class Interruption:
    """While it is entered Ctrl-C and SIGTERM end the stream between two batches; a second one ends it at once."""

    def __init__(self) -> None:
        self.wanted = False
        self._waiting = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        at_once = self.wanted or self._waiting
        self.wanted = True
        if at_once:
            raise KeyboardInterrupt

    def wait_for(self, awaited: Callable[[], T]) -> T | None:
        """The outcome of a call that waits for something; None if the stream is to end instead."""
        try:
            self._waiting = True  # from here on a signal raises
            return None if self.wanted else awaited()
        except KeyboardInterrupt:
            return None
        finally:
            self._waiting = False


def is_ready(descriptor: int, seconds: float | None) -> bool:
    """Whether something can be read within so many seconds (None: wait for it)."""
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    except OSError:  # systems that can wait for sockets alone: reading itself waits
        return True


class LineReader:
    """The lines of a file or pipe, as many at a time as have arrived."""

    def __init__(self, descriptor: int, interruption: Interruption, max_line: int = MAX_LINE) -> None:
        self._descriptor = descriptor
        self._interruption = interruption
        self._max_line = max_line
        self._ready: deque[bytes | None] = deque()
        self._rest = b""  # of a line that has not ended
        self._is_too_long = False
        self._has_ended = False
        self._n_lines = 0

    def batches(self, most: int = BATCH) -> Iterator[list[InputLine]]:
        """The lines, up to so many at a time; fewer when no more have arrived."""
        while not self._interruption.wanted:
            while len(self._ready) < most and self._read_on():
                pass
            lines = [self._number(self._ready.popleft()) for _ in range(min(most, len(self._ready)))]
            if not lines:
                return
            yield lines

    def _read_on(self) -> bool:
        """Read what has arrived, waiting for it if no line is there; whether there may be more."""
        if self._has_ended:
            return False
        if self._ready and not is_ready(self._descriptor, 0):
            return False
        if not self._ready and not self._interruption.wait_for(lambda: is_ready(self._descriptor, None)):
            return False
        chunk = os.read(self._descriptor, _CHUNK)
        if chunk:
            self._split(chunk)
        else:
            self._end()
        return bool(chunk)

    def _split(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._ready.append(None if self._is_too_long or len(line) > self._max_line else line)
            self._is_too_long = False
        if len(rest) > self._max_line:
            self._is_too_long = True
        self._rest = b"" if self._is_too_long else rest

    def _end(self) -> None:
        self._has_ended = True
        if self._rest or self._is_too_long:
            self._ready.append(None if self._is_too_long else self._rest)

    def _number(self, data: bytes | None) -> InputLine:
        self._n_lines += 1
        if self._n_lines == 1 and data is not None:
            data = data.removeprefix(_BYTE_ORDER_MARK)
        return InputLine(self._n_lines, data)


def parse_lines(lines: Iterable[InputLine], max_line: int = MAX_LINE) -> Iterator[Operation]:
    """What each line asks for; blank ones are passed over."""
    for number, data in lines:
        if data is None:
            yield Mistake(number, f"the line is longer than {max_line:,} bytes")
        elif data.strip():
            try:
                yield parse_line(data)
            except ValueError as error:
                yield Mistake(number, str(error))


def parse_line(data: bytes) -> Document | Removal:
    """What a line asks for; ValueError if it cannot be said."""
    try:
        fields = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON that can be read: a number is too long, or brackets are too deep") from error
    if not isinstance(fields, dict):
        raise ValueError('not an object such as {"id": "1", "text": "…"}')
    if "remove" in fields:
        return _parse_removal(fields)
    if fields.get("text") is None:
        raise ValueError('there is no "text"')
    if not isinstance(fields["text"], str):
        raise ValueError(f'"text" is {_kind(fields["text"])}, not a string')
    id, time = fields.get("id"), fields.get("time")
    if isinstance(time, float) and math.isnan(time):
        raise ValueError("the time is NaN; leave it out if it is not known")
    return check_document(Document(None if id is None else _as_id(id), fields["text"], time))


def _parse_removal(fields: dict[str, Any]) -> Removal:
    if "text" in fields:
        raise ValueError('either "text" or "remove", not both')
    return Removal(check_id(_as_id(fields["remove"])))


def _as_id(id: Any) -> str:
    if isinstance(id, float) and not math.isfinite(id):
        raise ValueError(f"the id is {id}")
    if not isinstance(id, str | int | float) or isinstance(id, bool):
        raise ValueError(f"the id is {_kind(id)}, neither a string nor a number")
    return str(id)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null", str: "a string"}
    return names.get(type(value), "a number")


class LineAnswers:
    """Answers lines by a stream, and counts what came."""

    def __init__(self, stream: DurableStream, *, events: bool = False, max_line: int = MAX_LINE) -> None:
        self._stream = stream
        self._max_line = max_line
        self._last_event = stream.last_event if events else None
        self.n_added = self.n_removed = self.n_mistakes = 0

    def answer(self, lines: Iterable[InputLine], file: str | None = None) -> bytes:
        """The lines to write, one for each line that is not blank, in order; what they say is on disk."""
        operations = list(parse_lines(lines, self._max_line))
        answers = [answer for part in split_operations(operations) for answer in self._carry_out(part, file)]
        return b"".join(map(_as_line, [*answers, *self._new_events()]))

    def _carry_out(self, operations: Sequence[Operation], file: str | None) -> Iterator[dict[str, Any]]:
        """Removals first, then additions, in one transaction."""
        documents = [each for each in operations if isinstance(each, Document)]
        removals = [each.id for each in operations if isinstance(each, Removal)]
        answers, ids = self._stream.exchange(documents, removals)
        added, removed = iter(answers), set(ids)
        for each in operations:
            if isinstance(each, Document):
                self.n_added += 1
                answer = next(added)
                yield answer._replace(outlier_score=finite_or_none(answer.outlier_score))._asdict()
            elif isinstance(each, Removal):
                was_there = each.id in removed
                removed.discard(each.id)  # named twice, it is removed once
                self.n_removed += was_there
                yield {"id": each.id, "removed": was_there}
            else:
                self.n_mistakes += 1
                yield {**({} if file is None else {"file": file}), **each._asdict()}

    def tell_events(self) -> bytes:
        """What has happened to clusters since it was last told, as lines; nothing where it is not asked for."""
        return b"".join(map(_as_line, self._new_events()))

    def _new_events(self) -> Iterator[dict[str, Any]]:
        while self._last_event is not None and (found := self._stream.events(after=self._last_event)):
            for event in found:
                self._last_event = event.number
                yield describe_event(event)


def describe_event(event: StoredEvent) -> dict[str, Any]:
    """An event as a line has it."""
    into = {} if event.into is None else {"into": event.into}
    about = {"cluster": event.cluster, **into, "size": event.size, "name": event.name}
    return {"event": event.kind, **about, "number": event.number, "time": event.time}


def split_operations(operations: Iterable[Operation]) -> Iterator[list[Operation]]:
    """Parts in which all removals may come first: none names a document that was added before it in its part."""
    part: list[Operation] = []
    added: set[str | None] = set()
    for each in operations:
        if isinstance(each, Removal) and each.id in added:
            yield part
            part, added = [], set()
        if isinstance(each, Document):
            added.add(each.id)
        part.append(each)
    if part:
        yield part


def _as_line(fields: dict[str, Any]) -> bytes:
    return _encode(fields).encode() + b"\n"

"""JSON lines: what is asked for, what is answered, and when."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager

import pytest

from textmix.stream.durable import Document, DurableStream
from textmix.stream.lines import (
    InputLine,
    Interruption,
    LineAnswers,
    LineReader,
    Mistake,
    Removal,
    _as_line,
    parse_lines,
    split_operations,
)


@contextmanager
def pipe():
    """Where to read, and a function that writes there."""
    reading, writing = os.pipe()
    is_open = [True]

    def write(data: bytes | None) -> None:
        if data is None:
            os.close(writing)
            is_open[0] = False
        else:
            os.write(writing, data)

    try:
        yield reading, write
    finally:
        os.close(reading)
        if is_open[0]:
            os.close(writing)


@pytest.fixture
def stream(tmp_path):
    with DurableStream(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def answer(stream):
    """Lines to answers, as a program has them."""
    answers = LineAnswers(stream, max_line=100)

    def call(*lines: str | bytes) -> list[dict]:
        numbered = [
            InputLine(n, line.encode() if isinstance(line, str) else line) for n, line in enumerate(lines, start=1)
        ]
        return [json.loads(line, parse_constant=no_json) for line in answers.answer(numbered).decode().splitlines()]

    return call


def no_json(constant):
    raise AssertionError(f"JSON has no {constant}")


# ---------------------------------------------------------------------- reading


def test_lines_that_have_arrived_are_handed_over_without_waiting_for_more():
    with pipe() as (reading, write):
        batches = LineReader(reading, Interruption()).batches(most=3)
        write(b"one\ntwo\nthr")
        assert next(batches) == [InputLine(1, b"one"), InputLine(2, b"two")]
        write(b"ee\n4\n5\n6\n7\n")
        assert next(batches) == [InputLine(3, b"three"), InputLine(4, b"4"), InputLine(5, b"5")]
        assert next(batches) == [InputLine(6, b"6"), InputLine(7, b"7")]
        write(b"last, without an end")
        write(None)
        assert next(batches) == [InputLine(8, b"last, without an end")]
        assert list(batches) == []


def test_a_file_comes_in_full_batches(tmp_path):
    (tmp_path / "lines").write_bytes(b"\xef\xbb\xbffirst\n" + b"another line\n" * 20_000)
    with open(tmp_path / "lines", "rb") as file:
        batches = list(LineReader(file.fileno(), Interruption()).batches(most=3000))
    assert [len(batch) for batch in batches] == [3000] * 6 + [2001]
    assert batches[0][0] == InputLine(1, b"first")  # without the mark of the byte order
    assert batches[-1][-1] == InputLine(20_001, b"another line")


def test_a_line_that_is_too_long_is_not_kept_and_the_next_is_read():
    with pipe() as (reading, write):
        batches = LineReader(reading, Interruption(), max_line=10).batches()
        write(b"0123456789\n" + b"x" * 11 + b"\nnext\n" + b"y" * 5000)
        assert next(batches) == [InputLine(1, b"0123456789"), InputLine(2, None), InputLine(3, b"next")]
        write(b"y" * 5000 + b"\nlast\n" + b"z" * 11)
        assert next(batches) == [InputLine(4, None), InputLine(5, b"last")]
        write(None)
        assert list(batches) == [[InputLine(6, None)]]


def test_a_signal_ends_the_lines_between_two_batches():
    with pipe() as (reading, write), Interruption() as interruption:
        batches = LineReader(reading, interruption).batches(most=1)
        write(b"one\ntwo\n")
        assert next(batches) == [InputLine(1, b"one")]
        os.kill(os.getpid(), signal.SIGTERM)  # while the batch is worked on
        assert list(batches) == []


@pytest.fixture
def alarm():
    """Let a signal to end come in a moment."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.signal(signal.SIGALRM, before)


def test_a_signal_ends_waiting(alarm):
    with pipe() as (reading, _), Interruption() as interruption:
        alarm()
        assert list(LineReader(reading, interruption).batches()) == []
        assert interruption.wanted


def test_a_second_signal_ends_at_once_and_the_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interruption():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


# ---------------------------------------------------------------------- what lines ask for


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"x", "not JSON: Expecting value at character 1"),
        (b'{"id": "1", "text": "a"', "not JSON: Expecting ',' delimiter at character 24"),
        (b'{"text": "caf\xe9"}', "not UTF-8: byte 14"),
        (b'"text"', "not an object such as"),
        (b"[]", "not an object such as"),
        (b"{}", 'there is no "text"'),
        (b'{"text": null}', 'there is no "text"'),
        (b'{"text": 5}', '"text" is a number, not a string'),
        (b'{"text": ["a"]}', '"text" is a list, not a string'),
        (b'{"text": "a", "id": {}}', "the id is an object, neither a string nor a number"),
        (b'{"text": "a", "id": true}', "the id is true or false, neither a string nor a number"),
        (b'{"text": "a", "id": NaN}', "the id is nan"),
        (b'{"text": "a", "time": NaN}', "the time is NaN"),
        (b'{"text": "a", "id": ""}', "the id is empty"),
        (b'{"text": "a", "time": "soon"}', "'soon' is no time"),
        (b'{"text": "a", "time": {}}', "'{}' is no time"),
        (b'{"text": "a", "remove": "1"}', 'either "text" or "remove", not both'),
        (b'{"remove": null}', "the id is null, neither a string nor a number"),
        (b'{"remove": ["1"]}', "the id is a list"),
        (b"9" * 5000, "not JSON that can be read"),
        (b"[" * 100_000, "not JSON that can be read"),
        (None, "the line is longer than 1,000,000 bytes"),
    ],
)
def test_a_bad_line_is_a_mistake_with_its_number(line, error):
    (found,) = parse_lines([InputLine(7, line)])
    assert isinstance(found, Mistake)
    assert found.line == 7
    assert error in found.error


def test_lines_are_documents_and_removals():
    lines = [
        b'{"text": "a", "id": 12, "other": []}',
        b'{"remove": 1.5}\r',
        b" \t",
        b"",
        b'{"text": "\\u00e9", "id": "x"}',
    ]
    found = list(parse_lines(InputLine(number, line) for number, line in enumerate(lines)))
    assert found == [Document("12", "a"), Removal("1.5"), Document("x", "é")]


def test_parts_end_before_a_removal_of_what_they_add():
    one, two, gone = Document("1", ""), Document("2", ""), Removal("1")
    assert list(split_operations([gone, one, two])) == [[gone, one, two]]
    assert list(split_operations([one, two, gone, one, gone])) == [[one, two], [gone, one], [gone]]
    assert list(split_operations([])) == []


# ---------------------------------------------------------------------- answers


def test_each_line_is_answered_in_order(answer, stream):
    document = '{"id": "%s", "text": "parcel late courier"}'
    answers = answer(document % "a", "?", '{"remove": "b"}', "", document % "b", b"\xff", '{"remove": "a"}')
    assert [each.get("id") for each in answers] == ["a", None, "b", "b", None, "a"]
    assert answers[0].keys() == {"id", "cluster", "name", "probability", "outlier_score", "new"}
    assert answers[1] == {"line": 2, "error": "not JSON: Expecting value at character 1"}
    assert answers[2] == {"id": "b", "removed": False}
    assert answers[4]["line"] == 6
    assert answers[5] == {"id": "a", "removed": True}
    assert stream.n_documents == 1


def test_adding_and_removing_one_document_again_and_again(answer, stream):
    add, remove = '{"id": "a", "text": "parcel"}', '{"remove": "a"}'
    answers = answer(add, remove, remove, add, add, remove, add)
    assert [each.get("removed") for each in answers] == [None, True, False, None, None, True, None]
    assert stream.n_documents == 1
    assert stream.check() == []


def test_a_document_that_cannot_be_known_is_null_not_nan(answer):
    assert answer('{"id": "a", "text": "…"}') == [
        {"id": "a", "cluster": -1, "name": "", "probability": None, "outlier_score": None, "new": False}
    ]


def test_a_score_that_json_cannot_hold_is_null(answer, stream):
    (first,) = answer('{"id": "a", "text": "parcel"}')
    assert first["outlier_score"] is None
    assert stream.document("a").outlier_score == float("inf")


def test_no_line_is_written_that_is_not_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        _as_line({"outlier_score": float("inf")})


def test_events_follow_the_answers_of_their_batch(stream):
    stream.add([Document("before", "volcano")])
    answers = LineAnswers(stream, events=True)
    lines = [InputLine(1, b'{"id": "a", "text": "parcel late courier"}')]
    written = [json.loads(line) for line in answers.answer(lines).splitlines()]
    (event,) = stream.events(after=1)
    assert written[1] == {
        "event": "born",
        "cluster": written[0]["cluster"],
        "size": 1,
        "name": event.name,
        "number": 2,
        "time": event.time,
    }
    assert answers.answer(lines).count(b"\n") == len(stream.events(after=2)) + 1


def test_the_file_is_named_where_there_are_several(stream):
    answers = LineAnswers(stream)
    assert json.loads(answers.answer([InputLine(3, b"x")], "some.jsonl"))["file"] == "some.jsonl"
    assert answers.n_mistakes == 1

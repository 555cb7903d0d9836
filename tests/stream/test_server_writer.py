"""The writer: requests that wait together share a transaction, and each keeps its own answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from server_running import wait_until

pytest.importorskip("fastapi", reason="the server needs FastAPI: pip install 'textmix[serve]'")
from textmix.stream.durable import Answer, Document, DurableStream
from textmix.stream.server.writer import MAX_TOGETHER, Kind, News, QueueFullError, StoppedError, Writer


class WatchedStream(DurableStream):
    """A stream that notes what is added together, and fails at a text that says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.calls: list[list[str]] = []

    def add(self, documents: Sequence[Document]) -> list[Answer]:
        self.calls.append([document.text for document in documents])
        if any(document.text == "fail" for document in documents):
            raise ValueError("this text fails")
        return super().add(documents)


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[WatchedStream]:
    with WatchedStream(tmp_path / "state") as stream:
        yield stream


def batch(*texts: str, prefix: str = "") -> list[Document]:
    return [Document(f"{prefix}{text}", text) for text in texts]


def finished(writer: Writer) -> None:
    writer.start()
    writer.stop()


def test_requests_that_wait_share_a_transaction_and_get_their_own_answers(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    answers = [writer.submit(Kind.ADD, batch(*texts)) for texts in (["apple", "pear"], ["plum"], [], ["quince", "fig"])]
    finished(writer)
    assert stream.calls == [["apple", "pear", "plum", "quince", "fig"]]
    assert [[answer.id for answer in each.result()] for each in answers] == [
        ["apple", "pear"], ["plum"], [], ["quince", "fig"],
    ]  # fmt: skip


def test_an_id_in_two_requests_keeps_their_order(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    for text in ("first", "second", "third"):
        writer.submit(Kind.ADD, [Document("the same", text)])
    finished(writer)
    assert stream.calls == [["first"], ["second"], ["third"]]
    found = stream.document("the same")
    assert found is not None
    assert found.text == "third"
    assert stream.n_documents == 1


def test_adding_and_removing_happen_in_the_order_in_which_they_were_asked_for(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    writer.submit(Kind.ADD, batch("apple", "pear"))
    removed = [writer.submit(Kind.REMOVE, ["apple", "nobody"]), writer.submit(Kind.REMOVE, ["pear", "pear"])]
    writer.submit(Kind.ADD, batch("apple"))
    finished(writer)
    assert [each.result() for each in removed] == [["apple"], ["pear"]]
    assert stream.n_documents == 1
    assert stream.document("apple") is not None


def test_a_transaction_has_a_size_beyond_which_others_wait(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    half = MAX_TOGETHER // 2
    for place in range(3):
        writer.submit(Kind.ADD, [Document(f"{place} {i}", "apple") for i in range(half)])
    finished(writer)
    assert [len(call) for call in stream.calls] == [2 * half, half]


def test_a_request_that_fails_does_not_fail_those_that_came_along(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    good, bad, other = (writer.submit(Kind.ADD, batch(text)) for text in ("apple", "fail", "pear"))
    finished(writer)
    assert good.result()[0].id == "apple"
    assert other.result()[0].id == "pear"
    with pytest.raises(ValueError, match="this text fails"):
        bad.result()
    assert stream.n_documents == 2


def test_no_more_wait_than_may(stream: WatchedStream) -> None:
    writer = Writer(stream, 2)
    writer.submit(Kind.ADD, batch("apple"))
    writer.submit(Kind.ASSIGN, ["apple"])
    with pytest.raises(QueueFullError):
        writer.submit(Kind.REMOVE, ["apple"])
    assert writer.n_waiting == 2
    finished(writer)


def test_a_writer_that_was_stopped_finishes_what_waits_and_takes_no_more(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    answers = [writer.submit(Kind.ADD, batch(str(place), prefix="d")) for place in range(20)]
    finished(writer)
    assert all(len(answer.result()) == 1 for answer in answers)
    assert stream.n_documents == 20
    with pytest.raises(StoppedError):
        writer.submit(Kind.ADD, batch("late"))


def test_a_request_that_was_given_up_while_it_waited_is_left_out(stream: WatchedStream) -> None:
    writer = Writer(stream, 64)
    assert writer.submit(Kind.ADD, batch("given up")).cancel()
    kept = writer.submit(Kind.ADD, batch("kept"))
    finished(writer)
    assert kept.result()[0].id == "kept"
    assert stream.document("given up") is None


def test_a_request_is_answered_before_what_it_brought_is_told(stream: WatchedStream) -> None:
    may_tell, told = threading.Event(), list[News]()

    def tell(news: News) -> None:
        assert may_tell.wait(60)
        told.append(news)

    writer = Writer(stream, 64, tell=tell)
    writer.start()
    for kind, items in ((Kind.ADD, batch("zebra")), (Kind.REMOVE, ["zebra"])):
        may_tell.clear()
        answer = writer.submit(kind, items)
        n_told = len(told)
        assert len(answer.result(60)) == 1
        assert len(told) == n_told
        assert writer.state.n_documents == stream.n_documents
        may_tell.set()
        wait_until(lambda before=n_told: len(told) > before)
    writer.stop()
    assert [news.state.n_documents for news in told] == [1, 0]


def test_what_a_transaction_brought_is_told_once(stream: WatchedStream) -> None:
    told: list[News] = []
    writer = Writer(stream, 64, tell=told.append)
    writer.submit(Kind.ADD, batch("zebra"))
    finished(writer)
    (news,) = told
    assert news.transaction == 1
    assert (news.state.n_documents, news.state.n_clusters, news.state.last_event) == (1, 1, 1)
    assert [event.kind for event in news.events] == ["born"]
    assert [outlier.document.text for outlier in news.outliers] == ["zebra"]
    assert writer.version == 1


def test_all_events_of_a_transaction_are_told_however_many(stream: WatchedStream, monkeypatch: Any) -> None:
    told: list[News] = []
    monkeypatch.setattr(stream, "events", lambda after: DurableStream.events(stream, after, limit=2))
    writer = Writer(stream, 64, tell=told.append)
    writer.submit(Kind.ADD, batch("apple", "zebra", "volcano", "parcel", "storm"))
    finished(writer)
    assert [[event.number for event in news.events] for news in told] == [[1, 2], [3, 4], [5]]
    assert [news.state.last_event for news in told] == [2, 4, 5]
    assert all(news.outliers == told[0].outliers != [] for news in told)


def test_what_cannot_be_told_leaves_no_outlier_behind(stream: WatchedStream, monkeypatch: Any) -> None:
    told: list[News] = []
    writer = Writer(stream, 64, tell=told.append)
    writer.submit(Kind.ADD, batch("zebra"))
    writer.submit(Kind.REMOVE, ["zebra"])
    events = stream.events
    monkeypatch.setattr(stream, "events", lambda after: events(after) if after == 0 else events("not a number"))
    finished(writer)
    assert [news.transaction for news in told] == [1, 2]
    assert [len(news.outliers) for news in told] == [1, 0]


def test_trouble_with_telling_does_not_undo_what_is_stored(stream: WatchedStream) -> None:
    def fail(news: News) -> None:
        raise RuntimeError("nobody listens")

    writer = Writer(stream, 64, tell=fail)
    answer = writer.submit(Kind.ADD, batch("apple"))
    finished(writer)
    assert answer.result()[0].id == "apple"
    assert len(stream.calls) == 1


def test_many_threads_get_each_their_own(stream: WatchedStream) -> None:
    writer = Writer(stream, 1000)
    writer.start()
    found: dict[str, Any] = {}

    def send(name: str) -> None:
        for place in range(10):
            documents = [Document(f"{name}-{place}-{i}", f"{name} apple") for i in range(3)]
            found[f"{name}-{place}"] = [answer.id for answer in writer.submit(Kind.ADD, documents).result()]

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.stop()
    assert all(ids == [f"{key}-{i}" for i in range(3)] for key, ids in found.items())
    assert stream.n_documents == 120

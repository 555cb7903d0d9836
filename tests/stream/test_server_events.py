"""Server-sent events: each once and in order, also for those who come back, until the server ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from server_running import SECONDS, RunningServer, events_of, running, wait_until

from textmix.stream.durable import DurableStream
from textmix.stream.policy import Policy
from textmix.stream.server import hub, writer


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    monkeypatch.setattr(hub, "PAUSE", 0.0)
    with DurableStream(tmp_path / "state") as stream, running(stream) as server:
        yield server


def listen(
    served: RunningServer,
    wanted: int,
    *,
    numbered: bool = True,
    begun: threading.Semaphore | None = None,
    **headers: str,
) -> list[dict[str, Any]]:
    """The first so many events of the stream; `begun` is released once the listener has the state there was."""
    found: list[dict[str, Any]] = []
    with served.client.stream("GET", "/events/stream", headers=headers) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        for event in events_of(response.iter_lines()):
            if begun is not None and event.get("event") == "state":
                begun.release()
            if not numbered or "id" in event:
                found.append(event)
            if len(found) == wanted:
                break
    return found


def test_events_have_a_number_a_kind_and_data(served: RunningServer) -> None:
    served.add("zebra", "apple")
    first, second = listen(served, 2, **{"Last-Event-ID": "0"})
    assert (first["id"], first["event"], second["id"]) == ("1", "born", "2")
    assert first["data"] == served.client.get("/events").json()["events"][0]


def test_those_who_come_back_get_what_they_missed(served: RunningServer) -> None:
    served.add("zebra", "apple", "quince")
    assert [event["id"] for event in listen(served, 2, **{"Last-Event-ID": "1"})] == ["2", "3"]


def test_without_a_number_it_begins_with_what_happens_next(served: RunningServer) -> None:
    served.add("zebra")
    found: list[dict[str, Any]] = []
    begun = threading.Semaphore(0)
    listener = threading.Thread(target=lambda: found.extend(listen(served, 1, begun=begun)))
    listener.start()
    assert begun.acquire(timeout=SECONDS)
    served.add("apple", prefix="other")
    listener.join()
    assert [event["data"]["cluster"] for event in found] == [1]


def test_numbers_and_outliers_come_along_without_a_number(served: RunningServer) -> None:
    served.add("apple")
    served.add("zebra\nof the plains", prefix="other")
    first, outlier, recent, state = listen(served, 4, numbered=False)
    assert (first["event"], outlier["event"]) == ("outlier", "outlier")
    assert first["data"]["outlier_score"] is None  # there was nothing to compare it with
    assert outlier["data"]["text"] == "zebra\nof the plains"
    assert outlier["data"]["outlier_score"] > 0
    assert (recent["event"], recent["data"]) == ("outliers", {"ids": ["t0", "other0"]})
    assert state["event"] == "state"
    assert state["data"] == {"n_documents": 2, "n_clusters": 2, "last_event": 2, "n_outliers": 2}


def told(served: RunningServer) -> tuple[list[str], dict[str, Any]]:
    """What a new listener is told first: texts of outliers, and the events that follow by their kinds."""
    texts, others = [], {}
    with served.client.stream("GET", "/events/stream") as response:
        for event in events_of(response.iter_lines()):
            if event["event"] == "outlier":
                texts.append(event["data"]["text"])
            else:
                others[event["event"]] = event["data"]
            if event["event"] == "state":
                break
    return texts, others


def replace(served: RunningServer, text: str) -> None:
    served.client.post("/documents", json={"documents": [{"id": "secret1", "text": text}]})


GOING: dict[str, Callable[[RunningServer], Any]] = {
    "removed": lambda served: served.client.post("/documents/remove", json={"ids": ["secret1"]}),
    "deleted": lambda served: served.client.delete("/documents/secret1"),
    "replaced": lambda served: replace(served, "apple pear"),
    "the same but not strange any more": lambda served: replace(served, "zebra giraffe"),
}


@pytest.mark.parametrize("way", GOING)
def test_an_outlier_that_is_gone_is_not_told_any_more(served: RunningServer, way: str) -> None:
    served.add("apple pear", "apple pear plum", "apple pear quince", prefix="known")
    served.add("volcano lava ash", "zebra giraffe", prefix="secret")
    assert told(served)[0][-2:] == ["volcano lava ash", "zebra giraffe"]
    if way.startswith("the same"):
        served.add(*["zebra giraffe"] * 5, prefix="herd")
    found: list[list[str]] = []
    has_begun = threading.Event()

    def hear() -> None:
        with served.client.stream("GET", "/events/stream") as response:
            for event in events_of(response.iter_lines()):
                if event.get("event") == "outliers":
                    found.append(event["data"]["ids"])
                    has_begun.set()
                    if "secret1" not in found[-1]:
                        break

    listener = threading.Thread(target=hear)
    listener.start()
    assert has_begun.wait(SECONDS)
    GOING[way](served)
    texts, others = told(served)
    assert "zebra giraffe" not in texts
    assert "volcano lava ash" in texts
    assert "secret1" not in others["outliers"]["ids"]
    assert others["state"]["n_outliers"] == len(others["outliers"]["ids"]) == len(texts)
    listener.join(SECONDS)
    assert "secret1" in found[0]
    assert found[-1] == others["outliers"]["ids"]


def test_a_removal_that_was_answered_is_heard_of_before_anything_else(
    served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes while a removal is answered but not told yet does not hear of the text."""
    served.add("volcano lava ash", prefix="secret")
    assert told(served)[0] == ["volcano lava ash"]  # the writer has told it, and is free
    may_tell, tell = threading.Event(), served.service.writer._tell

    def tell_late(news: writer.News) -> None:
        assert may_tell.wait(SECONDS)
        tell(news)

    monkeypatch.setattr(served.service.writer, "_tell", tell_late)
    served.client.delete("/documents/secret0")
    found: list[tuple[list[str], dict[str, Any]]] = []
    listener = threading.Thread(target=lambda: found.append(told(served)))
    listener.start()
    wait_until(lambda: served.service.hub.n_listeners == 1)
    may_tell.set()
    listener.join(SECONDS)
    ((texts, others),) = found
    assert texts == others["outliers"]["ids"] == []


def test_an_outlier_that_another_replaces_is_told_with_its_new_text(served: RunningServer) -> None:
    served.add("apple pear", "apple pear plum", prefix="known")
    served.add("volcano lava ash", "zebra giraffe", prefix="secret")
    replace(served, "telescope galaxy")
    texts, others = told(served)
    assert texts[-2:] == ["volcano lava ash", "telescope galaxy"]
    assert others["outliers"]["ids"].count("secret1") == 1


def test_an_outlier_that_the_policy_forgets_is_not_told_any_more(tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state", policy=Policy(keep=2)) as stream, running(stream) as served:
        served.add("zebra giraffe")
        assert told(served)[0] == ["zebra giraffe"]
        served.add("volcano lava ash", "telescope galaxy", "parcel courier", prefix="later")
        texts, others = told(served)
        assert texts == ["telescope galaxy", "parcel courier"]
        assert others["outliers"]["ids"] == ["later1", "later2"]


def test_only_the_last_outliers_are_remembered(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "N_RECENT", 2)
    for text in ("zebra giraffe", "volcano lava ash", "telescope galaxy"):
        served.add(text, prefix=text)
    texts, others = told(served)
    assert texts == ["volcano lava ash", "telescope galaxy"]
    assert others["state"]["n_outliers"] == 2


def test_after_a_new_start_none_is_remembered(tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream:
        with running(stream) as served:
            served.add("zebra giraffe")
        with running(stream) as served:
            texts, others = told(served)
            assert (texts, others["outliers"]["ids"], others["state"]["n_outliers"]) == ([], [], 0)


def test_events_that_memory_does_not_hold_come_from_disk(tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream:
        with running(stream) as served:
            served.add("zebra", "apple", "quince")
        with running(stream) as served:
            assert [event["id"] for event in listen(served, 3, **{"Last-Event-ID": "0"})] == ["1", "2", "3"]


def test_a_quiet_stream_gives_signs_of_life(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "HEARTBEAT", 0.01)
    _, _, first, second = listen(served, 4, numbered=False)
    assert first == second == {"comment": ": still here"}


def test_more_listeners_than_may_are_refused(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmix.stream.server.hub.MAX_LISTENERS", 0)
    assert served.client.get("/events/stream").status_code == 429


@pytest.mark.parametrize("number", ["x", "-1", str(2**63)])
def test_a_number_that_is_none_is_refused(served: RunningServer, number: str) -> None:
    assert served.client.get("/events/stream", headers={"Last-Event-ID": number}).status_code == 422


def test_those_who_leave_are_forgotten(served: RunningServer) -> None:
    served.add("zebra")
    listen(served, 1, **{"Last-Event-ID": "0"})
    wait_until(lambda: served.service.hub.n_listeners == 0)


def test_no_more_listen_than_may_however_many_come_at_once(
    served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textmix.stream.server.hub.MAX_LISTENERS", 3)
    address = (served.client.base_url.host, served.client.base_url.port)
    with ExitStack() as open_connections:
        connections = [open_connections.enter_context(socket.create_connection(address, SECONDS)) for _ in range(9)]
        for connection in connections:
            connection.sendall(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        codes = [connection.recv(100).split()[1] for connection in connections]
    assert sorted(codes) == [b"200"] * 3 + [b"429"] * 6
    wait_until(lambda: served.service.hub.n_listeners == 0)


def test_an_event_is_encoded_once_however_many_listen(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = hub.message

    def count(kind: str, *data: Any) -> bytes:
        encoded.append(kind)
        return encode(kind, *data)

    monkeypatch.setattr(hub, "message", count)
    begun = threading.Semaphore(0)
    listeners = [threading.Thread(target=listen, args=(served, 1), kwargs={"begun": begun}) for _ in range(3)]
    for listener in listeners:
        listener.start()
    assert all(begun.acquire(timeout=SECONDS) for _ in listeners)
    served.add("zebra")
    for listener in listeners:
        listener.join()
    assert sorted(encoded) == ["born", "outlier", "outliers", "state"]


def test_those_who_listen_are_woken_after_the_answer(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "PAUSE", 10.0 * SECONDS)
    begun, has_heard = threading.Semaphore(0), threading.Event()

    def hear() -> None:
        listen(served, 1, begun=begun)
        has_heard.set()

    listener = threading.Thread(target=hear)
    listener.start()
    assert begun.acquire(timeout=SECONDS)
    served.add("zebra")
    assert not has_heard.wait(0.5)
    served.service._loop.call_soon_threadsafe(served.service.hub._wake)
    listener.join()
    assert has_heard.is_set()

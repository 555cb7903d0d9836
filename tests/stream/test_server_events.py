"""Server-sent events: each once and in order, also for those who come back, until the server ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_running import RunningServer, events_of, running, wait_until

from textmix.stream.durable import DurableStream
from textmix.stream.server import hub


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    monkeypatch.setattr(hub, "PAUSE", 0.0)
    with DurableStream(tmp_path / "state") as stream, running(stream) as server:
        yield server


def listen(served: RunningServer, wanted: int, *, numbered: bool = True, **headers: str) -> list[dict[str, Any]]:
    """The first so many events of the stream."""
    found: list[dict[str, Any]] = []
    with served.client.stream("GET", "/events/stream", headers=headers) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        for event in events_of(response.iter_lines()):
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
    listener = threading.Thread(target=lambda: found.extend(listen(served, 1)))
    listener.start()
    wait_until(lambda: served.service.hub.n_listeners == 1)
    served.add("apple", prefix="other")
    listener.join()
    assert [event["data"]["cluster"] for event in found] == [1]


def test_numbers_and_outliers_come_along_without_a_number(served: RunningServer) -> None:
    served.add("apple")
    served.add("zebra\nof the plains", prefix="other")
    first, outlier, state = listen(served, 3, numbered=False)
    assert (first["event"], outlier["event"]) == ("outlier", "outlier")
    assert first["data"]["outlier_score"] is None  # there was nothing to compare it with
    assert outlier["data"]["text"] == "zebra\nof the plains"
    assert outlier["data"]["outlier_score"] > 0
    assert state["event"] == "state"
    assert state["data"] == {"n_documents": 2, "n_clusters": 2, "last_event": 2, "n_outliers": 2}


def test_events_that_memory_does_not_hold_come_from_disk(tmp_path: Path) -> None:
    with DurableStream(tmp_path / "state") as stream:
        with running(stream) as served:
            served.add("zebra", "apple", "quince")
        with running(stream) as served:
            assert [event["id"] for event in listen(served, 3, **{"Last-Event-ID": "0"})] == ["1", "2", "3"]


def test_a_quiet_stream_gives_signs_of_life(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "HEARTBEAT", 0.01)
    _, first, second = listen(served, 3, numbered=False)
    assert first == second == {"comment": ": still here"}


def test_more_listeners_than_may_are_refused(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmix.stream.server.event_routes.MAX_LISTENERS", 0)
    assert served.client.get("/events/stream").status_code == 429


@pytest.mark.parametrize("number", ["x", "-1", str(2**63)])
def test_a_number_that_is_none_is_refused(served: RunningServer, number: str) -> None:
    assert served.client.get("/events/stream", headers={"Last-Event-ID": number}).status_code == 422


def test_those_who_leave_are_forgotten(served: RunningServer) -> None:
    served.add("zebra")
    listen(served, 1, **{"Last-Event-ID": "0"})
    wait_until(lambda: served.service.hub.n_listeners == 0)

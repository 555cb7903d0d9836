"""Connections: slow clients and many connections keep nobody else from being answered."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from server_running import SECONDS, TOKEN, RunningServer, running, some_documents, wait_until
from uvicorn.protocols.http.flow_control import FlowControl

from textmix.stream.durable import DurableStream
from textmix.stream.server import connections, gate
from textmix.stream.server.settings import Limits, Settings

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_A_HEADER = b"GET /clusters HTTP/1.1\r\nHost: localhost\r\nX-"
HALF_A_BODY = (
    b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with DurableStream(tmp_path_factory.mktemp("state")) as stream, running(stream) as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits that end at once."""
    for kind in connections.SECONDS:
        monkeypatch.setitem(connections.SECONDS, kind, 0.05)
    monkeypatch.setattr(connections, "SWEEP_SECONDS", 0.01)


def connect(served: RunningServer, sent: bytes) -> socket.socket:
    """A connection on which something was sent."""
    address = served.client.base_url
    connection = socket.create_connection((address.host, address.port), SECONDS)
    connection.sendall(sent)
    return connection


def received(connection: socket.socket) -> bytes:
    """All that comes until the connection is closed."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def ask(served: RunningServer, method: str, path: str, **kwargs: object) -> httpx.Response:
    """An answer on a connection of its own."""
    return httpx.request(method, f"{served.client.base_url}{path}", timeout=SECONDS, **kwargs)


def test_slow_clients_keep_nobody_from_being_answered(served: RunningServer) -> None:
    with ExitStack() as slow:
        for _ in range(200):
            slow.enter_context(connect(served, HALF_A_HEADER))
        for _ in range(50):
            slow.enter_context(connect(served, HALF_A_BODY))
        assert ask(served, "GET", "/healthz").status_code == 200
        assert ask(served, "POST", "/documents", json={"documents": some_documents(3)}).status_code == 200


def test_other_requests_are_answered_while_an_address_has_as_many_as_it_may(tmp_path: Path) -> None:
    limited = Settings(Limits(max_per_address=2))
    with DurableStream(tmp_path / "state") as stream, running(stream, limited) as served, ExitStack() as slow:
        for _ in range(2):
            slow.enter_context(connect(served, HALF_A_BODY))
        wait_until(lambda: ask(served, "GET", "/clusters").status_code == 429)
        refused = ask(served, "GET", "/clusters", headers={"X-Forwarded-For": "10.0.0.1"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json() == {"detail": "too many requests at the same time from this address"}
        assert ask(served, "GET", "/healthz").status_code == 200
        slow.close()
        wait_until(lambda: ask(served, "GET", "/clusters").status_code == 200)


def test_a_trusted_proxy_says_who_the_client_is(tmp_path: Path) -> None:
    behind_proxy = Settings(Limits(max_per_address=1), proxies=("127.0.0.0/8",))
    sent = HALF_A_BODY.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n")
    with (
        DurableStream(tmp_path / "state") as stream,
        running(stream, behind_proxy) as served,
        connect(served, sent),
    ):
        mine, other = {"X-Forwarded-For": "10.0.0.1"}, {"X-Forwarded-For": "10.0.0.2"}
        wait_until(lambda: ask(served, "GET", "/clusters", headers=mine).status_code == 429)
        assert ask(served, "GET", "/clusters", headers=other).status_code == 200


@pytest.mark.parametrize("proxy", ["*", "proxy.example", "10.0.0.1/8", ""])
def test_a_proxy_is_an_address_or_a_network(proxy: str) -> None:
    with pytest.raises(ValueError, match="is not an IP address or network"):
        Settings(proxies=(proxy,))


def test_too_many_requests_of_all_addresses_are_refused_in_the_form_of_all_errors(
    served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MAX_REQUESTS", 0)
    refused = ask(served, "GET", "/clusters")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json() == {"detail": "too many requests at the same time"}
    assert ask(served, "GET", "/healthz").status_code == 200


@pytest.mark.usefixtures("impatient")
def test_a_header_that_does_not_arrive_is_given_up(served: RunningServer) -> None:
    with connect(served, HALF_A_HEADER) as connection, connect(served, b"") as silent:
        assert received(connection) == received(silent) == b""


def test_the_header_of_a_second_request_that_does_not_arrive_is_given_up(
    served: RunningServer, request: pytest.FixtureRequest
) -> None:
    with connect(served, HEALTH + HALF_A_HEADER) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        request.getfixturevalue("impatient")
        assert b"HTTP/1.1 200" not in received(connection)


def test_nonsense_after_an_answer_without_its_body_is_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        DurableStream(tmp_path / "state") as stream,
        running(stream, Settings(token=TOKEN)) as served,
        connect(
            served, b"POST /documents HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        ) as connection,
    ):
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
        connection.sendall(b"nonsense\r\n")
        received(connection)
    assert "Fatal error" not in caplog.text


def test_a_body_is_not_waited_for_after_its_answer(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with (
        DurableStream(tmp_path / "state") as stream,
        running(stream, Settings(token=TOKEN)) as served,
        connect(served, HALF_A_BODY) as connection,
    ):
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
        request.getfixturevalue("impatient")
        connection.sendall(b" ")  # ends uvicorn's wait for another request
        received(connection)


def test_an_answer_that_is_not_read_is_given_up(served: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.SECONDS, "answer", 0.05)
    monkeypatch.setattr(connections, "SWEEP_SECONDS", 0.01)
    with connect(served, b"") as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)  # 20 MB of answers
        port = connection.getsockname()[1]
        wait_until(lambda: all(each.client[1] != port for each in list(served.connections)))


class SlowReader:
    """An event loop and a transport of which a test says how late it is, and how much is unread."""

    def __init__(self) -> None:
        self.now, self.unread, self.is_closed = 0.0, 0, False

    def time(self) -> float:
        return self.now

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.is_closed = True


def answering(reader: SlowReader) -> connections.Connection:
    """A connection in the middle of an answer."""
    connection = connections.Connection.__new__(connections.Connection)
    connection.loop = connection.transport = reader
    connection.connections, connection.cycle, connection.flow = set(), None, FlowControl(reader)
    connection._waited_for, connection._since, connection._unread = (None, "answer"), 0.0, 0
    return connection


@pytest.mark.parametrize(("bytes_per_second", "is_closed"), [(10_000, False), (1_000, False), (100, True)])
def test_an_answer_that_is_read_slowly_but_steadily_is_sent_to_its_end(bytes_per_second: int, is_closed: bool) -> None:
    reader = SlowReader()
    connection = answering(reader)
    for second in range(200):
        reader.now, reader.unread = float(second), 10_000_000 - second * bytes_per_second
        connection.close_if_overdue()
    assert reader.is_closed is is_closed


@pytest.mark.parametrize(("seconds", "is_closed"), [(50.0, False), (70.0, True)])
def test_an_answer_in_parts_is_sent_to_its_end_if_each_is_read_in_time(seconds: float, is_closed: bool) -> None:
    reader = SlowReader()
    connection = answering(reader)
    reader.unread = 20_000
    for part in range(10):
        reader.now = part * seconds
        connection.resume_writing()
        reader.now += seconds - 1.0
        connection.close_if_overdue()
    assert reader.is_closed is is_closed


def test_a_new_connection_takes_the_place_of_the_one_that_is_idle_longest(
    served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    monkeypatch.setattr(connections, "MIN_WAIT", 0.0)
    monkeypatch.setitem(connections.SECONDS, "request", 10.0 * SECONDS)
    with ExitStack() as slow:
        waiting = [slow.enter_context(connect(served, HALF_A_HEADER)) for _ in range(8)]
        for connection in waiting[:2]:
            assert received(connection) == b""
        assert ask(served, "GET", "/healthz").status_code == 200


def test_a_new_connection_is_refused_where_all_others_have_just_come(
    served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 0)
    with connect(served, b"") as connection:
        assert received(connection) == b""


def test_what_is_not_http_is_answered_in_the_form_of_all_errors(served: RunningServer) -> None:
    with connect(served, b"nonsense\r\n\r\n") as connection:
        head, _, body = received(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request")
    assert b"content-type: application/json" in head.lower()
    assert b"x-content-type-options: nosniff" in head.lower()
    assert json.loads(body) == {"detail": "this is not a valid HTTP request"}


def test_nonsense_after_an_answer_has_begun_ends_the_connection(
    served: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    listening = b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(served, listening) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        connection.sendall(b"nonsense\r\n")
        received(connection)
    assert "Traceback" not in caplog.text

"""Connections: a time limit for what each waits for, and room for new ones when there are many.

uvicorn has neither: a client that sends half a header, or does not read its answer, keeps its connection for ever.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from textmix.stream.server.errors import problem
from textmix.stream.server.gate import SECURITY_HEADERS

Wait = Literal["request", "answer"]

MAX_CONNECTIONS = 500  # well below the usual limit of 1,024 open files
MIN_WAIT = 1.0  # seconds that a connection may wait for its request before another takes its place
SWEEP_SECONDS = 1.0  # between two looks at all connections
# How long a client may take: to send the header of a request, and to read the next part of an answer. Bodies: see gate.
SECONDS: dict[Wait, float] = {"request": 10.0, "answer": 60.0}
PART = 2**15  # bytes of an answer


class Connection(H11Protocol):
    """A connection of uvicorn that knows what it waits for, and since when."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, or close it if there is none."""
        super().connection_made(transport)
        self._waited_for: tuple[Any, Wait | None] = (None, "request")
        self._since = self.loop.time()
        self._unread = 0  # bytes of an answer, at that time
        if len(self.connections) > MAX_CONNECTIONS:
            (_longest_idle(self.connections) or self).close()

    def on_response_complete(self) -> None:
        """Note that the next request is waited for."""
        self._since = self.loop.time()
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Note that the client has read most of what was sent, and gets more."""
        self._since = self.loop.time()
        super().resume_writing()

    @property
    def waits_for(self) -> Wait | None:
        """What the client has to do next; None: it waits for the server."""
        if self.transport.get_write_buffer_size():
            return "answer"
        return None if self.cycle is not None and not self.cycle.response_complete else "request"

    @property
    def seconds_idle(self) -> float:
        """How long the next request has been waited for; 0 while one is under way."""
        return self.loop.time() - self._since if self.waits_for == "request" else 0.0

    def close_if_overdue(self) -> None:
        """Close the connection if the client has taken too long."""
        waited_for, now = (self.cycle, self.waits_for), self.loop.time()
        unread = self.transport.get_write_buffer_size()
        if waited_for != self._waited_for or unread <= self._unread - PART:
            self._waited_for, self._since, self._unread = waited_for, now, unread
            return
        self._unread = max(self._unread, unread)
        if self.waits_for is not None and now - self._since > SECONDS[self.waits_for]:
            self.close()

    def close(self) -> None:
        """Close the connection now, whatever is left to send."""
        self.connections.discard(self)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, in the form of all errors."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer has begun
            self.close()
            return
        answer = problem(400, "this is not a valid HTTP request", {"Connection": "close", **SECURITY_HEADERS})
        head = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _longest_idle(connections: Iterable[Any]) -> Connection | None:
    """Of the address with most idle connections the one that is idle longest, if that is long enough."""
    idle = [each for each in connections if isinstance(each, Connection) and each.seconds_idle > MIN_WAIT]
    n_idle = Counter(_host(each) for each in idle)
    return max(idle, key=lambda each: (n_idle[_host(each)], each.seconds_idle), default=None)


def _host(connection: Connection) -> str | None:
    return connection.client[0] if connection.client else None


async def close_overdue(connections: Iterable[Any]) -> None:
    """Close connections that are overdue, for as long as the server runs."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        for connection in list(connections):
            if isinstance(connection, Connection):
                connection.close_if_overdue()

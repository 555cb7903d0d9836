"""Server-sent events: what the writer tells, passed on to all who listen."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from textmix.stream.records import StoredEvent, finite_or_none
from textmix.stream.server.errors import RETRY_AFTER, problem
from textmix.stream.server.writer import News, Outlier, State

HEARTBEAT = 15.0  # seconds between two signs of life
PAUSE = 0.2  # seconds in which news are gathered before they are sent
MAX_LISTENERS = 100
N_RECENT_EVENTS = 1_000
SHOWN_TEXT = 400  # characters of an outlier's text

ReadEvents = Callable[[int], list[StoredEvent]]


class Encoded(NamedTuple):
    """A server-sent event as it goes over the wire, the same for all who listen; numbers rise."""

    number: int
    data: bytes


class Hub:
    """Keeps the latest news, encoded once for all, and wakes those who listen; lives on the event loop.

    `n_answered` is how many transactions were answered. Nobody is sent anything that is older: a text whose removal
    was answered is not told any more.
    """

    def __init__(self, state: State, read_events: ReadEvents, n_answered: Callable[[], int]) -> None:
        self._read_events = read_events
        self._n_answered = n_answered
        self._n_told = n_answered()
        self._told = asyncio.Event()
        self._events: deque[Encoded] = deque(maxlen=N_RECENT_EVENTS)
        self._version = 0  # how often there were news
        self._news = asyncio.Event()
        self._gathering: asyncio.TimerHandle | None = None  # until those who listen are woken
        self._closed = False
        self.n_listeners = 0
        self._outliers: list[Encoded] = []
        self._show(state, [])

    def tell(self, news: News) -> None:
        """Pass on what a transaction brought; to be called on the loop. Those who listen are woken a little later."""
        self._events.extend(map(_encode_event, news.events))
        self._show(news.state, news.outliers)
        self._version += 1
        self._n_told = news.transaction
        self._told = _set_and_renew(self._told)
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(PAUSE, self._wake)

    def _show(self, state: State, outliers: list[Outlier]) -> None:
        """Encode what everyone is told who comes, or has been told something else."""
        encoded = {each.number: each for each in self._outliers}
        self._outliers = [encoded.get(each.number) or _encode_outlier(each) for each in outliers]
        self._state = state
        self._state_message = message("state", {**state._asdict(), "n_outliers": len(outliers)})
        self._outliers_message = message("outliers", {"ids": [each.answer.id for each in outliers]})

    def close(self) -> None:
        """End all streams of events."""
        self._closed = True
        self._told.set()
        self._wake()

    def enter(self) -> bool:
        """Take a place among those who listen, if there is one; it is given back by `leave`."""
        if self.n_listeners >= MAX_LISTENERS:
            return False
        self.n_listeners += 1
        return True

    def leave(self) -> None:
        """Give a place back."""
        self.n_listeners -= 1

    async def listen(self, after: int | None) -> AsyncIterator[bytes]:
        """Server-sent events after a number, or from now on; state and outliers have no number."""
        await self._catch_up()
        last = self._state.last_event if after is None else min(after, self._state.last_event)
        version, told, n_outliers = None, None, 0
        yield b"retry: 1000\n\n"
        while not self._closed:
            woken = self._news
            await self._catch_up()
            messages = await self._events_after(last)
            last = messages[-1].number if messages else last
            parts = [each.data for each in messages]
            parts += [each.data for each in self._outliers if each.number > n_outliers]
            n_outliers = max(n_outliers, *(each.number for each in self._outliers), 0)
            if told != self._outliers_message:
                told = self._outliers_message
                parts.append(told)
            if version != self._version:
                version = self._version
                parts.append(self._state_message)
            if parts:
                yield b"".join(parts)
            if last >= self._state.last_event and not await self._wait(woken):
                yield b": still here\n\n"

    async def _catch_up(self) -> None:
        """Wait until all that was answered has been told here."""
        n_answered = self._n_answered()
        while self._n_told < n_answered and not self._closed:
            await self._told.wait()

    async def _events_after(self, last: int) -> list[Encoded]:
        """The next events: of those in memory, or, if these begin later, from disk."""
        if last >= self._state.last_event:
            return []
        if self._events and self._events[0].number <= last + 1:
            return [event for event in self._events if event.number > last]
        return list(map(_encode_event, await run_in_threadpool(self._read_events, last)))

    async def _wait(self, woken: asyncio.Event) -> bool:
        """Wait for news; False if none came for long."""
        try:
            await asyncio.wait_for(woken.wait(), HEARTBEAT)
        except TimeoutError:
            return False
        return True

    def _wake(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self._news = _set_and_renew(self._news)


def _set_and_renew(event: asyncio.Event) -> asyncio.Event:
    """Wake all who wait for an event; returns one for those who come later."""
    event.set()
    return asyncio.Event()


class EventStream(StreamingResponse):
    """The answer to one who listens; has a place from the request to the end of the connection."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, after: int | None) -> None:
        super().__init__(hub.listen(after))
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves, or the server ends."""
        if not self._hub.enter():
            await problem(429, f"{MAX_LISTENERS} others listen already", RETRY_AFTER)(scope, receive, send)
            return
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave()


def _encode_event(event: StoredEvent) -> Encoded:
    return Encoded(event.number, message(event.kind, event._asdict(), event.number))


def _encode_outlier(outlier: Outlier) -> Encoded:
    return Encoded(outlier.number, message("outlier", _shown(outlier)))


def message(kind: str, data: Mapping[str, Any], number: int | None = None) -> bytes:
    """One server-sent event; JSON has no line breaks."""
    identified = "" if number is None else f"id: {number}\n"
    return f"{identified}event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode()


def _shown(outlier: Outlier) -> dict[str, Any]:
    text, answer = outlier.document.text, outlier.answer
    shown = {"id": answer.id, "text": text[:SHOWN_TEXT], "cut": len(text) > SHOWN_TEXT}
    scored = {"cluster": answer.cluster, "name": answer.name, "outlier_score": finite_or_none(answer.outlier_score)}
    return shown | scored

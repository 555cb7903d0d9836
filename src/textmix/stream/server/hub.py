"""Server-sent events: what the writer tells, passed on to all who listen."""

from __future__ import annotations

import asyncio
import json
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool

from textmix.stream.records import StoredEvent
from textmix.stream.server.outliers import Outlier
from textmix.stream.server.writer import News, State

HEARTBEAT = 15.0  # seconds between two signs of life
PAUSE = 0.2  # seconds in which news are gathered before they are sent
MAX_LISTENERS = 100
N_RECENT_EVENTS = 1_000
SHOWN_TEXT = 400  # characters of an outlier's text

ReadEvents = Callable[[int], list[StoredEvent]]


class Hub:
    """Keeps the latest news, and wakes those who listen; lives on the event loop."""

    def __init__(self, state: State, read_events: ReadEvents) -> None:
        self._read_events = read_events
        self._state = state
        self._events: deque[StoredEvent] = deque(maxlen=N_RECENT_EVENTS)
        self._outliers: list[Outlier] = []
        self._version = 0  # how often there were news
        self._news = asyncio.Event()
        self._closed = False
        self.n_listeners = 0

    def tell(self, news: News) -> None:
        """Pass on what a transaction brought; to be called on the loop."""
        self._state = news.state
        self._events.extend(news.events)
        self._outliers = news.outliers
        self._version += 1
        self._wake()

    def close(self) -> None:
        """End all streams of events."""
        self._closed = True
        self._wake()

    async def listen(self, after: int | None) -> AsyncIterator[str]:
        """Server-sent events after a number, or from now on; state and outliers have no number."""
        last = self._state.last_event if after is None else min(after, self._state.last_event)
        version, told, n_outliers = None, None, 0
        self.n_listeners += 1
        try:
            yield "retry: 1000\n\n"
            while not self._closed:
                woken = self._news
                for event in await self._events_after(last):
                    last = event.number
                    yield message(event.kind, event._asdict(), event.number)
                while outlier := next((each for each in self._outliers if each.number > n_outliers), None):
                    n_outliers = outlier.number  # looked for anew each time: while one is sent, others may go
                    yield message("outlier", _shown(outlier))
                if told != self._outlier_ids():
                    told = self._outlier_ids()
                    yield message("outliers", {"ids": told})
                if version != self._version:
                    version = self._version
                    yield message("state", {**self._state._asdict(), "n_outliers": len(self._outliers)})
                if last >= self._state.last_event and not await self._wait(woken):
                    yield ": still here\n\n"
        finally:
            self.n_listeners -= 1

    def _outlier_ids(self) -> list[str]:
        return [outlier.answer.id for outlier in self._outliers]

    async def _events_after(self, last: int) -> list[StoredEvent]:
        """The next events: of those in memory, or, if these begin later, from disk."""
        if last >= self._state.last_event:
            return []
        if self._events and self._events[0].number <= last + 1:
            return [event for event in self._events if event.number > last]
        return await run_in_threadpool(self._read_events, last)

    async def _wait(self, woken: asyncio.Event) -> bool:
        """Wait for news, and a little for more of them; False if none came for long."""
        try:
            await asyncio.wait_for(woken.wait(), HEARTBEAT)
        except TimeoutError:
            return False
        if not self._closed:
            await asyncio.sleep(PAUSE)
        return True

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def message(kind: str, data: Mapping[str, Any], number: int | None = None) -> str:
    """One server-sent event; JSON has no line breaks."""
    identified = "" if number is None else f"id: {number}\n"
    return f"{identified}event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def _shown(outlier: Outlier) -> dict[str, Any]:
    text, answer = outlier.document.text, outlier.answer
    shown = {"id": answer.id, "text": text[:SHOWN_TEXT], "cut": len(text) > SHOWN_TEXT}
    scored = {"cluster": answer.cluster, "name": answer.name, "outlier_score": _finite(answer.outlier_score)}
    return shown | scored


def _finite(score: float | None) -> float | None:
    """JSON has no infinity: the score of a text that is the first of all."""
    return score if score is not None and math.isfinite(score) else None

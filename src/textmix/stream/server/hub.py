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
from textmix.stream.server.writer import News, State

HEARTBEAT = 15.0  # seconds between two signs of life
PAUSE = 0.2  # seconds in which news are gathered before they are sent
MAX_LISTENERS = 100
N_RECENT_EVENTS = 1_000
N_RECENT_OUTLIERS = 20
SHOWN_TEXT = 400  # characters of an outlier's text

ReadEvents = Callable[[int], list[StoredEvent]]


class Hub:
    """Keeps the latest news, and wakes those who listen; lives on the event loop."""

    def __init__(self, state: State, read_events: ReadEvents) -> None:
        self._read_events = read_events
        self._state = state
        self._events: deque[StoredEvent] = deque(maxlen=N_RECENT_EVENTS)
        self._outliers: deque[tuple[int, dict[str, Any]]] = deque(maxlen=N_RECENT_OUTLIERS)
        self._n_outliers = 0
        self._news = asyncio.Event()
        self._closed = False
        self.n_listeners = 0

    def tell(self, news: News) -> None:
        """Pass on what a transaction brought; to be called on the loop."""
        self._state = news.state
        self._events.extend(news.events)
        first = self._n_outliers + 1
        self._n_outliers += len(news.outliers)
        for number, (document, answer) in list(enumerate(news.outliers, first))[-N_RECENT_OUTLIERS:]:
            shown = {"id": answer.id, "text": document.text[:SHOWN_TEXT], "cut": len(document.text) > SHOWN_TEXT}
            scored = {"cluster": answer.cluster, "name": answer.name, "outlier_score": _finite(answer.outlier_score)}
            self._outliers.append((number, shown | scored))
        self._wake()

    def close(self) -> None:
        """End all streams of events."""
        self._closed = True
        self._wake()

    async def listen(self, after: int | None) -> AsyncIterator[str]:
        """Server-sent events after a number, or from now on; state and outliers have no number."""
        last = self._state.last_event if after is None else min(after, self._state.last_event)
        state, n_outliers = None, 0
        self.n_listeners += 1
        try:
            yield "retry: 1000\n\n"
            while not self._closed:
                woken = self._news
                for event in await self._events_after(last):
                    last = event.number
                    yield message(event.kind, event._asdict(), event.number)
                for place, outlier in [entry for entry in self._outliers if entry[0] > n_outliers]:
                    n_outliers = place
                    yield message("outlier", outlier)
                if state != self._state:
                    state = self._state
                    yield message("state", {**state._asdict(), "n_outliers": self._n_outliers})
                if last >= self._state.last_event and not await self._wait(woken):
                    yield ": still here\n\n"
        finally:
            self.n_listeners -= 1

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


def _finite(score: float | None) -> float | None:
    """JSON has no infinity: the score of a text that is the first of all."""
    return score if score is not None and math.isfinite(score) else None

"""What the routes work with: the stream, its writer, those who listen, new fits, and the clusters as last listed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool

from textmix.stream.durable import DurableStream
from textmix.stream.records import StreamCluster
from textmix.stream.refit import Refit
from textmix.stream.server.errors import RETRY_AFTER, malformed
from textmix.stream.server.hub import Hub
from textmix.stream.server.metrics import Metrics
from textmix.stream.server.settings import Settings
from textmix.stream.server.writer import Kind, News, QueueFullError, StoppedError, Writer

log = logging.getLogger("textmix.serve")

PAUSE_FACTOR = 5.0  # pause between two descriptions of clusters, for each second that one takes
MAX_LISTINGS = 100  # of clusters that are kept


class ClusterQuery(NamedTuple):
    """Which of the clusters are asked for."""

    limit: int
    offset: int
    newest: bool


class ClusterListing(NamedTuple):
    """The clusters that were asked for, and how many documents and clusters there are in all."""

    n_documents: int
    n_clusters: int
    clusters: list[StreamCluster]


class Refits:
    """The fit that is under way, or the last one; `ended` is called when one has ended."""

    def __init__(self, stream: DurableStream, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended
        self._lock = threading.Lock()
        self._last: Refit | None = None

    def begin(self) -> bool:
        """Begin a fit, unless one is under way."""
        with self._lock:
            if self._last is not None and not self._last.is_done:
                return False
            self._last = self._stream.refit(self._ended)
            return True

    def state(self) -> dict[str, Any]:
        """Whether one is under way; of one that has ended what it has changed, or why it failed."""
        refit = self._last
        state: dict[str, Any] = {"running": refit is not None and not refit.is_done, "failed": False, "changed": None}
        if refit is not None and refit.is_done:
            try:
                state["changed"] = refit.wait()._asdict()
            except Exception:
                state["failed"] = True
        return state

    def stop(self) -> None:
        """Give up the one that is under way."""
        with self._lock:
            if self._last is not None:
                self._last.stop()


class Service:
    """One stream that is served; made on the event loop."""

    def __init__(self, stream: DurableStream, settings: Settings, metrics: Metrics) -> None:
        self.stream = stream
        self.limits = settings.limits
        self.token_needed = settings.token is not None
        self.metrics = metrics
        self._loop = asyncio.get_running_loop()
        self.writer = Writer(stream, self.limits.max_queue, tell=self._pass_on, measure=metrics.measure_batch)
        self.hub = Hub(self.writer.state, stream.events, lambda: self.writer.version)
        metrics.watch(self.writer)
        self.refits = Refits(stream, self._tell_refit)
        self._describing = asyncio.Lock()
        self._described_version = -1
        self._listings: dict[ClusterQuery, ClusterListing] = {}  # as they were at that version
        self._may_describe_from = 0.0  # by the loop's clock

    async def ask(self, kind: Kind, items: Sequence[Any]) -> list[Any]:
        """Let the writer do something, and wait until it is on disk."""
        try:
            answers: list[Any] = await asyncio.wrap_future(self.writer.submit(kind, items))
        except ValueError as error:
            raise malformed(str(error)) from None
        except (OSError, sqlite3.Error) as error:
            log.error("nothing was stored: %s", error)  # one line: a disk may be full for long
            raise HTTPException(503, "nothing was stored: the disk does not take it", RETRY_AFTER) from None
        return answers

    async def clusters(self, query: ClusterQuery) -> ClusterListing:
        """Some of the clusters; described once for all who ask for the same between two transactions.

        Finding their words keeps the writer waiting, so afterwards there is a pause in which it can do its work.
        """
        async with self._describing:
            if self._described_version != self.writer.version or query not in self._listings:
                await asyncio.sleep(self._may_describe_from - self._loop.time())
                started, version = self._loop.time(), self.writer.version
                if self._described_version != version or len(self._listings) >= MAX_LISTINGS:
                    self._listings.clear()
                self._described_version = version
                self._listings[query] = await run_in_threadpool(self._describe, query)
                ended = self._loop.time()
                self._may_describe_from = ended + PAUSE_FACTOR * (ended - started)
            return self._listings[query]

    def _describe(self, query: ClusterQuery) -> ClusterListing:
        clusters = self.stream.clusters(query.limit, query.offset, newest=query.newest)
        return ClusterListing(self.stream.n_documents, self.stream.n_clusters, clusters)

    def _tell_refit(self) -> None:
        """Let the writer tell what a new fit has changed."""
        with contextlib.suppress(StoppedError, QueueFullError):  # then nobody listens, or the next request tells it
            self.writer.submit(Kind.REMOVE, [])

    def stop(self) -> None:
        """Finish what waits; a fit that is under way is given up."""
        self.refits.stop()
        self.writer.stop()

    def _pass_on(self, news: News) -> None:
        self._loop.call_soon_threadsafe(self.hub.tell, news)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]

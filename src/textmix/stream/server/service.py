"""What the routes work with: the stream, its writer, those who listen, and the clusters as last described."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool

from textmix.stream.durable import DurableStream
from textmix.stream.records import StreamCluster
from textmix.stream.server.errors import RETRY_AFTER, malformed
from textmix.stream.server.hub import Hub
from textmix.stream.server.metrics import Metrics
from textmix.stream.server.refits import Refits
from textmix.stream.server.settings import Settings
from textmix.stream.server.writer import Kind, News, QueueFullError, StoppedError, Writer

log = logging.getLogger("textmix.serve")

PAUSE_FACTOR = 5.0  # pause between two descriptions of clusters, for each second that one takes
MAX_PAGES = 100  # kept of clusters that were described


class Page(NamedTuple):
    """Some of the clusters."""

    limit: int
    offset: int
    newest: bool


class Described(NamedTuple):
    """The clusters of a page, and how many there are in all."""

    n_clusters: int
    clusters: list[StreamCluster]


class Service:
    """One stream that is served; made on the event loop."""

    def __init__(self, stream: DurableStream, settings: Settings, metrics: Metrics) -> None:
        self.stream = stream
        self.limits = settings.limits
        self.token_needed = settings.token is not None
        self.metrics = metrics
        self._loop = asyncio.get_running_loop()
        self.writer = Writer(stream, self.limits.max_queue, tell=self._pass_on, measure=metrics.measure_batch)
        self.hub = Hub(self.writer.state, stream.events)
        metrics.watch(self.writer)
        self.refits = Refits(stream, self._tell_refit)
        self._describing = asyncio.Lock()
        self._described_version = -1
        self._pages: dict[Page, Described] = {}  # as they were at that version
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

    async def clusters(self, page: Page) -> Described:
        """Some of the clusters; described once for all who ask for the same between two transactions.

        Finding their words keeps the writer waiting, so afterwards there is a pause in which it can do its work.
        """
        async with self._describing:
            if self._described_version != self.writer.version or page not in self._pages:
                await asyncio.sleep(self._may_describe_from - self._loop.time())
                started, version = self._loop.time(), self.writer.version
                if self._described_version != version or len(self._pages) >= MAX_PAGES:
                    self._pages.clear()
                self._described_version = version
                self._pages[page] = await run_in_threadpool(self._describe, page)
                ended = self._loop.time()
                self._may_describe_from = ended + PAUSE_FACTOR * (ended - started)
            return self._pages[page]

    def _describe(self, page: Page) -> Described:
        clusters = self.stream.clusters(page.limit, page.offset, newest=page.newest)
        return Described(self.stream.n_clusters, clusters)

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

"""What the routes work with: the stream, its writer, those who listen, and the clusters as last counted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from typing import Annotated, Any

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

PAUSE_FACTOR = 5.0  # pause between two counts of all clusters, for each second that one takes


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
        self._counting = asyncio.Lock()
        self._counted: tuple[int, list[StreamCluster]] = (-1, [])
        self._may_count_from = 0.0  # by the loop's clock

    async def ask(self, kind: Kind, items: Sequence[Any]) -> list[Any]:
        """Let the writer do something, and wait until it is on disk."""
        try:
            answers: list[Any] = await asyncio.wrap_future(self.writer.submit(kind, items))
        except ValueError as error:
            raise malformed(str(error)) from None
        except (OSError, sqlite3.Error):
            log.exception("nothing was stored")
            raise HTTPException(503, "nothing was stored: the disk does not take it", RETRY_AFTER) from None
        return answers

    async def clusters(self) -> list[StreamCluster]:
        """All clusters, by falling size; counted once for all who ask between two transactions.

        Counting keeps the writer waiting, so between two counts there is a pause in which it can do its work.
        """
        async with self._counting:
            if self._counted[0] != self.writer.version:
                await asyncio.sleep(self._may_count_from - self._loop.time())
                started, version = self._loop.time(), self.writer.version
                self._counted = (version, await run_in_threadpool(self.stream.clusters))
                ended = self._loop.time()
                self._may_count_from = ended + PAUSE_FACTOR * (ended - started)
            return self._counted[1]

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

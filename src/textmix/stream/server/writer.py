"""The one thread that changes the stream: requests wait in a bounded queue, and share transactions."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from textmix.stream.durable import DurableStream
from textmix.stream.records import Answer, Document, StoredEvent
from textmix.stream.server.outliers import Outlier, RecentOutliers

log = logging.getLogger("textmix.serve")

MAX_TOGETHER = 1_000  # documents of a transaction that several requests share: more would make the first ones wait


class QueueFullError(Exception):
    """As many requests are waiting as may."""


class StoppedError(Exception):
    """The writer takes no more requests."""


class Kind(Enum):
    """What a request asks of the writer."""

    ADD = "add"
    REMOVE = "remove"
    ASSIGN = "assign"


@dataclass(frozen=True)
class Job:
    """A request that waits, and where its answer goes."""

    kind: Kind
    items: Sequence[Any]  # documents, ids or texts
    ids: frozenset[str]
    answer: Future[Any] = field(default_factory=Future)


class State(NamedTuple):
    """Numbers of the stream after a transaction."""

    n_documents: int
    n_clusters: int
    last_event: int


class News(NamedTuple):
    """What a transaction brought, and which of the last outliers are there after it."""

    state: State
    events: list[StoredEvent]
    outliers: list[Outlier]


class Writer:
    """Owns the stream: everything that changes it is done here, in the order in which it was asked for."""

    def __init__(
        self,
        stream: DurableStream,
        max_queue: int,
        *,
        tell: Callable[[News], None] = lambda news: None,
        measure: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._stream = stream
        self._max_queue = max_queue
        self._tell = tell
        self._measure = measure
        self._outliers = RecentOutliers(stream.document)
        self._waiting: deque[Job] = deque()
        self._condition = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="textmix-writer")
        self.version = 0  # transactions so far
        self.n_taken = 0  # requests that were worked on, or are
        self.state = State(stream.n_documents, stream.n_clusters, stream.last_event)

    @property
    def n_waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    @property
    def is_alive(self) -> bool:
        """Whether requests are worked on."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests, finish those that wait, and end."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()

    def submit(self, kind: Kind, items: Sequence[Any]) -> Future[Any]:
        """Let a request wait; its answer comes once it is on disk."""
        ids = [item.id for item in items if item.id is not None] if kind is Kind.ADD else items
        job = Job(kind, items, frozenset(ids if kind is not Kind.ASSIGN else ()))
        with self._condition:
            if self._stopping:
                raise StoppedError
            if len(self._waiting) >= self._max_queue:
                raise QueueFullError
            self._waiting.append(job)
            self._condition.notify()
        return job.answer

    def _run(self) -> None:
        while jobs := self._take():
            started = time.perf_counter()
            self._perform([job for job in jobs if job.answer.set_running_or_notify_cancel()])
            self._measure(time.perf_counter() - started)

    def _take(self) -> list[Job]:
        """The next request and those after it that can be done along with it; none at the end."""
        with self._condition:
            while not self._waiting and not self._stopping:
                self._condition.wait()
            jobs = [self._waiting.popleft()] if self._waiting else []
            while jobs and self._waiting and _fits(jobs, self._waiting[0]):
                jobs.append(self._waiting.popleft())
            self.n_taken += len(jobs)
            return jobs

    def _perform(self, jobs: Sequence[Job]) -> None:
        """Do requests of one kind together; if that fails, one by one, so that none fails for another."""
        if not jobs:
            return
        try:
            answers = self._do(jobs[0].kind, jobs)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answer.set_exception(error)
            else:
                for job in jobs:
                    self._perform([job])
            return
        for job, answer in zip(jobs, answers, strict=True):
            job.answer.set_result(answer)

    def _do(self, kind: Kind, jobs: Sequence[Job]) -> list[list[Any]]:
        items = [item for job in jobs for item in job.items]
        if kind is Kind.ASSIGN:
            return _split(self._stream.assign(items), jobs)
        if kind is Kind.REMOVE:
            removed = set(self._stream.remove(items))
            self._after([])
            return [[id for id in dict.fromkeys(job.items) if id in removed] for job in jobs]
        answers = self._stream.add(items)
        self._after(list(zip(items, answers, strict=True)))
        return _split(answers, jobs)

    def _after(self, added: list[tuple[Document, Answer]]) -> None:
        """Note and tell what a transaction brought; what is on disk is answered even if this fails."""
        self.version += 1
        try:
            outliers, last = self._outliers.update(added), self._stream.last_event
            self._tell_events(last, outliers)
            while self.state.last_event < last:
                self._tell_events(last, outliers)
        except Exception:
            log.exception("what was stored could not be told to those who listen")

    def _tell_events(self, last: int, outliers: list[Outlier]) -> None:
        """Tell the next events up to the last, as many as the stream gives at a time."""
        events = self._stream.events(after=self.state.last_event)
        number = events[-1].number if events else last
        self.state = State(self._stream.n_documents, self._stream.n_clusters, number)
        self._tell(News(self.state, events, outliers))


def _fits(jobs: Sequence[Job], job: Job) -> bool:
    """Whether a request can share a transaction: of the same kind, not too many, and no id in two of them."""
    return (
        job.kind is jobs[0].kind
        and sum(len(other.items) for other in jobs) + len(job.items) <= MAX_TOGETHER
        and all(job.ids.isdisjoint(other.ids) for other in jobs)
    )


def _split(answers: Sequence[Any], jobs: Sequence[Job]) -> list[list[Any]]:
    """The answers of several requests, each with its own."""
    rest = iter(answers)
    return [[next(rest) for _ in job.items] for job in jobs]

"""The one thread that changes the stream: requests wait in a bounded queue, share transactions, and are answered.

Then those who listen are told what the transaction brought, with the texts that came last and are outliers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from textmix.stream.durable import DurableStream
from textmix.stream.records import Answer, Document, StoredDocument, StoredEvent

log = logging.getLogger("textmix.serve")

MAX_TOGETHER = 1_000  # documents of a transaction that several requests share: more would make the first ones wait
N_RECENT = 20  # outliers that are remembered


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


class Outlier(NamedTuple):
    """A text that is an outlier; numbers rise, also when a text with the same id takes its place."""

    number: int
    document: Document
    answer: Answer


class News(NamedTuple):
    """What a transaction brought, and which of the last outliers are there after it."""

    transaction: int  # its number, from 1
    state: State
    events: list[StoredEvent]
    outliers: list[Outlier]


class RecentOutliers:
    """The last outliers that are in the stream still, as they came; `find` looks a document up by its id."""

    def __init__(self, find: Callable[[str], StoredDocument | None]) -> None:
        self._find = find
        self._outliers: list[Outlier] = []
        self._n_outliers = 0  # so far

    def update(self, added: Sequence[tuple[Document, Answer]]) -> list[Outlier]:
        """Those that are there after a transaction that added documents, the last of them last."""
        new = [pair for pair in added if _is_outlier(pair[1].outlier_score)]
        numbered = [Outlier(number, *pair) for number, pair in enumerate(new, self._n_outliers + 1)]
        self._n_outliers += len(new)
        candidates = {outlier.answer.id: outlier for outlier in [*self._outliers, *numbered]}
        self._outliers = []  # what cannot be looked up is not remembered either
        kept: list[Outlier] = []
        for outlier in sorted(candidates.values(), reverse=True, key=lambda outlier: outlier.number):
            if len(kept) < N_RECENT and self._is_still_one(outlier):
                kept.append(outlier)
        self._outliers = kept[::-1]
        return list(self._outliers)

    def _is_still_one(self, outlier: Outlier) -> bool:
        """Whether the text has been neither taken out, nor forgotten, nor replaced by another, nor found its place."""
        found = self._find(outlier.answer.id)
        return found is not None and found.text == outlier.document.text and _is_outlier(found.outlier_score)


def _is_outlier(score: float | None) -> bool:
    return score is not None and score > 0.0


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
        while jobs := self._next_jobs():
            started = time.perf_counter()
            self._perform([job for job in jobs if job.answer.set_running_or_notify_cancel()])
            self._measure(time.perf_counter() - started)

    def _next_jobs(self) -> list[Job]:
        """The next request and those after it that can be done along with it; none at the end."""
        with self._condition:
            while not self._waiting and not self._stopping:
                self._condition.wait()
            jobs = [self._waiting.popleft()] if self._waiting else []
            while jobs and self._waiting and _may_share(jobs, self._waiting[0]):
                jobs.append(self._waiting.popleft())
            self.n_taken += len(jobs)
            return jobs

    def _perform(self, jobs: Sequence[Job]) -> None:
        """Do requests of one kind together and answer them; if that fails, one by one, so that none fails for another.

        What is on disk is answered before it is told, and even if telling fails.
        """
        if not jobs:
            return
        items = [item for job in jobs for item in job.items]
        try:
            answers = self._carry_out(jobs[0].kind, items)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answer.set_exception(error)
            else:
                for job in jobs:
                    self._perform([job])
            return
        if jobs[0].kind is not Kind.ASSIGN:
            self.version += 1
            with suppress(Exception):  # what is stored is answered in any case
                self.state = self._count(self.state.last_event)
        rest = iter(answers)
        for job in jobs:
            if job.kind is Kind.REMOVE:
                job.answer.set_result([id for id in dict.fromkeys(job.items) if id in answers])
            else:
                job.answer.set_result([next(rest) for _ in job.items])
        if jobs[0].kind is not Kind.ASSIGN:
            self._tell_news(list(zip(items, answers, strict=True)) if jobs[0].kind is Kind.ADD else [])

    def _carry_out(self, kind: Kind, items: Sequence[Any]) -> Collection[Any]:
        """Answers to documents or texts, in their order; of ids those that were there."""
        if kind is Kind.ASSIGN:
            return self._stream.assign(items)
        return self._stream.add(items) if kind is Kind.ADD else set(self._stream.remove(items))

    def _count(self, last_event: int) -> State:
        return State(self._stream.n_documents, self._stream.n_clusters, last_event)

    def _tell_news(self, added: list[tuple[Document, Answer]]) -> None:
        """Tell what the last transaction brought: events as many at a time as the stream gives."""
        try:
            outliers, last = self._outliers.update(added), self._stream.last_event
            while True:
                events = self._stream.events(after=self.state.last_event)
                self.state = self._count(events[-1].number if events else last)
                self._tell(News(self.version, self.state, events, outliers))
                if self.state.last_event >= last:
                    return
        except Exception:
            log.exception("what was stored could not be told to those who listen")
            with suppress(Exception):
                self._tell(News(self.version, self.state, [], []))


def _may_share(jobs: Sequence[Job], job: Job) -> bool:
    """Whether a request can share a transaction: of the same kind, not too many, and no id in two of them."""
    return (
        job.kind is jobs[0].kind
        and sum(len(other.items) for other in jobs) + len(job.items) <= MAX_TOGETHER
        and all(job.ids.isdisjoint(other.ids) for other in jobs)
    )

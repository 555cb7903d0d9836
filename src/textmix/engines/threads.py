"""Blocks of work on threads. Kernels run without the GIL; what a block computes does not depend on who runs it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event
from typing import Any, Self, TypeVar

from joblib import cpu_count

Result = TypeVar("Result")
BlockFunction = Callable[[int, int], Result]


def count_threads(n_jobs: int | None) -> int:
    """What scikit-learn's n_jobs means: None is 1, −1 all cores, −2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; 1 is one thread, −1 as many as there are cores")
    return n_jobs if n_jobs > 0 else max(cpu_count() + 1 + n_jobs, 1)


class Threads:
    """Runs a function over blocks of a range, in order or side by side."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool

    def map_blocks(self, function: BlockFunction[Result], n: int, block: int) -> Iterator[Result]:
        """function(first, last) for each block of 0 … n − 1; results in the order of the blocks."""
        firsts = range(0, n, block)
        lasts = [min(first + block, n) for first in firsts]
        if self._pool is None or len(firsts) < 2:
            return map(function, firsts, lasts)
        return _results([self._pool.submit(function, first, last) for first, last in zip(firsts, lasts, strict=True)])

    def run_blocks(self, function: BlockFunction[None], n: int, block: int) -> None:
        """The same for a function that returns nothing."""
        for _ in self.map_blocks(function, n, block):
            pass


def _results(futures: list[Future[Result]]) -> Iterator[Result]:
    """Results in order. Whoever stops listening, by Ctrl-C for instance, waits for the blocks that have begun."""
    try:
        for future in futures:
            yield future.result()
    finally:
        _cancel(futures)


def _cancel(futures: Collection[Future[Result]]) -> None:
    """Let none of them begin, and wait for those that have (`wait` would wait for ever for one that was cancelled)."""
    wait([future for future in futures if not future.cancel()])


def side_by_side(
    work: Callable[[int], Result], n: int, n_jobs: int | None, stop: Event, *, keep_finished: bool
) -> list[Result]:
    """work(0) … work(n − 1), in order. Work looks at `stop` now and then, which is set when there is no need to go on.

    After Ctrl-C what is finished is returned, if that is wanted and there is any.
    """
    pool = ThreadPoolExecutor(min(count_threads(n_jobs), n), thread_name_prefix="textmix")
    futures: list[Future[Result]] = []
    try:
        futures += [pool.submit(work, number) for number in range(n)]
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        stop.set()
        _cancel(futures)
        finished = [f.result() for f in futures if not f.cancelled() and f.exception() is None]
        if not (keep_finished and finished):
            raise
        return finished
    finally:  # also when Ctrl-C comes once more
        stop.set()
        pool.shutdown(cancel_futures=True)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[Threads]:
    """Threads for as long as the block of code lasts."""
    n_threads = count_threads(n_jobs)
    if n_threads == 1:
        yield Threads(None)
        return
    with ThreadPoolExecutor(n_threads, thread_name_prefix="textmix") as pool:
        yield Threads(pool)


class ThreadEngine:
    """Steps over shards side by side. Each thread loads its shard itself: one in memory for each thread."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.events: list[str] = []
        self._loaders: Sequence[Callable[[], Any]] = ()
        self._n_threads = count_threads(n_jobs)
        self._pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="textmix")

    def hold(self, loaders: Sequence[Callable[[], Any]]) -> None:
        """Shard i is what loaders[i]() returns."""
        self._loaders = loaders

    def map(self, step: Callable[..., Result], shared: Any, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
        """step(shard i, shared, *arguments[i]) for each shard i; results in order.

        Whoever stops listening, by Ctrl-C for instance, waits for the steps that have begun.
        """
        pending: deque[Future[Result]] = deque()
        try:
            for loader, own in zip(self._loaders, arguments, strict=True):
                if len(pending) == 2 * self._n_threads:  # a slow step leaves the other threads something to do
                    yield _first_result(pending)
                pending.append(self._pool.submit(_load_and_run, step, loader, shared, own))
            while pending:
                yield _first_result(pending)
        finally:
            _cancel(pending)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._loaders = ()
        self._pool.shutdown(cancel_futures=True)


def _first_result(futures: deque[Future[Result]]) -> Result:
    """Take the first one away once its result is there: an interruption while waiting leaves it."""
    result = futures[0].result()
    futures.popleft()
    return result


def _load_and_run(
    step: Callable[..., Result], loader: Callable[[], Any], shared: Any, arguments: tuple[Any, ...]
) -> Result:
    return step(loader(), shared, *arguments)

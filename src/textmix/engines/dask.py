"""Steps on the workers of a Dask cluster, any of which may be lost at any moment. The only file that imports Dask.

Shards are loaded on the workers and stay there. `shared` is sent once a call, and lies once in each process. What
Dask does when a worker dies, and what is done about it here: docs/decisions/engines.md.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import math
import os
import re
import signal
import time
import uuid
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple, Self, TypeVar

from .parcel import Parcel, put_right
from .threads import count_threads

try:
    import dask
    from distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin
    from distributed.scheduler import NoValidWorkerError
except ImportError as error:
    raise ImportError("engine='dask' needs the package distributed: pip install 'textmix[dask]'") from error

Result = TypeVar("Result")

_POLL_SECONDS = 0.25  # how often the scheduler is asked for its workers while a step is waited for
_SEND_SECONDS = 5.0  # how long Dask itself waits for a worker to send data to
_MAX_REPEATS = 5  # of one step, in one call
_CONNECT_SECONDS = 10.0
_PATIENCE = 5.0  # seconds without any worker, after which that is said
_ADDRESS = re.compile(r"inproc://.+|((tcp|tls|ucx|wss?)://)?[^/\s]+:[0-9]+")  # others make Dask hang for a minute
_NEVER_BLAME = 1_000_000  # Dask gives a task up whose worker died so many times, innocent or not; by default 3


class WorkersLostError(RuntimeError):
    """A call cannot be finished, because workers are lost faster than they come."""


class Worker(NamedTuple):
    """A worker process. One that is started anew may have the address of the old one, but has another folder."""

    address: str
    folder: str


class DaskEngine:
    """Runs steps on a Dask cluster, and repeats those that a lost worker had not finished.

    client
        None: a cluster of this machine, n_workers processes with n_jobs threads in all (None: as many as there are
        cores), which listens on 127.0.0.1 alone and ends with the block of code under `with`. Or the address of a
        scheduler, "tcp://…"; or a Client, which is left open.
    timeout
        How many seconds a cluster may be without any worker.
    on_event
        Is told of each loss; without it, losses are warnings. All are kept in `events`.
    """

    def __init__(
        self,
        client: Client | str | None = None,
        *,
        n_jobs: int | None = None,
        n_workers: int = 1,
        timeout: float = 60.0,
        on_event: Callable[[str], None] | None = None,
    ) -> None:
        if isinstance(client, Client) and client.asynchronous:
            raise ValueError("client must not be an asynchronous one; make it by Client(…, asynchronous=False)")
        if isinstance(client, str) and not _ADDRESS.fullmatch(client):
            raise ValueError(f'"{client}" is no address of a Dask scheduler; that looks like tcp://10.0.0.5:8786')
        self.events: list[str] = []
        self._given = client
        self._n_threads = count_threads(-1 if n_jobs is None else n_jobs)
        self._n_workers = n_workers
        self._timeout = timeout
        self._on_event = on_event
        self._exit_stack = ExitStack()
        self.client: Any = None  # the one in use, under `with`
        self._loaders: Sequence[Callable[[], Any]] = ()
        self._homes: list[Worker | None] = []
        self._shards: list[Any] = []  # futures

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.client = _open_client(self._given, self._n_workers, self._n_threads, stack)
            self._exit_stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loaders, self._homes, self._shards = (), [], []
        self.client = None
        self._exit_stack.close()

    def hold(self, loaders: Sequence[Callable[[], Any]]) -> None:
        """Shard i is what loaders[i]() returns; it is loaded on a worker, once and again after a loss.

        Dask keeps the loaders on the scheduler: one that reads a file takes less memory than one that is the data.
        """
        if self.client is None:
            raise RuntimeError("the workers are there under `with` only")
        self._loaders = loaders
        self._homes = [None] * len(loaders)
        self._shards = [None] * len(loaders)
        self._place(self._wait_for_workers())

    def map(self, step: Callable[..., Result], shared: Any, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
        """step(shard i, shared, *arguments[i]) for each shard i, where it lies; results in order.

        Arrays arrive aligned and writable, in the layout in which they were sent. Steps that a lost worker had not
        finished are run again elsewhere; a step that raises an exception is not.
        """
        n_shards = len(self._loaders)
        if len(arguments) != n_shards:
            raise ValueError(f"there are arguments for {len(arguments)} shards, and {n_shards} shards")
        call = _Call(functools.partial(_run, step), Parcel(shared), [Parcel(own) for own in arguments])
        begun: dict[int, _Begun] = {}
        to_begin = list(range(n_shards))
        try:
            for index in range(n_shards):
                while True:
                    if to_begin:
                        begun.update(self._begin(call, to_begin))
                    concurrent.futures.wait([begun[index].outcome], timeout=_POLL_SECONDS)
                    if begun[index].has_finished():
                        break
                    to_begin = self._abandon_lost(begun)
                to_begin = []
                yield begun[index].outcome.result().value
                del begun[index]
        finally:
            self._cancel(begun.values())

    def _begin(self, call: _Call, indices: Sequence[int]) -> dict[int, _Begun]:
        """Send `shared` and the steps of these shards to the workers."""
        call.count(indices)
        homes, shared = self._send(call)
        by_worker: defaultdict[Worker, list[int]] = defaultdict(list)
        for index in indices:
            by_worker[homes[index]].append(index)
        begun = {}
        for worker, mine in by_worker.items():
            futures = self._submit(
                call.function,
                worker,
                [self._shards[index] for index in mine],
                [shared] * len(mine),
                [call.arguments[index] for index in mine],
            )
            for index, future in zip(mine, futures, strict=True):
                begun[index] = _Begun(worker, future, self._fetch(future))
        return begun

    def _send(self, call: _Call) -> tuple[list[Worker], Any]:
        """Shards where they belong, `shared` on one of the workers: the others get it from there when they need it.

        Not by broadcast: a scheduler whose worker dies in a broadcast tries for ever, and broadcasts nothing else.
        """
        for _ in range(_MAX_REPEATS + 1):
            homes = self._place(self._wait_for_workers())
            with suppress(OSError):  # the worker that was to have it is gone
                (shared,) = self.client.scatter([call.shared], hash=False, timeout=_SEND_SECONDS)
                call.sent.append(shared)
                return homes, shared
        raise WorkersLostError(f"data could not be sent to any worker, {_MAX_REPEATS + 1} times in a row")

    def _fetch(self, future: Any) -> concurrent.futures.Future[Parcel]:
        return asyncio.run_coroutine_threadsafe(_gather(self.client, future), self.client.loop.asyncio_loop)

    def _abandon_lost(self, begun: Mapping[int, _Begun]) -> list[int]:
        """The shards whose step will not finish, its worker or its data being lost."""
        workers = self._workers()
        lost = [index for index, step in begun.items() if step.is_lost(workers)]
        if lost and not self._tell_losses(workers):
            self._tell("data on the cluster were lost: unfinished steps are run again")
        self._cancel([begun[index] for index in lost])
        return lost

    def _cancel(self, begun: Iterable[_Begun]) -> None:
        futures = [step.future for step in begun]
        if futures and self.client is not None and self.client.status == "running":
            self.client.cancel(futures)

    # Workers and shards

    def _workers(self) -> dict[Worker, int]:
        """The workers there are, with their numbers of threads."""
        try:
            workers = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        except (OSError, AttributeError) as error:  # a client that was closed has no scheduler
            raise WorkersLostError("the scheduler of the Dask cluster cannot be reached") from error
        return {
            Worker(address, worker["local_directory"]): worker["nthreads"]
            for address, worker in workers.items()
            if worker["status"] in ("running", "paused")  # not those that are about to end
        }

    def _wait_for_workers(self) -> dict[Worker, int]:
        """The workers there are: at least one, or an error after some time."""
        started, told = time.monotonic(), False
        while not (workers := self._workers()):
            self._tell_losses(workers)
            self._start_missing_workers()
            waited = time.monotonic() - started
            if waited > self._timeout:
                raise WorkersLostError(f"the Dask cluster has had no worker for {self._timeout:g} s; start some")
            if waited > _PATIENCE and not told:
                told = True
                self._tell(f"the Dask cluster has no worker; waiting up to {self._timeout:g} s for one")
            time.sleep(_POLL_SECONDS)
        self._tell_losses(workers)
        self._start_missing_workers()
        return workers

    def _start_missing_workers(self) -> None:
        """On a cluster of our own, start workers that Dask gave up: it does that with one that dies twice in 15 s."""
        if self._given is None:
            self.client.cluster.scale(self._n_workers)

    def _tell_losses(self, workers: Mapping[Worker, int]) -> bool:
        """Whether a worker with shards is gone since they were placed."""
        lost = Counter(home for home in self._homes if home is not None and home not in workers)
        for worker, n_shards in lost.items():
            share = f"{n_shards} of {len(self._homes)}"
            when = "" if workers else " once there is another worker"
            self._tell(f"a worker was lost ({worker.address}): its shards ({share}) are loaded again{when}")
        self._homes = [None if home in lost else home for home in self._homes]
        return bool(lost)

    def _tell(self, event: str) -> None:
        self.events.append(event)
        if self._on_event is not None:
            self._on_event(event)
        else:
            warnings.warn(event, RuntimeWarning, stacklevel=2)

    def _place(self, workers: Mapping[Worker, int]) -> list[Worker]:
        """Load each shard that has no place, or whose worker has too many; say where each is."""
        for index, shard in enumerate(self._shards):
            if shard is None or shard.status in ("error", "cancelled"):
                self._homes[index] = None
        homes = place_shards(self._homes, workers)
        moved: defaultdict[Worker, list[int]] = defaultdict(list)
        for index, (old, new) in enumerate(zip(self._homes, homes, strict=True)):
            if old != new:
                moved[new].append(index)
        for worker, indices in moved.items():
            futures = self._submit(_load, worker, [Parcel(self._loaders[index]) for index in indices])
            for index, future in zip(indices, futures, strict=True):
                self._homes[index], self._shards[index] = worker, future
        return homes

    def _submit(self, function: Callable[..., Any], worker: Worker, *iterables: Sequence[Any]) -> list[Any]:
        """Tasks that run on this worker and nowhere else, with keys that no other task ever had."""
        name = f"textmix-{uuid.uuid4().hex}"
        keys = [f"{name}-{number}" for number in range(len(iterables[0]))]
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return list(self.client.map(function, *iterables, key=keys, workers=[worker.address], pure=False))


def place_shards(homes: Sequence[Worker | None], n_threads: Mapping[Worker, int]) -> list[Worker]:
    """A worker for each shard: the one it is on, if that still is there and has no more than its share.

    A worker's share goes by its threads.
    """
    share = len(homes) / sum(n_threads.values())
    room = {worker: math.ceil(threads * share) for worker, threads in n_threads.items()}
    placed: list[Worker | None] = []
    for home in homes:
        stays = home is not None and room.get(home, 0) > 0
        placed.append(home if stays else None)
        if stays and home is not None:
            room[home] -= 1
    result = []
    for home in placed:
        if home is None:
            home = max(room, key=lambda worker: room[worker] / n_threads[worker])
            room[home] -= 1
        result.append(home)
    return result


class _Call:
    """One call of `map`: what is sent, and how often."""

    def __init__(self, function: Callable[..., Parcel], shared: Parcel, arguments: list[Parcel]) -> None:
        self.function = function
        self.shared = shared
        self.arguments = arguments
        self.sent: list[Any] = []  # kept until the call ends: releasing data overtakes the steps that need them
        self._n_times: Counter[int] = Counter()

    def count(self, indices: Sequence[int]) -> None:
        """One more time for these shards; too often is an error."""
        self._n_times.update(indices)
        index = max(indices, key=self._n_times.__getitem__)
        if self._n_times[index] > _MAX_REPEATS + 1:
            raise WorkersLostError(
                f"a worker was lost each of the {_MAX_REPEATS + 1} times that shard {index} was given to one; "
                "workers may have too little memory: more and smaller shards need less"
            )


class _LostError(Exception):
    """The result of a step will not come, for reasons that are not the step's."""


class _Begun(NamedTuple):
    """A step that was sent to a worker."""

    worker: Worker
    future: Any
    outcome: concurrent.futures.Future[Parcel]

    def has_finished(self) -> bool:
        return self.outcome.done() and not isinstance(self.outcome.exception(), _LostError)

    def is_lost(self, workers: Mapping[Worker, int]) -> bool:
        if self.outcome.done():
            return isinstance(self.outcome.exception(), _LostError)
        return self.worker not in workers


async def _gather(client: Client, future: Future) -> Parcel:
    """The result of a step, once it is there. Dask fetches those that arrive at about the same time together."""
    try:
        parcel: Parcel = await client.gather(future, asynchronous=True)
    except Exception as error:
        if future.status == "error" and not isinstance(error, KilledWorker | NoValidWorkerError):
            raise
        raise _LostError from error
    return parcel


# What runs on the workers


def _load(loader: Parcel) -> Any:
    return put_right(loader.value())


def _run(step: Callable[..., Any], shard: Any, shared: Parcel, arguments: Parcel) -> Parcel:
    return Parcel(step(shard, shared.value, *arguments.value))


# Clusters


def _open_client(given: Client | str | None, n_workers: int, n_threads: int, stack: ExitStack) -> Client:
    """The client that was given, or one of our own, which ends with the stack."""
    if isinstance(given, Client):
        return given
    if given is not None:
        try:
            client = _CautiousClient(given, set_as_default=False, timeout=_CONNECT_SECONDS)
        except OSError:
            raise  # nobody answers
        except Exception as error:  # whoever answers does not speak Dask's protocol: anything can come of that
            raise ConnectionError(f"what answers at {given} is not a Dask scheduler") from error
        return stack.enter_context(client)
    # Starting workers sets variables in this process, too, which would slow down other programs that it starts.
    names = [*dask.config.get("distributed.nanny.pre-spawn-environ"), "PYTHONHASHSEED"]
    restore_environment = functools.partial(_set_environment, {name: os.environ.get(name) for name in names})
    stack.callback(restore_environment)
    try:
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=math.ceil(n_threads / n_workers),
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False, "allowed_failures": _NEVER_BLAME},
            silence_logs=logging.CRITICAL,
        )
    except RuntimeError as error:
        raise RuntimeError(
            "the workers of a Dask cluster could not be started; "
            "a script that starts them must run its code under `if __name__ == '__main__':`"
        ) from error
    stack.enter_context(cluster)
    restore_environment()
    client = stack.enter_context(Client(cluster, set_as_default=False))
    client.register_plugin(_IgnoreCtrlC())
    return client


class _CautiousClient(Client):  # type: ignore[misc]
    """A client that takes no leave of a scheduler it has never met: it would wait for an answer, in vain."""

    def __del__(self) -> None:
        if self.status == "running":
            super().__del__()


class _IgnoreCtrlC(WorkerPlugin):  # type: ignore[misc]
    """A terminal sends Ctrl-C to all processes; that of the user answers it, and its workers live on."""

    def setup(self, worker: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value

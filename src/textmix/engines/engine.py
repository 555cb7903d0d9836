"""What an engine is: the shards of the data, and pure steps over all of them, run somewhere.

What a step computes does not depend on where it runs, nor when: the same shards give the same results on every
engine, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from .threads import ThreadEngine

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")

ENGINES = ("serial", "threads", "dask")


class Engine(Protocol):
    """Holds shards and runs steps over them, for as long as the block of code under `with` lasts."""

    events: list[str]
    """What happened that a user should know, such as the loss of a worker."""

    def hold(self, loaders: Sequence[Callable[[], Any]]) -> None:
        """Shard i is what loaders[i]() returns, in place of any shards held before.

        A loader can be pickled, and gives the same each time that it is called. It is called when a step needs its
        shard: at each step, or once and again after a loss.
        """

    def map(self, step: Callable[..., Result], shared: Any, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
        """step(shard i, shared, *arguments[i]) for each shard i; results in the order of the shards.

        A step is a function of a module. Run again it gives the same, and it changes nothing that it is given: threads
        share the shards and `shared`. The first results are there before the last steps have begun; steps run while
        results are asked for. An exception in a step is raised here, and steps not yet begun are not begun.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class SerialEngine:
    """Loads a shard, runs the step, lets the shard go: one shard in memory at a time."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._loaders: Sequence[Callable[[], Any]] = ()

    def hold(self, loaders: Sequence[Callable[[], Any]]) -> None:
        """Shard i is what loaders[i]() returns."""
        self._loaders = loaders

    def map(self, step: Callable[..., Result], shared: Any, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
        """step(shard i, shared, *arguments[i]) for each shard i, in order."""
        for loader, own in zip(self._loaders, arguments, strict=True):
            yield step(loader(), shared, *own)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._loaders = ()


def make_engine(
    engine: str,
    n_jobs: int | None = None,
    client: Client | str | None = None,
    on_event: Callable[[str], None] | None = None,
) -> Engine:
    """The engine of that name: "serial", "threads" (n_jobs of them) or "dask" (for client and on_event: DaskEngine)."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, not {engine!r}")
    if client is not None and engine != "dask":
        raise ValueError(f"client is for engine='dask'; engine={engine!r} has none")
    if engine == "serial":
        return SerialEngine()
    if engine == "threads":
        return ThreadEngine(n_jobs)
    from .dask import DaskEngine  # Dask is optional

    return DaskEngine(client, n_jobs=n_jobs, on_event=on_event)

"""Steps one after the other, in the thread that asks for their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

Result = TypeVar("Result")


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

"""The one loop: it runs the moves of an algorithm, records the trace, reports progress and decides when to stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from textmix.inference.progress import Progress

# A move changes the state it was made for and tells the trace what it did. It gets the number of the sweep, and a
# function to call with the number of documents done.
Tick = Callable[[int], None]
Move = Callable[[int, Tick], Mapping[str, float]]


@dataclass
class Trace:
    """What happened in each sweep, by name."""

    columns: dict[str, list[float]] = field(default_factory=dict)

    def add(self, record: Mapping[str, float]) -> None:
        """Take down one sweep."""
        for name, value in record.items():
            self.columns.setdefault(name, []).append(value)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """One array a name; whole numbers as integers."""
        return {
            name: np.array(values, dtype=np.int64 if all(isinstance(v, int) for v in values) else np.float64)
            for name, values in self.columns.items()
        }


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    trace: Trace
    n_sweeps: int
    stopped_by_itself: bool
    interrupted: bool


def run_moves(
    moves: Sequence[Move],
    *,
    n_sweeps: int,
    n_documents: int,
    settled: Callable[[Trace], bool],
    progress: Progress,
    name: str,
    columns: Sequence[str],
    earlier: Mapping[str, Sequence[float]] | None = None,
) -> RunOutcome:
    """Run the moves, in order, once a sweep, until `settled` says so or n_sweeps are done.

    `columns` are the names that the trace has even if there was no sweep; it begins with `earlier`, the trace of a run
    that is resumed.

    Ctrl-C ends the run at the end of the block of documents at hand; what has been reached stays.
    """
    trace = Trace({column: list((earlier or {}).get(column, ())) for column in columns})
    with progress.task(name, total=n_sweeps * n_documents * len(moves)) as task:
        for index in range(n_sweeps):
            started = time.perf_counter()
            record: dict[str, float] = {}
            try:
                for move in moves:
                    record.update(move(index, task.advance))
            except KeyboardInterrupt:
                warnings.warn(
                    f"{name} interrupted in sweep {index + 1} of {n_sweeps}: this is what had been reached",
                    stacklevel=2,
                )
                return RunOutcome(trace, index, stopped_by_itself=False, interrupted=True)
            record["seconds"] = time.perf_counter() - started
            trace.add(record)
            task.describe(record)
            if settled(trace):
                return RunOutcome(trace, index + 1, stopped_by_itself=True, interrupted=False)
    return RunOutcome(trace, n_sweeps, stopped_by_itself=False, interrupted=False)

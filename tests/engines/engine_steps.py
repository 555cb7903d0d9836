"""Shards and steps that the tests of engines run, in this process and in others."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from textmix.kernels.em import multiply

DEADLINE = 120.0  # seconds until a test gives up waiting; a busy machine needs more than a quiet one


class Weights(NamedTuple):
    marks: np.ndarray  # of odd length in bytes, so that what follows it in a message is not aligned
    table: np.ndarray


class Shared(NamedTuple):
    weights: Weights
    scale: float


class Counts(NamedTuple):
    """A sparse matrix (CSR)."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def make_shared(seed: int = 0, n_words: int = 501) -> Shared:
    rng = np.random.default_rng(seed)
    return Shared(Weights(np.zeros(13, np.int8), rng.random((n_words, 7))), rng.random())


def load_numbers(index: int) -> np.ndarray:
    return np.random.default_rng(index).random(100 + index)


def load_counts(index: int) -> Counts:
    rng = np.random.default_rng(index)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 40 + index))])
    return Counts(starts, rng.integers(0, 501, starts[-1]).astype(np.int32), rng.random(starts[-1]))


def load_and_note(folder: Path, index: int) -> np.ndarray:
    """Leaves a file for each time that a shard is loaded, named by the process."""
    note(folder, f"loaded-{index}")
    return load_numbers(index)


def note(folder: Path, what: str) -> None:
    (folder / f"{what}-{os.getpid()}-{time.monotonic_ns()}").touch()


def wait_for(folder: Path, pattern: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not any(folder.glob(pattern)):
        assert time.monotonic() < deadline, f"no {pattern}"
        time.sleep(0.01)


# Steps


def toy(shard: np.ndarray, shared: Shared, own: float) -> np.ndarray:
    return shard * shared.scale + own


def score(shard: Counts, shared: Shared, own: float) -> np.ndarray:
    """Counts × table, by a kernel."""
    n_rows, n_columns = shard.starts.size - 1, shared.weights.table.shape[1]
    product = np.empty((n_rows, n_columns))
    multiply(*shard, shared.weights.table, product, np.empty(n_columns), 0, n_rows)
    return product + own


def n_compiled(shard: Counts, shared: Shared) -> int:
    score(shard, shared, 0.0)
    return len(multiply.signatures)


def describe(shard: np.ndarray, shared: Shared, own: np.ndarray) -> tuple[Any, ...]:
    """How arrays arrive, and where: process and address."""
    arrays = [shard, shared.weights.marks, shared.weights.table, own]
    kinds = [(type(array) is np.ndarray, array.flags.behaved, array.flags.c_contiguous) for array in arrays]
    types = type(shared).__name__, type(shared.weights).__name__
    return kinds, types, os.getpid(), shared.weights.table.ctypes.data, shard.ctypes.data


def fail_once_noted(shard: np.ndarray, shared: Shared, folder: Path, index: int) -> None:
    note(folder, f"ran-{index}")
    if index == 1:
        raise LookupError("a fault in the step")


def toy_when_told(shard: np.ndarray, shared: Shared, own: float, folder: Path) -> np.ndarray:
    """Says that it has begun, and goes on when there is a file that says so."""
    note(folder, "begun")
    wait_for(folder, "go")
    return toy(shard, shared, own)


def toy_after_deaths(shard: np.ndarray, shared: Shared, own: float, folder: Path, n_deaths: int) -> np.ndarray:
    """Kills its process the first n times."""
    note(folder, "begun")
    if len(list(folder.glob("begun-*"))) <= n_deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return toy(shard, shared, own)

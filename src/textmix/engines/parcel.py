"""Values on their way to another process and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np


class Parcel:
    """A value that is sent in one piece, and whose arrays arrive aligned and writable, once for each process.

    Dask hands out the first array of a message at whatever address it has there, often an odd one, and a read-only
    array as a read-only one. NumPy copies the former at each use, Numba compiles anew for the latter.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Callable[[Any], Parcel], tuple[Any]]:
        return _unpack, (self.value,)

    def __sizeof__(self) -> int:
        return _n_bytes(self.value)


def _unpack(value: Any) -> Parcel:
    return Parcel(put_right(value))


def put_right(value: Any) -> Any:
    """The same with aligned, writable arrays, also in tuples, lists and dictionaries; their layout stays."""
    if isinstance(value, np.ndarray):
        return value if value.flags.behaved else value.copy(order="K")
    if isinstance(value, tuple):
        parts = map(put_right, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return list(map(put_right, value))
    if isinstance(value, dict):
        return {key: put_right(part) for key, part in value.items()}
    return value


def _n_bytes(value: Any) -> int:
    """The memory that a value takes, roughly; Dask moves data to disk by it."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(map(_n_bytes, value))
    if isinstance(value, dict):
        return sum(map(_n_bytes, value.values()))
    return sys.getsizeof(value)

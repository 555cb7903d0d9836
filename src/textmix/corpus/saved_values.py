"""Checks what saved files say: kernels trust indices and counts, so nothing out of range may reach them.

Each check raises a ValueError that names the array or setting and what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.matrix import MAX_TOTAL

WHOLE, FRACTIONS = "iu", "iuf"  # kinds of numbers
_NOT_COMPILED = "eg"  # fractions of 2 and of 16 bytes, which kernels do not take


def check_vector(name: str, array: npt.NDArray[Any], kinds: str, size: int | None = None) -> None:
    """One dimension, numbers of these kinds, and so many of them."""
    dtype = array.dtype
    if array.ndim != 1 or dtype.kind not in kinds or not dtype.isnative or dtype.char in _NOT_COMPILED:
        raise ValueError(f"{name} holds {array.dtype} of shape {array.shape}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} has {array.size:,} numbers, not {size:,}")


def check_range(name: str, array: npt.NDArray[Any], least: float, most: float) -> None:
    """All numbers from `least` to `most`; NaN is not."""
    if array.size == 0:
        return
    for number in (array.min(), array.max()):  # NaN if one of them is
        if not least <= number <= most:
            raise ValueError(f"{name} has {number}; its numbers go from {least:,} to {most:,}")


def check_sparse(
    names: tuple[str, str, str],
    data: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    row_starts: npt.NDArray[Any],
    n_columns: int,
) -> None:
    """Rows of counts above 0 whose columns rise; `names` are those of the three arrays. Costs a few ns an entry."""
    check_vector(names[0], data, FRACTIONS)
    check_vector(names[1], columns, WHOLE, data.size)
    check_vector(names[2], row_starts, WHOLE)
    if row_starts.size == 0 or row_starts[0] != 0 or row_starts[-1] != data.size:
        raise ValueError(f"{names[2]} does not go from 0 to {data.size:,}, the number of entries")
    if (row_starts[1:] < row_starts[:-1]).any():
        raise ValueError(f"{names[2]} falls")
    check_range(names[1], columns, 0, n_columns - 1)
    rises = columns[1:] > columns[:-1]
    rises[row_starts[(row_starts > 0) & (row_starts < data.size)] - 1] = True  # where a row begins
    if not rises.all():
        raise ValueError(f"{names[1]} does not rise within row {_row_of(row_starts, int(np.argmin(rises)) + 1):,}")
    if data.size and not data.min() > 0:  # NaN neither
        raise ValueError(f"{names[0]} has {data.min()}; counts are above 0")
    if not data.sum(dtype=np.float64) < MAX_TOTAL:
        raise ValueError(f"{names[0]} adds up to 2^60 or more")


def sparse_counts(names: tuple[str, str, str], parts: list[npt.NDArray[Any]], n_columns: int) -> csr_array:
    """A matrix of saved counts: data, columns and row starts."""
    data, columns, row_starts = parts
    check_sparse(names, data, columns, row_starts, n_columns)
    counts = csr_array((data, columns, row_starts), shape=(row_starts.size - 1, n_columns))
    counts.has_canonical_format = True
    return counts


def check_number(name: str, value: Any, least: float, most: float = math.inf, *, whole: bool = False) -> None:
    """A finite number from `least` to `most`."""
    if not _is_number(value, Integral if whole else Real) or not least <= value <= most:
        what = "whole number" if whole else "number"
        bounds = f"of at least {least:,}" if most == math.inf else f"from {least:,} to {most:,}"
        raise ValueError(f"{name} is {_shown(value)}, not a {what} {bounds}")


def check_positive(name: str, values: Any, size: int | None = None) -> float | npt.NDArray[np.float64]:
    """A finite number above 0, or a list of so many of them."""
    array = np.asarray(values)
    is_list = array.ndim == 1 and array.size == (max(array.size, 1) if size is None else size)
    if array.dtype.kind not in FRACTIONS or not (array.ndim == 0 or is_list):
        raise ValueError(f"{name} is {_shown(values)}, not one number, or one for each")
    if not (np.isfinite(array).all() and (array > 0).all() and array.sum(dtype=np.float64) < 1e200):
        raise ValueError(f"{name} is not above 0 and finite")
    return float(array) if array.ndim == 0 else array.astype(np.float64)


def check_strings(name: str, values: Any, size: int | None = None) -> None:
    """A list of texts, so many of them."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not a list of texts")
    if size is not None and len(values) != size:
        raise ValueError(f"{name} has {len(values):,} texts, not {size:,}")


def check_words(name: str, words: Any, size: int | None = None) -> None:
    """A list of words, no two the same."""
    check_strings(name, words, size)
    if len(set(words)) != len(words):
        raise ValueError(f"{name} has a word twice")


def check_type(name: str, value: Any, *types: type) -> None:
    """A value of one of these types; truth values are not numbers."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join(_TYPE_NAMES.get(kind, kind.__name__) for kind in types)
        raise ValueError(f"{name} is {_shown(value)}, not {wanted}")


def check_entries(name: str, value: Any, *types: type) -> None:
    """A dictionary with values of these types alone."""
    check_type(name, value, Mapping)
    for key, entry in value.items():
        check_type(f"{name}: {_shown(key)}", entry, *types)


_TYPE_NAMES: dict[type, str] = {
    Mapping: "a dictionary",
    dict: "a dictionary",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _is_number(value: Any, kind: Any) -> bool:
    """Whether it is a finite number of this kind that a float can hold."""
    try:
        return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _row_of(row_starts: npt.NDArray[Any], entry: int) -> int:
    return int(np.searchsorted(row_starts, entry, side="right")) - 1

"""Vectors of the user's own: a NumPy file, or a column of lists beside the texts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.readers import ReadReport
from textmix.vectors.source import MIN_DIMENSIONS, check_vectors, find_not_finite

_BRACKETS = {"[": "]", "(": ")", "{": "}"}


def check_options(encoder: str | None, vectors: str | None, *, in_memory: bool) -> None:
    """Raise ValueError if --encoder and --vectors do not go together, or with counts on disk."""
    wants_encoder = encoder is not None and encoder.lower() not in ("auto", "none")
    if not in_memory and (wants_encoder or vectors is not None):
        given = "--vectors" if vectors is not None else f"--encoder {encoder}"
        raise ValueError(
            f"{given} is for runs in memory: with --memory or --engine dask texts are clustered by words alone; "
            "leave one of the two out"
        )
    if vectors is not None and encoder is not None and encoder.lower() != "auto":
        raise ValueError("--vectors and --encoder both say where vectors come from; leave one of them out")


class VectorFile:
    """The rows of a .npy file, which stays on disk until rows are needed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._array = _map_file(name)

    def finish(self, report: ReadReport) -> NDArray[Any]:
        """The array; ValueError if it does not fit the texts that were read."""
        n_rows = self._array.shape[0] if self._array.ndim else 0
        if self._array.ndim == 2 and n_rows != report.n_rows:
            raise ValueError(f"{self._name} has {n_rows:,} rows, there are {report.n_rows:,} texts{_skipped(report)}")
        check_vectors(self._array, report.n_rows, self._name)
        return self._array


class VectorColumn:
    """The vectors of a column whose values are lists of numbers as text, such as "[0.1, 0.2]".

    An empty value, or an empty list, is a text without a vector: a row of zeros.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self._n_rows = 0
        self._first_row = 0  # the first that is not empty, counted from 1
        self._n_dimensions: int | None = None
        self._blocks: list[NDArray[np.float32]] = []

    def add(self, values: Sequence[str]) -> None:
        """Read the values of the next rows; ValueError names the first that is not a vector like those before."""
        rows = self._parse(values)
        self._n_rows += len(rows)
        if self._n_dimensions is None:
            return  # all empty so far
        if not self._blocks:
            n_empty = self._n_rows - len(rows)
            self._blocks.append(np.zeros((n_empty, self._n_dimensions), dtype=np.float32))
        nothing = np.zeros(self._n_dimensions, dtype=np.float32)
        block = np.array([nothing if row is None else row for row in rows], dtype=np.float32)
        self._blocks.append(block.reshape(len(rows), self._n_dimensions))

    def finish(self, report: ReadReport) -> NDArray[np.float32]:
        """The vectors of all rows; ValueError if no text has one."""
        if not any(block.any() for block in self._blocks):
            raise ValueError(f'column "{self.column}" has no vectors: all its values are empty or zero')
        vectors, first = np.empty((self._n_rows, self._blocks[0].shape[1]), dtype=np.float32), 0
        while self._blocks:  # one by one, so that memory does not hold all of them twice
            block = self._blocks.pop(0)
            vectors[first : first + len(block)] = block
            first += len(block)
        return vectors

    def _parse(self, values: Sequence[str]) -> list[NDArray[np.float32] | None]:
        rows: list[NDArray[np.float32] | None] = []
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # how NumPy before 2.4 says that it cannot read a number
            for number, value in enumerate(values, start=self._n_rows + 1):
                row = self._parse_row(number, value)
                if row is not None:
                    self._check_length(number, row.size)
                rows.append(row)
        return rows

    def _parse_row(self, number: int, value: str) -> NDArray[np.float32] | None:
        place = f'row {number:,} of column "{self.column}"'
        numbers = value.strip()
        if len(numbers) > 1 and _BRACKETS.get(numbers[0]) == numbers[-1]:
            numbers = numbers[1:-1].strip()
        if not numbers:
            return None
        try:
            row: NDArray[np.float32] = np.fromstring(numbers, dtype=np.float32, sep="," if "," in numbers else " ")
        except (ValueError, DeprecationWarning) as error:
            raise ValueError(f"{place}: not a list of numbers: {value!r:.40}") from error
        found = find_not_finite(row[np.newaxis])
        if found is not None:
            raise ValueError(f"{place} contains {found[1]}; a text without a vector has an empty value")
        return row

    def _check_length(self, number: int, size: int) -> None:
        if self._n_dimensions is None:
            if size < MIN_DIMENSIONS:
                raise ValueError(f'row {number:,} of column "{self.column}" is one number; a vector is a list of them')
            self._n_dimensions, self._first_row = size, number
        elif size != self._n_dimensions:
            expected = f"row {self._first_row:,} has {self._n_dimensions:,}"
            raise ValueError(f'row {number:,} of column "{self.column}" has {size:,} numbers, {expected}')


def open_vectors(given: str) -> VectorFile | VectorColumn:
    """What --vectors names: a file if it ends in .npy, otherwise a column."""
    if given.lower().endswith(".npy"):
        return VectorFile(given)
    if Path(given).suffix and Path(given).is_file():
        raise ValueError(f'--vectors "{given}": only .npy files are read (numpy.save), or name a column of lists')
    return VectorColumn(given)


def _map_file(name: str) -> NDArray[Any]:
    try:
        array = np.load(name, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise ValueError(f'no such file: "{name}" (--vectors)') from error
    except OSError as error:
        raise ValueError(f'cannot read "{name}" (--vectors): {(error.strerror or str(error)).lower()}') from error
    except (ValueError, EOFError) as error:
        raise _not_an_array(name) from error
    if not isinstance(array, np.ndarray):  # a .npz file by another name
        array.close()
        raise _not_an_array(name)
    return array


def _not_an_array(name: str) -> ValueError:
    return ValueError(f'"{name}" (--vectors) is not a .npy file of numbers; write one with numpy.save')


def _skipped(report: ReadReport) -> str:
    """What to say of rows that were skipped, since their vectors are in the file as a rule."""
    if not report.n_skipped:
        return ""
    rows = "1 row was" if report.n_skipped == 1 else f"{report.n_skipped:,} rows were"
    return f": {rows} skipped while reading; repair or remove such rows, and their vectors"

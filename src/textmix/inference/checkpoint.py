"""The state of a run in a file, so that a run that was killed can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.files import replacing
from textmix.corpus.saved_files import NUMBERS, TEXT, parse_json, read_arrays
from textmix.corpus.saved_values import WHOLE, check_number, check_range, check_type, check_vector
from textmix.inference.parallel_fit import COLUMNS, MAX_GREEDY_PASSES, Saved

FILE = "checkpoint.npz"
VERSION = 2

_KINDS = {"labels": NUMBERS, "bounds": NUMBERS, "notes": TEXT}
_NOTES: dict[str, type] = {"trace": dict, "sampling": bool, "n_passes": int, "settled": bool, "polished": bool}


class Shape(NamedTuple):
    """What the labels of a run must fit: the number of documents in each partition, and of clusters at the most."""

    partition_sizes: Sequence[int]
    max_clusters: int


class FileCheckpoint:
    """Keeps a run's state in a folder: whole at any moment, since a new file takes the place of the old one at once.

    `identity` says what the run is of (settings, seed, corpus): a state of another run is refused. So is one whose
    labels do not have the `shape` of the run.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], shape: Shape) -> None:
        self._path = folder / FILE
        self._identity = json.loads(json.dumps({"version": VERSION, **identity}))
        self._shape = shape

    def load(self) -> Saved | None:
        """What was saved last, or None; ValueError if it is of another run, or damaged."""
        try:
            arrays = read_arrays(self._path, _KINDS)
            notes = parse_json(str(arrays["notes"]))
            check_type("notes", notes, dict)
            if notes.pop("identity", None) != self._identity:
                raise _OtherRunError
            return _read_state(arrays["labels"], arrays["bounds"], notes, self._shape)
        except FileNotFoundError:
            return None
        except _OtherRunError as error:
            raise ValueError(f"{self._path} is of a run with other settings or texts; start anew: --force") from error
        except (OSError, ValueError) as error:
            raise ValueError(f"{self._path} is damaged ({error}); start anew: --force instead of --resume") from error

    def save(self, state: Saved) -> None:
        """Keep this instead of what was saved before."""
        notes = {
            "identity": self._identity,
            "trace": state.trace,
            "sampling": state.sampling,
            "n_passes": state.n_passes,
            "settled": state.settled,
            "polished": state.polished,
        }
        with replacing(self._path, self._path.with_suffix(".tmp")) as file:
            np.savez(
                file,
                labels=np.concatenate(state.labels),
                bounds=np.cumsum([0, *(part.size for part in state.labels)]),
                notes=json.dumps(notes),
            )


class _OtherRunError(Exception):
    """The state is of another run."""


def _read_state(labels: NDArray[Any], bounds: NDArray[Any], notes: Mapping[str, Any], shape: Shape) -> Saved:
    """The state that a file tells of; ValueError if a run of this shape cannot have it."""
    check_vector("bounds", bounds, WHOLE)
    if bounds.tolist() != [0, *np.cumsum(shape.partition_sizes).tolist()]:
        raise ValueError("its partitions are not those of the texts")
    check_vector("labels", labels, WHOLE, int(bounds[-1]))
    check_range("labels", labels, -1, shape.max_clusters - 1)
    if notes.keys() != _NOTES.keys():
        raise ValueError(f"its notes are {', '.join(sorted(notes))[:80]}, not {', '.join(_NOTES)}")
    for name, kind in _NOTES.items():
        check_type(name, notes[name], kind)
    check_number("n_passes", notes["n_passes"], 0, MAX_GREEDY_PASSES, whole=True)
    _check_trace(notes["trace"])
    parts = [labels[first:last].astype(np.int32) for first, last in pairwise(bounds)]
    return Saved(labels=parts, **notes)


def _check_trace(trace: Mapping[str, Any]) -> None:
    if trace.keys() != set(COLUMNS):
        raise ValueError(f"its trace has {', '.join(sorted(trace))[:80]}, not {', '.join(COLUMNS)}")
    for name, values in trace.items():
        check_type(f"trace: {name}", values, list)
        if len(values) != len(trace[COLUMNS[0]]):
            raise ValueError("its trace has more numbers of one kind than of another")
        for value in values:
            check_type(f"trace: {name}", value, int, float)

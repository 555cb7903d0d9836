"""The state of a run in a file, so that a run that was killed can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from textmix.inference.parallel_fit import Saved

FILE = "checkpoint.npz"
VERSION = 2


class FileCheckpoint:
    """Keeps a run's state in a folder: whole at any moment, since a new file takes the place of the old one at once.

    `identity` says what the run is of (settings, seed, corpus): a state of another run is refused.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._path = folder / FILE
        self._identity = json.loads(json.dumps({"version": VERSION, **identity}))

    def load(self) -> Saved | None:
        """What was saved last, or None; ValueError if it is of another run, or damaged."""
        try:
            with np.load(self._path, allow_pickle=False) as arrays:
                labels, bounds = arrays["labels"], arrays["bounds"]
                notes = json.loads(str(arrays["notes"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise ValueError(f"{self._path} is damaged ({error}); start anew: --force instead of --resume") from error
        if notes.pop("identity") != self._identity:
            raise ValueError(f"{self._path} is of a run with other settings or texts; start anew: --force")
        parts = [labels[first:last].copy() for first, last in pairwise(bounds)]
        return Saved(labels=parts, **notes)

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
        temporary = self._path.with_suffix(".tmp")
        with open(temporary, "wb") as file:
            np.savez(
                file,
                labels=np.concatenate(state.labels),
                bounds=np.cumsum([0, *(part.size for part in state.labels)]),
                notes=json.dumps(notes),
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._path)

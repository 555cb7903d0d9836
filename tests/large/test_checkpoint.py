"""The state of a run in a file: what cannot be that of the run is refused."""

from __future__ import annotations

import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmix.inference.parallel_fit import COLUMNS, Saved
from textmix.large.work_folder import FileCheckpoint, Shape

SHAPE = Shape([3, 2], 4)
LABELS = [np.array([0, 3, -1], np.int32), np.array([1, 1], np.int32)]
TRACE = {name: [1.0, math.nan] for name in COLUMNS}


@pytest.fixture
def checkpoint(tmp_path) -> FileCheckpoint:
    made = FileCheckpoint(tmp_path, {"seed": 1}, SHAPE)
    made.save(Saved(LABELS, TRACE, n_passes=2))
    return made


def rewrite(folder: Path, **changes: Any) -> None:
    """Write the state anew: some of its arrays, or some of its notes, changed."""
    path = folder / "checkpoint.npz"
    with np.load(path) as found:
        arrays = dict(found)
    notes = json.loads(str(arrays["notes"]))
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = value
        else:
            notes[name] = value
    np.savez(path, **{**arrays, "notes": changes.get("notes", json.dumps(notes))})


def test_what_was_saved_comes_back(checkpoint):
    found = checkpoint.load()
    assert [part.tolist() for part in found.labels] == [part.tolist() for part in LABELS]
    assert (found.sampling, found.n_passes, found.trace.keys()) == (True, 2, TRACE.keys())


def test_a_state_of_another_run_is_refused(checkpoint, tmp_path):
    with pytest.raises(ValueError, match="of a run with other settings or texts"):
        FileCheckpoint(tmp_path, {"seed": 2}, SHAPE).load()


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": np.array([0, 4, -1, 1, 1])},
        {"labels": np.array([0, -2, -1, 1, 1])},
        {"labels": np.array([0, 3, -1, 1])},
        {"labels": np.array([0.0, 3, -1, 1, 1])},
        {"labels": np.zeros((5, 1), int)},
        {"labels": np.array(["a"])},
        {"bounds": np.array([0, 5])},
        {"bounds": np.array([0, 2, 5])},
        {"bounds": np.array([0, 10**12, 5])},
        {"bounds": np.array([], int)},
        {"more": 1},
        {"n_passes": -1},
        {"n_passes": 1000},
        {"n_passes": "x"},
        {"sampling": 1},
        {"trace": {}},
        {"trace": {**TRACE, "n_moved": [1]}},
        {"trace": {**TRACE, "n_moved": ["x", 1]}},
        {"trace": {**TRACE, "n_moved": 3}},
        {"notes": "[" * 100_000},
        {"notes": "3"},
        {"notes": np.zeros(3)},
        {"pickled": 1},
    ],
)
def test_a_state_that_cannot_be_is_refused(checkpoint, tmp_path, changes):
    rewrite(tmp_path, **changes)
    with pytest.raises(ValueError, match=r"checkpoint\.npz is (damaged|of a run with other)"):
        checkpoint.load()


def test_compressed_and_missing_arrays_are_refused(checkpoint, tmp_path):
    path = tmp_path / "checkpoint.npz"
    with np.load(path) as found:
        arrays = dict(found)
    np.savez_compressed(path, **arrays)
    with pytest.raises(ValueError, match="is compressed"):
        checkpoint.load()
    np.savez(path, labels=arrays["labels"])
    with pytest.raises(ValueError, match="it holds labels, not labels, bounds, notes"):
        checkpoint.load()


def test_a_header_that_promises_more_than_there_is_is_refused(checkpoint, tmp_path):
    path = tmp_path / "checkpoint.npz"
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert b"(5,)" in content["labels.npy"]
    content["labels.npy"] = content["labels.npy"].replace(b"(5,), }            ", b"(5000000000000,), }")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match="promises 20,000,000,000,000 bytes, but there are 20"):
        checkpoint.load()


def test_only_a_regular_file_is_read(checkpoint, tmp_path):
    path = tmp_path / "checkpoint.npz"
    before = path.rename(tmp_path / "before")
    assert checkpoint.load() is None
    path.symlink_to(before)
    with pytest.raises(ValueError, match="symbolic link"):
        checkpoint.load()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="a pipe, not a regular file"):
        checkpoint.load()

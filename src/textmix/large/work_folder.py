"""The work folder of a large run: what a run that broke off goes on from.

work.json         what the run is of; there from the first moment to the last
corpus/           the counts
checkpoint.npz    how far sampling has come
scores-0000.f4 …  what is said of each document
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.files import replacing, write_files
from textmix.corpus.folder_lock import FolderLock
from textmix.corpus.saved_files import NUMBERS, TEXT, inner_folder, parse_json, read_arrays, read_json
from textmix.corpus.saved_values import WHOLE, check_number, check_range, check_type, check_vector
from textmix.corpus.shards import shard_size
from textmix.inference.parallel_fit import COLUMNS, MAX_GREEDY_PASSES, Saved
from textmix.large.disk_build import MANIFEST, remove_corpus
from textmix.large.errors import CannotResumeError, WorkFolderError
from textmix.results.mixture import DocumentScores

CORPUS_FOLDER = "corpus"
WORK_FILE = "work.json"
FORMAT = "textmix work"
VERSION = 1

_CHECKPOINT_FILE = "checkpoint.npz"
_CHECKPOINT_VERSION = 2
_CHECKPOINT_KINDS = {"labels": NUMBERS, "bounds": NUMBERS, "notes": TEXT}
_NOTES: dict[str, type] = {"trace": dict, "sampling": bool, "n_passes": int, "settled": bool, "polished": bool}
_SCORES = 3  # of each document: probability, outlier score, typicality
_MOST = 1.0 + 1e-6  # a probability as 4-byte floats have it
_TEMPORARY = re.compile(r"\.work\.json\.[0-9a-f]+\.tmp")
_OWN_FILE = re.compile(rf"{_TEMPORARY.pattern}|checkpoint\.(npz|tmp)|scores-\d+\.(f4|tmp)")


class WorkFolder:
    """A folder in which a large run keeps what it has done; files of others in it are never touched."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._notes: dict[str, Any] = {}
        self._lock = FolderLock(path)
        self._removed = False

    @property
    def corpus(self) -> Path:
        """Where the counts are."""
        return inner_folder(self.path, CORPUS_FOLDER)

    @property
    def has_corpus(self) -> bool:
        """Whether the counts are there: what is lost without them is not worth keeping."""
        return (self.corpus / MANIFEST).exists()

    @property
    def has_checkpoint(self) -> bool:
        """Whether sampling has begun."""
        return (self.path / _CHECKPOINT_FILE).exists()

    @property
    def run(self) -> str:
        """What tells this run from all others."""
        return str(self._notes["run"])

    @property
    def has_run(self) -> bool:
        """Whether a run was left here, or has begun."""
        return bool(self._notes)

    def read(self) -> None:
        """Look what was left here; WorkFolderError if the folder is somebody else's."""
        self._notes = self._read()
        names = sorted(path.name for path in self.path.iterdir())
        # work.json is written first and removed last: what is there without it is not ours.
        foreign = [name for name in names if not _TEMPORARY.fullmatch(name)]
        if foreign and not self._notes:
            raise WorkFolderError(
                f'"{self.path}" holds other files, such as "{foreign[0]}"; '
                "a large run needs a folder of its own to work in",
                "foreign",
            )

    def __enter__(self) -> Self:
        """Make the folder and keep other runs out; WorkFolderError if one is at work here."""
        if self.path.exists() and not self.path.is_dir():
            raise WorkFolderError(f'"{self.path}" is a file; a large run needs a folder to work in', "file")
        try:
            self._lock.hold(f'another run is writing to "{self.path}"; wait until it ends')
        except OSError as error:
            message = f'cannot make the folder "{self.path}" to work in ({error.strerror})'
            raise WorkFolderError(message, "not made") from error
        except ValueError as error:
            raise WorkFolderError(str(error), "taken") from error
        return self

    def __exit__(self, *exception: object) -> None:
        """Let other runs in; the folder goes if it is empty and a run was removed from it, or if it was made here."""
        if self._removed:
            with suppress(OSError):
                self.path.rmdir()
        self._lock.release()

    def begin(self, source: Mapping[str, Any]) -> None:
        """Begin a run of these texts."""
        self._write({"run": uuid.uuid4().hex, "source": source, "settings": None})

    def go_on(self, source: Mapping[str, Any]) -> None:
        """Take up the run that was left here; CannotResumeError if its texts are others."""
        self._refuse_others(self._notes["source"], _as_json(source))

    def keep_settings(self, settings: Mapping[str, Any]) -> None:
        """Say how the run samples; CannotResumeError if it has begun to sample otherwise."""
        if self.has_checkpoint:
            self._refuse_others(self._notes["settings"] or {}, _as_json(settings))
        else:
            self._write({**self._notes, "settings": settings})

    def remove(self) -> None:
        """Remove all that a run wrote, work.json last; what others put here stays. The folder goes at the end."""
        self._removed = True
        remove_corpus(self.corpus)
        # Scores go before the checkpoint that tells of which clusters they are.
        for path in sorted(self.path.iterdir(), reverse=True):
            if _OWN_FILE.fullmatch(path.name):
                path.unlink()
        (self.path / WORK_FILE).unlink(missing_ok=True)

    def forget_corpus(self) -> None:
        """Let the counts be made anew."""
        remove_corpus(self.corpus)

    def _refuse_others(self, before: Any, now: Any) -> None:
        """Raise CannotResumeError if the two differ, and name the first difference."""
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if not names:
            return
        name, old, new = names[0], before.get(names[0]), now.get(names[0])
        if isinstance(old, dict) and isinstance(new, dict):
            self._refuse_others(old, new)
        if name == "files":
            message = f'the input files are others than when the run in "{self.path}" began, or have changed since'
            raise CannotResumeError(f"{message}, by size or time of change", "files")
        raise CannotResumeError.of_setting(name, new, old, self.path)

    def _read(self) -> dict[str, Any]:
        """What work.json says; nothing if it is not there, or somebody else's."""
        path = self.path / WORK_FILE
        try:
            notes = read_json(path)
        except (OSError, ValueError):
            return {}
        if not isinstance(notes, dict) or notes.get("format") != FORMAT:
            return {}
        try:
            check_number("version", notes.get("version"), 1, whole=True)
            check_type("run", notes.get("run"), str)
            check_type("source", notes.get("source"), dict)
            check_type("settings", notes.get("settings"), dict, NoneType)
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}); remove the folder") from error
        if notes["version"] > VERSION:
            raise ValueError(f'the run in "{self.path}" is of a newer textmix; upgrade textmix, or remove the folder')
        return notes

    def _write(self, notes: Mapping[str, Any]) -> None:
        self._notes = _as_json({**notes, "format": FORMAT, "version": VERSION})
        content = json.dumps(self._notes, indent=1).encode()

        def write(file: BinaryIO) -> None:
            file.write(content)

        write_files(self.path, {WORK_FILE: write})


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON gives them back."""
    result: dict[str, Any] = json.loads(json.dumps(values))
    return result


class Shape(NamedTuple):
    """What the labels of a run must fit: the number of documents in each shard, and of clusters at the most."""

    shard_sizes: Sequence[int]
    max_clusters: int


class FileCheckpoint:
    """Keeps a run's state in a folder: whole at any moment, since a new file takes the place of the old one at once.

    `identity` says what the run is of (settings, seed, corpus): a state of another run is refused. So is one whose
    labels do not have the `shape` of the run. `on_load` is told of a state that is loaded.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        shape: Shape,
        on_load: Callable[[Saved], None] | None = None,
    ) -> None:
        self._path = folder / _CHECKPOINT_FILE
        self._identity = _as_json({"version": _CHECKPOINT_VERSION, **identity})
        self._shape = shape
        self._on_load = on_load

    def load(self) -> Saved | None:
        """What was saved last, or None; CannotResumeError if it is of another run, or damaged."""
        try:
            arrays = read_arrays(self._path, _CHECKPOINT_KINDS)
            notes = parse_json(str(arrays["notes"]))
            check_type("notes", notes, dict)
            if notes.pop("identity", None) != self._identity:
                raise CannotResumeError(f"{self._path} is of a run with other settings or texts", "other state")
            saved = _read_state(arrays["labels"], arrays["bounds"], notes, self._shape)
        except FileNotFoundError:
            return None
        except CannotResumeError:
            raise
        except (OSError, ValueError) as error:
            raise CannotResumeError(f"{self._path} is damaged ({error})", "damaged state") from error
        if self._on_load is not None:
            self._on_load(saved)
        return saved

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


def _read_state(labels: NDArray[Any], bounds: NDArray[Any], notes: Mapping[str, Any], shape: Shape) -> Saved:
    """The state that a file tells of; ValueError if a run of this shape cannot have it."""
    check_vector("bounds", bounds, WHOLE)
    if bounds.tolist() != [0, *np.cumsum(shape.shard_sizes).tolist()]:
        raise ValueError("its shards are not those of the texts")
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


class ScoreFiles:
    """The scores of all documents: a file for each shard, which is whole or not there."""

    def __init__(self, folder: Path, n_documents: int, n_shards: int) -> None:
        self._folder = folder
        self._n_documents = n_documents
        self._n_shards = n_shards

    def missing(self) -> list[int]:
        """The shards that have no scores yet."""
        return [shard for shard in range(self._n_shards) if not self._is_whole(shard)]

    def write(self, shard: int, scores: NDArray[np.float32]) -> None:
        """Keep the scores of a shard."""
        path = self._path(shard)
        with replacing(path, path.with_suffix(".tmp")) as file:
            file.write(np.ascontiguousarray(scores).data)

    def read(self, first: int, last: int) -> tuple[DocumentScores, NDArray[np.float64]]:
        """The scores and the typicality of the documents first … last − 1, in their order, once none is missing."""
        values = np.empty((_SCORES, last - first))
        for shard, scores in enumerate(self._mapped):
            offset = (shard - first) % self._n_shards
            own = values[:, offset :: self._n_shards]
            start = (first + offset) // self._n_shards
            own[:] = scores[:, start : start + own.shape[1]]
        probabilities, outlier_scores, typicality = values
        return DocumentScores(probabilities, outlier_scores), typicality

    @cached_property
    def _mapped(self) -> list[NDArray[np.float32]]:
        return [
            np.memmap(self._path(shard), np.float32, "r", shape=(_SCORES, self._size(shard)))
            for shard in range(self._n_shards)
        ]

    def _is_whole(self, shard: int) -> bool:
        """Whether there are scores that can be; others are made anew. Costs a look at 12 bytes a document."""
        path = self._path(shard)
        if path.is_symlink() or not path.is_file() or path.stat().st_size != _SCORES * 4 * self._size(shard):
            return False
        probabilities, _, typicality = np.fromfile(path, np.float32).reshape(_SCORES, -1)
        unlikely = (probabilities < 0) | (probabilities > _MOST) | ~np.isfinite(typicality)
        return not unlikely.any()  # without words a document has no probability: NaN

    def _size(self, shard: int) -> int:
        return shard_size(self._n_documents, self._n_shards, shard)

    def _path(self, shard: int) -> Path:
        return self._folder / f"scores-{shard:04}.f4"

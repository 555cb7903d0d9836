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
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

from textmix.corpus.build_folder import MANIFEST, remove_corpus
from textmix.corpus.files import write_files
from textmix.corpus.folder_lock import FolderLock
from textmix.corpus.saved_files import inner_folder, read_json
from textmix.corpus.saved_values import check_number, check_type
from textmix.inference import checkpoint
from textmix.results import score_files

CORPUS_FOLDER = "corpus"
WORK_FILE = "work.json"
FORMAT = "textmix work"
VERSION = 1

# What settings are called on the command line.
_OPTIONS = {
    "model": "--model",
    "n_clusters": "--clusters",
    "alpha": "--alpha",
    "beta": "--beta",
    "n_sweeps": "--sweeps",
    "init": "--init",
    "random_state": "--seed",
    "outlier_size": "--outlier-size",
    "text": "--text",
    "id": "--id",
    "label": "--label",
    "format": "--format",
    "language": "--language",
    "stem": "--stem",
    "stop_words": "--stop-words",
    "min_document_frequency": "--min-df",
    "max_document_frequency": "--max-df",
}
_CHECKPOINT = Path(checkpoint.FILE)
_TEMPORARY = re.compile(r"\.work\.json\.[0-9a-f]+\.tmp")
_OWN_FILE = re.compile(rf"{_TEMPORARY.pattern}|{_CHECKPOINT.stem}\.(npz|tmp)|{score_files.OWN_FILE.pattern}")


class OtherRunError(ValueError):
    """What was left behind cannot be gone on with; the message says what to do."""


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
        return (self.path / _CHECKPOINT).exists()

    @property
    def run(self) -> str:
        """What tells this run from all others."""
        return str(self._notes["run"])

    def has_run(self) -> bool:
        """Whether a run was left here; ValueError if the folder is somebody else's."""
        self._notes = self._read()
        names = sorted(path.name for path in self.path.iterdir())
        # work.json is written first and removed last: what is there without it is not ours.
        foreign = [name for name in names if not _TEMPORARY.fullmatch(name)]
        if foreign and not self._notes:
            raise ValueError(
                f'"{self.path}" holds other files, such as "{foreign[0]}"; '
                "a large run needs a folder of its own to work in (--work)"
            )
        return bool(self._notes)

    def hold(self) -> None:
        """Make the folder and keep other runs out until `release`; ValueError if one is at work here."""
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f'"{self.path}" is a file; a large run needs a folder to work in (--work)')
        try:
            self._lock.hold(f'another run is writing to "{self.path}"; wait until it ends, or choose another --work')
        except OSError as error:
            raise ValueError(
                f'cannot make the folder "{self.path}" to work in ({error.strerror}); choose another --work'
            ) from error

    def release(self) -> None:
        """Let other runs in; the folder goes if it is empty and a run was removed from it, or if `hold` made it."""
        if self._removed:
            with suppress(OSError):
                self.path.rmdir()
        self._lock.release()

    def begin(self, source: Mapping[str, Any]) -> None:
        """Begin a run of these texts."""
        self._write({"run": uuid.uuid4().hex, "source": source, "settings": None})

    def go_on(self, source: Mapping[str, Any]) -> None:
        """Take up the run that was left here; ValueError if its texts are others."""
        self._refuse_others(self._notes["source"], _as_json(source))

    def keep_settings(self, settings: Mapping[str, Any]) -> None:
        """Say how the run samples; ValueError if it has begun to sample otherwise."""
        if self.has_checkpoint:
            self._refuse_others(self._notes["settings"] or {}, _as_json(settings))
        else:
            self._write({**self._notes, "settings": settings})

    def remove(self) -> None:
        """Remove all that a run wrote, work.json last; what others put here stays. The folder goes by `release`."""
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
        """Raise ValueError if the two differ, and name the first difference."""
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if not names:
            return
        name, old, new = names[0], before.get(names[0]), now.get(names[0])
        if isinstance(old, dict) and isinstance(new, dict):
            self._refuse_others(old, new)
        run = f'the run in "{self.path}" began'
        what = f"{_OPTIONS.get(name, name)} is {new!r}, but {run} with {old!r}"
        if name == "files":
            what = f"the input files are others than when {run}, or have changed since, by size or time of change"
        raise OtherRunError(
            f"{what}; go on with the same command and files, or start anew: --force instead of --resume"
        )

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

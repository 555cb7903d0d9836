"""The folder of a run: run.json is written last, so a folder that has it is complete.

Everything is written to a hidden folder inside first, and then moved, file by file. A crash before that
leaves an earlier run as it was; a crash in between leaves whole files without a run.json. Nothing is ever
half-written under its own name.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any

from textmix.corpus.files import flush, flush_folder
from textmix.corpus.folder_lock import FolderLock
from textmix.corpus.saved_files import read_json
from textmix.corpus.saved_values import check_entries, check_number, check_strings, check_type

RUN_FILE = "run.json"
REPORT_FILE = "report.html"
STREAM_FILE = "stream.sqlite3"  # of a stream that has gone on with a run
FORMAT = "textmix run"
VERSION = 1

_STAGING = ".textmix-*.tmp"


def check_destination(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise ValueError if a run must not be saved there, or cannot be."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f'"{folder}" is a file; results need a folder of their own')
    if (folder / STREAM_FILE).exists():  # which would go on with the texts that it has, beside another run
        raise ValueError(f'"{folder}" holds a stream, whose texts a new run would not replace; choose another folder')
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f'"{folder}" cannot be written: no permission to write to "{existing}"')
    if not folder.exists() or not any(folder.iterdir()) or _is_unfinished(folder):
        return
    if not _is_run(folder):
        raise ValueError(f'"{folder}" holds other files and is no textmix run; choose another folder')
    if not force:
        raise ValueError(
            f'"{folder}" holds an earlier run; choose another folder, or overwrite it: --force (in Python force=True)'
        )


def write_run(
    folder: str | os.PathLike[str],
    write_files: Callable[[Path], Mapping[str, Any] | None],
    manifest: Mapping[str, Any],
    *,
    force: bool = False,
) -> None:
    """Save a run: `write_files` writes all its files, but run.json, to the folder it is given.

    run.json gets the manifest and what `write_files` returns.
    """
    check_destination(folder, force=force)
    _check_manifest(manifest)
    folder = Path(folder)
    lock = FolderLock(folder)
    lock.hold(f'another run is writing to "{folder}"; wait until it ends, or choose another folder')
    try:
        check_destination(folder, force=force)  # once more: another run may have finished before the lock was taken
        _stage_and_move(folder, write_files, manifest)
    finally:
        lock.release()


def _stage_and_move(
    folder: Path, write_files: Callable[[Path], Mapping[str, Any] | None], manifest: Mapping[str, Any]
) -> None:
    was_unfinished, left_over = _is_unfinished(folder), list(folder.glob(_STAGING))
    staging = folder / _STAGING.replace("*", uuid.uuid4().hex[:8])
    staging.mkdir()
    for each in left_over:
        shutil.rmtree(each, ignore_errors=True)
    try:
        notes = write_files(staging) or {}
        text = json.dumps({"format": FORMAT, "version": VERSION, **manifest, **notes}, indent=2, ensure_ascii=False)
        with open(staging / RUN_FILE, "w", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")
            flush(file)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        if was_unfinished:  # the hidden folder tells that; without it the files here would be somebody else's
            staging.mkdir(exist_ok=True)
        raise
    # Should moving break off, the hidden folder stays and tells that the run is unfinished.
    _move_into_place(staging, folder)
    shutil.rmtree(staging, ignore_errors=True)


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The contents of run.json; ValueError if the folder is no complete run, or one of a newer textmix."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f'there is no folder "{folder}"; give one that a clustering was saved to')
    path = folder / RUN_FILE
    try:
        manifest = read_json(path)
    except FileNotFoundError as error:
        if _is_unfinished(folder):
            raise ValueError(f'the run in "{folder}" was not saved to its end; cluster again') from error
        raise ValueError(f'"{folder}" is no textmix run: there is no {RUN_FILE} in it') from error
    except (OSError, ValueError) as error:
        raise ValueError(f'"{path}" is damaged ({error}); cluster again') from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f'"{path}" was not written by textmix')
    version = manifest.get("version")
    if not isinstance(version, int):
        raise ValueError(f'"{path}" is damaged (it has no version); cluster again')
    if version > VERSION:
        raise ValueError(
            f'"{folder}" was saved by a newer textmix (format {version}; this one reads up to {VERSION}); '
            "upgrade textmix"
        )
    try:
        _check_manifest(manifest)
    except ValueError as error:
        raise ValueError(f'"{path}" is damaged ({error}); cluster again') from error
    return manifest


def _check_manifest(manifest: Mapping[str, Any]) -> None:
    """Raise ValueError if a part of run.json that textmix reads is not of its kind; notes of users may be anything."""
    for name in ("settings", "guidance", "versions", "input"):
        check_type(name, manifest.get(name, {}), Mapping)
    settings, read = manifest.get("settings", {}), manifest.get("input", {})
    check_type("parameters", settings.get("parameters", {}), Mapping)
    check_type("tokenizer", settings.get("tokenizer"), Mapping, NoneType)
    check_strings("files", read.get("files", []))
    check_entries("columns", read.get("columns", {}), str, NoneType)
    check_entries("reasons", read.get("reasons", {}), int)
    check_type("n_skipped", read.get("n_skipped", 0), int)
    check_type("seconds", manifest.get("seconds", {}), Mapping)
    for name, seconds in manifest.get("seconds", {}).items():
        check_number(f"seconds: {name}", seconds, 0)
    check_entries("names", manifest.get("names", {}), str)


def _move_into_place(staging: Path, folder: Path) -> None:
    (folder / RUN_FILE).unlink(missing_ok=True)
    (folder / REPORT_FILE).unlink(missing_ok=True)  # of an earlier run
    flush_folder(folder)
    files = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
    changed = {folder}
    for file in files:
        if file != Path(RUN_FILE):
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / file, target)
            changed.add(target.parent)
    for each in changed:
        flush_folder(each)
    os.replace(staging / RUN_FILE, folder / RUN_FILE)
    flush_folder(folder)


def _is_run(folder: Path) -> bool:
    try:
        return bool(read_json(folder / RUN_FILE)["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_unfinished(folder: Path) -> bool:
    """Whether saving a first run to this folder broke off."""
    return not (folder / RUN_FILE).exists() and any(folder.glob(_STAGING))

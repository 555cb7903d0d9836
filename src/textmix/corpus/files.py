"""Folders of arrays and JSON that are either whole or reported as broken; nothing is pickled.

A saved thing of the kind "corpus" is a folder with corpus.json, its manifest, and one file for each array
(.npy) and each long list (.json). Every file is written under a temporary name first and all are renamed at
the end, the manifest last, so that a crash leaves no file half-written. The manifest holds a checksum of each
other file: files that do not belong together (a crash between two renames, a copy of only some) are noticed.
"""

from __future__ import annotations

import json
import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from textmix.corpus.saved_files import MOST_LISTED, parse_json, read_array, read_content, read_json

Write = Callable[[BinaryIO], None]
Array = npt.NDArray[Any]

_NAME = re.compile(r"\w+\.(npy|json)", re.ASCII)  # no separators, no ".."


class Record(NamedTuple):
    """The contents of a saved folder."""

    arrays: dict[str, Array]  # one .npy each
    lists: dict[str, list[Any]]  # one .json each
    settings: dict[str, Any]  # small; in the manifest


@contextmanager
def replacing(path: Path, temporary: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file that takes its place when all is written and on disk: readers find the old one or the new one.

    `temporary`: its name until then, if no other process writes the same; what a kill leaves there is overwritten.
    """
    temporary = temporary or path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            flush(file)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def flush(file: IO[Any]) -> None:
    """Write what is buffered through to the disk."""
    file.flush()
    os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Make new names in a folder last through a power cut; systems that cannot open folders do without."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_files(folder: Path, files: Mapping[str, Write]) -> None:
    """Write files of a folder so that each is either the old or the new one; renamed in the order given."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as places:
        for name in reversed(list(files)):  # the place that is taken last is given up first
            file = places.enter_context(replacing(folder / name))
            files[name](file)
            flush(file)  # before any is renamed: a full disk leaves the old ones


def save_record(folder: str | os.PathLike[str], kind: str, version: int, record: Record) -> None:
    """Save a record of some kind ("corpus") in the given version of its format."""
    files: dict[str, Write] = {}
    checksums: dict[str, int] = {}
    for name, array in record.arrays.items():
        contiguous = np.ascontiguousarray(array)
        files[f"{name}.npy"] = _array_writer(contiguous)
        checksums[f"{name}.npy"] = zlib.crc32(contiguous.data)
    for name, values in record.lists.items():
        text = json.dumps(values).encode()
        files[f"{name}.json"] = _bytes_writer(text)
        checksums[f"{name}.json"] = zlib.crc32(text)
    manifest = {
        "format": f"textmix {kind}",
        "version": version,
        "settings": record.settings,
        "checksums": checksums,
    }
    files[f"{kind}.json"] = _bytes_writer(json.dumps(manifest, indent=1).encode())
    write_files(Path(folder), files)


def load_record(folder: str | os.PathLike[str], kind: str, version: int) -> Record:
    """Load what `save_record` saved; `version` is the newest that can be read.

    Raises ValueError if it is not there, broken, or newer.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give the one a {kind} was saved to")
    manifest = _load_manifest(folder, kind, version)
    record = Record({}, {}, manifest["settings"])
    for name, checksum in manifest["checksums"].items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{folder / f'{kind}.json'} is damaged: {name!r} is not the name of one of its files")
        path = folder / name
        try:
            content = read_content(path, MOST_LISTED) if path.suffix == ".json" else read_array(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is missing or cannot be read ({error}); save the {kind} again") from error
        if zlib.crc32(content if isinstance(content, bytes) else content.data) != checksum:
            raise ValueError(
                f"{path} does not belong to {kind}.json beside it: it was changed, or saving was "
                f"interrupted; save the {kind} again"
            )
        if isinstance(content, bytes):
            record.lists[path.stem] = _parse_list(path, content, kind)
        else:
            record.arrays[path.stem] = content
    return record


@contextmanager
def describing_damage(folder: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """What is missing or wrong in a record is a ValueError that names its folder."""
    try:
        yield
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        fault = f"there is no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{folder} is not a complete {kind} ({fault}); save it again") from error


def _parse_list(path: Path, content: bytes, kind: str) -> list[Any]:
    try:
        values = parse_json(content)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read ({error}); save the {kind} again") from error
    if not isinstance(values, list):
        raise ValueError(f"{path} does not hold a list; save the {kind} again")
    return values


def _load_manifest(folder: Path, kind: str, version: int) -> dict[str, Any]:
    path = folder / f"{kind}.json"
    try:
        manifest = read_json(path)
        written_as, written_version = manifest["format"], manifest["version"]
    except FileNotFoundError as error:
        raise ValueError(f"{folder} holds no saved {kind}: there is no {path.name} in it") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read as a saved {kind} ({error})") from error
    if written_as != f"textmix {kind}" or not isinstance(written_version, int):
        raise ValueError(f"{path} is not a saved {kind}; its format is {written_as!r:.40}")
    if written_version > version:
        raise ValueError(
            f"{path} was saved by a newer textmix (format {written_version}; this one reads up to "
            f"{version}); upgrade textmix"
        )
    if not isinstance(manifest.get("settings"), dict) or not isinstance(manifest.get("checksums"), dict):
        raise ValueError(f"{path} is incomplete; save the {kind} again")
    return dict(manifest)


def _array_writer(array: Array) -> Write:
    return lambda file: np.save(file, array, allow_pickle=False)


def _bytes_writer(content: bytes) -> Write:
    def write(file: BinaryIO) -> None:
        file.write(content)

    return write

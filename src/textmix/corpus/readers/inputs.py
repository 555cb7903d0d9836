"""Which files a list of paths stands for: files, patterns, folders of .txt files, "-" for standard input."""

from __future__ import annotations

import difflib
import glob
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textmix.corpus.readers.report import InputError
from textmix.corpus.readers.source import unreadable

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class InputFile:
    """A file to read; `name` is what the user calls it."""

    path: Path
    name: str
    is_standard_input: bool = False


@dataclass(frozen=True)
class InputFolder:
    """A folder in which every .txt file, at any depth, is one document."""

    path: Path
    name: str
    files: tuple[Path, ...]


class Spool:
    """A temporary folder for input that can be read only once; gone when closed, collected or at exit."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._n_files = 0
        self._remove: weakref.finalize[[str, bool], Spool] | None = None

    def keep(self, stream: Any) -> Path:
        """Copy a stream of bytes into a file."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="textmix-"))
            self._remove = weakref.finalize(self, shutil.rmtree, str(self._folder), True)
        self._n_files += 1
        path = self._folder / f"input-{self._n_files}"
        with path.open("wb") as file:
            while chunk := stream.read1(1 << 20):  # one read at a time, so that Ctrl-C is heard between them
                file.write(chunk)
        return path

    def close(self) -> None:
        """Remove the folder."""
        if self._remove is not None:
            self._remove()


def find_inputs(paths: Sequence[str | Path] | str | Path, spool: Spool) -> list[InputFile | InputFolder]:
    """The files and folders that the paths stand for, in their order, those of a pattern sorted by name."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise InputError("no input was given; name a file, a pattern, a folder or - for standard input")
    if sum(str(path) == STANDARD_INPUT for path in given) > 1:
        raise InputError("standard input (-) was given more than once; it can be read only once")
    return [found for path in given for found in _find(path, spool)]


def _find(path: str | Path, spool: Spool) -> list[InputFile | InputFolder]:
    name = str(path)
    if name == STANDARD_INPUT:
        return [InputFile(spool.keep(sys.stdin.buffer), "standard input", is_standard_input=True)]
    try:
        exists = Path(name).exists()
    except OSError as error:  # a folder that may not be entered, a name too long for the system
        raise unreadable(name, error) from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"no such file: {name!a}") from error
    if exists:
        return [_existing(Path(name), name, spool)]
    if glob.has_magic(name):
        matches = [match for match in sorted(glob.glob(name, recursive=True)) if Path(match).is_file()]
        if not matches:
            raise InputError(f'no file matches "{name}"')
        return [_existing(Path(match), match, spool) for match in matches]
    raise InputError(f'no such file: "{name}"{_suggest(Path(name))}')


def _existing(path: Path, name: str, spool: Spool) -> InputFile | InputFolder:
    try:
        if path.is_dir():
            return _folder(path, name)
        if not path.is_file():  # a pipe, such as the shell's <(…): its bytes come only once
            with path.open("rb") as stream:
                _refuse_device(stream, name)
                return InputFile(spool.keep(stream), name)
    except OSError as error:
        raise unreadable(name, error) from error
    return InputFile(path, name)


def _refuse_device(stream: Any, name: str) -> None:
    """Raise an InputError for a device, which may never end, other than a terminal and the one without content."""
    opened = os.fstat(stream.fileno())
    if stat.S_ISBLK(opened.st_mode) or stat.S_ISCHR(opened.st_mode):
        is_null = opened.st_rdev == os.stat(os.devnull).st_rdev and stat.S_ISCHR(opened.st_mode)
        if not (is_null or stream.isatty()):
            raise InputError(f'"{name}" is a device; give a file, a pipe, or - for standard input')


def _folder(path: Path, name: str) -> InputFolder:
    walk = os.walk(path, onerror=_refuse)
    files = tuple(sorted(Path(root, file) for root, _, names in walk for file in names if _is_text_name(file)))
    if not files:
        pattern = path / "*.csv"
        raise InputError(
            f'the folder "{name}" holds no .txt files; for another format give a pattern such as "{pattern}"'
        )
    return InputFolder(path, name, files)


def _refuse(error: OSError) -> None:
    raise error


def _is_text_name(name: str) -> bool:
    return name.lower().endswith(".txt")


def _suggest(path: Path) -> str:
    """A file beside the missing one with nearly its name."""
    try:
        neighbours = [neighbour.name for neighbour in path.parent.iterdir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, neighbours, n=1, cutoff=0.75)
    return f'; did you mean "{path.with_name(close[0])}"?' if close else ""

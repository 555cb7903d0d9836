"""Reads the files of saved folders, which may come from anyone: nothing in them is trusted before it is checked.

Only regular files are opened: no links, pipes or devices. An array is read once its header agrees with the size of
its file, so that no header makes room for more than there is, and nothing is unpickled. Whatever is wrong with a file
is an OSError or a ValueError that names the fault, not the file. What the numbers say is checked by
corpus/saved_values.py.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt

NUMBERS = "biuf"  # kinds of arrays: truth values, whole numbers, fractions
TEXT = "U"
MOST_NOTES = 1 << 28  # bytes of JSON with settings; a β for each of ten million words takes less
MOST_LISTED = 1 << 34  # bytes of JSON with a text for each word or document

_NPY_VERSION = (1, 0)  # what np.save writes; headers of others may be gigabytes long
_NOT_BLOCKING = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_KINDS = {
    stat.S_IFLNK: "a symbolic link (copy the folder with `cp -rL` to have the file itself)",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it; ValueError if it is a link, a pipe, a device, …, which are not even opened."""
    _check_regular(os.lstat(path))
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NOT_BLOCKING)) as file:
        _check_regular(os.fstat(file.fileno()))  # should another have taken its place
        yield file


def check_regular(path: Path) -> None:
    """Raise ValueError if there is no such file or it is not a regular one."""
    try:
        _check_regular(os.lstat(path))
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing or damaged; cluster again") from error
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def inner_folder(folder: Path, name: str) -> Path:
    """A folder inside a saved one; ValueError if it is a symbolic link, which may lead anywhere."""
    if (folder / name).is_symlink():
        raise ValueError(f"{folder / name} is a symbolic link; a saved folder must hold its own files")
    return folder / name


def read_content(path: Path, most: int) -> bytes:
    """The bytes of a file of at most so many."""
    with open_regular(path) as file, _faults_as_value_errors():
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise ValueError(f"it has {size:,} bytes, and may have {most:,} at the most")
        return file.read()


def read_json(path: Path, most: int = MOST_NOTES) -> Any:
    """What a JSON file says."""
    return parse_json(read_content(path, most))


def parse_json(content: bytes | str) -> Any:
    """What JSON says; ValueError also if it is nested too deeply."""
    with _faults_as_value_errors():
        return json.loads(content)


def read_array(path: Path) -> npt.NDArray[Any]:
    """The numbers of a .npy file."""
    with open_regular(path) as file, _faults_as_value_errors():
        return _read_npy(file, os.fstat(file.fileno()).st_size, NUMBERS)


def read_arrays(path: Path, kinds: Mapping[str, str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a .npz file that np.savez wrote: those of these names, each of its kinds."""
    with open_regular(path) as file, _faults_as_value_errors(), ZipFile(file) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if members.keys() != kinds.keys():
            raise ValueError(f"it holds {', '.join(sorted(members)) or 'nothing'}, not {', '.join(kinds)}")
        found = {}
        for name, member in members.items():
            if member.compress_type != ZIP_STORED or member.file_size != member.compress_size:
                raise ValueError(f"its {name} is compressed")
            with archive.open(member) as part:
                found[name] = _read_npy(part, member.file_size, kinds[name])
        return found


def _read_npy(file: Any, size: int, kinds: str) -> npt.NDArray[Any]:
    """An array of these kinds from a file of so many bytes, if that is what its header promises."""
    version = np.lib.format.read_magic(file)
    if version != _NPY_VERSION:
        raise ValueError(f"its format is {version[0]}.{version[1]}, not 1.0")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in kinds or is_fortran or any(n < 0 for n in shape):
        order = "column by column" if is_fortran else "row by row"
        raise ValueError(f"it holds {dtype} of shape {shape}, {order}")
    promised, found = math.prod(shape) * dtype.itemsize, size - file.tell()
    if promised != found:
        raise ValueError(f"its header promises {promised:,} bytes, but there are {found:,}")
    file.seek(0)
    array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _check_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"it is {_KINDS.get(stat.S_IFMT(found.st_mode), 'a device')}, not a regular file")


@contextmanager
def _faults_as_value_errors() -> Iterator[None]:
    """Whatever the readers of JSON, NumPy and zip files raise for damaged ones is a ValueError."""
    try:
        yield
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except MemoryError as error:
        raise ValueError("it needs more memory than there is") from error
    except (
        KeyError,
        TypeError,
        EOFError,
        RuntimeError,
        OverflowError,
        SyntaxError,
        TokenError,
        BadZipFile,
        struct.error,
        zlib.error,
    ) as error:
        raise ValueError(str(error) or type(error).__name__) from error

"""The folder of a corpus on disk while it is built: whose it is, and what is left of a build that broke off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

KIND = "disk-corpus"
MANIFEST = f"{KIND}.json"
VOCABULARY = "vocabulary.json"
SPILL = "counts.spill"
_UNFINISHED = "unfinished"  # a file that is there from the first moment of a build to its last

_NAMES = (
    rf"{KIND}\.json|vocabulary\.json|(document_frequencies|partition_entries|partition_checksums)\.npy"
    r"|partition-\d+\.(row_starts|words|counts)"
)
_OWN_FILE = re.compile(rf"{_NAMES}|counts\.spill|{_UNFINISHED}|\.({_NAMES})\.[0-9a-f]+\.tmp")


def is_unfinished(folder: Path) -> bool:
    """Whether a build in this folder goes on, or broke off."""
    return (folder / _UNFINISHED).exists() and not (folder / MANIFEST).exists()


@contextmanager
def building(folder: Path, *, replace: bool) -> Iterator[None]:
    """An empty folder to build a corpus in; should that fail, it is empty again, or gone if it was not there.

    Raises ValueError if the folder holds anything but a build that broke off, or a corpus if `replace` is
    true: these are removed.
    """
    was_there = folder.exists()
    _check(folder, replace)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _UNFINISHED).touch()
    try:
        _empty(folder)
        yield
    except BaseException:
        _empty(folder)
        (folder / _UNFINISHED).unlink()
        if not was_there:
            with suppress(OSError):  # another's files are in it by now
                folder.rmdir()
        raise
    (folder / _UNFINISHED).unlink()


def remove_corpus(folder: Path) -> None:
    """Remove a corpus, or what is left of a build; a folder with files of others stays, with these alone."""
    if folder.is_dir():
        (folder / _UNFINISHED).touch()
        _empty(folder)
        (folder / _UNFINISHED).unlink()
        with suppress(OSError):
            folder.rmdir()


def _check(folder: Path, replace: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; a corpus on disk needs a folder of its own")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    foreign = sorted(name for name in names if not _OWN_FILE.fullmatch(name))
    if foreign or (names and not names & {MANIFEST, _UNFINISHED}):
        example = (foreign or sorted(names))[0]
        raise ValueError(f'{folder} holds other files, such as "{example}"; a corpus on disk needs a folder of its own')
    if MANIFEST in names and not replace:
        raise ValueError(f"{folder} holds a corpus already; open it, replace it (replace=True), or take another folder")


def _empty(folder: Path) -> None:
    """Remove all files of a build but the one that says it is unfinished; the manifest goes first."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        if path.name != _UNFINISHED and _OWN_FILE.fullmatch(path.name):
            path.unlink()

"""Whether input files can be read a second time, and are then the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def can_be_read_again(name: str) -> bool:
    """Whether it can be read again: standard input cannot, nor can a pipe such as the shell's <(…)."""
    path = Path(name)
    return name != "-" and (path.is_file() or path.is_dir() or not path.exists())


def describe_files(names: Sequence[str]) -> list[list[Any]]:
    """Where each file is, its size, and when it was changed; of a folder a digest of these."""
    return [[os.path.abspath(name), *_state(Path(name))] for name in names]


def _state(path: Path) -> list[Any]:
    if path.is_dir():
        digest = hashlib.sha256()
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                if name.lower().endswith(".txt"):  # all that is read of a folder
                    digest.update(repr((folder, name, _state(Path(folder, name)))).encode(errors="surrogateescape"))
        return [digest.hexdigest()]
    if not path.is_file():
        return []
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]

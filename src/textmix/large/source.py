"""What a large run is made of: input files, which can be read a second time and are then the same, and settings."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textmix.corpus.tokens import Tokenizer

_WITHOUT_EFFECT = ("engine", "client", "n_jobs", "progress")  # on the result


def describe_source(files: Sequence[str], columns: Mapping[str, str | None], tokenizer: Tokenizer) -> dict[str, Any]:
    """What the counts are made of and how, as JSON gives it back."""
    settings = {
        name: list(value) if isinstance(value, tuple) else value for name, value in tokenizer.settings().items()
    }
    return {
        "textmix": version("textmix"),
        "files": describe_files(files),
        "columns": dict(columns),
        "tokenizer": settings,
    }


def with_effect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have an effect on the result."""
    return {name: value for name, value in settings.items() if name not in _WITHOUT_EFFECT}


def digest(source: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """A number for the texts and all settings that have an effect on the result."""
    content = [source, with_effect(settings)]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()


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

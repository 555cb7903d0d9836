"""The results of cells on disk, a line of JSON each: what is finished is not computed again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from textmix import __version__
from textmix.corpus.folder_lock import FolderLock
from textmix_studies.study import Cell, Result

FORMAT = 1


def identity(cell: Cell, data: str) -> str:
    """A number for what a cell computes: its name, what it is computed from, and by which version."""
    named = [FORMAT, __version__, cell.part, cell.arguments, data]
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:24]


class CellStore:
    """A file of results. A line that was cut off when the process was killed is left out; of two the last counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None
        self._lock = FolderLock(path.parent)

    def hold(self) -> None:
        """Keep other runs out until `close`."""
        self._lock.hold(f'another run works in "{self.path.parent}"; wait for its end, or take another --out')

    def read(self, wanted: Iterable[tuple[Cell, str]]) -> dict[str, Result]:
        """The results that are there of the cells with these identities."""
        cells = {key: cell for cell, key in wanted}
        found: dict[str, Result] = {}
        if not self.path.exists():
            return found
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record: dict[str, Any] = json.loads(line)
                key = record["identity"]
                if key in cells:
                    found[key] = Result(cells[key], record["values"], record["seconds"], "", record.get("versions", ""))
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def append(self, key: str, result: Result) -> None:
        """Keep a result; it is on disk when this returns."""
        if self._file is None:
            torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
            self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115
            if torn and self.path.stat().st_size:
                self._file.write("\n")
        cell, values, seconds, _, versions = result
        record = {
            "identity": key,
            "part": cell.part,
            "arguments": cell.arguments,
            "seconds": seconds,
            "values": values,
            "versions": versions,
        }
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file and let other runs in."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.release()

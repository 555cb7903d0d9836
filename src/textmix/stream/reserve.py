"""Room on the disk that is given up when it is full, so that documents can still be removed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

SIZE = 1 << 20  # bytes: what removing a few dozen documents writes ahead
_FREE = 4 * SIZE  # bytes that are free before any are reserved


class Reserve:
    """A file beside that of a stream, with nothing in it."""

    def __init__(self, database: Path) -> None:
        self._path = Path(f"{database}-reserve")
        self.is_there = False

    def fill(self) -> None:
        """Take the room, unless little is left on the disk."""
        try:
            if not self._path.exists() or self._path.stat().st_size < SIZE:
                if shutil.disk_usage(self._path.parent).free < _FREE:
                    return
                self._path.write_bytes(bytes(SIZE))
            self.is_there = True
        except OSError:
            self.release()

    def release(self) -> bool:
        """Give up the room; whether there was any."""
        self.is_there = False
        with suppress(OSError):
            self._path.unlink()
            return True
        return False

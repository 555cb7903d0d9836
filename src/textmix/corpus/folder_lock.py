"""Keeps a second program out of a folder in which one is at work."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


class FolderLock:
    """A lock on a folder, held until it is released or the process ends; none where there are no locks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: int | None = None

    def hold(self, refusal: str) -> None:
        """Take the lock; a ValueError with this message if another process has it."""
        if fcntl is None or self._held is not None or not self.path.is_dir():
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise ValueError(refusal) from error
        except OSError:  # a file system without locks
            os.close(descriptor)
            return
        self._held = descriptor

    def release(self) -> None:
        """Let others in."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

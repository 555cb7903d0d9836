"""Keeps a second program out of a folder in which one is at work."""

from __future__ import annotations

import os
from contextlib import suppress
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
        self._made: list[Path] = []  # folders that were not there before, the innermost first

    @property
    def is_held(self) -> bool:
        """Whether this object has the lock; False also where there are no locks."""
        return self._held is not None

    def hold(self, refusal: str) -> None:
        """Make the folder if it is missing, and take its lock; a ValueError with this message if another has it."""
        if self._held is not None:
            return
        while True:
            self._make_folder()
            if fcntl is None:
                return
            try:
                descriptor = os.open(self.path, os.O_RDONLY)
            except FileNotFoundError:  # its last user has just removed it
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(descriptor)
                raise ValueError(refusal) from error
            except OSError:  # a file system without locks
                os.close(descriptor)
                return
            if self._is_folder(descriptor):
                self._held = descriptor
                return
            os.close(descriptor)

    def release(self) -> None:
        """Remove the folders that `hold` made if they are empty, and let others in."""
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()
        self._made = []
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _make_folder(self) -> None:
        folder = Path(os.path.abspath(self.path))
        self._made += [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)

    def _is_folder(self, descriptor: int) -> bool:
        """Whether an open folder is the one at this path, and not one that has been removed since it was opened."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

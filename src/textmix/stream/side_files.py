"""The two small files beside that of a stream: the number of its last transaction, and room on the disk.

The number shows when transactions are lost. What was answered last is only in the file that SQLite writes ahead (-wal).
If that is cut, damaged or removed, SQLite goes on with what is left and says nothing. So each transaction has a number,
which is stored by it, and is written here once it is on disk. It is not flushed: after a kill it is exact, after a
power cut it may be some seconds old, but it is never ahead of what was on disk.

The room is given up when the disk is full, so that documents can still be removed.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from textmix.corpus.files import flush_folder

_WRITTEN = re.compile(rb"([0-9]{20}) ([0-9a-f]{8})\n")  # of one length, so that it is overwritten in place
_LOOKS = 5  # at a file that another program may be writing just now
RESERVE_SIZE = 1 << 20  # bytes: what removing a few dozen documents writes ahead
_FREE = 4 * RESERVE_SIZE  # bytes that are free before any are reserved


class Head:
    """The file with the number of the last transaction."""

    def __init__(self, database: Path) -> None:
        self.path = Path(f"{database}-head")
        self._file: BinaryIO | None = None

    def read(self) -> int:
        """The number of the last transaction; 0 if none was noted. ValueError if the file says something else."""
        for _ in range(_LOOKS):
            try:
                written = self.path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return 0
            match = _WRITTEN.fullmatch(written)
            if match and _checksum(match[1]) == match[2]:
                return int(match[1])
            if not written.strip(b"\0"):  # never reached the disk
                return 0
        raise ValueError(f'"{self.path}" is damaged; delete it if the stream beside it has all its texts')

    def write(self, number: int) -> None:
        """Note a transaction that is on disk."""
        digits = b"%020d" % number
        with suppress(OSError):  # the transaction is done; all that suffers is what can be noticed later
            file = self._file or self._create()
            file.seek(0)
            file.write(digits + b" " + _checksum(digits) + b"\n")

    def _create(self) -> BinaryIO:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._file = os.fdopen(descriptor, "rb+", buffering=0)
        flush_folder(self.path.parent)
        return self._file

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _checksum(digits: bytes) -> bytes:
    return b"%08x" % zlib.crc32(digits)


class Reserve:
    """The file that takes up room, with nothing in it."""

    def __init__(self, database: Path) -> None:
        self._path = Path(f"{database}-reserve")
        self.is_there = False

    def fill(self) -> None:
        """Take the room, unless little is left on the disk."""
        try:
            if not self._path.exists() or self._path.stat().st_size < RESERVE_SIZE:
                if shutil.disk_usage(self._path.parent).free < _FREE:
                    return
                self._path.write_bytes(bytes(RESERVE_SIZE))
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

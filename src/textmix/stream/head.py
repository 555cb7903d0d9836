"""The number of a stream's last transaction, in a file of its own, by which it is noticed when some are lost.

What was answered last is only in the file that SQLite writes ahead (-wal). If that is cut, damaged or removed, SQLite
goes on with what is left and says nothing. So each transaction has a number, which is stored by it, and is written here
once it is on disk. It is not flushed: after a kill it is exact, after a power cut it may be some seconds old, but it is
never ahead of what was on disk.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from textmix.corpus.files import flush_folder

_WRITTEN = re.compile(rb"([0-9]{20}) ([0-9a-f]{8})\n")  # of one length, so that it is overwritten in place
_LOOKS = 5  # at a file that another program may be writing just now


class Head:
    """The file beside that of a stream."""

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

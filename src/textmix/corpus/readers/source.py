"""The bytes of one file, unpacked, in blocks and in lines, in bounded memory."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, cast

from textmix.corpus.readers.report import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Compression = Literal["uncompressed", "gzip", "zstd"]

BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 18
LONGEST_RECORD = 16 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))  # RFC 8878, 3.1


@dataclass(frozen=True)
class ByteSource:
    """A file and how it is packed; `name` is what the user calls it."""

    path: Path
    name: str
    compression: Compression = "uncompressed"

    def head(self) -> bytes:
        """The first bytes, as many as hold a line if one is not too long, without a byte order mark."""
        head = b""
        with closing(self._blocks(HEAD_BYTES)) as blocks:
            for block in blocks:
                head += block
                if len(head) >= HEAD_BYTES and (b"\n" in head or len(head) > LONGEST_RECORD):
                    break
        return head.removeprefix(BYTE_ORDER_MARK)

    def blocks(self) -> Iterator[bytes]:
        """The whole content in blocks of about a megabyte, without a byte order mark."""
        is_first = True
        for block in self._blocks(BLOCK_BYTES):
            yield block.removeprefix(BYTE_ORDER_MARK) if is_first else block
            is_first = False

    def lines(self, separator: bytes = b"\n") -> Iterator[bytes | None]:
        """The lines without their separator; None stands for one that is too long."""
        return chain.from_iterable(self.lists_of_lines(separator))

    def lists_of_lines(self, separator: bytes = b"\n") -> Iterator[Sequence[bytes | None]]:
        """The same lines, many at a time."""
        return lists_of_lines(self.blocks(), separator)

    def _blocks(self, size: int) -> Generator[bytes, None, None]:
        try:
            with self._open() as file:
                while block := file.read(size):
                    yield block
        except (gzip.BadGzipFile, zlib.error, zstd.ZstdError, EOFError) as error:
            raise InputError(f'"{self.name}" is damaged: it cannot be unpacked as {self.compression}') from error
        except OSError as error:
            raise unreadable(self.name, error) from error

    def _open(self) -> BinaryIO:
        if self.compression == "gzip":
            return cast(BinaryIO, gzip.open(self.path, "rb"))
        if self.compression == "zstd":
            return cast(BinaryIO, zstd.open(self.path, "rb"))
        return open(self.path, "rb")


def unreadable(name: str, error: OSError) -> InputError:
    """The error for a file that the operating system refuses to open or read."""
    return InputError(f'cannot read "{name}": {(error.strerror or str(error)).lower()}')


def split_lines(blocks: Iterable[bytes], separator: bytes = b"\n") -> Iterator[bytes | None]:
    """Split blocks at the separator; a line longer than LONGEST_RECORD comes as None."""
    for lines in lists_of_lines(blocks, separator):
        yield from lines


def lists_of_lines(blocks: Iterable[bytes], separator: bytes = b"\n") -> Iterator[Sequence[bytes | None]]:
    """The same lines, those of a block at a time."""
    rest = b""
    is_too_long = False
    for block in blocks:
        lines = (rest + block).split(separator)
        rest = lines.pop()
        if lines and is_too_long:
            yield [None, *lines[1:]]
            is_too_long = False
        else:
            yield lines
        if len(rest) > LONGEST_RECORD:
            is_too_long, rest = True, b""
    if is_too_long or rest:
        yield [None if is_too_long else rest]

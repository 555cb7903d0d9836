"""Files to read, and all that a reader says about them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textmix.corpus.readers import DocumentReader, ReadReport

PACKINGS = ["", ".gz", ".zst"]


@dataclass
class Reading:
    """Everything that came out of a reader."""

    texts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    batch_sizes: list[int] = field(default_factory=list)
    report: ReadReport = field(default_factory=ReadReport)

    @property
    def skipped(self) -> list[tuple[int | None, str]]:
        """(line, reason) of every skipped row that was kept."""
        return [(row.line, row.reason) for row in self.report.skipped]


def read(*paths: str | Path, **options: Any) -> Reading:
    """Read the files to the end."""
    reading = Reading()
    with DocumentReader(paths, **options) as reader:
        for batch in reader:
            reading.texts += batch.texts
            reading.ids += batch.ids or []
            reading.labels += batch.labels or []
            reading.batch_sizes.append(len(batch.texts))
        reading.report = reader.report
    return reading


def write(path: Path, content: str | bytes) -> Path:
    """Write the content as it is, packed as the name says."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.suffix == ".gz":
        data = gzip.compress(data)
    if path.suffix == ".zst":
        data = zstd_frame(data)
    path.write_bytes(data)
    return path


def zstd_frame(data: bytes) -> bytes:
    """A Zstandard frame of blocks that are not compressed (RFC 8878, section 3.1.1)."""
    size = 1 << 16
    blocks = [data[start : start + size] for start in range(0, len(data), size)] or [b""]
    frame = b"\x28\xb5\x2f\xfd" + b"\xe0" + len(data).to_bytes(8, "little")
    for number, block in enumerate(blocks, start=1):
        header = len(block) << 3 | (number == len(blocks))
        frame += header.to_bytes(3, "little") + block
    return frame


def csv_rows(start: int, stop: int) -> str:
    """Rows `7,"text 7",odd` of a table with the columns id, text and topic."""
    return "".join(f'{number},"text {number}",{("even", "odd")[number % 2]}\n' for number in range(start, stop))

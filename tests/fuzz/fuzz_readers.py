"""Tables as programs write them come back as they were; damaged files are read or refused, and rows are counted."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
from reader_helpers import read, write

from fuzz import check_refusal
from textmix.corpus.readers import InputError

PIECES = ['"', '""', ",", ";", "\t", "\n", "\r\n", "\\", "'", "é", "日本", "=1+1", "NULL", "null", "1e5", "2024-01-01"]
FOLDERS = ["plain", "text=hello", "line=zzz", "c0=hello", "a[b]", "a*b", "a?b", "it's", 'qu"ote', "~", "id=7", "a b"]
JUNK = [
    b"\x00",
    b"\xff",
    b"\xfe",
    b'"',
    b"\n",
    b"\r",
    b",",
    b"{",
    b"}",
    b"[",
    b"\\u12",
    b"\xef\xbb\xbf",
    b"\x1f\x8b",
    b"PAR1",
]


def run_case(rng: np.random.Generator, folder: Path) -> str:
    folder = folder / str(rng.choice(FOLDERS))
    folder.mkdir()
    rows = [(f"id{row}", _cell(rng), _cell(rng)) for row in range(int(rng.choice([1, 2, 5, 50])))]
    kind = str(rng.choice(["csv", "tsv", "jsonl", "txt", "parquet"]))
    packing = str(rng.choice(["", ".gz", ".zst"])) if kind != "parquet" else ""
    path = folder / f"{rng.choice(['a', 'b=c', 'x y'])}.{kind}{packing}"
    content = _written(rows, kind, folder)
    if rng.random() < 0.3:
        return _read_whole(write(path, content), kind, rows)
    if rng.random() < 0.5:
        return _read_damaged(write(path, _damage(rng, content)))
    path = write(path, content)
    path.write_bytes(_damage(rng, path.read_bytes()))
    return _read_damaged(path)


def _cell(rng: np.random.Generator) -> str:
    length = int(rng.choice([0, 1, 3, 10, 200], p=[0.1, 0.3, 0.3, 0.28, 0.02]))
    return " ".join(str(rng.choice(PIECES)) if rng.random() < 0.3 else f"word{rng.integers(9)}" for _ in range(length))


def _written(rows: list[tuple[str, str, str]], kind: str, folder: Path) -> bytes:
    if kind in ("csv", "tsv"):
        text = io.StringIO()
        writer = csv.writer(text, delimiter="," if kind == "csv" else "\t")
        writer.writerows([("id", "text", "topic"), *rows])
        return text.getvalue().encode()
    if kind == "jsonl":
        return "".join(json.dumps({"id": i, "text": t, "topic": topic}) + "\n" for i, t, topic in rows).encode()
    if kind == "txt":
        return "".join(_line(text) + "\n" for _, text, _ in rows).encode()
    import duckdb

    path = str(folder / "table").replace("'", "''")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id VARCHAR, text VARCHAR, topic VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    content = (folder / "table").read_bytes()
    (folder / "table").unlink()
    return content


def _line(text: str) -> str:
    return "x " + text.replace("\n", " ").replace("\r", " ")


def _read_whole(path: Path, kind: str, rows: list[tuple[str, str, str]]) -> str:
    if kind == "txt":
        assert read(path).texts == [_line(text) for _, text, _ in rows]
        return "read"
    if not any(text.strip() for _, text, _ in rows):
        return _read_damaged(path)
    reading = read(path, text="text", id="id", label="topic")
    assert list(zip(reading.ids, reading.texts, reading.labels, strict=True)) == rows, path
    assert reading.report.n_skipped == 0
    return "read"


def _read_damaged(path: Path) -> str:
    try:
        reading = read(path)
    except InputError as error:
        check_refusal(error)
        return "refused"
    assert len(reading.texts) == reading.report.n_rows
    assert all(isinstance(text, str) for text in reading.texts)
    assert sum(reading.report.reasons.values()) == reading.report.n_skipped
    return "read damaged"


def _damage(rng: np.random.Generator, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(int(rng.choice([1, 2, 10]))):
        place = int(rng.integers(len(damaged) + 1))
        kind = rng.choice(["flip", "cut", "insert", "drop", "repeat"])
        if kind == "flip" and place < len(damaged):
            damaged[place] ^= int(rng.integers(1, 256))
        elif kind == "cut" and rng.random() < 0.3:
            del damaged[place:]
        elif kind == "insert":
            damaged[place:place] = JUNK[rng.integers(len(JUNK))]
        elif kind == "drop":
            del damaged[place : place + int(rng.integers(1, 20))]
        else:
            damaged[place:place] = damaged[place : place + int(rng.integers(1, 500))]
    return bytes(damaged)

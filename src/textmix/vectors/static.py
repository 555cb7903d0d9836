"""Static word vectors: a table of word-piece vectors that comes with the package.

A text's vector is the sum of the vectors of its pieces, scaled to length 1. How much a piece counts is the length of
its vector in the table, short for words such as "the", times log(1 + n) where the text has it n times: the hundredth
"the" of a long text adds little (docs/decisions/views.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textmix.vectors.source import as_unit_rows
from textmix.vectors.weights import short_hash
from textmix.vectors.wordpiece import WordPieces
from textmix.version import __version__

TABLE_FILE = "static_vectors.npz"
BLOCK_TEXTS = 4096
BLOCK_CHARACTERS = 1 << 20  # a block of long texts has fewer of them


class StaticEncoder:
    """Encodes texts by the table of the package, or by another of the same format."""

    name = "static"

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        if not _table_file(path).is_file():
            raise ValueError(f"the static word vectors are missing ({_table_file(path)}); install textmix again")

    @staticmethod
    def is_available() -> bool:
        """Whether the table is installed."""
        return _table_file(None).is_file()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; a zero row for a text without known pieces. Beside it one block is in memory."""
        table = load_table(self._path)
        found = np.empty((len(texts), table.n_dimensions), dtype=np.float32)
        start = 0
        for block in _text_blocks(texts):
            found[start : start + len(block)] = as_unit_rows(table.add_up(block))
            start += len(block)
        return found

    def coverage(self, words: Sequence[str], counts: Sequence[int]) -> float:
        """The share of words in the vocabulary, each weighted by its count; 0 without words.

        Words are in lower case. Only whole ones count, so the share is far higher for English than for other
        languages, whose words are mostly cut into pieces.
        """
        pieces = load_table(self._path).pieces
        total = sum(counts)
        known = sum(count for word, count in zip(words, counts, strict=True) if pieces.has_word(word))
        return float(known / total) if total else 0.0

    def describe(self) -> dict[str, Any]:
        """What run.json says of it."""
        table = load_table(self._path)
        weights, n_dimensions = table.weights, table.n_dimensions
        return {"name": self.name, "version": __version__, "weights": weights, "dimensions": n_dimensions}


class PieceTable:
    """Word pieces and their vectors: that of piece i is scales[i] · vectors[i], kept in one byte per number."""

    def __init__(self, pieces: Sequence[str], vectors: NDArray[np.int8], scales: NDArray[np.float32], weights: str):
        self.pieces = WordPieces(pieces)
        self.weights = weights  # hash of the file
        self._vectors = vectors
        self._scales = np.broadcast_to(scales.reshape(-1, 1), (vectors.shape[0], 1))

    @property
    def n_dimensions(self) -> int:
        """Numbers of a vector."""
        return int(self._vectors.shape[1])

    def add_up(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Σ log(1 + n_p) v_p over the pieces p of each text; a text has the same sum whatever other texts there are."""
        pieces_of = self.pieces.cached.__getitem__
        numbers: list[int] = []
        ends = [0]
        for text in texts:
            numbers += chain.from_iterable(map(pieces_of, text.split()))
            ends.append(len(numbers))
        pieces = np.array(numbers, dtype=np.int64)
        is_used = np.zeros(self._vectors.shape[0], dtype=bool)
        is_used[pieces] = True
        used = np.flatnonzero(is_used)
        columns = (np.cumsum(is_used) - 1)[pieces]
        ones = np.ones(pieces.size, dtype=np.float32)
        counts = csr_array((ones, columns, np.array(ends)), shape=(len(texts), used.size))
        counts.sum_duplicates()
        counts.data = np.log1p(counts.data)
        sums: NDArray[np.float32] = counts @ (self._vectors[used] * self._scales[used])
        return sums


_loading = Lock()


def load_table(path: Path | None = None) -> PieceTable:
    """The table, read when it is first asked for and then shared by all encoders and threads."""
    with _loading:
        return _read_table(path)


@cache
def _read_table(path: Path | None) -> PieceTable:
    file = _table_file(path)
    content = file.read_bytes()
    try:
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            vectors, scales, joined = arrays["vectors"], arrays["scales"], arrays["pieces"]
        pieces = joined.tobytes().decode("utf-8").split("\n")
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise _damaged(file, str(error)) from error
    if vectors.dtype != np.int8 or vectors.ndim != 2 or vectors.shape[0] != len(pieces):
        raise _damaged(file, f"{len(pieces):,} pieces, but {vectors.dtype} vectors of shape {vectors.shape}")
    if scales.size not in (1, len(pieces)) or not np.isfinite(scales).all():
        raise _damaged(file, f"{scales.size:,} scales for {len(pieces):,} pieces, or some that are not finite")
    return PieceTable(pieces, vectors, scales.astype(np.float32), short_hash([content]))


def _table_file(path: Path | None) -> Traversable:
    return files("textmix.vectors") / TABLE_FILE if path is None else path


def _damaged(file: Traversable, what: str) -> ValueError:
    return ValueError(f"the table of static word vectors {file} is damaged ({what}); install textmix again")


def _text_blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in blocks of bounded number and, but for a single long text, length."""
    start = n_characters = 0
    for place, text in enumerate(texts):
        if place > start and (place - start == BLOCK_TEXTS or n_characters + len(text) > BLOCK_CHARACTERS):
            yield texts[start:place]
            start, n_characters = place, 0
        n_characters += len(text)
    if start < len(texts):
        yield texts[start:]

"""Two ways to split texts into words and count them: the built-in one, compiled, and the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from textmix.corpus.characters import character_classes, code_points
from textmix.corpus.matrix import enlarged
from textmix.kernels.tokenize import Progress, Rows, WordTable, count_words, fill_slots

_FIRST_SLOTS = 1 << 10


class Splitter(Protocol):
    """Splits texts into words, numbers the distinct words by first occurrence and counts them."""

    def count(self, texts: Sequence[str], position: int) -> Rows:
        """The counts of a batch; `position` is that of its first text among all texts, for error messages."""

    def words(self) -> list[str]:
        """The distinct words of all batches so far."""


class WordSplitter:
    """The built-in splitter: words as corpus/characters.py defines them."""

    def __init__(self, lowercase: bool = True, max_word_length: int = 40) -> None:
        self._lowercase = lowercase
        self._max_word_length = max_word_length
        self._table = WordTable(
            slots=np.zeros(_FIRST_SLOTS, dtype=np.uint64),
            starts=np.zeros(_FIRST_SLOTS // 2 + 1, dtype=np.int64),
            characters=np.zeros(_FIRST_SLOTS * 4, dtype=np.uint32),
            last_entry=np.full(_FIRST_SLOTS // 2, -1, dtype=np.int64),
        )
        self._n_words = 0
        self._n_entries = 0
        self._buffer = np.empty((2, 0), dtype=np.int32)  # words and counts of a batch, used again for the next

    def count(self, texts: Sequence[str], position: int = 0) -> Rows:
        """The counts of a batch of texts."""
        if not any(texts):  # a file of blank lines: no need to look for words
            return Rows(np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(len(texts), np.int64))
        codes = code_points(texts, self._lowercase)
        if self._buffer.shape[1] < codes.size:
            self._buffer = np.empty((2, codes.size), dtype=np.int32)
        rows = Rows(self._buffer[0], self._buffer[1], np.empty(len(texts), dtype=np.int64))
        classes = character_classes()
        progress = Progress(0, self._n_words, 0, 0, 0)
        longest = min(self._max_word_length, codes.size)
        while True:
            progress = count_words(codes, classes, self._table, rows, progress, self._n_entries, longest)
            if progress.position >= codes.size:
                break
            self._grow(progress.n_words, longest)
        self._n_words = progress.n_words
        self._n_entries += progress.n_entries
        words, counts = self._buffer[:, : progress.n_entries].copy()
        return Rows(words, counts, rows.row_ends)

    def words(self) -> list[str]:
        """The distinct words of all batches so far."""
        bounds = self._table.starts[: self._n_words + 1].tolist()
        text = self._table.characters[: bounds[-1]].tobytes().decode("utf-32-le")
        return [text[start:stop] for start, stop in pairwise(bounds)]

    def _grow(self, n_words: int, longest: int) -> None:
        """Make room for more words: twice as many slots, and characters in proportion; one word is this long."""
        table = self._table
        n_slots = 2 * table.slots.size
        n_characters = 2 * table.characters.size + longest
        self._table = WordTable(
            slots=np.zeros(n_slots, dtype=np.uint64),
            starts=enlarged(table.starts, n_slots // 2 + 1, 0),
            characters=enlarged(table.characters, n_characters, 0),
            last_entry=enlarged(table.last_entry, n_slots // 2, -1),
        )
        fill_slots(self._table, n_words)


class OwnSplitter:
    """A splitter around the user's own function from a text to its words."""

    def __init__(self, split: Callable[[str], Iterable[str]]) -> None:
        self._split = split
        self._ids: dict[str, int] = {}

    def count(self, texts: Sequence[str], position: int = 0) -> Rows:
        """The counts of a batch of texts; a word that occurs twice in a text has two entries."""
        words: list[int] = []
        row_ends = np.empty(len(texts), dtype=np.int64)
        for document, text in enumerate(texts):
            for word in _checked_words(self._split(text), position + document):
                words.append(self._ids.setdefault(word, len(self._ids)))
            row_ends[document] = len(words)
        return Rows(np.array(words, dtype=np.int32), np.ones(len(words), dtype=np.int32), row_ends)

    def words(self) -> list[str]:
        """The distinct words of all batches so far."""
        return list(self._ids)


def _checked_words(words: Any, position: int) -> list[str]:
    """What the user's function returned for the text at `position`, if it is an iterable of str."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(
            f"the tokenizer must return an iterable of words, but for the text at position {position} "
            f"it returned {type(words).__name__}"
        )
    checked = list(words)
    for word in checked:
        if not isinstance(word, str):
            raise ValueError(
                f"the tokenizer must return words of type str, but for the text at position {position} "
                f"one is {type(word).__name__}"
            )
    return checked


def distinct_words(texts: Sequence[str], lowercase: bool) -> list[str]:
    """The distinct words of the texts by the built-in rule, in order of first occurrence."""
    splitter = WordSplitter(lowercase)
    splitter.count(texts)
    return splitter.words()

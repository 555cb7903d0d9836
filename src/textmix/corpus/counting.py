"""Texts are split into words, by the built-in rule or the user's own, and counted; the counts stay, not the texts.

Nothing is left out at this stage. Which words become columns is decided afterwards, on the distinct words
(corpus/vocabulary.py), and applied to the counts in one pass (`WordCounts.remapped`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.characters import character_classes, code_points
from textmix.corpus.matrix import enlarged
from textmix.kernels.tokenize import (
    CountingProgress,
    Rows,
    WordTable,
    add_document_frequencies,
    add_word_totals,
    count_words,
    fill_slots,
    remap_words,
)

# A batch of texts of a title's length then stays in the processor's cache.
_BATCH_DOCUMENTS = 256
# A batch of long texts is halved until it has no more characters than this, each of which takes some 20
# bytes.
_BATCH_CHARACTERS = 1 << 20

# Totals tell the language, which one long text among short ones must not hide: a pasted log, say.
_MOST_WORDS = 200

_FIRST_SLOTS = 1 << 10  # of the table of words, which grows

_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed


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
        progress = CountingProgress(0, self._n_words, 0, 0, 0)
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


class WordCounts:
    """The counts of all distinct words in all documents, batch by batch, and those words.

    The batches are gone through more than once: they are a list, or stand in a file (large/disk_build.py).
    """

    def __init__(self, batches: Iterable[Rows], words: Sequence[str], n_documents: int) -> None:
        self.batches = batches
        self.words = words
        self.n_documents = n_documents  # those without words included

    def word_totals(self) -> npt.NDArray[np.int64]:
        """How often each word occurs, long documents counting as a sample of their words."""
        totals = np.zeros(len(self.words), dtype=np.int64)
        for rows in self.batches:
            add_word_totals(rows, _MOST_WORDS, totals)
        return totals

    def document_frequencies(self, columns: npt.NDArray[np.int32], n_columns: int) -> npt.NDArray[np.int64]:
        """In how many documents each column occurs, if word w goes to columns[w] (-1: nowhere)."""
        frequencies = np.zeros(n_columns, dtype=np.int64)
        last_document = np.full(n_columns, -1, dtype=np.int64)
        first_document = 0
        for rows in self.batches:
            add_document_frequencies(rows, columns, last_document, first_document, frequencies)
            first_document += rows.row_ends.size
        return frequencies

    def remapped(self, columns: npt.NDArray[np.int32], n_columns: int) -> Iterator[Rows]:
        """The batches with word w in columns[w]: -1 leaves it out, words in one column are added up.

        Rows are sorted by column. Batches are changed in place: those in memory are used up.
        """
        last_entry = np.full(n_columns, -1, dtype=np.int64)
        n_entries = 0
        for rows in self.batches:
            n_left = remap_words(rows, columns, last_entry, n_entries)
            n_entries += n_left
            yield Rows(rows.words[:n_left], rows.counts[:n_left], rows.row_ends)


class WordCountsInMemory(WordCounts):
    """The same, all batches in memory, where they can become one matrix."""

    def __init__(self, batches: list[Rows], words: Sequence[str]) -> None:
        super().__init__(batches, words, sum(rows.row_ends.size for rows in batches))
        self._held = batches

    def matrix(self, columns: npt.NDArray[np.int32], n_columns: int) -> csr_array:
        """The counts with word w in columns[w], as `remapped` says.

        Uses the counts up: it can be called once.
        """
        row_starts = np.zeros(self.n_documents + 1, dtype=np.int64)
        n_entries = n_rows = 0
        for rows in self.remapped(columns, n_columns):
            row_starts[n_rows + 1 : n_rows + 1 + rows.row_ends.size] = rows.row_ends + n_entries
            n_entries += rows.words.size
            n_rows += rows.row_ends.size
        index_type: Any = np.int32 if n_entries <= np.iinfo(np.int32).max else np.int64
        indices = np.empty(n_entries, dtype=index_type)
        data = np.empty(n_entries, dtype=np.int32)
        start = 0
        self._held.reverse()
        while self._held:  # each batch is let go once copied, so that the counts are not held twice
            words, counts, row_ends = self._held.pop()
            stop = start + int(row_ends[-1])
            indices[start:stop] = words[: stop - start]
            data[start:stop] = counts[: stop - start]
            start = stop
        matrix = csr_array((data, indices, row_starts.astype(index_type)), shape=(self.n_documents, n_columns))
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix


def count_texts(texts: Iterable[object], splitter: Splitter) -> WordCountsInMemory:
    """Count the words of any number of texts, reading them once."""
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"texts is a single {type(texts).__name__}; give a list of texts, for one text [text]")
    if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) != 1 or not isinstance(texts, Iterable):
        raise ValueError(f"texts must be a list, one column or another iterable of texts, not {type(texts).__name__}")
    batches = list(count_batches(texts, splitter))
    return WordCountsInMemory(batches, splitter.words())


def count_batches(texts: Iterable[object], splitter: Splitter) -> Iterator[Rows]:
    """The counts of the texts, a batch at a time; how the texts come does not show in them."""
    position = 0
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH_DOCUMENTS)):
        for part in _parts(_as_texts(batch, position)):
            yield splitter.count(part, position)
            position += len(part)


def _as_texts(items: list[Any], position: int) -> list[str]:
    """The items, None and NaN replaced by the empty text; `position` is that of the first."""
    if set(map(type, items)) == {str}:
        return items
    return [_as_text(item, position + offset) for offset, item in enumerate(items)]


def _as_text(item: Any, position: int) -> str:
    if isinstance(item, str):
        return item
    if is_missing(item):
        return ""
    raise ValueError(
        f"the text at position {position} is {type(item).__name__}, not str; convert it, or use None for an empty text"
    )


def is_missing(item: Any) -> bool:
    """Whether the item stands for nothing: None, NaN and their like."""
    if isinstance(item, (float, np.floating)):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in _MISSING_TYPES


def _parts(texts: list[str]) -> Iterator[list[str]]:
    """The texts, cut in halves as long as they have too many characters for one batch."""
    if len(texts) == 1 or sum(map(len, texts)) <= _BATCH_CHARACTERS:
        yield texts
    else:
        middle = len(texts) // 2
        yield from _parts(texts[:middle])
        yield from _parts(texts[middle:])

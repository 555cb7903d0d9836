"""Texts are split into words and counted, batch by batch: what stays is the counts, not the texts.

Nothing is left out at this stage. Which words become columns is decided afterwards, on the distinct words
(corpus/vocabulary.py), and applied to the counts in one pass (`WordCounts.remapped`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.splitters import Splitter
from textmix.kernels.tokenize import Rows, add_document_frequencies, add_word_totals, remap_words

# A batch of texts of a title's length then stays in the processor's cache.
_BATCH_DOCUMENTS = 256
# A batch of long texts is halved until it has no more characters than this, each of which takes some 20
# bytes.
_BATCH_CHARACTERS = 1 << 20

# Totals tell the language, which one long text among short ones must not hide: a pasted log, say.
_MOST_WORDS = 200

_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed


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

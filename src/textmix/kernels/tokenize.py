"""Code points become word ids and counts: the walk over a batch of texts, the table of words, the rows of
counts.

A batch is one array of code points in which a 0 ends each document. What a code point is (part of a word, a
separator, …) is read from an array of character classes, one byte for each code point; the classes are named
below.

No kernel here allocates or replaces an array: a loop over arrays that may be replaced in it counts references
at every turn and ran half as fast. Arrays are grown by the callers (corpus/counting.py), outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from textmix.kernels.jit import inline, kernel

# Character classes.
SEPARATOR = 0  # ends a word
DOCUMENT_END = 1  # ends a word and a document
MARK = 2  # belongs to the character before it
IGNORED = 3  # dropped before words are looked for
WORD = 4  # letters, digits, underscore
FIRST_UNSPACED = 5  # this class and those above: scripts written without spaces, a class for each

_HASH_START = np.uint64(0xCBF29CE484222325)
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_UPPER_HALF = np.uint64(0xFFFFFFFF00000000)
_LOWER_HALF = np.uint64(0x00000000FFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FREE = np.uint64(0)


class WordTable(NamedTuple):
    """The distinct words met so far, numbered by first occurrence, and a hash table to find them.

    Word w is characters[starts[w]:starts[w + 1]]. A slot is 0 if it is free; else its upper half is that of
    the word's hash and its lower half is w + 1. At most half of the slots are taken; their number is a power
    of two. last_entry[w] is the entry, counted over all batches, that the word was added to last; -1 before
    the first.
    """

    slots: np.ndarray  # uint64
    starts: np.ndarray  # int64, one more than there is room for words
    characters: np.ndarray  # uint32
    last_entry: np.ndarray  # int64


class Rows(NamedTuple):
    """The counts of a batch: document d has the entries row_ends[d - 1] (0 for the first) to row_ends[d]."""

    words: np.ndarray  # int32
    counts: np.ndarray  # int32
    row_ends: np.ndarray  # int64


class CountingProgress(NamedTuple):
    """How far a batch has been counted."""

    position: int  # the next code point
    n_words: int  # words in the table
    n_documents: int  # documents finished
    row_start: int  # the first entry of the document that is open
    n_entries: int


@inline
def find_slot(table: WordTable, codes: np.ndarray, start: int, stop: int, value: np.uint64) -> np.int64:
    """The slot of the word codes[start:stop], whose hash is `value`, or the free slot where it belongs."""
    mask = np.uint64(table.slots.size - 1)
    index = value & mask
    while table.slots[index] != _FREE:
        slot = table.slots[index]
        if (slot ^ value) & _UPPER_HALF == _FREE:
            number = slot & _LOWER_HALF  # of the word, plus 1
            first = table.starts[number - _ONE]
            if table.starts[number] - first == stop - start:
                different = np.uint32(0)
                for offset in range(np.uint64(stop - start)):
                    different |= table.characters[np.uint64(first) + offset] ^ codes[np.uint64(start) + offset]
                if different == 0:
                    break
        index = (index + _ONE) & mask
    return np.int64(index)


@kernel
def fill_slots(table: WordTable, n_words: int) -> None:
    """Enter the table's words into its slots, all of which are free."""
    mask = np.uint64(table.slots.size - 1)
    for word in range(n_words):
        value = _HASH_START
        for position in range(table.starts[word], table.starts[word + 1]):
            value = (value ^ np.uint64(table.characters[position])) * _HASH_FACTOR
        value ^= value >> _HALF
        index = value & mask
        while table.slots[index] != _FREE:
            index = (index + _ONE) & mask
        table.slots[index] = (value & _UPPER_HALF) | np.uint64(word + 1)


@inline
def add_word(
    table: WordTable, codes: np.ndarray, start: int, stop: int, value: np.uint64, slot: int, n_words: int
) -> bool:
    """Put the word codes[start:stop] into a free slot; False if there is no room for it."""
    first = table.starts[n_words]
    if 2 * n_words >= table.slots.size or first + stop - start > table.characters.size:
        return False
    for offset in range(stop - start):
        table.characters[first + offset] = codes[start + offset]
    table.starts[n_words + 1] = first + stop - start
    table.slots[slot] = (value & _UPPER_HALF) | np.uint64(n_words + 1)
    return True


@kernel
def drop_ignored(codes: np.ndarray, classes: np.ndarray) -> int:
    """Move the code points that are not of class IGNORED to the front, in place; returns their number."""
    n_kept = 0
    for position in range(codes.size):
        code = codes[position]
        codes[n_kept] = code
        if classes[code] != IGNORED:
            n_kept += 1
    return n_kept


@inline
def scan_word(codes: np.ndarray, classes: np.ndarray, start: int) -> tuple[np.int64, np.uint64]:
    """Where the word that begins at `start` ends, and its hash."""
    stop = np.uint64(start)  # unsigned: an index that cannot be negative needs no test for it
    value = _HASH_START
    kind = WORD
    while kind == WORD or kind == MARK:  # noqa: SIM109 (a tuple is slower)
        value = (value ^ np.uint64(codes[stop])) * _HASH_FACTOR
        stop += _ONE
        kind = classes[codes[stop]]
    return np.int64(stop), value ^ (value >> _HALF)


@inline
def scan_pair(codes: np.ndarray, classes: np.ndarray, start: int) -> tuple[int, np.uint64, int]:
    """The same for two characters, with their marks, of a script without spaces, and where the next pair is.

    The last pair of a run is followed by the run's end, and so is the character of a run of one.
    """
    run = classes[codes[start]]
    stop = start
    second = start
    n_characters = 0
    value = _HASH_START
    kind = run
    while kind == run or kind == MARK:  # noqa: SIM109 (a tuple is slower)
        if kind == run:
            n_characters += 1
            if n_characters == 3:
                return stop, value ^ (value >> _HALF), second
            second = stop
        value = (value ^ np.uint64(codes[stop])) * _HASH_FACTOR
        stop += 1
        kind = classes[codes[stop]]
    return stop, value ^ (value >> _HALF), stop


@kernel
def count_words(
    codes: np.ndarray,
    classes: np.ndarray,
    table: WordTable,
    rows: Rows,
    progress: CountingProgress,
    first_entry: int,
    max_length: int,
) -> CountingProgress:
    """Count the words of a batch from where `progress` says; returns the progress made.

    A word is a run of one class, with the marks in it; in a script without spaces it is two neighbouring
    characters of a run, or the character of a run of one. A document's entries are its distinct words in
    order of first occurrence; `first_entry` is the number of entries of all batches before. Words longer than
    `max_length` code points are passed over. Stops early, before the word in question, if the table has no
    room for it.
    """
    position, n_words, n_documents, row_start, n_entries = progress
    while position < codes.size:
        kind = classes[codes[position]]
        if kind < WORD:
            if kind == DOCUMENT_END:
                rows.row_ends[n_documents] = n_entries
                n_documents += 1
                row_start = n_entries
            position += 1
            continue
        if kind == WORD:
            stop, value = scan_word(codes, classes, position)
            following = stop
        else:
            stop, value, following = scan_pair(codes, classes, position)
        if stop - position <= max_length:
            slot = find_slot(table, codes, position, stop, value)
            word = np.int64(table.slots[slot] & _LOWER_HALF) - 1
            if word < 0:
                if not add_word(table, codes, position, stop, value, slot, n_words):
                    break
                word = np.int64(n_words)
                n_words += 1
            entry = table.last_entry[word] - first_entry
            if entry >= row_start:
                rows.counts[entry] += 1
            else:
                rows.words[n_entries] = word
                rows.counts[n_entries] = 1
                table.last_entry[word] = first_entry + n_entries
                n_entries += 1
        position = following
    return CountingProgress(position, n_words, n_documents, row_start, n_entries)


@kernel
def add_word_totals(rows: Rows, most_words: int, totals: np.ndarray) -> None:
    """Add a batch's counts to each word's total; of a document with more words than `most_words`, this many.

    They are drawn at even distances from its words, equal ones side by side.
    """
    row_start = 0
    for document in range(rows.row_ends.size):
        row_end = rows.row_ends[document]
        n_words = np.int64(0)
        for entry in range(row_start, row_end):
            n_words += rows.counts[entry]
        n_drawn = n_words if n_words < most_words else np.int64(most_words)
        n_before = np.int64(0)
        for entry in range(row_start, row_end):
            n_until = n_before + rows.counts[entry]
            totals[rows.words[entry]] += n_until * n_drawn // n_words - n_before * n_drawn // n_words
            n_before = n_until
        row_start = row_end


@kernel
def add_document_frequencies(
    rows: Rows, columns: np.ndarray, last_document: np.ndarray, first_document: int, frequencies: np.ndarray
) -> None:
    """Add to each column the number of the batch's documents that have a word of it.

    columns[w] is the column of word w, or -1. `last_document` remembers for each column the document that was
    counted last, over all batches; `first_document` is the number of documents of the batches before.
    """
    row_start = 0
    for document in range(rows.row_ends.size):
        for entry in range(row_start, rows.row_ends[document]):
            column = columns[rows.words[entry]]
            if column >= 0 and last_document[column] != first_document + document:
                last_document[column] = first_document + document
                frequencies[column] += 1
        row_start = rows.row_ends[document]


@inline
def sort_row(rows: Rows, start: int, stop: int) -> None:
    """Sort the entries from start to stop by word, in place (Shell's sort; on short rows, insertion)."""
    gap = 1
    while 9 * gap < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for right in range(start + gap, stop):
            word, count = rows.words[right], rows.counts[right]
            left = right
            while left >= start + gap and rows.words[left - gap] > word:
                rows.words[left] = rows.words[left - gap]
                rows.counts[left] = rows.counts[left - gap]
                left -= gap
            rows.words[left] = word
            rows.counts[left] = count
        gap //= 3


@kernel
def remap_words(rows: Rows, columns: np.ndarray, last_entry: np.ndarray, first_entry: int) -> int:
    """Put columns[w] in the place of each word w, in place; returns the number of entries left.

    Words with column -1 are dropped, words with the same column are added up, rows are sorted by column.
    `last_entry` remembers for each column the entry that was made last, over all batches; `first_entry` is
    the number of entries that remain of the batches before.
    """
    n_entries = 0
    row_start = 0
    source = 0
    for document in range(rows.row_ends.size):
        while source < rows.row_ends[document]:
            column = columns[rows.words[source]]
            if column >= 0:
                entry = last_entry[column] - first_entry
                if entry >= row_start:
                    rows.counts[entry] += rows.counts[source]
                else:
                    rows.words[n_entries] = column
                    rows.counts[n_entries] = rows.counts[source]
                    last_entry[column] = first_entry + n_entries
                    n_entries += 1
            source += 1
        rows.row_ends[document] = n_entries
        sort_row(rows, row_start, n_entries)
        row_start = n_entries
    return n_entries

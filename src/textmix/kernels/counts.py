"""Kernels on raw counts: checking them, and ordering words so that the most widespread come first."""

from __future__ import annotations

import numpy as np

from .gamma import log_rising
from .jit import inline, kernel

WHOLE, FRACTIONAL, NEGATIVE, NOT_FINITE = 0, 1, 2, 3


@kernel
def classify_counts(data):
    """Say whether all counts are whole, some fractional, or the first fault found, and where it stands."""
    kind = WHOLE
    for entry in range(data.size):
        value = data[entry]
        if not np.isfinite(value):
            return NOT_FINITE, entry
        if value < 0:
            return NEGATIVE, entry
        if value != np.floor(value):
            kind = FRACTIONAL
    return kind, -1


@kernel
def document_frequencies(indices, data, n_words):
    """In how many documents each word stands (entries that are zero do not count)."""
    frequencies = np.zeros(n_words, np.int64)
    for entry in range(indices.size):
        if data[entry] > 0:
            frequencies[indices[entry]] += 1
    return frequencies


@inline
def in_units(value, scale):
    """A count above 0 as an integer: multiplied by the scale and rounded, but never to zero."""
    return np.int64(value) if scale == 1.0 else np.int64(max(1.0, np.rint(value * scale)))


@kernel
def fill_by_word(indptr, indices, data, scale, betas, new_ids, word_starts, documents, counts, lengths, starts):
    """Write the entries word by word (CSC), words by their new ids; a word whose new id is −1 counts in lengths only.

    `starts` gets, one place on, how many entries of each document are written. Returns Σ log Γ(c + β) − log Γ(β) over
    the entries of words whose new id is −1; `betas` has the β of each column, the last one holds for all that follow.
    """
    position = word_starts[:-1].copy()
    log_lone_words = 0.0
    for document in range(indptr.size - 1):
        total = np.int64(0)
        for entry in range(indptr[document], indptr[document + 1]):
            if data[entry] > 0:
                count = in_units(data[entry], scale)
                total += count
                word = new_ids[indices[entry]]
                if word >= 0:
                    place = position[word]
                    documents[place] = document
                    counts[place] = count
                    position[word] = place + 1
                    starts[document + 1] += 1
                else:
                    beta = betas[min(indices[entry], betas.size - 1)]
                    log_lone_words += log_rising(beta, count / scale)
        lengths[document] = total
    return log_lone_words


@kernel
def fill_by_document(word_starts, documents, counts_by_word, starts, words, counts):
    """Write word-by-word entries document by document; words rise within each. Returns the largest total of a word."""
    position = starts[:-1].copy()
    largest = np.int64(0)
    for word in range(word_starts.size - 1):
        total = np.int64(0)
        for entry in range(word_starts[word], word_starts[word + 1]):
            document = documents[entry]
            place = position[document]
            words[place] = word
            counts[place] = counts_by_word[entry]
            total += counts_by_word[entry]
            position[document] = place + 1
        largest = max(largest, total)
    return largest


@inline
def scramble(bits):
    """Mix 64 bits so that every one of them depends on all (the finaliser of SplitMix64)."""
    bits += np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def hash_rows(indptr, indices, data, scale):
    """A 64-bit hash of each row's non-zero entries, as integers, that does not depend on their order."""
    hashes = np.empty(indptr.size - 1, np.uint64)
    for row in range(indptr.size - 1):
        total = np.uint64(0)
        for entry in range(indptr[row], indptr[row + 1]):
            if data[entry] != 0:
                bits = scramble(np.uint64(indices[entry]))
                total += scramble(bits ^ np.uint64(in_units(data[entry], scale)))
        hashes[row] = total
    return hashes


@kernel
def count_lengths(lengths, limit):
    """How many documents have each length from 0 to the limit."""
    frequencies = np.zeros(limit + 1, np.int64)
    for length in lengths:
        if length <= limit:
            frequencies[length] += 1
    return frequencies


@kernel
def leave_out_words(n_kept, row_starts, words, counts, lengths):
    """Take words from n_kept on out of rows, in place; lengths gets the sum of each row, with them."""
    place, entry = 0, row_starts[0]
    for row in range(lengths.size):
        total = np.int64(0)
        for _ in range(row_starts[row + 1] - entry):
            total += counts[entry]
            if words[entry] < n_kept:
                words[place], counts[place] = words[entry], counts[entry]
                place += 1
            entry += 1
        lengths[row] = total
        row_starts[row + 1] = place


@kernel
def draw_words(indptr, data, most, uniforms, kept):
    """Draw `most` words without replacement from each document that has more, all of the others.

    `kept` gets how often the word of each entry was drawn. `uniforms` has `most` numbers for each longer document. Sets
    of places are drawn by Floyd's method (Bentley and Floyd 1987): a document costs its distinct words and most².
    """
    places = np.empty(most, np.int64)
    n_used = 0
    for document in range(indptr.size - 1):
        first, last = indptr[document], indptr[document + 1]
        length = np.int64(0)
        for entry in range(first, last):
            length += np.int64(data[entry])
            kept[entry] = data[entry]
        if length <= most:
            continue
        for n in range(most):
            top = length - most + n
            place = np.int64(uniforms[n_used] * (top + 1))
            n_used += 1
            for other in range(n):
                if places[other] == place:
                    place = top
                    break
            position = n  # places are kept in order
            while position > 0 and places[position - 1] > place:
                places[position] = places[position - 1]
                position -= 1
            places[position] = place
        n, passed = 0, np.int64(0)
        for entry in range(first, last):
            passed += np.int64(data[entry])
            before = n
            while n < most and places[n] < passed:
                n += 1
            kept[entry] = n - before

"""Which of the distinct words become columns: stop words, lengths, stems, document frequencies.

All of it works on distinct words, after counting, so it costs nothing for each document. Columns are in
alphabetical order, so they depend neither on the order of the texts nor on how these were cut into batches.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from textmix.corpus.characters import is_unspaced, normal_form
from textmix.corpus.counting import WordCounts, distinct_words
from textmix.corpus.stemming import check_stemming_language, stem_words
from textmix.corpus.stop_words import language_stop_words, weigh_languages
from textmix.corpus.tokens import Tokenizer

Columns = npt.NDArray[np.int32]


def with_language(tokenizer: Tokenizer, counts: WordCounts) -> Tokenizer:
    """The same settings, "auto" replaced by the language of the counted words, or by None."""
    if tokenizer.language != "auto":
        return tokenizer
    words = counts.words
    if not tokenizer.lowercase or tokenizer.tokenizer is not None:
        words = [normal_form(word, lowercase=True) for word in words]
    evidence = weigh_languages(words, counts.word_totals().tolist())
    language = evidence.language if evidence.is_recognised else None
    if evidence.is_doubtful and tokenizer.stop_words is None:
        warnings.warn(
            f"no language was recognised, so no stop words are left out; those of {evidence.language} are only "
            f"{100 * evidence.share:.0f} % of the words: set language to {evidence.language!r}, or to None "
            "if none are to be left out",
            stacklevel=3,
        )
    if tokenizer.stem:
        check_stemming_language(language)
    return replace(tokenizer, language=language)


def terms(words: Sequence[str], tokenizer: Tokenizer) -> list[str | None]:
    """For each distinct word what it is counted as: itself, its stem, or None if it is left out."""
    if tokenizer.tokenizer is not None:
        words = [normal_form(word, tokenizer.lowercase) for word in words]
    stop_words = _stop_words(tokenizer)
    shortest, longest = tokenizer.min_word_length, tokenizer.max_word_length
    has_variants = not tokenizer.lowercase or tokenizer.tokenizer is not None
    kept: list[str | None] = [
        word
        if len(word) <= longest
        and word not in stop_words
        and (len(word) >= shortest or _may_be_short(word))
        and not (has_variants and _is_stop_word_variant(word, stop_words))
        else None
        for word in words
    ]
    if not tokenizer.stem:
        return kept
    stems = stem_words([word or "" for word in kept], tokenizer.language)
    return [None if word is None else stem or word for word, stem in zip(kept, stems, strict=True)]


def build_vocabulary(counts: WordCounts, tokenizer: Tokenizer) -> tuple[list[str], Columns]:
    """The vocabulary, and for each distinct word its column in it, or -1."""
    vocabulary, columns = _columns_of_terms(counts.words, tokenizer)
    least, most = _document_frequency_bounds(tokenizer, counts.n_documents)
    if not vocabulary or (least <= 1 and most >= counts.n_documents):
        return vocabulary, columns
    frequencies = counts.document_frequencies(columns, len(vocabulary))
    kept = _frequent_enough(frequencies, tokenizer, counts.n_documents)
    return _selected(vocabulary, columns, np.flatnonzero(kept))


def build_ordered_vocabulary(
    counts: WordCounts, tokenizer: Tokenizer
) -> tuple[list[str], Columns, npt.NDArray[np.int64]]:
    """The same by falling document frequency, with these frequencies."""
    vocabulary, columns = _columns_of_terms(counts.words, tokenizer)
    frequencies = counts.document_frequencies(columns, len(vocabulary))
    kept = np.flatnonzero(_frequent_enough(frequencies, tokenizer, counts.n_documents))
    return order_vocabulary(*_selected(vocabulary, columns, kept), frequencies[kept])


def order_vocabulary(
    vocabulary: Sequence[str], columns: Columns, frequencies: npt.NDArray[np.int64]
) -> tuple[list[str], Columns, npt.NDArray[np.int64]]:
    """The same columns with those of most documents first; of as many documents, in alphabetical order."""
    order = np.argsort(-frequencies, kind="stable")
    return *_selected(vocabulary, columns, order), frequencies[order]


def known_columns(words: Sequence[str], tokenizer: Tokenizer, index: Mapping[str, int]) -> Columns:
    """For each distinct word its column in a vocabulary that exists, or -1; `index` is that vocabulary."""
    return np.array([-1 if term is None else index.get(term, -1) for term in terms(words, tokenizer)], dtype=np.int32)


def _columns_of_terms(words: Sequence[str], tokenizer: Tokenizer) -> tuple[list[str], Columns]:
    """All terms in alphabetical order, and for each distinct word the place of its term, or -1."""
    found = terms(words, tokenizer)
    vocabulary = sorted({term for term in found if term is not None})
    index: dict[str | None, int] = {term: column for column, term in enumerate(vocabulary)}
    index[None] = -1
    return vocabulary, np.fromiter(map(index.__getitem__, found), dtype=np.int32, count=len(found))


def _frequent_enough(
    frequencies: npt.NDArray[np.int64], tokenizer: Tokenizer, n_documents: int
) -> npt.NDArray[np.bool_]:
    """Which columns are in as many documents as they may be; ValueError if none of them is."""
    least, most = _document_frequency_bounds(tokenizer, n_documents)
    kept: npt.NDArray[np.bool_] = (frequencies >= least) & (frequencies <= most)
    if frequencies.size and not kept.any():
        raise ValueError(
            f"min_document_frequency={tokenizer.min_document_frequency!r} and "
            f"max_document_frequency={tokenizer.max_document_frequency!r} leave no word: {least} to {most} "
            f"documents are asked for; of {frequencies.size} words in {n_documents} documents, "
            f"the rarest is in {frequencies.min()} and the most frequent in {frequencies.max()}"
        )
    return kept


def _selected(vocabulary: Sequence[str], columns: Columns, order: npt.NDArray[np.intp]) -> tuple[list[str], Columns]:
    """The vocabulary with the columns of `order` only, in that order, and the words' columns in it."""
    new_columns = np.full(len(vocabulary) + 1, -1, dtype=np.int32)  # the last element serves column -1
    new_columns[order] = np.arange(order.size, dtype=np.int32)
    return [vocabulary[column] for column in order.tolist()], new_columns[columns]


def _stop_words(tokenizer: Tokenizer) -> frozenset[str]:
    if tokenizer.stop_words is None:
        return language_stop_words(tokenizer.language) if tokenizer.language not in (None, "auto") else frozenset()
    given = tuple(tokenizer.stop_words)
    words = distinct_words(given, tokenizer.lowercase)
    if tokenizer.tokenizer is not None:
        # The user's function may split otherwise, or not at all.
        words += [normal_form(word, tokenizer.lowercase) for word in given]
    return frozenset(words)


def _is_stop_word_variant(word: str, stop_words: frozenset[str]) -> bool:
    """Whether a word, no stop word itself, is one in a form that built-in, lower-case words do not have.

    Where case is kept, "The" goes with "the", but "US" and "IT" do not go with "us" and "it". Where the
    user's own function keeps contractions whole, "don't" goes if "don" and "t" do.
    """
    if word.istitle() and word.lower() in stop_words:
        return True
    pieces = word.replace("’", "'").split("'")
    return len(pieces) > 1 and all(piece in stop_words for piece in pieces)


def _may_be_short(word: str) -> bool:
    return word != "" and is_unspaced(word[0])


def _document_frequency_bounds(tokenizer: Tokenizer, n_documents: int) -> tuple[int, int]:
    """The least and the greatest number of documents that a word may be in."""
    least, most = tokenizer.min_document_frequency, tokenizer.max_document_frequency
    # 0.07 × 100 is a little more than 7 in floating point; 7 is meant.
    rounding = 1e-9 * n_documents
    return (
        math.ceil(least * n_documents - rounding) if isinstance(least, float) else least,
        math.floor(most * n_documents + rounding) if isinstance(most, float) else most,
    )

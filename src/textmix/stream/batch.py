"""From what a user hands over, texts or counts, to the counts of a batch with their words, ids and times."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus import Corpus, Tokenizer
from textmix.corpus.characters import normal_form
from textmix.corpus.counting import WordSplitter, count_texts, is_missing
from textmix.corpus.matrix import as_counts
from textmix.corpus.stop_words import all_evidence, detect_language
from textmix.corpus.times import parse_times
from textmix.corpus.vocabulary import build_vocabulary
from textmix.kernels.state import Documents

MAX_COUNT = np.iinfo(np.int32).max
FEWEST_WORDS = 100  # to recognise a language by
OTHER = "…"  # stands for all words that say nothing about the language, so that words of texts are not kept
MAX_UNRECOGNISED = 1_000  # documents, after which the language is taken to be none


class BatchCounts(NamedTuple):
    """Counts of a batch (CSR), and the word of each column, which has one count at least."""

    row_starts: NDArray[Any]
    columns: NDArray[Any]
    counts: NDArray[np.int32]
    words: list[str]

    def totals(self) -> NDArray[np.int64]:
        """How often each word occurs."""
        return np.bincount(self.columns, self.counts, minlength=len(self.words)).astype(np.int64)


def as_batch(X: Any) -> tuple[Any, int]:
    """X, texts as a list, and how many documents it has."""
    if isinstance(X, Corpus):
        return X, X.n_documents
    if getattr(X, "ndim", 1) == 2:
        return X, int(X.shape[0])
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        count_texts(X, WordSplitter())  # says what is wrong
    texts = list(X)
    return texts, len(texts)


class BatchCounter:
    """Counts texts as they come. A language that is to be recognised is so by the first of them."""

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = tokenizer or Tokenizer()
        if self.tokenizer.min_document_frequency not in (0, 1) or self.tokenizer.max_document_frequency != 1.0:
            raise ValueError("a stream knows no bounds on document frequencies; leave them out of the tokenizer")
        if self.tokenizer.stem and self.tokenizer.language == "auto":
            raise ValueError("a stream stems words of a language that is named; give the tokenizer one")
        self._seen: Counter[str] = Counter()
        self._n_seen = 0

    def language_evidence(self) -> dict[str, Any]:
        """The words seen so far that tell the language, as JSON can hold it; nothing once it is recognised."""
        return {"words": dict(self._seen), "n_documents": self._n_seen} if self.tokenizer.language == "auto" else {}

    def restore_language_evidence(self, evidence: Mapping[str, Any]) -> None:
        """Recognise the language also by what was seen before."""
        self._seen, self._n_seen = Counter(evidence.get("words", {})), int(evidence.get("n_documents", 0))

    def count(self, X: Any, *, learn: bool) -> tuple[scipy.sparse.csr_array, list[str]]:
        """The counts matrix and its words; a batch that is not learned from says nothing about the language."""
        if isinstance(X, Corpus):
            return _as_whole_counts(as_counts(X.counts)), list(X.vocabulary)
        if getattr(X, "ndim", 1) == 2:
            matrix = _as_whole_counts(as_counts(X))
            return matrix, [f"word_{column}" for column in range(matrix.shape[1])]
        counts = count_texts(X, self.tokenizer.splitter())
        if learn and self.tokenizer.language == "auto":
            self._recognise(counts.words, counts.word_totals().tolist(), counts.n_documents)
        words, columns = build_vocabulary(counts, self.tokenizer)
        return counts.matrix(columns, len(words)), words

    def _recognise(self, words: Iterable[str], totals: Iterable[int], n_documents: int) -> None:
        for word, total in zip(words, totals, strict=True):
            form = normal_form(word, lowercase=True)
            if not form.isdecimal():
                self._seen[form if form in all_evidence() else OTHER] += total
        self._n_seen += n_documents
        if self._seen.total() < FEWEST_WORDS:
            return
        language = detect_language(self._seen.keys(), self._seen.values())
        if language is not None or self._n_seen >= MAX_UNRECOGNISED:
            self.tokenizer = replace(self.tokenizer, language=language)
            self._seen.clear()


def take_rows(matrix: scipy.sparse.csr_array, words: list[str], rows: NDArray[np.int64]) -> BatchCounts:
    """Some rows of a counts matrix, in this order, and of its words those that they have."""
    if not np.array_equal(rows, np.arange(matrix.shape[0])):
        matrix = matrix[rows]
    present = np.flatnonzero(np.bincount(matrix.indices, minlength=len(words)))
    columns: NDArray[Any] = matrix.indices
    if present.size < len(words):
        place = np.zeros(len(words), np.int32)
        place[present] = np.arange(present.size, dtype=np.int32)
        columns, words = place[columns], [words[column] for column in present.tolist()]
    return BatchCounts(matrix.indptr, columns, matrix.data.astype(np.int32, copy=False), words)


class Replaced(NamedTuple):
    """Ids of a batch that are there already, with the same words and with others."""

    same: set[str]
    other: set[str]


def compare_words(
    ids: Sequence[str],
    counts_before: Sequence[Mapping[str, int]],
    row_of: Mapping[str, int],
    matrix: scipy.sparse.csr_array,
    words: list[str],
) -> Replaced:
    """Which of some ids, whose counts were these before, have the same words in a new counts matrix."""
    replaced = Replaced(set(), set())
    for id, before in zip(ids, counts_before, strict=True):
        entries = slice(*matrix.indptr[row_of[id] : row_of[id] + 2])
        new = zip(matrix.indices[entries].tolist(), matrix.data[entries].tolist(), strict=True)
        is_same = before == {words[column]: n for column, n in new}
        (replaced.same if is_same else replaced.other).add(id)
    return replaced


def known_words(matrix: scipy.sparse.csr_array, columns: NDArray[np.int32]) -> Documents:
    """The words of documents that are in a column, −1: in none; others count for the lengths of documents only."""
    known = columns >= 0
    n_known = np.append(0, np.cumsum(known, dtype=np.int32))
    starts = n_known[matrix.indptr].astype(np.int32)
    counts = matrix.data[known].astype(np.int32)
    sums = np.append(0, np.cumsum(matrix.data, dtype=np.int64))
    lengths = (sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]).astype(np.int32)
    lengths[starts[1:] == starts[:-1]] = 0
    return Documents(starts, columns[known].astype(np.uint32), counts, lengths)


def _as_whole_counts(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    if matrix.dtype.kind == "f" and (matrix.data != np.floor(matrix.data)).any():
        raise ValueError("a stream takes whole counts only; these have fractions")
    if np.asarray(matrix.sum(axis=1, dtype=np.float64)).max(initial=0.0) > MAX_COUNT:
        raise ValueError(f"the counts of a document must not add up to more than {MAX_COUNT:,}")
    return matrix


def as_ids(ids: Iterable[Any]) -> list[str | None]:
    """Ids as strings; None where there is none."""
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"ids is a single {type(ids).__name__}; give a list, for one id [id]")
    return [None if is_missing(id) else str(id) for id in ids]


def complete_ids(
    ids: Iterable[Any] | None, n_documents: int, next_number: int, find_taken: Callable[[list[str]], set[str]]
) -> tuple[list[str], int]:
    """The ids given, numbers that are not taken where there are none, and the next number."""
    names: list[str | None] = [None] * n_documents if ids is None else as_ids(ids)
    if len(names) != n_documents:
        raise ValueError(f"there are {len(names)} ids, but {n_documents} documents")
    missing = [place for place, name in enumerate(names) if name is None]
    while missing:
        made = [str(next_number + offset) for offset in range(len(missing))]
        taken = find_taken(made) | (set(names) & set(made))
        free = [name for name in made if name not in taken]
        for place, name in zip(missing, free, strict=False):
            names[place] = name
        next_number, missing = next_number + len(made), missing[len(free) :]
    return cast("list[str]", names), next_number


def as_seconds(timestamps: Any, n_documents: int) -> NDArray[np.int64]:
    """Times in seconds since 1970; now where there is none."""
    now = np.int64(time.time())
    if timestamps is None:
        return np.full(n_documents, now)
    times = parse_times(timestamps, "timestamps")
    if times.size != n_documents:
        raise ValueError(f"there are {times.size} timestamps, but {n_documents} documents")
    return np.where(np.isnat(times), now, times.astype(np.int64))

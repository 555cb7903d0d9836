"""From what a user hands over, texts or counts, to the counts of a batch with the words they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus import Corpus, Tokenizer
from textmix.corpus.characters import normal_form
from textmix.corpus.counting import WordSplitter, count_texts
from textmix.corpus.matrix import as_counts
from textmix.corpus.stop_words import all_evidence, detect_language
from textmix.corpus.vocabulary import build_vocabulary

MAX_COUNT = np.iinfo(np.int32).max
FEWEST_WORDS = 100  # words that a language is recognised by
OTHER = "…"  # stands for all words that tell no language: those of texts are not kept
UNTIL_SETTLED = 1_000  # documents after which a language that was not recognised is taken to be none


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

    def evidence(self) -> dict[str, Any]:
        """What the language is to be recognised by, as JSON can hold it; nothing once it is."""
        return {"words": dict(self._seen), "n_documents": self._n_seen} if self.tokenizer.language == "auto" else {}

    def go_on_with(self, evidence: Mapping[str, Any]) -> None:
        """Recognise the language also by what was seen before."""
        self._seen, self._n_seen = Counter(evidence.get("words", {})), int(evidence.get("n_documents", 0))

    def count(self, X: Any, *, learn: bool) -> tuple[scipy.sparse.csr_array, list[str]]:
        """The counts matrix and its words; a batch that is not learned from says nothing about the language."""
        if isinstance(X, Corpus):
            return _whole(as_counts(X.counts)), list(X.vocabulary)
        if getattr(X, "ndim", 1) == 2:
            matrix = _whole(as_counts(X))
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
        if language is not None or self._n_seen >= UNTIL_SETTLED:
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


def _whole(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    if matrix.dtype.kind == "f" and (matrix.data != np.floor(matrix.data)).any():
        raise ValueError("a stream takes whole counts only; these have fractions")
    if np.asarray(matrix.sum(axis=1, dtype=np.float64)).max(initial=0.0) > MAX_COUNT:
        raise ValueError(f"the counts of a document must not add up to more than {MAX_COUNT:,}")
    return matrix

"""A corpus: documents as counts of words, with the words, and how to count new texts the same way."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.counting import count_texts, is_missing
from textmix.corpus.files import Record, describing_damage, load_record, save_record
from textmix.corpus.matrix import as_counts
from textmix.corpus.saved_values import WHOLE, check_strings, check_vector, check_words, sparse_counts
from textmix.corpus.times import Times, parse_times
from textmix.corpus.tokens import Tokenizer, check_settings
from textmix.corpus.vocabulary import build_vocabulary, known_columns, with_language

if TYPE_CHECKING:
    from textmix.corpus.readers import Batch

_KIND = "corpus"
_VERSION = 1
_WORDS_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents as counts of words.

    Attributes
    ----------
    counts
        One row a document, one column a word; sorted, no zeros stored. int32, or float64 where counts have
        fractions.
    vocabulary
        The word of each column, by first occurrence.
    ids, labels, times
        One for each document, if there are any; times are in UTC, NaT where one is not known.
    tokenizer
        The settings that the texts were counted with; its language is the one that was recognised. None if
        the corpus was made from counts without them.
    """

    counts: csr_array
    vocabulary: Sequence[str]
    ids: list[str] | None = None
    labels: list[str] | None = None
    times: Times | None = None
    tokenizer: Tokenizer | None = None

    def __repr__(self) -> str:
        words = [*itertools.islice(self.vocabulary, _WORDS_SHOWN), *["…"] * (len(self.vocabulary) > _WORDS_SHOWN)]
        shown = ", ".join(words)
        return f"Corpus({self.counts.shape[0]:,} documents, {self.counts.shape[1]:,} words: {shown})"

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | None],
        tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
        *,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        times: Iterable[Any] | None = None,
        **settings: Any,
    ) -> Corpus:
        """Count the words of texts: a list, a column, a generator (read once, never held as a whole).

        `tokenizer` is a `Tokenizer`; or else its settings are given by name (``stem=True``), among them
        `tokenizer`, a function of your own from a text to its words. None and NaN are empty texts. Every text
        keeps its row.
        """
        wanted = _as_tokenizer(tokenizer, settings)
        counts = count_texts(texts, wanted.splitter())
        chosen = with_language(wanted, counts)
        vocabulary, columns = build_vocabulary(counts, chosen)
        matrix = counts.matrix(columns, len(vocabulary))
        return cls(
            counts=matrix,
            vocabulary=vocabulary,
            ids=_as_names("ids", ids, matrix.shape[0]),
            labels=_as_names("labels", labels, matrix.shape[0]),
            times=_as_times(times, matrix.shape[0]),
            tokenizer=chosen,
        )

    @classmethod
    def from_counts(
        cls,
        matrix: Any,
        vocabulary: Iterable[str] | None = None,
        *,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> Corpus:
        """Take counts as they are: a sparse or dense matrix of numbers, 0 or more, documents by words.

        Without a vocabulary the words are called word_0, word_1, …. With a `tokenizer`, and a vocabulary that
        its words are in, new texts can be counted.
        """
        counts = as_counts(matrix)
        n_documents, n_words = counts.shape
        words = [f"word_{column}" for column in range(n_words)] if vocabulary is None else list(vocabulary)
        if len(words) != n_words:
            raise ValueError(f"the vocabulary has {len(words)} words, but the matrix has {n_words} columns")
        if len(set(words)) != n_words:
            word, n_columns = Counter(words).most_common(1)[0]
            raise ValueError(f"the vocabulary has {word!r} {n_columns} times; a word is one column")
        return cls(
            counts=counts,
            vocabulary=words,
            ids=_as_names("ids", ids, n_documents),
            labels=_as_names("labels", labels, n_documents),
            tokenizer=tokenizer,
        )

    @classmethod
    def from_files(
        cls,
        paths: Sequence[str | Path] | str | Path,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
        format: str | None = None,
        tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
        **settings: Any,
    ) -> Corpus:
        """Count the texts of files, as `DocumentReader` reads them; `text`, `id` and `label` name columns."""
        # Readers import duckdb, which takes its time; only those who read files should wait for it.
        from textmix.corpus.readers import DocumentReader

        reader = DocumentReader(paths, text=text, id=id, label=label, format=format)
        return cls.from_batches(reader, tokenizer, **settings)

    @classmethod
    def from_batches(
        cls,
        batches: Iterable[Batch],
        tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None = None,
        **settings: Any,
    ) -> Corpus:
        """Count the texts of a `DocumentReader`, whose report can be read afterwards."""
        ids: list[str] = []
        labels: list[str] = []
        corpus = cls.from_texts(_texts_of(batches, ids, labels), tokenizer, **settings)
        return replace(
            corpus,
            ids=_as_names("ids", ids, corpus.n_documents) if ids else None,
            labels=_as_names("labels", labels, corpus.n_documents) if labels else None,
        )

    @property
    def n_documents(self) -> int:
        """The number of documents, those without words included."""
        return int(self.counts.shape[0])

    @property
    def n_words(self) -> int:
        """The number of distinct words."""
        return int(self.counts.shape[1])

    @property
    def n_tokens(self) -> int | float:
        """The sum of all counts."""
        total: int | float = self.counts.data.sum(dtype=np.result_type(self.counts.dtype, np.int64)).item()
        return total

    @property
    def empty_documents(self) -> npt.NDArray[np.bool_]:
        """For each document whether no word of it is left."""
        empty: npt.NDArray[np.bool_] = np.diff(self.counts.indptr) == 0
        return empty

    @cached_property
    def column_of(self) -> Mapping[str, int]:
        """The column of each word of the vocabulary."""
        return {word: column for column, word in enumerate(self.vocabulary)}

    def count(self, texts: Iterable[str | None]) -> csr_array:
        """Count new texts in this corpus's columns; words that it does not have are left out."""
        if self.tokenizer is None:
            raise ValueError(
                "this corpus was made from counts, so it is not known how to split texts; give a tokenizer: "
                "Corpus.from_counts(…, vocabulary=…, tokenizer=Tokenizer())"
            )
        counts = count_texts(texts, self.tokenizer.splitter())
        columns = known_columns(counts.words, self.tokenizer, self.column_of)
        return counts.matrix(columns, self.n_words)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the corpus to a folder, as arrays and JSON. A tokenizer function of your own is not saved."""
        arrays = {"data": self.counts.data, "indices": self.counts.indices, "row_starts": self.counts.indptr}
        if self.times is not None:
            arrays["times"] = self.times.astype(np.int64)
        lists: dict[str, list[Any]] = {"vocabulary": list(self.vocabulary)}
        if self.ids is not None:
            lists["ids"] = self.ids
        if self.labels is not None:
            lists["labels"] = self.labels
        settings = None if self.tokenizer is None else self.tokenizer.settings()
        save_record(folder, _KIND, _VERSION, Record(arrays, lists, {"tokenizer": settings}))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], tokenizer: Callable[[str], Iterable[str]] | None = None) -> Corpus:
        """Load a saved corpus; if a tokenizer of your own split its texts, `count` needs it again."""
        record = load_record(folder, _KIND, _VERSION)
        with describing_damage(folder, _KIND):
            arrays, lists, settings = record.arrays, record.lists, record.settings["tokenizer"]
            check_words("vocabulary.json", lists["vocabulary"])
            parts = [arrays[name] for name in ("data", "indices", "row_starts")]
            counts = sparse_counts(("data.npy", "indices.npy", "row_starts.npy"), parts, len(lists["vocabulary"]))
            n_documents = counts.shape[0]
            for name in lists.keys() & {"ids", "labels"}:
                check_strings(f"{name}.json", lists[name], n_documents)
            times = arrays.get("times")
            if times is not None:
                check_vector("times.npy", times, WHOLE, n_documents)
            if settings is not None:
                check_settings(settings)
        if settings is None and tokenizer is not None:
            raise ValueError("this corpus was made from counts, not by a tokenizer; leave the tokenizer out")
        return cls(
            counts=counts,
            vocabulary=lists["vocabulary"],
            ids=lists.get("ids"),
            labels=lists.get("labels"),
            times=None if times is None else times.astype("datetime64[s]"),
            tokenizer=None if settings is None else Tokenizer.from_settings(settings, tokenizer),
        )


def _texts_of(batches: Iterable[Batch], ids: list[str], labels: list[str]) -> Iterator[str]:
    """The texts of all batches; their ids and labels are added to the lists on the way."""
    for batch in batches:
        if batch.ids is not None:
            ids.extend(batch.ids)
        if batch.labels is not None:
            labels.extend(batch.labels)
        yield from batch.texts


def _as_tokenizer(
    tokenizer: Tokenizer | Callable[[str], Iterable[str]] | None, settings: Mapping[str, Any]
) -> Tokenizer:
    if not isinstance(tokenizer, Tokenizer):
        unknown = [name for name in settings if name not in Tokenizer.__dataclass_fields__]
        if unknown:
            known = ", ".join(Tokenizer.__dataclass_fields__)
            raise ValueError(f"there is no setting {unknown[0]!r}; there are: {known}")
        return Tokenizer(tokenizer=tokenizer, **settings)
    if settings:
        raise ValueError(f"give either a Tokenizer or settings by name, not both ({', '.join(settings)})")
    return tokenizer


def _as_times(values: Iterable[Any] | None, n_documents: int) -> Times | None:
    if values is None:
        return None
    times = parse_times(values)
    if times.size != n_documents:
        raise ValueError(f"there are {times.size} times, but {n_documents} documents")
    return times


def _as_names(what: str, values: Iterable[Any] | None, n_documents: int) -> list[str] | None:
    """Ids or labels as strings, one for each document; a missing one is empty."""
    if values is None:
        return None
    if isinstance(values, str):
        raise ValueError(f"{what} is a single str; give a list with one for each document")
    names = ["" if is_missing(value) else str(value) for value in values]
    if len(names) != n_documents:
        raise ValueError(f"there are {len(names)} {what}, but {n_documents} documents")
    return names

"""The labelled collections that studies use: files NAME.jsonl.gz, a document a line with its label, in one folder.

A document has a "text", or "counts" of words. How texts are cut into words is the studies' business: each paper has
its own way.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus import Corpus

_ENVIRONMENT = "TEXTMIX_DATA"
_AUTHORS_PREPROCESSED = ("Tweet", "T", "S", "TS")

_folder: Path | None = None


class Collection(NamedTuple):
    """Documents × words, the label of each document, and the words (numbers, where the copy has no words)."""

    name: str
    counts: scipy.sparse.csr_array
    labels: NDArray[Any]
    words: list[str]

    @property
    def n_classes(self) -> int:
        """How many labels there are."""
        return int(np.unique(self.labels).size)


def use(folder: Path) -> None:
    """Read collections from this folder."""
    global _folder
    if folder != _folder:
        _folder = folder
        load.cache_clear()
        read.cache_clear()


def default_folder() -> Path:
    """Where the collections are if nobody says: TEXTMIX_DATA."""
    folder = os.environ.get(_ENVIRONMENT)
    if not folder:
        raise ValueError(
            "where are the labelled collections? Give their folder with --data, or in the environment variable "
            f"{_ENVIRONMENT}: files such as T.jsonl.gz, a document a line, "
            '{"text": "…", "label": "…"} or {"counts": {"word": 2, …}, "label": "…"}'
        )
    return Path(folder)


def why_missing(name: str | None) -> str:
    """Why a collection cannot be used; nothing if it can, or if none is needed."""
    if name is None or _path(name).exists():
        return ""
    return f"{name} is not at hand (no {name}.jsonl.gz)"


def fingerprint(name: str | None) -> str:
    """What tells a collection from another copy of it: its size in bytes."""
    return "" if name is None or why_missing(name) else f"{name}:{_path(name).stat().st_size}"


def _path(name: str) -> Path:
    if _folder is None:
        raise RuntimeError("no folder of collections was chosen")
    return _folder / f"{name}.jsonl.gz"


@lru_cache(maxsize=2)
def read(name: str) -> tuple[list[str], NDArray[Any]]:
    """The texts and labels of a collection."""
    documents = _documents(name)
    if documents and "text" not in documents[0]:
        raise ValueError(f"{name} has counts, not texts")
    return [document["text"] for document in documents], np.array([document["label"] for document in documents])


@lru_cache(maxsize=4)
def load(name: str, prepare: Callable[[str], Collection] | None = None) -> Collection:
    """A collection as counts, made by `prepare` or in the usual way; kept for the next call.

    The usual way: counts as they are; texts that their authors have preprocessed split at blanks; all other texts by
    the defaults of textmix.
    """
    if prepare is not None:
        return prepare(name)
    documents = _documents(name)
    labels = np.array([document["label"] for document in documents])
    if documents and "counts" in documents[0]:
        return _from_counts(name, [document["counts"] for document in documents], labels)
    texts = [document["text"] for document in documents]
    if name in _AUTHORS_PREPROCESSED:
        corpus = Corpus.from_texts(texts, tokenizer=str.split, language=None, min_word_length=1)
    else:
        corpus = Corpus.from_texts(texts)
    return Collection(name, corpus.counts, labels, list(corpus.vocabulary))


def _documents(name: str) -> list[dict[str, Any]]:
    with gzip.open(_path(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _from_counts(name: str, bags: list[dict[str, int]], labels: NDArray[Any]) -> Collection:
    """Words are columns in the order of their numbers, or of the alphabet; words that do not occur have none."""
    found = {word for bag in bags for word in bag}
    words = sorted(found, key=int if all(word.isdecimal() for word in found) else str)
    columns = {word: column for column, word in enumerate(words)}
    ends = np.cumsum([0, *(len(bag) for bag in bags)], dtype=np.int32)
    ids = np.array([columns[word] for bag in bags for word in bag], dtype=np.int32)
    data = np.array([n for bag in bags for n in bag.values()], dtype=np.int32)
    counts = scipy.sparse.csr_array((data, ids, ends), shape=(len(bags), len(words)))
    counts.sort_indices()
    return Collection(name, counts, labels, words)

"""The documents of a run that `textmix cluster --out` saved, as a stream begins with them.

A stream sees words alone: it takes over clusters that were found by vectors too, but not the vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from types import NoneType
from typing import NamedTuple

import numpy as np

from textmix.clustering import Clustering, load
from textmix.corpus import Corpus, Tokenizer
from textmix.results.run import TEXTS_FILE
from textmix.results.tables import read_parquet
from textmix.stream.database import DocumentRow
from textmix.stream.records import Document, check_document, nan_to_none
from textmix.stream.stored import without_frequency_bounds


class SavedRun(NamedTuple):
    """What a stream takes over."""

    documents: list[DocumentRow]
    names: list[str]  # of the clusters 0, 1, …
    tokenizer: Tokenizer


def read_run(folder: Path, now: int) -> SavedRun:
    """What a run has; documents without a time are of now, those without an id have the number of their row."""
    clustering = load(folder)
    if not clustering.has_texts or not (folder / TEXTS_FILE).exists():
        raise ValueError(f'the run in "{folder}" does not have all its texts in memory; cluster without --memory')
    corpus = clustering.corpus
    if corpus.tokenizer is None or corpus.counts.dtype.kind == "f":
        raise ValueError(f'the run in "{folder}" was made from counts; a stream begins with texts')
    by_id: dict[str, DocumentRow] = {}
    for row in _rows(folder, clustering, now):
        by_id.pop(row.id, None)  # the last of an id wins, and stands where it came
        by_id[row.id] = row
    names = [cluster.name for cluster in clustering.clusters]
    return SavedRun(list(by_id.values()), names, without_frequency_bounds(corpus.tokenizer))


def _rows(folder: Path, clustering: Clustering, now: int) -> Iterator[DocumentRow]:
    corpus, labels = clustering.corpus, clustering.labels.tolist()
    ids = _all_ids(corpus.ids or [""] * len(labels))
    times = _times(corpus, now)
    scores = read_parquet(folder / TEXTS_FILE, ["probability", "outlier_score"], most=len(labels) + 1)
    if len(scores) != len(labels):
        raise ValueError(f"{folder / TEXTS_FILE} does not have a row for each of {len(labels):,} texts; cluster again")
    if not all(isinstance(score, float | NoneType) for row in scores for score in row):
        raise ValueError(f"{folder / TEXTS_FILE} is damaged (not all its scores are numbers); cluster again")
    rows = zip(ids, clustering.texts, times, labels, scores, _counts(corpus), strict=True)
    for id, text, time, label, (probability, outlier_score), counts in rows:
        document = check_document(Document(id, text))
        yield DocumentRow(
            str(document.id), document.text, time, label, nan_to_none(probability), nan_to_none(outlier_score), counts
        )


def _all_ids(ids: Sequence[str]) -> Iterator[str]:
    """The ids; of rows without one their numbers, or free ones beyond these where another row is called so."""
    given = set(ids)
    free = (str(number) for number in count(len(ids) + 1) if str(number) not in given)
    for row, id in enumerate(ids, start=1):
        yield id or (str(row) if str(row) not in given else next(free))


def _times(corpus: Corpus, now: int) -> list[int]:
    if corpus.times is None:
        return [now] * corpus.n_documents
    return [int(time) for time in np.where(np.isnat(corpus.times), now, corpus.times.astype(np.int64))]


def _counts(corpus: Corpus) -> Iterator[str]:
    """The counts of each document as a JSON object."""
    counts, words = corpus.counts, corpus.vocabulary
    for first, last in zip(counts.indptr[:-1].tolist(), counts.indptr[1:].tolist(), strict=True):
        columns, numbers = counts.indices[first:last].tolist(), counts.data[first:last].tolist()
        yield json.dumps({words[c]: n for c, n in zip(columns, numbers, strict=True)}, ensure_ascii=False)

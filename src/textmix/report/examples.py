"""The texts that a report shows: few of each cluster, long ones cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus import Corpus
from textmix.corpus.vocabulary import known_columns
from textmix.report.source import Source
from textmix.results.typical import Example, Examples

MAX_CHARACTERS = 500  # of a text that is shown
MAX_NAME = 100  # of an id or a label, about

_WORD = re.compile(r"\w+")


class TextList:
    """Texts by their place in the page; each document stands there once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._short_labels = short_names(source.corpus.labels or ())
        self._place_of: dict[int, int] = {}
        self.entries: list[dict[str, Any]] = []

    def add(self, examples: Iterable[Example]) -> list[int]:
        """Where these texts stand."""
        return [self._add(example) for example in examples]

    def _add(self, example: Example) -> int:
        if example.document in self._place_of:
            return self._place_of[example.document]
        place = self._place_of[example.document] = len(self.entries)
        corpus, scores = self._source.corpus, self._source.outlier_scores
        entry: dict[str, Any] = {
            "row": example.document + 1,
            "text": example.text[:MAX_CHARACTERS],
            "cut": len(example.text) > MAX_CHARACTERS,
            "cluster": int(self._source.labels[example.document]),
            "score": None if scores is None else float(scores[example.document]),
        }
        if corpus.ids is not None:
            entry["id"] = _shorten(corpus.ids[example.document])
        if corpus.labels is not None:
            entry["label"] = self._short_labels[corpus.labels[example.document]]
        if corpus.times is not None and not np.isnat(corpus.times[example.document]):
            entry["time"] = str(corpus.times[example.document])
        self.entries.append(entry)
        return place


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Names, long ones without their middle; those that would be alike then have numbers."""
    seen: Counter[str] = Counter()
    result = {}
    for name in dict.fromkeys(names):
        short = _shorten(name)
        seen[short] += 1
        result[name] = short if seen[short] == 1 else f"{short} ({seen[short]})"
    return result


def _shorten(name: str) -> str:
    """The beginning and the end of a long name."""
    half = MAX_NAME // 2
    return name if len(name) <= MAX_NAME else f"{name[:half]} … {name[-half:]}"


def most_typical(source: Source, n: int) -> list[list[Example]]:
    """The most typical texts of each cluster; those that were kept, if the texts are on disk."""
    if source.typicality is None:
        return [
            [Example(*pair) for pair in zip(cluster.documents, cluster.examples, strict=True)]
            for cluster in source.clusters
        ]
    return _leading(source, n, source.typicality)


def least_typical(source: Source, n: int) -> list[list[Example]]:
    """The texts of each cluster that fit it least, by their outlier scores; none if the texts are on disk."""
    if source.texts is None or source.outlier_scores is None:
        return [[] for _ in source.clusters]
    return _leading(source, n, source.outlier_scores)


def _leading(source: Source, n: int, scores: NDArray[Any]) -> list[list[Example]]:
    assert source.texts is not None
    examples = Examples(len(source.clusters), n)
    examples.add(0, source.texts, source.labels, scores)
    return examples.lists()


def word_forms(corpus: Corpus, texts: Iterable[str]) -> dict[int, list[str]]:
    """How words of the vocabulary, by column, are written in some texts, in lower case."""
    forms = sorted({form for text in texts for form in _WORD.findall(text.lower())})
    if corpus.tokenizer is None or corpus.tokenizer.tokenizer is not None:
        columns: Sequence[int] = [corpus.column_of.get(form, -1) for form in forms]
    else:
        columns = known_columns(forms, corpus.tokenizer, corpus.column_of).tolist()
    found: dict[int, list[str]] = {}
    for form, column in zip(forms, columns, strict=True):
        if column >= 0:
            found.setdefault(column, []).append(form)
    return found

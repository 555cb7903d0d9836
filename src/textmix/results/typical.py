"""Which documents stand best for their cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.files import flush
from textmix.corpus.saved_files import MOST_LISTED, read_json
from textmix.corpus.saved_values import check_number, check_type
from textmix.results.lookup import PairTable
from textmix.results.words import ClusterWords

EXAMPLES_FILE = "examples.json"
N_OUTLIERS = 2  # that are shown

_BLOCK = 4096  # documents looked at together


class Typicality:
    """How typical documents are of their cluster; threads may share it.

    A document is typical when its words and the cluster's telling words point the same way: the cosine of its
    counts and the words' telling scores (results/words.py), those below 0 taken as 0. Probabilities would not
    do, since most are 1.
    """

    def __init__(self, words: ClusterWords) -> None:
        self._pairs = PairTable(words.counts)
        self._weights = np.append(np.maximum(words.scores("telling"), 0.0), 0.0)

    def score(self, counts: scipy.sparse.csr_array, labels: NDArray[Any]) -> NDArray[np.float32]:
        """A number for each document, comparable within a cluster; 0 without a label.

        As 4-byte floats, so that documents which differ by nothing but rounding are equals.
        """
        n_documents = counts.shape[0]
        documents = np.repeat(np.arange(n_documents), np.diff(counts.indptr))
        amounts = counts.data.astype(np.float64)
        used = labels[documents] >= 0
        documents, amounts = documents[used], amounts[used]
        weights = self._pairs.values(labels[documents], counts.indices[used], self._weights)
        products = np.bincount(documents, amounts * weights, minlength=n_documents)
        norms = np.sqrt(np.bincount(documents, amounts**2, minlength=n_documents))
        cosines = np.divide(products, norms, out=np.zeros(n_documents), where=norms > 0)
        return cosines.astype(np.float32)


class Example(NamedTuple):
    """A document that stands for others: its position among all, and its text."""

    document: int
    text: str


class Examples:
    """The documents of the highest scores in each group, no two with the same text, found as all pass by in order.

    Equals are taken in their order. Texts that are equal are taken to have equal scores in a group.
    """

    def __init__(self, n_groups: int, n: int) -> None:
        self._n = n
        self._found: list[list[tuple[float, Example]]] = [[] for _ in range(n_groups)]
        self._to_beat = np.full(n_groups + 1, -np.inf)
        self._to_beat[-1] = np.inf  # documents of no group, −1

    def add(self, first: int, texts: Sequence[str], groups: NDArray[Any], scores: NDArray[Any]) -> None:
        """Let the documents first, first + 1, … pass; NaN is no score."""
        for start in range(0, len(texts), _BLOCK):
            block = slice(start, start + _BLOCK)
            found = np.flatnonzero(scores[block] > self._to_beat[groups[block]])
            for index in (start + found).tolist():
                self._consider(int(groups[index]), float(scores[index]), Example(first + index, texts[index]))

    def lists(self) -> list[list[Example]]:
        """Those of each group, the best first."""
        return [[example for _, example in found] for found in self._found]

    def _consider(self, group: int, score: float, example: Example) -> None:
        found = self._found[group]
        if score <= self._to_beat[group] or any(example.text == other.text for _, other in found):
            return
        place = sum(other >= score for other, _ in found)
        found.insert(place, (score, example))
        if len(found) >= self._n:
            del found[self._n :]
            self._to_beat[group] = found[-1][0]


class KeptExamples(NamedTuple):
    """The texts that are kept: the most typical of each cluster, and of those that fit nowhere the strangest."""

    clusters: list[list[Example]]
    outliers: list[Example]

    def save(self, folder: Path) -> None:
        """Save as JSON."""
        with open(folder / EXAMPLES_FILE, "w", encoding="ascii") as file:
            json.dump(self._asdict(), file)
            flush(file)

    @classmethod
    def load(cls, folder: Path, n_clusters: int, n_documents: int) -> KeptExamples:
        """Load what `save` saved of a run with so many clusters and documents."""
        path = folder / EXAMPLES_FILE
        try:
            found = read_json(path, MOST_LISTED)
            if len(found["clusters"]) != n_clusters:
                raise ValueError(f"it has examples of {len(found['clusters']):,} clusters, not {n_clusters:,}")
            clusters = [_read_examples(examples, n_documents) for examples in found["clusters"]]
            return cls(clusters, _read_examples(found["outliers"], n_documents))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is missing or damaged ({error}); cluster again") from error


def _read_examples(examples: Any, n_documents: int) -> list[Example]:
    found = [Example(*example) for example in examples]
    for document, text in found:
        check_number("an example's document", document, 0, n_documents - 1, whole=True)
        check_type("an example", text, str)
    return found

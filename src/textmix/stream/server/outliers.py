"""The texts that came last and fit nowhere: remembered for as long as they are in the stream as they came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textmix.stream.records import Answer, Document, StoredDocument

N_RECENT = 20


class Outlier(NamedTuple):
    """A text that fits nowhere; numbers rise, also when a text with the same id takes its place."""

    number: int
    document: Document
    answer: Answer


class RecentOutliers:
    """The last outliers; `find` looks a document up by its id."""

    def __init__(self, find: Callable[[str], StoredDocument | None]) -> None:
        self._find = find
        self._outliers: list[Outlier] = []
        self._n_outliers = 0  # so far

    def update(self, added: Sequence[tuple[Document, Answer]]) -> list[Outlier]:
        """Those that are there after a transaction that added documents, the last of them last."""
        new = [pair for pair in added if _fits_nowhere(pair[1].outlier_score)]
        numbered = [Outlier(number, *pair) for number, pair in enumerate(new, self._n_outliers + 1)]
        self._n_outliers += len(new)
        candidates = {outlier.answer.id: outlier for outlier in [*self._outliers, *numbered]}
        self._outliers = []  # what cannot be looked up is not remembered either
        kept: list[Outlier] = []
        for outlier in sorted(candidates.values(), reverse=True, key=lambda outlier: outlier.number):
            if len(kept) < N_RECENT and self._is_there(outlier):
                kept.append(outlier)
        self._outliers = kept[::-1]
        return list(self._outliers)

    def _is_there(self, outlier: Outlier) -> bool:
        """Whether the text has been neither taken out, nor forgotten, nor replaced by another, nor found its place."""
        found = self._find(outlier.answer.id)
        return found is not None and found.text == outlier.document.text and _fits_nowhere(found.outlier_score)


def _fits_nowhere(score: float | None) -> bool:
    return score is not None and score > 0.0

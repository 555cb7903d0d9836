"""The words that the documents kept have: a vocabulary that grows and shrinks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Words:
    """The words now present, each with a column and how often it occurs; a column whose word is gone is used again."""

    def __init__(self) -> None:
        self._column_of: dict[str, int] = {}
        self._names: list[str] = []
        self._free: list[int] = []
        self.totals = np.zeros(0, np.int64)

    @property
    def n_present(self) -> int:
        """V: how many words are present."""
        return len(self._column_of)

    @property
    def n_columns(self) -> int:
        """Columns in use or free."""
        return len(self._names)

    def name(self, column: int) -> str:
        """The word of a column."""
        return self._names[column]

    def find(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The columns of words; −1 for those that are not present."""
        column_of = self._column_of
        return np.array([column_of.get(word, -1) for word in words], dtype=np.int32)

    def take_in(self, words: Sequence[str], counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """The columns of words, which occur so often more (once at least); new ones where a word was not present."""
        columns = self.find(words)
        for place in np.flatnonzero(columns < 0).tolist():
            columns[place] = self._take_column(words[place])
        if self.totals.size < len(self._names):
            self.totals = np.append(self.totals, np.zeros(len(self._names), np.int64))
        self.totals[columns] += counts
        return columns

    def take_out(self, columns: NDArray[np.uint32], counts: NDArray[np.int32]) -> None:
        """Words in these columns occur so often less; those that occur no more are let go."""
        np.subtract.at(self.totals, columns, counts)
        touched = np.unique(columns)
        for column in touched[self.totals[touched] == 0].tolist():
            del self._column_of[self._names[column]]
            self._names[column] = ""
            self._free.append(column)

    def renumber(self) -> NDArray[np.int32]:
        """Give the words present the columns 0, 1, …; returns the new column of each old one, −1 for free ones."""
        present = sorted(self._column_of.values())
        columns = np.full(len(self._names), -1, np.int32)
        columns[present] = np.arange(len(present), dtype=np.int32)
        self._names = [self._names[column] for column in present]
        self._column_of = {name: column for column, name in enumerate(self._names)}
        self._free.clear()
        self.totals = self.totals[present]
        return columns

    def _take_column(self, word: str) -> int:
        if self._free:
            column = self._free.pop()
            self._names[column] = word
        else:
            column = len(self._names)
            self._names.append(word)
        self._column_of[word] = column
        return column

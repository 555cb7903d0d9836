"""What can be read of the documents that a stream keeps and of their clusters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.counting import is_missing
from textmix.results.names import N_IN_NAME, N_TERMS, find_terms
from textmix.results.words import ScoredWord
from textmix.stream.partition import StreamPartition
from textmix.stream.statistics import NO_CLUSTER

NAMED_ANEW = 0.1  # share by which a cluster's size changes before its name may


class ReadableStream(ABC):
    """Sizes, words and names of clusters, and the documents by their ids."""

    _names: dict[int, tuple[str, int]]  # of clusters, with the size they had then

    @property
    @abstractmethod
    def _fitted(self) -> StreamPartition:
        """The documents kept and their clusters."""

    @property
    def n_documents_(self) -> int:
        """How many documents are kept, those without words included."""
        return self._fitted.kept.n_kept

    @property
    def n_clusters_(self) -> int:
        """How many clusters there are."""
        return self._fitted.n_clusters

    @property
    def cluster_ids_(self) -> NDArray[np.int64]:
        """The ids of all clusters, rising."""
        return self._fitted.cluster_ids[self._fitted.slots()]

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """The number of documents of each cluster."""
        return self._fitted.clusters.sizes[self._fitted.slots()]

    @property
    def cluster_totals_(self) -> NDArray[np.int64]:
        """The number of words of each cluster."""
        return self._fitted.clusters.totals[self._fitted.slots()]

    def ids(self) -> list[str]:
        """The ids of all documents kept, in the order in which they came."""
        return list(compress(self._fitted.kept.ids, self._fitted.kept.kept.tolist()))

    def newest(self) -> int | None:
        """The latest time of a document kept, in seconds since 1970; None if there is no document."""
        times = self._fitted.kept.times[self._fitted.kept.kept]
        return int(times.max()) if times.size else None

    def n_before_last(self, rows: NDArray[np.int64], n_last: int) -> int:
        """How many of some rows are before those of the last documents."""
        return int(np.count_nonzero(rows < self._fitted.kept.n_rows - n_last))

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """Ids of documents that are kept in the order in which they came."""
        kept = self._fitted.kept
        return [kept.ids[row] for row in np.sort(kept.rows_of(ids)).tolist()]

    def labels_of(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """The cluster of each document by its id; −1: it is not kept, or has no words."""
        rows = self._fitted.kept.rows_of(as_ids(ids))
        labels = np.full(rows.size, NO_CLUSTER, np.int64)
        labels[rows >= 0] = self._fitted.ids_of(self._fitted.kept.labels[rows[rows >= 0]])
        return labels

    def times_of(self, ids: Iterable[Any]) -> NDArray[np.datetime64]:
        """The time of each document by its id; NaT: it is not kept."""
        rows = self._fitted.kept.rows_of(as_ids(ids))
        times = np.full(rows.size, np.datetime64("NaT"), "datetime64[s]")
        times[rows >= 0] = self._fitted.kept.times[rows[rows >= 0]].astype("datetime64[s]")
        return times

    def word_counts_of(self, ids: Iterable[Any]) -> list[dict[str, int]]:
        """How often each word occurs in each document by its id; nothing if it is not kept."""
        kept, words = self._fitted.kept, self._fitted.words
        rows = kept.rows_of(as_ids(ids))
        columns, counts = kept.entries(rows[rows >= 0])
        pairs = zip(map(words.name, columns.tolist()), counts.tolist(), strict=True)
        sizes = np.where(rows >= 0, kept.n_words_of(rows), 0)
        return [dict(islice(pairs, size)) for size in sizes.tolist()]

    def words_of(self, cluster: int, n: int = 10) -> list[ScoredWord]:
        """The words that tell a cluster from the others, with their scores."""
        return self._fitted.telling_words(self._slot_of(cluster), n)

    def name_of(self, cluster: int) -> str:
        """A cluster's most telling words; made anew when it has grown or shrunk by a tenth."""
        size = int(self._fitted.clusters.sizes[self._slot_of(cluster)])
        name, named_at = self._names.get(cluster, ("", 0))
        if abs(size - named_at) > NAMED_ANEW * named_at:
            words = [word for word, _ in self.words_of(cluster, 2 * N_TERMS)]
            name = ", ".join(find_terms(words, (), N_IN_NAME))
            self._names[cluster] = (name, size)
        return name

    def _slot_of(self, cluster: int) -> int:
        slots = np.flatnonzero((self._fitted.cluster_ids == cluster) & (self._fitted.clusters.sizes > 0))
        if not slots.size:
            raise ValueError(f"there is no cluster {cluster!r}")
        return int(slots[0])

    def sizes(self) -> dict[int, int]:
        """The number of documents of each cluster, by its id."""
        return dict(zip(self.cluster_ids_.tolist(), self.cluster_sizes_.tolist(), strict=True))


def as_ids(ids: Iterable[Any]) -> list[str | None]:
    """Ids as strings; None where there is none."""
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"ids is a single {type(ids).__name__}; give a list, for one id [id]")
    return [None if is_missing(id) else str(id) for id in ids]

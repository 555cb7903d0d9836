"""A stream goes on with documents whose clusters are known: those of a state, or of a fit made elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus import Tokenizer
from textmix.stream.batch import BatchCounter
from textmix.stream.events import BORN, DIED, MERGED, Event, GrowthWatch
from textmix.stream.matching import name_clusters, what_became_of
from textmix.stream.partition import Merge, StreamPartition
from textmix.stream.reading import ReadableStream
from textmix.stream.statistics import NO_CLUSTER


class KeptDocument(NamedTuple):
    """A document as it is put back into a stream."""

    id: str
    time: int  # seconds since 1970
    cluster: int
    counts: Mapping[str, int]


class Snapshot(NamedTuple):
    """The documents that a stream had at some time, told by the numbers that they first came with, and their counts."""

    partition: StreamPartition  # whose numbers these are
    origins: NDArray[np.int64]
    counts: scipy.sparse.csr_array


class ContinuedStream(ReadableStream):
    """What `StreamClusterer` does with documents whose clusters are known."""

    tokenizer: Tokenizer | None
    events_: list[Event]
    _partition: StreamPartition
    _counter: BatchCounter
    _watch: GrowthWatch
    _seed: int
    _n_batches: int
    _next_number: int

    @abstractmethod
    def _begin(self) -> None:
        """Make what is needed at the first call."""

    @abstractmethod
    def _sample(self, n_new: int, *, merge: bool) -> list[Merge]:
        """Give the last documents clusters, which may be without ids yet."""

    def snapshot(self) -> Snapshot:
        """The documents kept, for a fit elsewhere while the stream goes on; `relabel` takes its labels."""
        self._begin()
        kept = self._partition.kept
        rows = np.flatnonzero(kept.kept)
        columns, counts = kept.entries(rows)
        starts = np.append(0, np.cumsum(kept.n_words_of(rows)))
        matrix = scipy.sparse.csr_array((counts, columns, starts), shape=(rows.size, self._partition.words.n_columns))
        matrix.sort_indices()
        return Snapshot(self._partition, kept.origins[rows].copy(), matrix)

    def relabel(self, snapshot: Snapshot, labels: NDArray[Any]) -> Self:
        """Take over the labels that a fit of a snapshot found; later documents are classified anew.

        Then a cluster has the id of the one before with which it shares more than half of the documents of both. Others
        get new ids. An id that is given up is told as merged if most of its documents are in one cluster now.
        """
        self._begin()
        if snapshot.partition is not self._partition:
            raise ValueError("the documents were read anew since this snapshot; make another one")
        if len(labels) != snapshot.origins.size or (np.asarray(labels)[np.diff(snapshot.counts.indptr) > 0] < 0).any():
            raise ValueError("labels must name a cluster, 0 or more, for each document of the snapshot that has words")
        partition, kept = self._partition, self._partition.kept
        kept.compact()
        before = partition.ids_of(kept.labels)
        label_of = dict(zip(snapshot.origins.tolist(), np.asarray(labels).tolist(), strict=True))
        is_old = np.isin(kept.origins, snapshot.origins)
        found = np.array([label_of.get(origin, NO_CLUSTER) for origin in kept.origins.tolist()], dtype=np.int64)
        found[kept.lengths == 0] = NO_CLUSTER
        partition.take_labels(found, np.full(int(found.max(initial=-1)) + 1, NO_CLUSTER))
        first_new = int(np.argmin(is_old)) if not is_old.all() else kept.n_rows
        self._sample(kept.n_rows - first_new, merge=False)
        slots = kept.labels.astype(np.int64)
        ids = name_clusters(before, slots, partition.next_cluster)
        partition.set_ids(ids)
        self.events_ = self._what_changed(before, partition.ids_of(slots))
        self._names.clear()
        self._watch.begin(self.sizes())
        return self

    def _what_changed(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> list[Event]:
        sizes, given_up = self.sizes(), what_became_of(before, after)
        born = sorted(set(sizes) - set(before.tolist()))
        return [
            *(Event(MERGED, cluster, into, n) for cluster, (into, n) in given_up.items() if into >= 0),
            *(Event(DIED, cluster, None, 0) for cluster, (into, _) in given_up.items() if into < 0),
            *(Event(BORN, cluster, None, sizes[cluster]) for cluster in born),
        ]

    def state(self) -> dict[str, Any]:
        """All that is not in the settings or in the documents, as JSON can hold it."""
        self._begin()
        return {
            "seed": self._seed,
            "next_number": self._next_number,
            "language_evidence": self._counter.evidence(),
            "n_batches": self._n_batches,
            "next_cluster": self._partition.next_cluster,
            "next_sequence": self._partition.kept.next_sequence,
            "tokenizer": self._counter.tokenizer.settings(),
        }

    def restore(self, state: Mapping[str, Any], documents: Iterable[KeptDocument]) -> Self:
        """Go on where another clusterer with the same settings was, with the documents that it had, in their order."""
        self.__dict__.pop("_partition", None)
        self._begin()
        own = None if self.tokenizer is None else self.tokenizer.tokenizer
        self._counter = BatchCounter(Tokenizer.from_settings(state["tokenizer"], own))
        self._counter.go_on_with(state["language_evidence"])
        self._seed, self._n_batches, self._next_number = (
            int(state[key]) for key in ("seed", "n_batches", "next_number")
        )
        self._put_back(list(documents))
        self._partition.next_cluster = int(state["next_cluster"])
        self._partition.kept.next_sequence = int(state["next_sequence"])
        return self

    def _put_back(self, documents: Sequence[KeptDocument]) -> None:
        """Count documents whose clusters are known."""
        if not documents:
            return
        partition, n_words = self._partition, [len(document.counts) for document in documents]
        totals: Counter[str] = Counter()
        for document in documents:
            totals.update(document.counts)
        columns = partition.words.take_in(list(totals), np.fromiter(totals.values(), np.int64, len(totals)))
        column_of = dict(zip(totals, columns.tolist(), strict=True))
        words = np.array([column_of[word] for document in documents for word in document.counts], dtype=np.uint32)
        counts = np.array([n for document in documents for n in document.counts.values()], dtype=np.int32)
        partition.kept.append(
            [document.id for document in documents],
            np.array([document.time for document in documents], dtype=np.int64),
            np.append(0, np.cumsum(n_words)),
            words,
            counts,
        )
        clusters = np.array([document.cluster for document in documents], dtype=np.int64)
        ids = np.unique(clusters[clusters >= 0])
        partition.take_labels(np.where(clusters >= 0, np.searchsorted(ids, clusters), NO_CLUSTER), ids)

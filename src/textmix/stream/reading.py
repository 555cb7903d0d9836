"""What can be read of the documents that a stream keeps and of their clusters."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.kernels.conditionals import conditional_probabilities
from textmix.kernels.state import N_SLOTS, Documents
from textmix.kernels.stream import describe_documents
from textmix.results.names import N_IN_NAME, N_TERMS, find_terms
from textmix.results.words import ScoredWord, leading_words, telling_scores
from textmix.stream.batch import as_ids
from textmix.stream.statistics import NO_CLUSTER, StreamStatistics

RENAMING_CHANGE = 0.1  # share by which a cluster's size changes before its name may
BLOCK_CELLS = 1 << 20  # documents × clusters whose probabilities are computed at a time


class DocumentOdds(NamedTuple):
    """How well each of some documents fits the clusters, itself left out."""

    probabilities: NDArray[np.float64]  # of its cluster
    log_odds_new: NDArray[np.float64]  # of a new cluster against all that there are
    slots: NDArray[np.int64]  # of its cluster, or of the most probable one if it has none; −1 where there is none


class ClusterSize(NamedTuple):
    """The number of documents of a cluster, and of all their words."""

    size: int
    n_words: int


class StreamReader:
    """Documents by their ids, clusters by theirs, and how well documents fit clusters; changes nothing."""

    def __init__(self, statistics: StreamStatistics) -> None:
        self._statistics = statistics
        self._names: dict[int, tuple[str, int]] = {}  # of clusters, with the size they had then

    # ------------------------------------------------------------------ documents

    def ids(self) -> list[str]:
        """The ids of all documents kept, in the order in which they came."""
        documents = self._statistics.documents
        return list(compress(documents.ids, documents.is_kept.tolist()))

    def newest(self) -> int | None:
        """The latest time of a document kept, in seconds since 1970; None if there is no document."""
        times = self._statistics.documents.times[self._statistics.documents.is_kept]
        return int(times.max()) if times.size else None

    def n_before_last(self, rows: NDArray[np.int64], n_last: int) -> int:
        """How many of some rows are before those of the last documents."""
        return int(np.count_nonzero(rows < self._statistics.documents.n_rows - n_last))

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """Ids of documents that are kept in the order in which they came."""
        documents = self._statistics.documents
        return [documents.ids[row] for row in np.sort(documents.rows_of(ids)).tolist()]

    def labels_of(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """The cluster of each document by its id; −1: it is not kept, or has no words."""
        documents = self._statistics.documents
        rows = documents.rows_of(as_ids(ids))
        labels = np.full(rows.size, NO_CLUSTER, np.int64)
        labels[rows >= 0] = self._statistics.ids_of(documents.slots[rows[rows >= 0]])
        return labels

    def times_of(self, ids: Iterable[Any]) -> NDArray[np.datetime64]:
        """The time of each document by its id; NaT: it is not kept."""
        documents = self._statistics.documents
        rows = documents.rows_of(as_ids(ids))
        times = np.full(rows.size, np.datetime64("NaT"), "datetime64[s]")
        times[rows >= 0] = documents.times[rows[rows >= 0]].astype("datetime64[s]")
        return times

    def word_counts_of(self, ids: Iterable[Any]) -> list[dict[str, int]]:
        """How often each word occurs in each document by its id; nothing if it is not kept."""
        documents, words = self._statistics.documents, self._statistics.words
        rows = documents.rows_of(as_ids(ids))
        columns, counts = documents.entries(rows[rows >= 0])
        pairs = zip(map(words.name, columns.tolist()), counts.tolist(), strict=True)
        sizes = np.where(rows >= 0, documents.n_words_of(rows), 0)
        return [dict(islice(pairs, size)) for size in sizes.tolist()]

    # ------------------------------------------------------------------ clusters

    def sizes(self) -> dict[int, int]:
        """The number of documents of each cluster, by its id."""
        return {id: size.size for id, size in self.cluster_sizes().items()}

    def cluster_sizes(self) -> dict[int, ClusterSize]:
        """The number of documents and of words of each cluster, by its id."""
        slots, clusters = self._statistics.slots(), self._statistics.clusters
        columns = (self._statistics.cluster_ids[slots], clusters.sizes[slots], clusters.totals[slots])
        return {id: ClusterSize(*size) for id, *size in zip(*(each.tolist() for each in columns), strict=True)}

    def words_of(self, cluster: int, n: int = 10) -> list[ScoredWord]:
        """The words that tell a cluster from the others, with their scores."""
        statistics = self._statistics
        with statistics.counted_words(self._slot_of(cluster)) as words:
            counts = statistics.word_counts[words].astype(np.float64)
        totals = statistics.words.totals
        mass = statistics.beta * statistics.words.n_present
        scores = telling_scores(counts, totals[words], int(totals.sum()), statistics.beta, mass)
        names = np.array([statistics.words.name(word) for word in words.tolist()], dtype=object)
        return leading_words(names, scores, n)

    def name_of(self, cluster: int) -> str:
        """A cluster's most distinctive words; made anew when it has grown or shrunk by a tenth."""
        size = int(self._statistics.clusters.sizes[self._slot_of(cluster)])
        name, named_at = self._names.get(cluster, ("", 0))
        if abs(size - named_at) > RENAMING_CHANGE * named_at:
            words = [word for word, _ in self.words_of(cluster, 2 * N_TERMS)]
            name = ", ".join(find_terms(words, (), N_IN_NAME))
            self._names[cluster] = (name, size)
        return name

    def forget_names(self, clusters: Iterable[int]) -> None:
        """Forget the names of clusters that are gone."""
        for cluster in clusters:
            self._names.pop(cluster, None)

    def _slot_of(self, cluster: int) -> int:
        statistics = self._statistics
        slots = np.flatnonzero((statistics.cluster_ids == cluster) & (statistics.clusters.sizes > 0))
        if not slots.size:
            raise ValueError(f"there is no cluster {cluster!r}")
        return int(slots[0])

    # ------------------------------------------------------------------ how well documents fit clusters

    def odds_of(self, documents: Documents, labels: NDArray[np.int32]) -> DocumentOdds:
        """The odds of documents; those that have a label are left out of their clusters."""
        statistics = self._statistics
        n_documents, n_slots = labels.size, int(statistics.clusters.counters[N_SLOTS])
        odds = DocumentOdds(
            np.full(n_documents, np.nan), np.full(n_documents, np.nan), np.full(n_documents, NO_CLUSTER, np.int64)
        )
        log_bases = np.empty(max(n_slots, 1))
        step = max(BLOCK_CELLS // (n_slots + 1), 1)
        for first in range(0, n_documents, step):
            block = slice(first, min(first + step, n_documents))
            own = _rows_of(documents, block)
            probabilities = np.empty((block.stop - block.start, n_slots + 1))
            log_existing, log_new = np.empty(len(probabilities)), np.empty(len(probabilities))
            order = np.argsort(own.lengths, kind="stable")
            clusters = statistics.clusters._replace(labels=labels[block])
            sampler = (clusters, statistics.model, statistics.prior)
            conditional_probabilities(own, *sampler, order, log_bases, probabilities, log_existing, log_new)
            odds.log_odds_new[block] = log_new - log_existing
            if n_slots:
                best = np.where(own.lengths > 0, np.argmax(probabilities[:, :-1], axis=1), NO_CLUSTER)
                chosen = np.where(labels[block] >= 0, labels[block], best)
                odds.slots[block] = chosen
                odds.probabilities[block] = probabilities[np.arange(best.size), chosen]
        return odds

    def odds_of_rows(self, rows: slice) -> DocumentOdds:
        """The odds of documents that are kept, in plain numbers where these suffice."""
        statistics, n_documents = self._statistics, rows.stop - rows.start
        probabilities, log_odds = np.full(n_documents, np.nan), np.full(n_documents, np.nan)
        describe_documents(*statistics.for_kernels, rows.start, rows.stop, probabilities, log_odds)
        labels = statistics.documents.slots[rows]
        for index in np.flatnonzero(np.isinf(log_odds)).tolist():  # so sure that a sum has lost the rest
            row = rows.start + index
            alone = self.odds_of(_rows_of(statistics.documents.csr, slice(row, row + 1)), labels[index : index + 1])
            probabilities[index], log_odds[index] = alone.probabilities[0], alone.log_odds_new[0]
        return DocumentOdds(probabilities, log_odds, labels.astype(np.int64))


def _rows_of(documents: Documents, rows: slice) -> Documents:
    """Some rows of a CSR."""
    return documents._replace(starts=documents.starts[rows.start : rows.stop + 1], lengths=documents.lengths[rows])

"""A stream that goes on from labels that are known: those it had when it was stored, or those of a new fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.stream.batch import BatchCounts
from textmix.stream.events import BORN, DIED, MERGED, Event
from textmix.stream.moves import StreamMoves
from textmix.stream.statistics import NO_CLUSTER, StreamStatistics


class KeptDocument(NamedTuple):
    """A document as it is put back into a stream."""

    id: str
    time: int  # seconds since 1970
    cluster: int
    counts: Mapping[str, int]


class Snapshot(NamedTuple):
    """The documents that a stream had at some time, told by the numbers that they first came with, and their counts."""

    statistics: StreamStatistics  # whose numbers these are
    origins: NDArray[np.int64]
    counts: scipy.sparse.csr_array


def take_snapshot(statistics: StreamStatistics) -> Snapshot:
    """The documents kept now."""
    documents = statistics.documents
    rows = documents.kept_rows()
    columns, counts = documents.entries(rows)
    starts = np.append(0, np.cumsum(documents.n_words_of(rows)))
    matrix = scipy.sparse.csr_array((counts, columns, starts), shape=(rows.size, statistics.words.n_columns))
    matrix.sort_indices()
    return Snapshot(statistics, documents.origins[rows].copy(), matrix)


def apply_labels(snapshot: Snapshot, labels: NDArray[Any], moves: StreamMoves) -> tuple[NDArray[np.int64], int]:
    """Put the documents of a snapshot into clusters without ids.

    Returns the id of the cluster that each row was in, and how many of the last rows have come since the snapshot.
    """
    if len(labels) != snapshot.origins.size or (np.asarray(labels)[np.diff(snapshot.counts.indptr) > 0] < 0).any():
        raise ValueError("labels must name a cluster, 0 or more, for each document of the snapshot that has words")
    documents = snapshot.statistics.documents
    documents.compact()
    before = snapshot.statistics.ids_of(documents.slots)
    label_of = dict(zip(snapshot.origins.tolist(), np.asarray(labels).tolist(), strict=True))
    found = np.array([label_of.get(origin, NO_CLUSTER) for origin in documents.origins.tolist()], dtype=np.int64)
    found[documents.lengths == 0] = NO_CLUSTER
    moves.set_labels(found, np.full(int(found.max(initial=-1)) + 1, NO_CLUSTER))
    is_old = np.isin(documents.origins, snapshot.origins)
    return before, 0 if is_old.all() else documents.n_rows - int(np.argmin(is_old))


def match_clusters(before: NDArray[np.int64], after: NDArray[np.int64], next_cluster: int) -> dict[int, int]:
    """The id of each label after a new fit: that of before where clusters mostly agree, or a new one, from next on."""
    shared = Counter(pair for pair in zip(before.tolist(), after.tolist(), strict=True) if min(pair) >= 0)
    n_before, n_after = Counter(before.tolist()), Counter(after.tolist())
    ids = {
        label: cluster for (cluster, label), n in shared.items() if 2 * n > n_before[cluster] and 2 * n > n_after[label]
    }
    for label, _ in sorted(n_after.items(), key=lambda item: (-item[1], item[0])):
        if label >= 0 and label not in ids:
            ids[label], next_cluster = next_cluster, next_cluster + 1
    return ids


def events_of_new_fit(before: NDArray[np.int64], after: NDArray[np.int64], sizes: Mapping[int, int]) -> list[Event]:
    """What happened to clusters, by the id of each document's cluster before and after a new fit."""
    given_up = _clusters_given_up(before, after)
    born = sorted(set(sizes) - set(before.tolist()))
    return [
        *(Event(MERGED, cluster, into, n) for cluster, (into, n) in given_up.items() if into >= 0),
        *(Event(DIED, cluster, None, 0) for cluster, (into, _) in given_up.items() if into < 0),
        *(Event(BORN, cluster, None, sizes[cluster]) for cluster in born),
    ]


def _clusters_given_up(before: NDArray[np.int64], after: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """Of each id that is given up the cluster that has more than half of its documents, −1: none, and how many."""
    n_before, left = Counter(before.tolist()), set(after.tolist())
    given_up = sorted(cluster for cluster in n_before if cluster >= 0 and cluster not in left)
    result = dict.fromkeys(given_up, (NO_CLUSTER, 0))
    for (cluster, into), n in Counter(zip(before.tolist(), after.tolist(), strict=True)).items():
        if cluster in result and 2 * n > n_before[cluster]:
            result[cluster] = (into, n)
    return result


def put_back(documents: Sequence[KeptDocument], statistics: StreamStatistics, moves: StreamMoves) -> None:
    """Count documents whose clusters are known, in a stream that has none."""
    if not documents:
        return
    totals: Counter[str] = Counter()
    for document in documents:
        totals.update(document.counts)
    column_of = {word: column for column, word in enumerate(totals)}
    batch = BatchCounts(
        np.append(0, np.cumsum([len(document.counts) for document in documents])),
        np.array([column_of[word] for document in documents for word in document.counts], dtype=np.int32),
        np.array([n for document in documents for n in document.counts.values()], dtype=np.int32),
        list(totals),
    )
    times = np.array([document.time for document in documents], dtype=np.int64)
    statistics.append([document.id for document in documents], times, batch)
    clusters = np.array([document.cluster for document in documents], dtype=np.int64)
    ids = np.unique(clusters[clusters >= 0])
    moves.set_labels(np.where(clusters >= 0, np.searchsorted(ids, clusters), NO_CLUSTER), ids)

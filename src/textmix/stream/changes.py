"""The clusters of a stream in memory, with their names, and what a call has changed in them, written to its file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.continuing import Snapshot
from textmix.stream.database import ClusterRow, Database, DocumentRow
from textmix.stream.events import MERGED, Event
from textmix.stream.reading import ClusterSize
from textmix.stream.records import Answer, Document, StreamCluster, iso_time, nan_to_none
from textmix.stream.refit import RefitSummary
from textmix.stream.stored import STATE

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class NamedClusters:
    """A clusterer, and what the file knows of its clusters beside it."""

    def __init__(self, clusterer: StreamClusterer, rows: Sequence[ClusterRow]) -> None:
        self.clusterer = clusterer
        self.sizes, self.state = clusterer.reader.cluster_sizes(), clusterer.state()  # as they are on disk
        self._given = {row.id: row.name for row in rows if row.name is not None}
        self._born = {row.id: row.born for row in rows}
        # Also of clusters that are gone by the time it is told.
        self._last_names = {cluster: self.name(cluster) for cluster in self.sizes}

    def name(self, cluster: int) -> str:
        """The name of a cluster: given, or its most telling words; that of none is empty."""
        if cluster < 0:
            return ""
        return self._given.get(cluster) or self.clusterer.name_of(cluster)

    def answers(self) -> list[Answer]:
        """What there is to say about each document of the last batch."""
        clusterer = self.clusterer
        labels = clusterer.labels_.tolist()
        names = {label: self.name(label) for label in set(labels)}
        self._last_names.update(names)
        scores = (clusterer.probabilities_.tolist(), clusterer.outlier_scores_.tolist(), clusterer.is_new_.tolist())
        return [
            Answer(id, label, names[label], nan_to_none(probability), nan_to_none(score), new)
            for id, label, probability, score, new in zip(clusterer.ids_, labels, *scores, strict=True)
        ]

    def assign(self, texts: Sequence[str]) -> list[Answer]:
        """Where texts would go; nothing is learned, and ids are empty."""
        found = self.clusterer.assign(texts)
        columns = (found.labels.tolist(), found.probabilities.tolist(), found.outlier_scores.tolist())
        return [
            Answer("", label, self.name(label), nan_to_none(probability), nan_to_none(score), False)
            for label, probability, score in zip(*columns, strict=True)
        ]

    def describe_some(self, limit: int | None, offset: int, *, newest: bool) -> list[StreamCluster]:
        """Clusters by falling size, or the newest first: all, or so many after as many others."""
        sizes = self.sizes
        ids = sorted(sizes, reverse=True) if newest else sorted(sizes, key=lambda id: (-sizes[id].size, id))
        return [self.describe(id) for id in ids[offset : None if limit is None else offset + limit]]

    def describe(self, cluster: int) -> StreamCluster:
        """A cluster with its words."""
        words = [(str(word), float(score)) for word, score in self.clusterer.words_of(cluster)]
        born = iso_time(self._born[cluster])
        return StreamCluster(cluster, self.name(cluster), self.sizes[cluster].size, words, born)

    def names_of(self, events: Sequence[Event], sizes: Mapping[int, ClusterSize]) -> list[str]:
        """The name of each event's cluster, now or when it was last there."""
        clusters = (event.cluster for event in events)
        return [self.name(each) if each in sizes else self._last_names.get(each, "") for each in clusters]

    def inherited_names(self, events: Sequence[Event], sizes: Mapping[int, ClusterSize]) -> dict[int, str]:
        """Names that were given to clusters which are part of others now, for those of them that have none."""
        names = dict(self._given)
        for event in events:
            if event.kind == MERGED and event.into is not None and event.cluster in names:
                names.setdefault(event.into, names.pop(event.cluster))
        return {id: name for id, name in names.items() if id in sizes and id not in self._given}

    def rename(self, cluster: int, name: str | None) -> None:
        """Note a name that a cluster was given, or that it has none any more."""
        if name is None:
            self._given.pop(cluster, None)
        else:
            self._given[cluster] = name
        self._last_names[cluster] = self.name(cluster)

    def note_written(
        self, state: dict[str, Any], sizes: dict[int, ClusterSize], inherited: Mapping[int, str], now: int
    ) -> None:
        """Note what has been written to disk."""
        self._given.update(inherited)
        for cluster in self.sizes.keys() - sizes.keys():
            for known_of in (self._given, self._born, self._last_names):
                known_of.pop(cluster, None)
        for cluster in sizes.keys() - self.sizes.keys():
            self._born[cluster] = now
        self.state, self.sizes = state, sizes


@dataclass
class Change:
    """What a call has changed in memory and is to be written."""

    removed: list[str] = field(default_factory=list)
    moved: list[tuple[str, int]] = field(default_factory=list)  # ids and their clusters
    rows: list[DocumentRow] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    has_begun: bool = field(default=False, compare=False)  # before that a ValueError has changed nothing

    def note_removed(self, ids: list[str], clusterer: StreamClusterer) -> None:
        """Note documents that the clusterer has just removed."""
        self.has_begun = True
        if ids:
            self.removed += ids
            self.events += clusterer.events_


def document_rows(
    clusterer: StreamClusterer,
    documents: Sequence[Document],
    times: NDArray[np.datetime64],
    answers: Sequence[Answer],
    forgotten: set[str],
) -> list[DocumentRow]:
    """The rows of documents that are kept, each id once, in the order in which the clusterer has them."""
    last_place = {answer.id: place for place, answer in enumerate(answers) if answer.id not in forgotten}
    ids, seconds = clusterer.reader.in_order(last_place), times.astype(int).tolist()
    rows = []
    for id, counts in zip(ids, clusterer.reader.word_counts_of(ids), strict=True):
        place = last_place[id]
        answer = answers[place]
        scores = (answer.probability, answer.outlier_score)
        rows.append(DocumentRow(id, documents[place].text, seconds[place], answer.cluster, *scores, _encode(counts)))
    return rows


def relabel(snapshot: Snapshot, labels: NDArray[np.int32], memory: NamedClusters, change: Change) -> RefitSummary:
    """Take over the labels of a new fit in memory, note what has moved, and say how much that is."""
    clusterer = memory.clusterer
    ids, before = clusterer.ids(), set(memory.sizes)
    if not snapshot.counts.nnz:  # nothing to fit
        return RefitSummary(len(ids), 0, len(before), len(before), len(before))
    change.has_begun = True
    old_labels = clusterer.labels_of(ids)
    clusterer.relabel(snapshot, labels)
    new_labels = clusterer.labels_of(ids)
    moved = np.flatnonzero(old_labels != new_labels).tolist()
    change.moved, change.events = [(ids[place], int(new_labels[place])) for place in moved], clusterer.events_
    clusters = set(clusterer.cluster_ids_.tolist())
    return RefitSummary(len(ids), len(moved), len(before), len(clusters), len(clusters & before))


def write_change(change: Change, memory: NamedClusters, database: Database, now: int) -> None:
    """Write what a call has changed, in one transaction."""
    state = memory.clusterer.state()
    if change == Change() and state == memory.state:
        return
    events = change.events
    sizes = memory.clusterer.reader.cluster_sizes()
    inherited = memory.inherited_names(events, sizes)
    names = memory.names_of(events, sizes)
    with database.transaction():
        for event in events:
            if event.kind == MERGED and event.into is not None:
                database.move_documents(event.cluster, event.into)
        database.relabel_documents(change.moved)
        database.remove_documents(change.removed)
        database.put_documents(change.rows)
        database.put_clusters((id, now, *size) for id, size in sizes.items() if memory.sizes.get(id) != size)
        database.remove_clusters(memory.sizes.keys() - sizes.keys())
        database.name_clusters(inherited)
        database.add_events([(now, *event, name) for event, name in zip(events, names, strict=True)])
        database.put_meta({STATE: state})
    memory.note_written(state, sizes, inherited, now)

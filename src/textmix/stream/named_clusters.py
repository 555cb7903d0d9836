"""The clusters of a stream in memory, with their names and when they were born."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.database import ClusterRow
from textmix.stream.events import MERGED, Event
from textmix.stream.records import Answer, StreamCluster, known, written_time
from textmix.stream.stored import Size, sizes_of


class NamedClusters:
    """A clusterer, and what the file knows of its clusters beside it."""

    def __init__(self, clusterer: StreamClusterer, rows: Sequence[ClusterRow]) -> None:
        self.clusterer = clusterer
        self.sizes, self.state = sizes_of(clusterer), clusterer.state()  # as they are on disk
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
            Answer(id, label, names[label], known(probability), known(score), new)
            for id, label, probability, score, new in zip(clusterer.ids_, labels, *scores, strict=True)
        ]

    def describe(self, cluster: int) -> StreamCluster:
        """A cluster with its words."""
        words = [(str(word), float(score)) for word, score in self.clusterer.words_of(cluster)]
        born = written_time(self._born[cluster])
        return StreamCluster(cluster, self.name(cluster), self.sizes[cluster].size, words, born)

    def names_of(self, events: Sequence[Event], sizes: Mapping[int, Size]) -> list[str]:
        """The name of each event's cluster, now or when it was last there."""
        clusters = (event.cluster for event in events)
        return [self.name(each) if each in sizes else self._last_names.get(each, "") for each in clusters]

    def inherited_names(self, events: Sequence[Event], sizes: Mapping[int, Size]) -> dict[int, str]:
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

    def update(self, state: dict[str, Any], sizes: dict[int, Size], inherited: Mapping[int, str], now: int) -> None:
        """Note what has been written to disk."""
        self._given.update(inherited)
        for cluster in self.sizes.keys() - sizes.keys():
            for known_of in (self._given, self._born, self._last_names):
                known_of.pop(cluster, None)
        for cluster in sizes.keys() - self.sizes.keys():
            self._born[cluster] = now
        self.state, self.sizes = state, sizes

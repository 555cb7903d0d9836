"""What a call has changed in a stream: gathered in memory, then written to its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.database import Database, DocumentRow
from textmix.stream.events import MERGED, Event
from textmix.stream.named_clusters import NamedClusters
from textmix.stream.records import Answer, Document
from textmix.stream.stored import STATE, sizes_of

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass
class Change:
    """What a call has changed in memory and is to be written."""

    gone: list[str] = field(default_factory=list)
    moved: list[tuple[str, int]] = field(default_factory=list)  # ids and their clusters
    rows: list[DocumentRow] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    has_begun: bool = field(default=False, compare=False)  # before that a ValueError has changed nothing

    def note_gone(self, ids: list[str], clusterer: StreamClusterer) -> None:
        """Note documents that the clusterer has just let go."""
        self.has_begun = True
        if ids:
            self.gone += ids
            self.events += clusterer.events_


def document_rows(
    clusterer: StreamClusterer,
    documents: Sequence[Document],
    times: NDArray[np.datetime64],
    answers: Sequence[Answer],
    gone: set[str],
) -> list[DocumentRow]:
    """The rows of documents that are kept, each id once, in the order in which the clusterer has them."""
    last_place = {answer.id: place for place, answer in enumerate(answers) if answer.id not in gone}
    ids = clusterer.reader.in_order(last_place)
    places = [last_place[id] for id in ids]
    labels, counts, seconds = (
        clusterer.labels_of(ids).tolist(),
        clusterer.word_counts_of(ids),
        times.astype(int).tolist(),
    )
    return [
        DocumentRow(
            id,
            documents[place].text,
            seconds[place],
            label,
            answers[place].probability,
            answers[place].outlier_score,
            _encode(own),
        )
        for id, place, label, own in zip(ids, places, labels, counts, strict=True)
    ]


def write_change(change: Change, memory: NamedClusters, database: Database, now: int) -> None:
    """Write what a call has changed, in one transaction."""
    state = memory.clusterer.state()
    if change == Change() and state == memory.state:
        return
    events = change.events
    sizes = sizes_of(memory.clusterer)
    inherited = memory.inherited_names(events, sizes)
    names = memory.names_of(events, sizes)
    with database.transaction():
        for event in events:
            if event.kind == MERGED and event.into is not None:
                database.move_documents(event.cluster, event.into)
        database.relabel_documents(change.moved)
        database.remove_documents(change.gone)
        database.put_documents(change.rows)
        database.put_clusters((id, now, *size) for id, size in sizes.items() if memory.sizes.get(id) != size)
        database.remove_clusters(memory.sizes.keys() - sizes.keys())
        database.name_clusters(inherited)
        database.add_events([(now, *event, name) for event, name in zip(events, names, strict=True)])
        database.put_meta({STATE: state})
    memory.update(state, sizes, inherited, now)

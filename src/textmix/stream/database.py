"""The documents, clusters and events in the file of a stream; it knows nothing of statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from textmix.results.folder import STREAM_FILE
from textmix.stream.state_file import StateFile

FILE = STREAM_FILE
EVENTS_KEPT = 10_000

_ROWS_AT_ONCE = 1000


class DocumentRow(NamedTuple):
    """A document: times are seconds since 1970, a cluster of −1 is none, counts a JSON object of words."""

    id: str
    text: str
    time: int
    cluster: int
    probability: float | None
    outlier_score: float | None
    counts: str


class ClusterRow(NamedTuple):
    """A cluster, with the name that a user gave it, and the number of its documents and of all their words."""

    id: int
    born: int
    name: str | None
    size: int
    n_words: int


class EventRow(NamedTuple):
    """Something that happened to a cluster; numbers rise."""

    number: int
    time: int
    kind: str
    cluster: int
    into: int | None
    size: int
    name: str


class Database(StateFile):
    """A connection to the file. Threads may share it if they hold a lock of theirs."""

    # ------------------------------------------------------------------ documents

    def n_documents(self) -> int:
        """The number of documents."""
        return int(self._rows("SELECT count(*) FROM documents")[0][0])

    def documents(self) -> Iterator[DocumentRow]:
        """All documents in the order in which they came."""
        with self._translating_errors():
            cursor = self._connection.execute(f"SELECT {_DOCUMENT} FROM documents ORDER BY sequence")
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from map(DocumentRow._make, rows)

    def document(self, id: str) -> DocumentRow | None:
        """A document by its id."""
        rows = self._rows(f"SELECT {_DOCUMENT} FROM documents WHERE id = ?", (id,))
        return DocumentRow._make(rows[0]) if rows else None

    def documents_of(self, cluster: int, limit: int) -> list[DocumentRow]:
        """The newest documents of a cluster, newest first."""
        order = "ORDER BY time DESC, sequence DESC LIMIT ?"
        rows = self._rows(f"SELECT {_DOCUMENT} FROM documents WHERE cluster = ? {order}", (cluster, limit))
        return [DocumentRow._make(row) for row in rows]

    def put_documents(self, rows: Iterable[DocumentRow]) -> None:
        """Add documents; one whose id is there takes the other's place, and is the newest then."""
        self._connection.executemany(
            f"INSERT OR REPLACE INTO documents ({_DOCUMENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
        )

    def remove_documents(self, ids: Iterable[str]) -> None:
        """Take documents out."""
        self._connection.executemany("DELETE FROM documents WHERE id = ?", ((id,) for id in ids))

    def move_documents(self, cluster: int, into: int) -> None:
        """Put all documents of a cluster into another."""
        self._connection.execute("UPDATE documents SET cluster = ? WHERE cluster = ?", (into, cluster))

    def relabel_documents(self, labels: Iterable[tuple[str, int]]) -> None:
        """Put documents, by their ids, into other clusters."""
        self._connection.executemany("UPDATE documents SET cluster = ?2 WHERE id = ?1", labels)

    # ------------------------------------------------------------------ clusters

    def clusters(self) -> list[ClusterRow]:
        """All clusters by rising id."""
        rows = self._rows("SELECT id, born, name, size, n_words FROM clusters ORDER BY id")
        return [ClusterRow._make(row) for row in rows]

    def put_clusters(self, rows: Iterable[tuple[int, int, int, int]]) -> None:
        """Write (id, born, size, n_words) of clusters; of one that is there the name and when it was born stay."""
        self._connection.executemany(
            "INSERT INTO clusters (id, born, size, n_words) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET size = excluded.size, n_words = excluded.n_words",
            rows,
        )

    def remove_clusters(self, ids: Iterable[int]) -> None:
        """Take clusters out."""
        self._connection.executemany("DELETE FROM clusters WHERE id = ?", ((id,) for id in ids))

    def name_clusters(self, names: Mapping[int, str | None]) -> None:
        """Give clusters names, or take them away."""
        rows = ((name, id) for id, name in names.items())
        self._connection.executemany("UPDATE clusters SET name = ? WHERE id = ?", rows)

    # ------------------------------------------------------------------ events

    def events(self, after: int, limit: int) -> list[EventRow]:
        """The events with higher numbers, by rising number."""
        columns = "number, time, kind, cluster, into_cluster, size, name"
        sql = f"SELECT {columns} FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return [EventRow._make(row) for row in self._rows(sql, (after, limit))]

    def last_event(self) -> int:
        """The number of the last event, 0 if there was none."""
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
        return int(rows[0][0]) if rows else 0

    def add_events(self, rows: Sequence[tuple[int, str, int, int | None, int, str]]) -> None:
        """Write (time, kind, cluster, into, size, name) of events; the oldest beyond those kept go."""
        if rows:
            self._connection.executemany(
                "INSERT INTO events (time, kind, cluster, into_cluster, size, name) VALUES (?, ?, ?, ?, ?, ?)", rows
            )
            self._connection.execute("DELETE FROM events WHERE number <= ?", (self.last_event() - EVENTS_KEPT,))


_DOCUMENT = ", ".join(DocumentRow._fields)

"""A stream whose every answer is on disk first: `DurableStream`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.folder_lock import FolderLock
from textmix.stream.changes import Change, NamedClusters, document_rows, relabel, write_change
from textmix.stream.checking import compare_sizes, find_mistakes
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.continuing import Snapshot
from textmix.stream.copies import copy_database, remove_abandoned_copies
from textmix.stream.database import FILE, Database, DocumentRow
from textmix.stream.policy import Forgetting, HeldBack, Policy, check_at_most_half, check_new_policy, policy_due
from textmix.stream.records import (
    Answer,
    Document,
    StoredDocument,
    StoredEvent,
    StreamCluster,
    check_documents,
    check_id,
    check_name,
    iso_time,
    times_of,
)
from textmix.stream.refit import Refit, RefitSummary
from textmix.stream.state_file import DamagedStateError, DiskFullError
from textmix.stream.stored import (
    POLICY,
    SETTINGS,
    begin_stream,
    check_settings,
    clusterer_of,
    load_clusterer,
    prepare_folder,
    read_policy,
    read_stored,
    settings_of,
)

__all__ = ["Answer", "Document", "DurableStream", "Policy", "StoredDocument", "StoredEvent", "StreamCluster"]

T = TypeVar("T")


class DurableStream:
    """Documents and their clusters in a folder. What a method has answered is on disk.

    Parameters
    ----------
    folder
        Where the stream is, or is to be: a new or empty folder, or one that `textmix cluster --out` wrote, whose
        documents and clusters the stream begins with; it goes on by words alone. One program at a time works in it.
    clusterer
        The settings of a new stream. Those of one that is there are stored; others given are a ValueError.
    policy
        What is forgotten after each batch. It is stored; another one given takes its place.
    create
        Whether to begin a new stream if there is none.
    confirmed
        Whether more than half of the documents may be forgotten at once. If not, a policy that would do so is a
        ValueError when it is given; later, documents that are due by their age are held back (see `held_back`).
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        clusterer: StreamClusterer | None = None,
        policy: Policy | None = None,
        create: bool = True,
        confirmed: bool = False,
    ) -> None:
        self._folder = Path(folder)
        self._lock = threading.RLock()
        self._given = clusterer
        self._confirmed = confirmed
        self._in_memory: NamedClusters | None = None  # None: to be made from disk
        self._refits: list[Refit] = []
        if clusterer is not None:
            clusterer_of(settings_of(clusterer), clusterer).state()  # ValueError if a setting is none
        prepare_folder(self._folder, create)
        self._guard = FolderLock(Path(os.path.realpath(self._folder / FILE)).parent)
        self._guard.hold(f'another program is at work on the stream in "{self._folder}"')
        try:
            remove_abandoned_copies(self._folder)
            self._database = Database(self._folder / FILE)
            try:
                self._begin(policy)
            except BaseException:
                self._database.close()
                raise
        except BaseException:
            self._guard.release()
            raise
        self._is_open = True

    # ------------------------------------------------------------------ documents come and go

    def add(self, documents: Sequence[Document]) -> list[Answer]:
        """Take in a batch; the answers are in its order. An id that is there already: the last text wins."""
        return self.exchange(documents, ())[0]

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Take documents out; returns the ids of those that were there."""
        return self.exchange((), ids)[1]

    def exchange(self, documents: Sequence[Document], remove: Iterable[str]) -> tuple[list[Answer], list[str]]:
        """Take documents out and then others in, in one transaction; the answers, and the ids of those taken out."""
        if isinstance(remove, str):
            raise ValueError("ids is a single str; give a list, for one id [id]")
        ids = [check_id(id) for id in remove]
        checked = check_documents(documents)
        if checked:
            return self._exchange(checked, ids)
        return self._retry_on_full_disk(lambda: self._exchange([], ids))

    def _retry_on_full_disk(self, remove: Callable[[], T]) -> T:
        """Take documents out; on a full disk once more, in the room that is reserved for this."""
        try:
            return remove()
        except DiskFullError:
            with self._lock:
                self._database.make_room()
                return remove()

    def _exchange(self, checked: list[Document], ids: list[str]) -> tuple[list[Answer], list[str]]:
        with self._changing() as (memory, change):
            now = _now()
            if ids:
                change.note_removed(memory.clusterer.remove(ids), memory.clusterer)
            removed = list(change.removed)
            answers = self._take_in(checked, memory, change, now) if checked else []
            write_change(change, memory, self._database, now)
            return answers, removed

    def _take_in(self, documents: list[Document], memory: NamedClusters, change: Change, now: int) -> list[Answer]:
        clusterer, times = memory.clusterer, times_of(documents, now)
        clusterer.partial_fit([each.text for each in documents], [each.id for each in documents], times)
        change.has_begun = True
        change.events += clusterer.events_
        answers = memory.answers()
        newest = min(int(times.max().astype(np.int64)), now)  # ages never count from the future
        forgotten = self._forgetting.apply(clusterer, newest, len(set(clusterer.ids_)))
        change.note_removed(forgotten, clusterer)
        change.rows = document_rows(clusterer, documents, times, answers, set(forgotten))
        return answers

    def forget(
        self,
        *,
        before: Any = None,
        keep: int | None = None,
        half_life: Any = None,
        now: Any = None,
        confirmed: bool = False,
    ) -> list[str]:
        """Forget old documents, as `StreamClusterer.forget` does; returns their ids.

        More than half of all documents go only if that is confirmed; else it is a ValueError, and nothing changes.
        """
        due = {"before": before, "keep": keep, "half_life": half_life, "now": now}
        return self._forget(lambda _: due, confirmed)

    def forget_due(self, *, confirmed: bool = False) -> list[str]:
        """Forget now what the policy says, ages counted from the newest document; as `forget`."""
        forgotten = self._forget(lambda clusterer: policy_due(self.policy, clusterer, _now()), confirmed)
        self._forgetting.n_forgotten += len(forgotten)
        self._forgetting.held_back = None
        return forgotten

    def _forget(self, find_due: Callable[[StreamClusterer], Mapping[str, Any]], confirmed: bool) -> list[str]:
        def forget() -> list[str]:
            with self._changing() as (memory, change):
                clusterer = memory.clusterer
                due = find_due(clusterer)
                if not confirmed:
                    check_at_most_half(clusterer, due)
                forgotten = clusterer.forget(**due)
                change.note_removed(forgotten, clusterer)
                write_change(change, memory, self._database, _now())
                return forgotten

        return self._retry_on_full_disk(forget)

    def refit(self, ended: Callable[[], None] = lambda: None) -> Refit:
        """Begin to cluster all documents anew while the stream goes on: as `textmix.cluster(texts, encoder=None)` does.

        Then clusters of the new fit have the ids of those that they mostly agree with, others new ones. `ended` is
        called when all is done, well or not. Closing the stream gives up what is under way.
        """
        with self._reading() as memory:
            refit = Refit(memory.clusterer.snapshot(), memory.state["seed"], self._relabel, ended)
            self._refits = [refit, *(each for each in self._refits if not each.is_done)]
            return refit

    def _relabel(self, snapshot: Snapshot, labels: NDArray[np.int32]) -> RefitSummary:
        """Take over what a new fit has found."""
        with self._changing() as (memory, change):
            summary = relabel(snapshot, labels, memory, change)
            write_change(change, memory, self._database, _now())
            return summary

    def rename(self, cluster: int, name: str | None) -> None:
        """Give a cluster a name that stays; None: the one made of its words again."""
        check_name(name)
        with self._changing() as (memory, change):
            if cluster not in memory.sizes:
                raise ValueError(f"there is no cluster {cluster!r}")
            change.has_begun = True
            with self._database.transaction():
                self._database.name_clusters({cluster: name})
            memory.rename(cluster, name)

    # ------------------------------------------------------------------ what there is

    @property
    def folder(self) -> Path:
        """Where the stream is."""
        return self._folder

    @property
    def policy(self) -> Policy:
        """What is forgotten after each batch."""
        return self._forgetting.policy

    @property
    def n_forgotten(self) -> int:
        """How many documents were forgotten by the policy since the stream was opened."""
        return self._forgetting.n_forgotten

    @property
    def held_back(self) -> HeldBack | None:
        """Documents that are due by their age since the last batch, and were kept because they are more than half."""
        return self._forgetting.held_back

    @property
    def n_documents(self) -> int:
        """How many documents are kept."""
        with self._reading() as memory:
            return int(memory.clusterer.n_documents_)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        with self._reading() as memory:
            return len(memory.sizes)

    @property
    def last_event(self) -> int:
        """The number of the last event, 0 if there was none."""
        with self._reading():
            return self._database.last_event()

    def assign(self, texts: Sequence[str]) -> list[Answer]:
        """Where texts would go among the clusters there are; nothing is learned, and ids are empty."""
        with self._reading() as memory:
            return memory.assign(list(texts))

    def document(self, id: str) -> StoredDocument | None:
        """A document by its id."""
        with self._reading():
            row = self._database.document(id)
            return None if row is None else _stored(row)

    def documents_of(self, cluster: int, limit: int = 10) -> list[StoredDocument]:
        """The newest documents of a cluster, newest first."""
        with self._reading():
            return [_stored(row) for row in self._database.documents_of(cluster, limit)]

    def clusters(self, limit: int | None = None, offset: int = 0, *, newest: bool = False) -> list[StreamCluster]:
        """Clusters by falling size, or the newest first: all, or so many after as many others."""
        with self._reading() as memory:
            return memory.describe_some(limit, offset, newest=newest)

    def cluster(self, id: int) -> StreamCluster | None:
        """A cluster by its id."""
        with self._reading() as memory:
            return memory.describe(id) if id in memory.sizes else None

    def events(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """What happened to clusters, those of higher numbers first to last; the last 10,000 are kept."""
        with self._reading():
            rows = self._database.events(after, limit)
            return [StoredEvent(row.number, iso_time(row.time), *row[2:]) for row in rows]

    # ------------------------------------------------------------------ the state itself

    def check(self) -> list[str]:
        """What is wrong with the file, or differs between it and memory; nothing if all is well."""
        with self._reading() as memory:
            return find_mistakes(self._database, memory.clusterer)

    def backup(self, file: str | os.PathLike[str]) -> None:
        """Copy the stream as it is now to a file that must not be there yet; others may go on meanwhile."""
        self._check_open()
        copy_database(self._folder / FILE, Path(file))

    def close(self) -> None:
        """Give up new fits that are under way, and release the folder."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
        if not was_open:
            return
        try:
            for refit in self._refits:
                refit.stop()  # without the lock, for which it may wait itself
        finally:
            with self._lock:
                self._database.close()
                self._guard.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ beginning

    def _begin(self, policy: Policy | None) -> None:
        """Begin a stream, or go on with the one that is stored."""
        if not self._database.read_meta() and not self._database.n_documents():
            begin_stream(self._database, self._folder, self._given, _now())
        stored = read_stored(self._database)
        if self._given is not None:
            check_settings(stored[SETTINGS], settings_of(self._given), f'"{self._folder}"')
        memory = self._load()
        if policy is not None and asdict(policy) != stored[POLICY]:
            if not self._confirmed:
                check_new_policy(policy, self._stored_policy(), memory.clusterer, _now())
            with self._database.transaction():
                self._database.put_meta({POLICY: asdict(policy)})
        self._forgetting = Forgetting(policy or read_policy(self._database), confirmed=self._confirmed)

    def _stored_policy(self) -> Policy | None:
        """The stored policy; None if it is not valid, which may be why it is replaced."""
        try:
            return read_policy(self._database)
        except ValueError:
            return None

    def _load(self) -> NamedClusters:
        """Make memory anew from the file."""
        clusterer, rows = load_clusterer(self._database, self._given), self._database.clusters()
        for mistake in compare_sizes(rows, clusterer.reader.cluster_sizes()):
            raise DamagedStateError(f'"{self._database.path}" is damaged: {mistake}')
        self._in_memory = NamedClusters(clusterer, rows)
        return self._in_memory

    # ------------------------------------------------------------------ reading and writing

    @contextmanager
    def _reading(self) -> Iterator[NamedClusters]:
        with self._lock:
            self._check_open()
            yield self._in_memory or self._load()

    def _check_open(self) -> None:
        if not self._is_open:
            raise ValueError(f'the stream in "{self._folder}" was closed')

    @contextmanager
    def _changing(self) -> Iterator[tuple[NamedClusters, Change]]:
        """As reading, with a change to fill; after an error memory is made anew from disk, when it is next asked for.

        Not so if the clusterer does not take what is given, a ValueError at the first thing that is asked of it.
        """
        with self._reading() as memory:
            change = Change()
            try:
                yield memory, change
            except BaseException as error:
                if change.has_begun or not isinstance(error, ValueError):
                    self._in_memory = None
                raise


def _now() -> int:
    return int(time.time())


def _stored(row: DocumentRow) -> StoredDocument:
    return StoredDocument(row.id, row.text, iso_time(row.time), *row[3:6])

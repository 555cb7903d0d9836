"""Whether a stream is as it should be: the file is whole, its numbers are those of a recount, memory says the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.database import FILE, ClusterRow, Database, DocumentRow
from textmix.stream.reading import ClusterSize
from textmix.stream.state_file import DamagedStateError
from textmix.stream.stored import STATE, as_kept, load_clusterer, read_policy, read_stored

_SHOWN = 20  # mistakes at most


def check_folder(folder: Path) -> list[str]:
    """What is wrong with the stream in a folder, also while another program works on it; nothing is changed."""
    path = folder / FILE
    if not path.exists():
        raise ValueError(f'there is no stream in "{folder}"')
    try:
        database = Database(path, read_only=True)
    except DamagedStateError as error:
        return [str(error)]
    try:
        with database.snapshot():
            return _find_damage(database) or _find_mistakes(database, load_clusterer(database))
    except DamagedStateError as error:
        return [str(error)]
    finally:
        database.close()


def find_mistakes(database: Database, clusterer: StreamClusterer) -> list[str]:
    """What is wrong with the file, or differs between it and memory; nothing if all is well."""
    try:
        return _find_damage(database) or _find_mistakes(database, clusterer)
    except DamagedStateError as error:
        return [str(error)]


def _find_mistakes(database: Database, clusterer: StreamClusterer) -> list[str]:
    state = read_stored(database)[STATE]
    read_policy(database)
    mistakes = [*_compare_state(state, clusterer), *_compare_documents(database, clusterer)]
    recounted = _recount(database)
    mistakes += compare_sizes(database.clusters(), recounted)
    mistakes += _compare_sizes("in memory", clusterer.reader.cluster_sizes(), recounted)
    mistakes += [f"in memory {mistake}" for mistake in clusterer.statistics.find_mistakes()]
    return [*mistakes[:_SHOWN], *([f"… and {len(mistakes) - _SHOWN:,} more"] if len(mistakes) > _SHOWN else [])]


def _find_damage(database: Database) -> list[str]:
    return [f'"{database.path}" is damaged: {each}' for each in database.find_damage()]


def compare_sizes(rows: Iterable[ClusterRow], recounted: Mapping[int, ClusterSize]) -> Iterator[str]:
    """Where the table of clusters does not say what a recount does."""
    stored = {row.id: ClusterSize(row.size, row.n_words) for row in rows}
    return _compare_sizes("in the table of clusters", stored, recounted)


def _recount(database: Database) -> dict[int, ClusterSize]:
    """The sizes of clusters by their documents."""
    sizes, totals = Counter[int](), Counter[int]()
    for row in database.documents():
        if row.cluster >= 0:
            sizes[row.cluster] += 1
            totals[row.cluster] += sum(json.loads(row.counts).values())
    return {cluster: ClusterSize(size, totals[cluster]) for cluster, size in sizes.items()}


def _compare_sizes(place: str, found: Mapping[int, ClusterSize], recounted: Mapping[int, ClusterSize]) -> Iterator[str]:
    for cluster in sorted(found.keys() | recounted.keys()):
        size, counted = found.get(cluster), recounted.get(cluster)
        if size != counted:
            yield f"cluster {cluster} has {_shown(size)} {place}, {_shown(counted)} by a recount"


def _shown(size: ClusterSize | None) -> str:
    return "no document" if size is None else f"{size.size:,} documents with {size.n_words:,} words"


def _compare_state(state: Any, clusterer: StreamClusterer) -> Iterator[str]:
    in_memory = json.loads(json.dumps(clusterer.state()))
    for key in sorted(state.keys() | in_memory.keys()):
        if state.get(key) != in_memory.get(key):
            yield f"{key} is {state.get(key)!r} on disk, {in_memory.get(key)!r} in memory"


def _compare_documents(database: Database, clusterer: StreamClusterer) -> Iterator[str]:
    rows = list(database.documents())
    if len(rows) != clusterer.n_documents_:
        yield f"{len(rows):,} documents are on disk, {clusterer.n_documents_:,} in memory"
    ids = [row.id for row in rows]
    times = clusterer.times_of(ids).astype("datetime64[s]").astype("int64").tolist()
    in_memory = zip(times, clusterer.labels_of(ids).tolist(), clusterer.word_counts_of(ids), strict=True)
    for row, (time, cluster, counts) in zip(rows, in_memory, strict=True):
        kept = as_kept(row)
        if (kept.time, kept.cluster, kept.counts) != (time, cluster, counts):
            yield f"document {row.id!r} is not the same on disk and in memory"
        elif (row.cluster < 0) != (not counts):
            yield f"document {row.id!r} {_misplaced(row)}"


def _misplaced(row: DocumentRow) -> str:
    return "has words but no cluster" if row.cluster < 0 else f"is in cluster {row.cluster} without words"

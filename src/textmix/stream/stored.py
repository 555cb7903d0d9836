"""From the file of a stream to the clusterer that goes on with it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from textmix.stream.clusterer import StreamClusterer
from textmix.stream.continuing import KeptDocument
from textmix.stream.database import DamagedStateError, Database, DocumentRow
from textmix.stream.settings import SETTINGS, clusterer_of

POLICY, STATE = "policy", "state"  # further keys of the table meta


class Size(NamedTuple):
    """The number of documents of a cluster, and of all their words."""

    size: int
    n_words: int


def read_stored(database: Database) -> dict[str, Any]:
    """Settings, policy and state."""
    stored = database.read_meta()
    missing = [key for key in (SETTINGS, POLICY, STATE) if key not in stored]
    if missing:
        raise DamagedStateError(f'"{database.path}" is damaged: there is no {missing[0]} in table meta')
    return stored


def load_clusterer(database: Database, given: StreamClusterer | None = None) -> StreamClusterer:
    """A clusterer with the stored settings and all documents."""
    stored = read_stored(database)
    clusterer = clusterer_of(stored[SETTINGS], given)
    try:
        clusterer.restore(stored[STATE], map(as_kept, database.documents()))
    except DamagedStateError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DamagedStateError(f'"{database.path}" is damaged: {error!r}') from error
    return clusterer


def as_kept(row: DocumentRow) -> KeptDocument:
    """A row as clusterers take it."""
    return KeptDocument(row.id, row.time, row.cluster, json.loads(row.counts))


def sizes_of(clusterer: StreamClusterer) -> dict[int, Size]:
    """The size of each cluster."""
    columns = (clusterer.cluster_ids_, clusterer.cluster_sizes_, clusterer.cluster_totals_)
    return {id: Size(size, total) for id, size, total in zip(*(each.tolist() for each in columns), strict=True)}

"""From the file of a stream to the clusterer that goes on with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from textmix.stream.batch import MAX_COUNT
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.continuing import KeptDocument
from textmix.stream.database import Database, DocumentRow
from textmix.stream.policy import Policy
from textmix.stream.settings import SETTINGS, clusterer_of
from textmix.stream.state_file import DamagedStateError

POLICY, STATE = "policy", "state"  # further keys of the table meta
_COUNTERS = ("seed", "next_number", "n_batches", "next_cluster", "next_sequence")  # of the state
_MOST = 2**64  # a number of the state is below


class Size(NamedTuple):
    """The number of documents of a cluster, and of all their words."""

    size: int
    n_words: int


def read_stored(database: Database) -> dict[str, Any]:
    """Settings, policy and state."""
    stored = database.read_meta()
    for key in (SETTINGS, POLICY, STATE):
        if not isinstance(stored.get(key), dict):
            raise DamagedStateError(f'"{database.path}" is damaged: there is no {key} in table meta')
    return stored


def read_policy(database: Database) -> Policy:
    """The policy that is stored; DamagedStateError, which says how to replace it, if it is not valid."""
    stored = read_stored(database)[POLICY]
    try:
        return Policy(**stored)
    except (TypeError, ValueError) as error:
        raise DamagedStateError(
            f'"{database.path}" holds a policy that is not valid ({error}); replace it: textmix stream STATE '
            "--max-age none, in Python DurableStream(folder, policy=Policy())"
        ) from error


def load_clusterer(database: Database, given: StreamClusterer | None = None) -> StreamClusterer:
    """A clusterer with the stored settings and all documents."""
    stored = read_stored(database)
    with database.parsing():
        clusterer = clusterer_of(stored[SETTINGS], given)
        _check_state(stored[STATE])
        documents = [as_kept(row) for row in database.documents()]
        _check_numbers(documents, stored[STATE])
        return clusterer.restore(stored[STATE], documents)


def _check_state(state: dict[str, Any]) -> None:
    for key in _COUNTERS:
        if type(state[key]) is not int or not 0 <= state[key] < _MOST:
            raise ValueError(f"{key} is {str(state[key])[:40]!r} in table meta")
    evidence = state["language_evidence"]
    if not all(_is_count(n) for n in [evidence.get("n_documents", 0) + 1, *evidence.get("words", {}).values()]):
        raise ValueError("language_evidence has numbers that are not counts in table meta")


def _check_numbers(documents: Sequence[KeptDocument], state: dict[str, Any]) -> None:
    """Ids of documents are there once, and those to come were not given yet."""
    if len({document.id for document in documents}) < len(documents):
        raise ValueError("an id is there twice in table documents")
    if state["next_sequence"] < len(documents):
        raise ValueError(f"next_sequence is {state['next_sequence']}, for {len(documents)} documents")
    last = max((document.cluster for document in documents), default=-1)
    if last >= state["next_cluster"]:
        raise ValueError(f"cluster {last} is there, but the next is to be {state['next_cluster']}")


def as_kept(row: DocumentRow) -> KeptDocument:
    """A row as clusterers take it."""
    counts = json.loads(row.counts)
    if not isinstance(counts, dict) or not all(map(_is_count, counts.values())) or sum(counts.values()) > MAX_COUNT:
        raise ValueError(f"document {row.id[:40]!r} has counts that are not numbers of words")
    return KeptDocument(row.id, row.time, row.cluster, counts)


def _is_count(number: Any) -> bool:
    return type(number) is int and number > 0


def sizes_of(clusterer: StreamClusterer) -> dict[int, Size]:
    """The size of each cluster."""
    columns = (clusterer.cluster_ids_, clusterer.cluster_sizes_, clusterer.cluster_totals_)
    return {id: Size(size, total) for id, size, total in zip(*(each.tolist() for each in columns), strict=True)}

"""What the file of a stream holds beside its documents, settings, policy and state, from its beginning on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from textmix.corpus import Tokenizer
from textmix.corpus.files import flush_folder
from textmix.results.folder import RUN_FILE
from textmix.stream.batch import MAX_COUNT
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.continuing import KeptDocument
from textmix.stream.database import FILE, Database, DocumentRow
from textmix.stream.policy import Policy
from textmix.stream.side_files import Head
from textmix.stream.state_file import DamagedStateError

if TYPE_CHECKING:
    from textmix.stream.saved_run import SavedRun

SETTINGS, POLICY, STATE = "settings", "policy", "state"  # keys of the table meta
TOKENIZER, LANGUAGE = "tokenizer", "language"  # keys of the settings

_COUNTERS = ("seed", "next_number", "n_batches", "next_cluster", "next_sequence")  # of the state
_MOST = 2**64  # a number of the state is below

# ---------------------------------------------------------------------- how a stream begins


def prepare_folder(folder: Path, create: bool) -> None:
    """Make the folder of a new stream; ValueError if there cannot be one."""
    if (folder / FILE).exists():
        return
    if not create:
        raise ValueError(f'there is no stream in "{folder}"')
    if Head(folder / FILE).read():
        raise ValueError(
            f'"{folder / FILE}" is missing, but there was a stream in the folder; restore it, or '
            f"delete what is beside it ({FILE}-…) to begin anew"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f'"{folder}" is a file; a stream needs a folder of its own')
    if folder.is_dir() and not (folder / RUN_FILE).exists() and any(map(_is_strange, folder.iterdir())):
        raise ValueError(f'"{folder}" holds other files and is no textmix run; choose another folder')
    folder.mkdir(parents=True, exist_ok=True)
    flush_folder(folder.parent)


def _is_strange(path: Path) -> bool:
    """Whether a file is neither hidden nor what a deleted stream has left."""
    return not path.name.startswith((".", f"{FILE}-"))


def begin_stream(database: Database, folder: Path, given: StreamClusterer | None, now: int) -> None:
    """Write a new stream, with the documents of the run that the folder has, all or nothing; it forgets nothing yet."""
    run = _read_run(folder, now) if (folder / RUN_FILE).exists() else None
    settings = settings_of(given or StreamClusterer())
    if run is not None:
        tokenizer = run.tokenizer.settings()
        check_settings({**settings, TOKENIZER: tokenizer}, settings, f'"{folder}"')
        settings[TOKENIZER] = tokenizer
    clusterer = clusterer_of(settings, given)
    with database.transaction():
        if run is not None:
            _take_over(run, clusterer, database, now)
        database.put_meta({SETTINGS: settings, POLICY: asdict(Policy()), STATE: clusterer.state()})
    database.checkpoint()  # the file itself is a stream from here on


def _take_over(run: SavedRun, clusterer: StreamClusterer, database: Database, now: int) -> None:
    """Write the documents and clusters of a run, which keep their numbers."""
    state = {**clusterer.state(), "next_cluster": len(run.names), "next_sequence": len(run.documents)}
    clusterer.restore(state, map(as_kept, run.documents))
    database.put_documents(run.documents)
    database.put_clusters((id, now, *size) for id, size in clusterer.reader.cluster_sizes().items())
    database.name_clusters(dict(enumerate(run.names)))


def _read_run(folder: Path, now: int) -> SavedRun:
    # Runs, and what they are made of, take long to import, and few streams begin with one.
    from textmix.stream.saved_run import read_run

    return read_run(folder, now)


# ---------------------------------------------------------------------- settings


def settings_of(clusterer: StreamClusterer) -> dict[str, Any]:
    """The settings of a clusterer, as JSON gives them back."""
    settings = clusterer.get_params(deep=False)
    if settings[TOKENIZER] is not None:
        settings[TOKENIZER] = settings[TOKENIZER].settings()
    return {name: _as_stored(name, value) for name, value in settings.items()}


def _as_stored(name: str, value: Any) -> Any:
    """A setting as JSON gives it back; numbers of NumPy are plain ones then."""
    try:
        return json.loads(json.dumps(value.item() if isinstance(value, np.generic) else value))
    except TypeError as error:
        raise ValueError(
            f"a stream on disk needs settings that can be stored, such as numbers; {name} is {value!r}"
        ) from error


def clusterer_of(settings: Mapping[str, Any], given: StreamClusterer | None = None) -> StreamClusterer:
    """A new clusterer with stored settings; a tokenizer function of the user's own is that of the clusterer given."""
    stored = settings[TOKENIZER]
    own = None if given is None or given.tokenizer is None else given.tokenizer.tokenizer
    tokenizer = None if stored is None else Tokenizer.from_settings(stored, own)
    return StreamClusterer(**{**settings, TOKENIZER: tokenizer})


def check_settings(stored: Mapping[str, Any], given: Mapping[str, Any], place: str) -> None:
    """Raise ValueError if settings given are not those stored; where no tokenizer is given, the stored one holds."""
    for name, value in given.items():
        if stored.get(name) != value and (name, value) != (TOKENIZER, None):
            raise ValueError(
                f"the stream in {place} has {name}={_shown(name, stored.get(name))}, not {_shown(name, value)}; "
                "leave the setting out, or begin a new stream"
            )


def _shown(name: str, value: Any) -> str:
    """A setting as a message has it; of a tokenizer what is not its default."""
    if name != TOKENIZER or value is None:
        return repr(value)
    defaults = json.loads(json.dumps(Tokenizer().settings()))
    return "Tokenizer(" + ", ".join(f"{key}={own!r}" for key, own in value.items() if own != defaults[key]) + ")"


def without_frequency_bounds(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer for a stream, in which document frequencies change all the time."""
    return replace(tokenizer, min_document_frequency=1, max_document_frequency=1.0)


def given_clusterer(folder: Path, given: Mapping[str, Any]) -> StreamClusterer | None:
    """A clusterer with the settings given, all others as they are stored in the folder; None if none is given.

    A `language` is one of the tokenizer's settings.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if not chosen:
        return None
    clusterer = _stored_clusterer(folder) or StreamClusterer()
    if LANGUAGE in chosen:
        language = chosen.pop(LANGUAGE)
        tokenizer = clusterer.tokenizer or Tokenizer()
        clusterer.set_params(tokenizer=replace(tokenizer, language=None if language.lower() == "none" else language))
    clusterer.set_params(**chosen)
    return clusterer


def _stored_clusterer(folder: Path) -> StreamClusterer | None:
    if not (folder / FILE).exists():
        return None
    with closing(Database(folder / FILE, read_only=True)) as database, database.parsing():
        settings = database.read_meta().get(SETTINGS)
        return None if settings is None else clusterer_of(settings)


# ---------------------------------------------------------------------- the clusterer that goes on with what is stored


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

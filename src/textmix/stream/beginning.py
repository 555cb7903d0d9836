"""How a stream begins: in a new folder, or with the documents of a saved run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from textmix.corpus.files import flush_folder
from textmix.results.folder import RUN_FILE
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.database import FILE, Database
from textmix.stream.head import Head
from textmix.stream.policy import Policy
from textmix.stream.settings import SETTINGS, TOKENIZER, check_settings, clusterer_of, settings_of
from textmix.stream.stored import POLICY, STATE, as_kept, sizes_of

if TYPE_CHECKING:
    from textmix.stream.saved_run import SavedRun


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
    database.put_clusters((id, now, *size) for id, size in sizes_of(clusterer).items())
    database.name_clusters(dict(enumerate(run.names)))


def _read_run(folder: Path, now: int) -> SavedRun:
    # Runs, and what they are made of, take long to import, and few streams begin with one.
    from textmix.stream.saved_run import read_run

    return read_run(folder, now)

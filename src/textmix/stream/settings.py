"""The settings of a stream as its file holds them, and a clusterer that has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from textmix.corpus import Tokenizer
from textmix.stream.clusterer import StreamClusterer
from textmix.stream.database import FILE, Database

SETTINGS = "settings"  # key of the table meta
TOKENIZER, LANGUAGE = "tokenizer", "language"


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

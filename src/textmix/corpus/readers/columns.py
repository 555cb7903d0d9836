"""Which column holds the text, and what to say about a column that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from textmix.corpus.readers.report import InputError

LISTED_COLUMNS = 20

TEXT_COLUMN_NAMES = (
    "text",
    "title",
    "body",
    "message",
    "content",
    "description",
    "subject",
    "comment",
    "review",
    "question",
    "tweet",
    "headline",
    "full_text",
    "document",
    "sentence",
    "abstract",
    "summary",
    "post",
    "feedback",
    "note",
    "notes",
    "comments",
    "query",
    "utterance",
    "answer",
    "caption",
    "texts",
)


@dataclass(frozen=True)
class InputColumn:
    """A column's name and whether its values are text rather than numbers, dates or the like."""

    name: str
    is_text: bool


def find_column(name: str, columns: Sequence[InputColumn]) -> int | None:
    """The position of the first column of that name, spelled exactly, or else in any case and with spaces around."""
    names = [column.name for column in columns]
    if name in names:
        return names.index(name)
    folded, wanted = [other.strip().casefold() for other in names], name.strip().casefold()
    return folded.index(wanted) if wanted in folded else None


def choose_text_column(columns: Sequence[InputColumn], file: str) -> str:
    """The column with a usual name for texts, else the only one that holds text."""
    for name in TEXT_COLUMN_NAMES:
        position = find_column(name, columns)
        if position is not None:
            return columns[position].name
    text_columns = [column.name for column in columns if column.is_text]
    if len(text_columns) == 1:
        return text_columns[0]
    raise InputError(
        f"cannot tell which column of {file} holds the texts; it has: {list_columns(columns)}. Pick one with --text"
    )


def missing_column(name: str, columns: Sequence[InputColumn], file: str) -> InputError:
    """The error for a column that the user named and the file lacks."""
    names = {column.name.casefold(): column.name for column in columns}
    close = difflib.get_close_matches(name.casefold(), list(names), n=1)
    hint = f' Did you mean "{names[close[0]]}"?' if close else ""
    return InputError(f'no column "{name}" in {file}; it has: {list_columns(columns)}.{hint}')


def differing_columns(
    columns: Sequence[InputColumn], file: str, first_columns: Sequence[InputColumn], first_file: str
) -> InputError | None:
    """The error for a file whose columns are not those of the first one, in whatever order."""
    names = {column.name for column in columns}
    first_names = {column.name for column in first_columns}
    if names == first_names:
        return None
    lacking = ", ".join(f'"{column.name}"' for column in first_columns if column.name not in names)
    besides = ", ".join(f'"{column.name}"' for column in columns if column.name not in first_names)
    differences = [f"it lacks {lacking}"] * bool(lacking) + [f"it has {besides} besides"] * bool(besides)
    return InputError(f"{file} has other columns than {first_file}: {' and '.join(differences)}")


def list_columns(columns: Sequence[InputColumn]) -> str:
    """The names, the first twenty of them if there are more."""
    names = ", ".join(column.name for column in columns[:LISTED_COLUMNS])
    n_more = len(columns) - LISTED_COLUMNS
    return f"{names} and {n_more} more" if n_more > 0 else names

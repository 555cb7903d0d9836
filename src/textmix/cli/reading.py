"""Documents of the files named on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from textmix.corpus.readers import DocumentReader, ReadReport
from textmix.inference.progress import Progress


@dataclass
class Documents:
    """Texts with their ids and labels, other columns, and what there is to say about the reading."""

    report: ReadReport
    texts: list[str] = field(default_factory=list)
    ids: list[str] | None = None
    labels: list[str] | None = None
    more: dict[str, list[str]] = field(default_factory=dict)


def read_documents(
    files: Sequence[str], columns: Mapping[str, str | None], *, more: Sequence[str] = (), progress: bool | None = None
) -> Documents:
    """Read all of them, with progress on a terminal; InputError if that is not possible. more: other columns."""
    given: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    with DocumentReader(files, **given, more=more) as reader, Progress(progress).task("reading", total=0) as task:
        documents = Documents(reader.report, more={name: [] for name in more})
        for batch in reader:
            documents.texts += batch.texts
            if batch.ids is not None:
                documents.ids = documents.ids or []
                documents.ids += batch.ids
            if batch.labels is not None:
                documents.labels = documents.labels or []
                documents.labels += batch.labels
            for name, values in zip(more, batch.more, strict=True):
                documents.more[name] += values
            task.advance(len(batch.texts))
        documents.report = reader.report
    return documents

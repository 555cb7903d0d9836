"""Documents of the files named on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from textmix.corpus.readers import DocumentReader, ReadReport
from textmix.inference.progress import Progress


@dataclass
class Documents:
    """Texts with their ids and labels, and what there is to say about the reading."""

    report: ReadReport
    texts: list[str] = field(default_factory=list)
    ids: list[str] | None = None
    labels: list[str] | None = None


def read_documents(
    files: Sequence[str], columns: Mapping[str, str | None], *, progress: bool | None = None
) -> Documents:
    """Read all of them, with progress on a terminal; InputError if that is not possible."""
    given: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    with DocumentReader(files, **given) as reader, Progress(progress).task("reading", total=0) as task:
        documents = Documents(reader.report)
        for batch in reader:
            documents.texts += batch.texts
            if batch.ids is not None:
                documents.ids = documents.ids or []
                documents.ids += batch.ids
            if batch.labels is not None:
                documents.labels = documents.labels or []
                documents.labels += batch.labels
            task.advance(len(batch.texts))
        documents.report = reader.report
    return documents

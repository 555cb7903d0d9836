"""`textmix evaluate`: a saved run against known labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from textmix.cli.console import make_console, plural, say, show_scores
from textmix.cli.reading import ReadDocuments, read_documents
from textmix.clustering import Clustering, load
from textmix.corpus.saved_files import check_regular
from textmix.metrics import agreement
from textmix.results.run import ASSIGNMENTS_FILE
from textmix.results.tables import escape_formula


def evaluate_run(run: Path, file: str | None, columns: Mapping[str, str | None]) -> None:
    """Print the scores of a run against the labels it kept, or against those of a file."""
    clustering = load(run)
    console = make_console()
    if file is None:
        labels, source = kept_labels(clustering, columns["label"], run)
    else:
        if columns["label"] is None:
            raise ValueError(f'say with --label which column of "{file}" holds the labels')
        documents = read_documents([file], _with_text_column(columns))
        for sentence in [*documents.report.describe(), *documents.report.notes]:
            say(console, sentence, style="yellow")
        labels = match_labels(clustering, documents, by_id=columns["id"] is not None)
        source = f'column "{columns["label"]}" of {file}'
    show_scores(console, agreement(labels, clustering.labels), source)


def kept_labels(clustering: Clustering, wanted: str | None, run: Path) -> tuple[Sequence[str], str]:
    """The labels that were read beside the texts, and the column they came from."""
    kept = clustering.info.get("input", {}).get("columns", {}).get("label")
    labels: Sequence[str] | None = clustering.corpus.labels
    if not clustering.has_texts and kept is not None:
        check_regular(run / ASSIGNMENTS_FILE)
        labels = read_documents([str(run / ASSIGNMENTS_FILE)], {"text": "label", "label": "label"}).labels
    if labels is None:
        raise ValueError("this run kept no labels; name a file that has them: textmix evaluate RUN FILE --label COLUMN")
    if wanted is not None and kept is not None and wanted.casefold() != kept.casefold():
        raise ValueError(f'this run kept the labels of column "{kept}", not of "{wanted}"; name a file that has them')
    return labels, f'column "{kept}"' if kept else "the labels kept with the run"


def match_labels(clustering: Clustering, documents: ReadDocuments, *, by_id: bool) -> Sequence[str]:
    """A label for each clustered text, "" where there is none."""
    assert documents.labels is not None
    if not by_id:
        n_rows, n_texts = len(documents.labels), clustering.labels.size
        if n_rows != n_texts:
            raise ValueError(
                f"the file has {plural(n_rows, 'row')}, the run {plural(n_texts, 'text')}: they do not match "
                "by order; match them by id with --id, if the run was clustered with --id"
            )
        return documents.labels
    if not clustering.has_texts:
        raise ValueError("a run with counts on disk keeps no ids; leave --id out: rows are matched by their order")
    if clustering.corpus.ids is None or documents.ids is None:
        raise ValueError("this run was clustered without --id, so rows cannot be matched by id; leave --id out")
    repeated = [id for id, number in Counter(documents.ids).items() if number > 1]
    if repeated:
        raise ValueError(f'the id "{repeated[0]}" is in the file more than once; ids must differ')
    known = dict(zip(documents.ids, documents.labels, strict=True))
    # Ids may have come through a CSV file that textmix wrote, on either side.
    escaped = {escape_formula(id): label for id, label in known.items()}
    labels = [known.get(id, escaped.get(escape_formula(id))) for id in clustering.corpus.ids]
    if all(label is None for label in labels):
        raise ValueError("no id of the file is in the run; is --id the same column as when it was clustered?")
    return [label or "" for label in labels]


def _with_text_column(columns: Mapping[str, str | None]) -> dict[str, str | None]:
    """Columns for the reader, which always reads a text column: here the label column will do."""
    return {**columns, "text": columns["label"]}

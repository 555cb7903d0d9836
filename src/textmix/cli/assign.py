"""`textmix assign`: new texts into the clusters of a saved run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from textmix.cli.reading import ReadDocuments, read_documents
from textmix.clustering import Clustering, load
from textmix.results.mixture import DocumentScores
from textmix.results.run import document_columns, number_rows
from textmix.results.tables import Column, check_csv_path, replace_csv, write_csv


def assign_files(
    run: Path,
    files: Sequence[str],
    columns: Mapping[str, str | None],
    out: Path | None,
    *,
    vectors: str | None = None,
    escape_formulas: bool,
) -> None:
    """Write a CSV row for each text: its cluster, how probable that is, whether the text fits nowhere."""
    if out is not None:
        check_csv_path(out)
    clustering = load(run)
    documents = read_documents(files, columns, vectors=vectors)
    for sentence in [*documents.report.describe(), *documents.report.notes]:
        print(f"textmix: {sentence}", file=sys.stderr)
    table = assignment_table(clustering, documents)
    if out is None:
        write_csv(sys.stdout, table, escape_formulas=escape_formulas)
    else:
        replace_csv(out, table, escape_formulas=escape_formulas)


def assignment_table(clustering: Clustering, documents: ReadDocuments) -> list[Column]:
    """As the table of the run: row, id (if there are ids), cluster, name, probability, outlier, outlier_score, text."""
    found = clustering.assign(documents.texts, vectors=documents.vectors)
    scores = DocumentScores(found.probabilities, found.outlier_scores)
    names = [cluster.name for cluster in clustering.clusters]
    columns = document_columns(documents.ids, None, found.labels, found.outliers, scores, documents.texts, names)
    return number_rows(0, columns)

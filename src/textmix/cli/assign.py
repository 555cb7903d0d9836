"""`textmix assign`: new texts into the clusters of a saved run."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from textmix.cli.reading import Documents, read_documents
from textmix.clustering import Clustering, load
from textmix.corpus.files import replacing
from textmix.results.mixture import DocumentScores
from textmix.results.run import document_columns, number_rows
from textmix.results.tables import Column, write_csv


def assign_files(
    run: Path, files: Sequence[str], columns: Mapping[str, str | None], out: Path | None, *, escape_formulas: bool
) -> None:
    """Write a CSV row for each text: its cluster, how probable that is, whether the text fits nowhere."""
    if out is not None:
        _check_file(out)
    clustering = load(run)
    documents = read_documents(files, columns)
    for sentence in [*documents.report.describe(), *documents.report.notes]:
        print(f"textmix: {sentence}", file=sys.stderr)
    table = assignment_table(clustering, documents)
    if out is None:
        write_csv(sys.stdout, table, escape_formulas=escape_formulas)
        return
    _replace_file(out, table, escape_formulas)


def assignment_table(clustering: Clustering, documents: Documents) -> list[Column]:
    """As the table of the run: row, id (if there are ids), cluster, name, probability, outlier, outlier_score, text."""
    found = clustering.assign(documents.texts)
    scores = DocumentScores(found.probabilities, found.outlier_scores)
    names = [cluster.name for cluster in clustering.clusters]
    columns = document_columns(documents.ids, None, found.labels, found.outliers, scores, documents.texts, names)
    return number_rows(0, columns)


def _check_file(path: Path) -> None:
    """Raise ValueError, before the work, if there can be no such file."""
    if path.is_dir():
        raise ValueError(f'"{path}" is a folder; name a file to write to')
    if not path.parent.is_dir():
        raise ValueError(f'there is no folder "{path.parent}" to write "{path.name}" to')
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ValueError(f'"{path}" cannot be written: no permission to write to "{path.parent}"')


def _replace_file(path: Path, table: Sequence[Column], escape_formulas: bool) -> None:
    """Write a file that is whole or not there."""
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe
        with open(path, "w", encoding="utf-8", newline="") as stream:
            write_csv(stream, table, escape_formulas=escape_formulas)
        return
    with replacing(path) as file:
        write_csv(codecs.getwriter("utf-8")(file), table, escape_formulas=escape_formulas)

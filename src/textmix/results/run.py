"""A finished run: what its files hold, and reading its texts back."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus import Corpus, Tokenizer
from textmix.corpus.files import Record, describing_damage, load_record, save_record
from textmix.corpus.saved_files import inner_folder
from textmix.corpus.times import Times
from textmix.results.clusters import Cluster
from textmix.results.levels import Level, level_columns
from textmix.results.mixture import DocumentScores, FittedMixture
from textmix.results.tables import Column, read_parquet, save_csv, save_parquet
from textmix.vectors import OwnVectors

if TYPE_CHECKING:
    from textmix.corpus.readers import ReadReport

CLUSTERS_FILE = "clusters.csv"
ASSIGNMENTS_FILE = "assignments.csv"
TEXTS_FILE = "assignments.parquet"
TRACE_FILE = "trace.csv"
MODEL_FOLDER = "model"
CORPUS_FOLDER = "corpus"
VECTORS_FOLDER, VECTORS_KIND, VECTORS_VERSION = "vectors", "vectors", 1  # what makes vectors of new texts
COUNTS, ON_DISK = "counts", "on disk"  # the entry of run.json that a run has whose counts were never in memory

_PACKAGES = ("textmix", "numpy", "scipy", "numba", "scikit-learn", "duckdb")


@dataclass(frozen=True)
class Run:
    """All that is saved of a clustering."""

    mixture: FittedMixture
    corpus: Corpus
    texts: Sequence[str]
    clusters: Sequence[Cluster]
    outliers: NDArray[np.bool_]
    scores: DocumentScores
    own_vectors: OwnVectors | None = None  # where vectors were made from the collection
    levels: Sequence[Level] = ()  # above the clusters, coarse to fine

    def write_files(self, folder: Path, *, escape_formulas: bool = True) -> None:
        """Write every file of the run, but run.json."""
        self.corpus.save(folder / CORPUS_FOLDER)
        self.mixture.save(folder / MODEL_FOLDER)
        if self.own_vectors is not None:
            record = Record(dict(self.own_vectors.arrays()), {}, {})
            save_record(folder / VECTORS_FOLDER, VECTORS_KIND, VECTORS_VERSION, record)
        assignments = self.assignments()
        save_csv(folder / ASSIGNMENTS_FILE, assignments, escape_formulas=escape_formulas)
        save_parquet(folder / TEXTS_FILE, assignments)
        save_csv(folder / CLUSTERS_FILE, cluster_columns(self.clusters, self.levels), escape_formulas=escape_formulas)
        save_csv(folder / TRACE_FILE, trace_columns(self.mixture.trace))

    def assignments(self) -> list[Column]:
        """A row a document, numbered from 1."""
        corpus, labels = self.corpus, self.mixture.labels
        names = [cluster.name for cluster in self.clusters]
        columns = document_columns(
            *(corpus.ids, corpus.labels, labels, self.outliers, self.scores, self.texts, names, corpus.times),
            levels=self.levels,
        )
        return number_rows(0, columns)


def count_documents(corpus: Corpus) -> dict[str, Any]:
    """What run.json says about the documents."""
    return {
        "n_documents": corpus.n_documents,
        "n_without_words": int(np.count_nonzero(corpus.empty_documents)),
        "n_words": corpus.n_words,
        "n_tokens": corpus.n_tokens,
    }


def describe_run(
    mixture: FittedMixture, tokenizer: Tokenizer | None, documents: Mapping[str, Any], outliers: NDArray[np.bool_]
) -> dict[str, Any]:
    """What run.json says about a clustering."""
    return {
        "settings": {
            "model": mixture.estimator,
            "parameters": mixture.parameters,
            "tokenizer": None if tokenizer is None else tokenizer.settings(),
        },
        "seed": mixture.parameters.get("random_state"),
        "versions": installed_versions(),
        "documents": dict(documents),
        "result": {
            "n_clusters": int(mixture.cluster_sizes.size),
            "known_clusters": mixture.known_clusters,
            "n_outliers": int(np.count_nonzero(outliers)),
            "inference": mixture.inference,
            "n_sweeps": mixture.n_sweeps,
            "converged": mixture.converged,
            "log_joint": mixture.log_joint,
            "log_joint_trace": summarise_trace(mixture.trace.get("log_joint")),
        },
    }


def describe_input(report: ReadReport, columns: Mapping[str, str | None]) -> dict[str, Any]:
    """What run.json says about the files that were read."""
    return {
        "files": report.files,
        "columns": {**columns, "text": report.text_column},
        "n_rows": report.n_rows,
        "n_skipped": report.n_skipped,
        "reasons": report.reasons,
        "skipped": [asdict(row) for row in report.skipped],
    }


def number_rows(first: int, columns: Sequence[Column]) -> list[Column]:
    """The columns of the documents first, first + 1, … with their row before them, which counts from 1."""
    n_rows = len(columns[0].values)
    return [Column("row", "BIGINT", range(first + 1, first + 1 + n_rows)), *columns]


def document_columns(
    ids: Sequence[str] | None,
    known_labels: Sequence[str] | None,
    labels: NDArray[Any],
    outliers: NDArray[np.bool_],
    scores: DocumentScores,
    texts: Sequence[str],
    names: Sequence[str] | None = None,
    times: Times | None = None,
    levels: Sequence[Level] = (),
) -> list[Column]:
    """What there is to say about each document.

    Its id, known label, time, the name of its cluster and its groups at the levels above, where there are any.
    """
    columns = []
    if ids is not None:
        columns.append(Column("id", "VARCHAR", ids))
    if known_labels is not None:
        columns.append(Column("label", "VARCHAR", known_labels))
    if times is not None:
        columns.append(time_column(times))
    columns.append(Column("cluster", "BIGINT", labels))
    if names is not None:
        columns.append(name_column(labels, names))
    return [
        *columns,
        *level_columns(levels, labels),
        Column("probability", "DOUBLE", scores.probabilities),
        Column("outlier", "BOOLEAN", outliers),
        Column("outlier_score", "DOUBLE", scores.outlier_scores),
        Column("text", "VARCHAR", texts),
    ]


def time_column(times: Times) -> Column:
    """Times as ISO 8601, empty where there is none."""
    written = np.datetime_as_string(times, unit="s", timezone="UTC").astype(object)
    written[np.isnat(times)] = ""
    return Column("time", "VARCHAR", written)


def name_column(labels: NDArray[Any], names: Sequence[str]) -> Column:
    """The name of the cluster of each document, empty where it has none."""
    return Column("name", "VARCHAR", np.array([*names, ""], dtype=object)[labels])


def cluster_columns(clusters: Sequence[Cluster], levels: Sequence[Level] = ()) -> list[Column]:
    """One row per cluster: its groups at the levels above, its most distinctive words, and its most typical text."""
    return [
        Column("cluster", "BIGINT", [cluster.index for cluster in clusters]),
        Column("name", "VARCHAR", [cluster.name for cluster in clusters]),
        Column("size", "BIGINT", [cluster.size for cluster in clusters]),
        Column("share", "DOUBLE", [cluster.share for cluster in clusters]),
        *_stability_column(clusters),
        *_known_column(clusters),
        *level_columns(levels, np.arange(len(clusters), dtype=np.int32)),
        Column("words", "VARCHAR", [cluster.join_words() for cluster in clusters]),
        Column("example", "VARCHAR", [next(iter(cluster.examples), "") for cluster in clusters]),
    ]


def _stability_column(clusters: Sequence[Cluster]) -> list[Column]:
    if all(cluster.stability is None for cluster in clusters):
        return []
    return [Column("stability", "DOUBLE", [cluster.stability for cluster in clusters])]


def _known_column(clusters: Sequence[Cluster]) -> list[Column]:
    if not any(cluster.known for cluster in clusters):
        return []
    return [Column("known", "BOOLEAN", [cluster.known for cluster in clusters])]


def trace_columns(trace: dict[str, NDArray[Any]]) -> list[Column]:
    """A row a sweep, numbered from 1."""
    n_sweeps = len(next(iter(trace.values()), ()))
    columns = [Column("sweep", "BIGINT", range(1, n_sweeps + 1))]
    for name, values in trace.items():
        columns.append(Column(name, "BIGINT" if values.dtype.kind in "iu" else "DOUBLE", values))
    return columns


def read_texts(folder: Path, n_documents: int) -> list[str]:
    """The texts of a saved run."""
    path = folder / TEXTS_FILE
    rows = read_parquet(path, ["text"], most=n_documents + 1)
    if len(rows) != n_documents:
        n_rows = "more" if len(rows) > n_documents else f"{len(rows):,}"
        raise ValueError(f"{path} has {n_rows} rows; the run has {n_documents:,} texts; cluster again")
    texts = [text for (text,) in rows]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{path} is damaged (not all its texts are texts); cluster again")
    return texts


def read_own_vectors(folder: Path, n_words: int, n_dimensions: int) -> OwnVectors:
    """What makes vectors from the collection itself, of a run that has such vectors."""
    inner = inner_folder(folder, VECTORS_FOLDER)
    arrays = load_record(inner, VECTORS_KIND, VECTORS_VERSION).arrays
    with describing_damage(inner, "set of vectors"):
        own = OwnVectors.from_arrays(arrays)
    if own.idf.size != n_words or own.n_dimensions != n_dimensions:
        raise ValueError(f'the vectors, the model and the corpus in "{folder}" do not belong together; cluster again')
    return own


def installed_versions() -> dict[str, str | None]:
    """The versions of what the result may depend on."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return versions


def summarise_trace(values: NDArray[Any] | None) -> dict[str, float] | None:
    """First, last and greatest value of a trace; None if there is none."""
    if values is None or values.size == 0:
        return None
    return {"first": float(values[0]), "last": float(values[-1]), "greatest": float(values.max())}

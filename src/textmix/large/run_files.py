"""The files of a large run, written while its texts are read once more: at no time are they all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textmix.corpus.files import flush
from textmix.corpus.shards import ShardCounts
from textmix.large.disk_corpus import DiskCorpus
from textmix.large.work_folder import ScoreFiles
from textmix.results.clusters import N_EXAMPLES, list_clusters
from textmix.results.mixture import DocumentScorer, FittedMixture
from textmix.results.run import (
    ASSIGNMENTS_FILE,
    CLUSTERS_FILE,
    CORPUS_FOLDER,
    COUNTS,
    MODEL_FOLDER,
    ON_DISK,
    TEXTS_FILE,
    TRACE_FILE,
    cluster_columns,
    describe_run,
    document_columns,
    number_rows,
    trace_columns,
)
from textmix.results.tables import save_csv, write_csv
from textmix.results.typical import N_OUTLIERS, Examples, KeptExamples, Typicality
from textmix.results.words import ClusterWords

if TYPE_CHECKING:
    from textmix.corpus.readers import Batch

_NONE_IDENTICAL = np.empty(0, np.int32)


class Scorers(NamedTuple):
    """All that scores the documents of a finished mixture; threads share it."""

    documents: DocumentScorer
    typicality: Typicality
    n_words: int

    @classmethod
    def of(cls, mixture: FittedMixture) -> Scorers:
        """Those of a mixture without identical documents."""
        counts = mixture.cluster_word_counts
        return cls(mixture.scorer(), Typicality(ClusterWords(counts, mixture.beta)), counts.shape[1])


def score_shard(shard: ShardCounts, scorers: Scorers, labels: NDArray[np.int32]) -> NDArray[np.float32]:
    """A step of an engine: probability, outlier score and typicality, a row each, of the documents of a shard."""
    entries = (shard.counts, shard.words.view(np.int32), shard.row_starts)
    counts = csr_array(entries, shape=(labels.size, scorers.n_words))
    labels = np.ascontiguousarray(labels)
    scores = scorers.documents.score(counts, labels, _NONE_IDENTICAL)
    typicality = scorers.typicality.score(counts, labels)
    return np.stack([scores.probabilities, scores.outlier_scores, typicality]).astype(np.float32)


class KnownLabels:
    """The labels of documents that pass by, each kept as a number."""

    def __init__(self, n_documents: int) -> None:
        self._numbers: dict[str, int] = {}
        self._of_documents = np.zeros(n_documents, np.int32)

    def add(self, first: int, labels: list[str]) -> None:
        """Take the labels of the documents first, first + 1, …."""
        numbers = self._numbers
        self._of_documents[first : first + len(labels)] = [numbers.setdefault(name, len(numbers)) for name in labels]

    def __iter__(self) -> Iterator[str]:
        names = list(self._numbers)
        return (names[number] for number in self._of_documents)


class Written(NamedTuple):
    """What is kept of the texts that were written: examples, and the labels that stood beside them, if any did."""

    examples: KeptExamples
    known_labels: KnownLabels | None


@dataclass(frozen=True)
class LargeRun:
    """All that is saved of a clustering whose counts are on disk."""

    mixture: FittedMixture
    corpus: DiskCorpus
    outliers: NDArray[np.bool_]
    scores: ScoreFiles
    escape_formulas: bool = True  # in CSV

    def write_files(self, folder: Path, batches: Iterable[Batch], tick: Callable[[int], None]) -> Written:
        """Write every file of the run, but run.json; the batches are those that were counted, read once more."""
        self.corpus.without_documents.save(folder / CORPUS_FOLDER)
        self.mixture.save(folder / MODEL_FOLDER)
        save_csv(folder / TRACE_FILE, trace_columns(self.mixture.trace))
        written = self._write_assignments(folder / ASSIGNMENTS_FILE, batches, tick)
        written.examples.save(folder)
        clusters = list_clusters(
            self.mixture.cluster_sizes,
            ClusterWords(self.mixture.cluster_word_counts, self.mixture.beta, self.corpus.vocabulary),
            written.examples.clusters,
        )
        save_csv(folder / CLUSTERS_FILE, cluster_columns(clusters), escape_formulas=self.escape_formulas)
        return written

    def manifest(self) -> dict[str, Any]:
        """What run.json says about the clustering itself."""
        documents = {
            "n_documents": self.corpus.n_documents,
            "n_without_words": self.corpus.n_empty_documents,
            "n_words": self.corpus.n_words,
            "n_tokens": self.corpus.n_tokens,
        }
        return {
            **describe_run(self.mixture, self.corpus.tokenizer, documents, self.outliers),
            COUNTS: ON_DISK,
            "left_out": [TEXTS_FILE, f"counts in {CORPUS_FOLDER}/"],
        }

    def _write_assignments(self, path: Path, batches: Iterable[Batch], tick: Callable[[int], None]) -> Written:
        typical = Examples(self.mixture.cluster_sizes.size, N_EXAMPLES)
        strangest = Examples(1, N_OUTLIERS)
        known_labels = None
        first, n_documents = 0, self.corpus.n_documents
        with open(path, "w", encoding="utf-8", newline="") as file:
            for batch in batches:
                last = first + len(batch.texts)
                if last > n_documents:
                    raise ValueError(_other_rows("more", n_documents))
                labels, outliers = self.mixture.labels[first:last], self.outliers[first:last]
                scores, typicality = self.scores.read(first, last)
                columns = document_columns(batch.ids, batch.labels, labels, outliers, scores, batch.texts)
                rows = number_rows(first, columns)
                write_csv(file, rows, header=first == 0, escape_formulas=self.escape_formulas)
                typical.add(first, batch.texts, labels, typicality)
                strangest.add(first, batch.texts, np.where(outliers, 0, -1), scores.outlier_scores)
                if batch.labels is not None:
                    known_labels = known_labels or KnownLabels(n_documents)
                    known_labels.add(first, batch.labels)
                tick(len(batch.texts))
                first = last
            flush(file)
        if first < n_documents:
            raise ValueError(_other_rows(f"{first:,}", n_documents))
        return Written(KeptExamples(typical.lists(), strangest.lists()[0]), known_labels)


def _other_rows(found: str, expected: int) -> str:
    return f"the files have {found} rows now, and had {expected:,} when they were counted: they have changed"

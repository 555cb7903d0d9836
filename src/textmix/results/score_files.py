"""What is said of each document of a large run, in a file for each partition until all of it is written."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.files import replacing
from textmix.corpus.partition_files import PartitionCounts
from textmix.corpus.partitions import partition_size
from textmix.results.mixture import DocumentScorer, DocumentScores, FittedMixture
from textmix.results.typical import Typicality

OWN_FILE = re.compile(r"scores-\d+\.(f4|tmp)")

_ROWS = 3  # probability, outlier score, typicality
_MOST = 1.0 + 1e-6  # a probability as 4-byte floats have it
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
        return cls(mixture.scorer(), Typicality(counts, mixture.beta), counts.shape[1])


def score_partition(partition: PartitionCounts, scorers: Scorers, labels: NDArray[np.int32]) -> NDArray[np.float32]:
    """A step of an engine: probability, outlier score and typicality, a row each, of the documents of a partition."""
    entries = (partition.counts, partition.words.view(np.int32), partition.row_starts)
    counts = scipy.sparse.csr_array(entries, shape=(labels.size, scorers.n_words))
    labels = np.ascontiguousarray(labels)
    scores = scorers.documents.score(counts, labels, _NONE_IDENTICAL)
    typicality = scorers.typicality.score(counts, labels)
    return np.stack([scores.probabilities, scores.outlier_scores, typicality]).astype(np.float32)


class ScoreFiles:
    """The scores of all documents: a file for each partition, which is whole or not there."""

    def __init__(self, folder: Path, n_documents: int, n_partitions: int) -> None:
        self._folder = folder
        self._n_documents = n_documents
        self._n_partitions = n_partitions

    def missing(self) -> list[int]:
        """The partitions that have no scores yet."""
        return [partition for partition in range(self._n_partitions) if not self._is_whole(partition)]

    def write(self, partition: int, scores: NDArray[np.float32]) -> None:
        """Keep the scores of a partition."""
        path = self._path(partition)
        with replacing(path, path.with_suffix(".tmp")) as file:
            file.write(np.ascontiguousarray(scores).data)

    def read(self, first: int, last: int) -> tuple[DocumentScores, NDArray[np.float64]]:
        """The scores and the typicality of the documents first … last − 1, in their order, once none is missing."""
        values = np.empty((_ROWS, last - first))
        for partition, scores in enumerate(self._mapped):
            offset = (partition - first) % self._n_partitions
            own = values[:, offset :: self._n_partitions]
            start = (first + offset) // self._n_partitions
            own[:] = scores[:, start : start + own.shape[1]]
        probabilities, outlier_scores, typicality = values
        return DocumentScores(probabilities, outlier_scores), typicality

    @cached_property
    def _mapped(self) -> list[NDArray[np.float32]]:
        return [
            np.memmap(self._path(partition), np.float32, "r", shape=(_ROWS, self._size(partition)))
            for partition in range(self._n_partitions)
        ]

    def _is_whole(self, partition: int) -> bool:
        """Whether there are scores that can be; others are made anew. Costs a look at 12 bytes a document."""
        path = self._path(partition)
        if path.is_symlink() or not path.is_file() or path.stat().st_size != _ROWS * 4 * self._size(partition):
            return False
        probabilities, _, typicality = np.fromfile(path, np.float32).reshape(_ROWS, -1)
        unlikely = (probabilities < 0) | (probabilities > _MOST) | ~np.isfinite(typicality)
        return not unlikely.any()  # without words a document has no probability: NaN

    def _size(self, partition: int) -> int:
        return partition_size(self._n_documents, self._n_partitions, partition)

    def _path(self, partition: int) -> Path:
        return self._folder / f"scores-{partition:04}.f4"

"""Small sets of unit vectors with words, and a sampler's state on them, for the ladder of kernels/directions.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from textmix.kernels.directions import DocumentWords, sweep_block
from textmix.kernels.elementary import make_scratch
from textmix.models.collapsed_directions import collapsed_directions, list_words, sum_directions, sum_words

GREEDY = -1.0  # in place of a uniform number: the most probable slot


class Directions(NamedTuple):
    """Unit vectors and words, and the model of their clusters."""

    vectors: np.ndarray
    kappa: float
    alpha: float
    n_clusters: int
    counts: np.ndarray  # (document, word)
    beta: float

    @property
    def model(self) -> tuple[float, float, int, np.ndarray, float]:
        """What the reference takes after the vectors."""
        return self.kappa, self.alpha, self.n_clusters, self.counts, self.beta

    def without_first(self) -> Directions:
        """The same without the first document."""
        return self._replace(vectors=self.vectors[1:], counts=self.counts[1:])

    def in_single_precision(self) -> Directions:
        """The same with vectors of four bytes per number."""
        return self._replace(vectors=self.vectors.astype(np.float32))


def to_unit_length(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their lengths."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def random_directions(
    seed: int,
    n_documents: int,
    n_dimensions: int,
    kappa: float,
    alpha: float,
    n_clusters: int,
    noise: float = 0.7,
    length: float = 4.0,
    beta: float = 0.3,
) -> Directions:
    """Vectors around three directions, of which each has words of its own; some documents have no words.

    `noise` is the length of what is added to the directions, `length` how many words a document has in the mean.
    """
    rng = np.random.default_rng(seed)
    centres = to_unit_length(rng.normal(size=(3, n_dimensions)))
    topics = rng.integers(3, size=n_documents)
    added = noise * to_unit_length(rng.normal(size=(n_documents, n_dimensions)))
    shares = rng.dirichlet(np.full(8, 0.3), size=3)
    counts = np.array([rng.multinomial(rng.poisson(length), shares[topic]) for topic in topics])
    return Directions(to_unit_length(centres[topics] + added), kappa, alpha, n_clusters, counts, beta)


def _with_copies_and_opposites() -> Directions:
    """Vectors that occur twice, and sums that are 0 but for rounding."""
    few = random_directions(5, 4, 6, 30.0, 0.4, 4)
    return few._replace(vectors=np.vstack((few.vectors, few.vectors, -few.vectors)), counts=np.vstack([few.counts] * 3))


SETS = {
    "few dimensions": random_directions(1, 12, 4, 6.0, 0.5, 4),
    "many dimensions": random_directions(2, 12, 384, 400.0, 0.5, 5),
    "no words": random_directions(10, 12, 16, 20.0, 0.5, 4, length=0.0),
    "many words": random_directions(13, 12, 16, 20.0, 0.5, 4, length=70.0, beta=5.0),
    "words that hardly count": random_directions(14, 10, 8, 6.0, 0.5, 4, length=10.0, beta=1e40),
    "words that count for everything": random_directions(15, 10, 8, 6.0, 0.5, 4, length=10.0, beta=1e-40),
    "weak κ": random_directions(3, 10, 16, 0.3, 2.0, 3),
    "strong κ": random_directions(4, 10, 16, 3000.0, 1e-6, 4, noise=0.1),
    "copies and opposites": _with_copies_and_opposites(),
    "more clusters than documents": random_directions(6, 5, 8, 20.0, 1.3, 9),
    "one cluster": random_directions(7, 5, 8, 20.0, 0.5, 1),
    "one document": random_directions(8, 1, 8, 20.0, 0.5, 3),
    "two dimensions": random_directions(9, 10, 2, 4.0, 0.5, 4),
}

# Few enough documents to list all labels, and κ so weak and β so large that labels five sweeps apart correlate little.
TINY = {
    "few dimensions": random_directions(11, 5, 4, 2.5, 0.6, 3, length=3.0, beta=3.0),
    "many dimensions": random_directions(12, 4, 48, 10.0, 1.5, 4, noise=1.0, length=5.0, beta=4.0),
}


class DirectionState:
    """A sampler's state on a set of vectors and words."""

    def __init__(self, directions: Directions, labels: np.ndarray) -> None:
        self.vectors = directions.vectors
        self.labels = labels.astype(np.int32)
        self.model = collapsed_directions(directions.kappa, self.vectors.shape[1], directions.alpha)
        self.clusters = sum_directions(self.vectors, self.labels, self.model, directions.n_clusters)
        self.counts = scipy.sparse.csr_array(directions.counts)
        self.documents = list_words(self.counts)
        self.words = sum_words(self.counts, self.labels, directions.beta, directions.n_clusters)
        self.log_weights, self.scratch = np.empty(directions.n_clusters), make_scratch(directions.n_clusters)

    def visit(self, start: int, uniforms: np.ndarray) -> int:
        """Visit as many documents from `start` on as there are numbers, as one block; return how many have moved."""
        last = start + uniforms.size
        vectors, starts = self.vectors[start:last], self.documents.starts[start : last + 1]
        documents = DocumentWords(starts, self.documents.words, self.documents.counts)
        return sweep_block(
            *(vectors, documents, self.labels[start:last], vectors @ self.clusters.sums.T, vectors @ vectors.T),
            *(self.clusters, self.words, self.model, uniforms, self.log_weights, self.scratch),
        )

    def sweep(self, uniforms: np.ndarray, block_size: int) -> int:
        """Visit all documents in blocks; return how many have moved."""
        starts = range(0, self.labels.size, block_size)
        return sum(self.visit(start, uniforms[start : start + block_size]) for start in starts)


def random_labels(directions: Directions, seed: int) -> np.ndarray:
    """Labels such as a sampler may meet: some clusters of one document, some empty."""
    return np.random.default_rng(seed).integers(directions.n_clusters, size=len(directions.vectors))

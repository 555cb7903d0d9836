"""Words and vectors together say where a document belongs, once clusters are found.

    p(z | document) ∝ p(z | its words)^a · exp(b cos(x, S_z))

p(z | words) is the conditional of the Dirichlet-multinomial mixture, S_z the sum of the vectors of the cluster, the
document left out of both. A mixture that takes words for independent is far too sure, a cosine has no scale of its own:
a and b are those with which the labels that documents have are most probable. So probabilities are calibrated on these
labels, and a view that tells nothing about them weighs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from textmix.inference.scoring import PartitionScorer
from textmix.inference.votes import Votes
from textmix.kernels.counts import hash_rows
from textmix.models.collapsed_directions import collapsed_directions, log_marginal
from textmix.vectors.source import blocks

FITTED_CELLS = 1 << 20  # documents × clusters that the weights are fitted to, at the most
MAX_FITTED = 1024  # documents that the weights are fitted to
MAX_SCORED = 1024  # documents that are scored together
LEAST = 1e-3, 1e-3  # weights of words and of vectors
# Standard deviations of a normal prior on them. Where the views tell all labels, any larger weights would do as well.
LIKELY = 1.0, 20.0
LEAST_WORD_WEIGHT = 0.05  # where a score is given for each word
ALONE = 3e-3  # length of a sum that a document was taken out of, below which nothing but rounding is left
HASHED_UNITS = 2.0**20  # in which counts with fractions are told apart
_COLUMNS = 16  # dimensions that are summed together
_LOWEST = -200.0  # log of a probability by words: what is less is as good as this


class ViewWeights(NamedTuple):
    """How much words and vectors count: a and b."""

    words: float
    vectors: float


NOT_FITTED = ViewWeights(1.0, 1.0)


@dataclass(frozen=True)
class DocumentVectors:
    """Unit vectors of documents, or of a sample of them, as they are kept and saved; zeros where there is none."""

    rows: NDArray[np.int64]  # which documents, rising
    matrix: NDArray[np.float16]

    @property
    def n_dimensions(self) -> int:
        """Numbers of a vector."""
        return int(self.matrix.shape[1])

    def of(self, documents: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of some documents; zeros for one that has none here."""
        found = np.zeros((documents.size, self.n_dimensions), np.float32)
        if self.rows.size:
            places = np.minimum(np.searchsorted(self.rows, documents), self.rows.size - 1)
            has_vector = self.rows[places] == documents
            found[has_vector] = self.matrix[places[has_vector]]
        return found

    def sum_by_cluster(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float32]:
        """The sum of the vectors of each cluster, the same whatever the order of the documents.

        Numbers of 2 bytes are added up in 8, which makes no rounding error.
        """
        own = labels[self.rows]
        used = np.flatnonzero(own >= 0)
        members = scipy.sparse.csr_array((np.ones(used.size), (own[used], used)), shape=(n_clusters, self.rows.size))
        sums = np.empty((n_clusters, self.n_dimensions), np.float32)
        for columns in blocks(self.n_dimensions, _COLUMNS):  # only so many are in memory in 8 bytes at a time
            sums[:, columns] = members @ self.matrix[:, columns].astype(np.float64)
        return sums


def no_vectors(n_documents: int) -> DocumentVectors:
    """Those of documents that have words alone."""
    return DocumentVectors(np.arange(n_documents), np.empty((n_documents, 0), np.float16))


def cosines_with(
    vectors: NDArray[np.float32], sums: NDArray[np.float32], own: NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    """Cosines of documents with clusters; a document is taken out of the cluster that it is in, `own` (−1: none)."""
    products = (vectors @ sums.T).astype(np.float64)
    scales = np.sqrt(_squares(vectors))[:, np.newaxis] * np.sqrt(_squares(sums))
    cosines = np.divide(products, scales, out=products, where=scales > 0)
    cosines[scales == 0] = 0.0
    if own is not None:
        rows = np.flatnonzero((own >= 0) & vectors.any(axis=1))
        cosines[rows, own[rows]] = cosines_with_own(vectors[rows], sums[own[rows]], left_out=True)
    return np.asarray(np.clip(cosines, -1.0, 1.0, out=cosines))


def cosines_with_own(vectors: NDArray[np.float32], sums: NDArray[np.float32], *, left_out: bool) -> NDArray[np.float64]:
    """The cosine of each document with one sum, of its own cluster; 0 where either has no direction.

    `left_out`: a document is part of the sum and is taken out first.
    """
    products = np.einsum("ij,ij->i", vectors, sums, dtype=np.float64)
    squares, lengths = _squares(vectors), _squares(sums)
    if left_out:
        products -= squares
        lengths -= 2.0 * products + squares
    lengths = np.sqrt(np.maximum(lengths, 0.0))
    has_direction = (lengths >= (ALONE if left_out else np.finfo(np.float32).tiny)) & (squares > 0)
    cosines = np.zeros(squares.size)
    np.divide(products, lengths * np.sqrt(squares), out=cosines, where=has_direction)
    return np.clip(cosines, -1.0, 1.0, out=cosines)


def _squares(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Squared lengths: of documents not quite 1, since vectors are kept in two bytes per number."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


@dataclass(frozen=True)
class PooledScorer:
    """Conditionals given a finished partition by both views, which is held fixed."""

    words: PartitionScorer
    sizes: NDArray[np.int64]
    sums: NDArray[np.float32]  # of the vectors of each cluster
    weights: ViewWeights

    @property
    def block_size(self) -> int:
        """How many documents are scored at a time."""
        return min(self.words.block_size, MAX_SCORED)

    def probabilities(
        self,
        counts: scipy.sparse.csr_array,
        vectors: NDArray[np.float32],
        own: NDArray[np.int32] | None = None,
    ) -> NDArray[np.float64]:
        """Of each cluster and, in the last column, of a new one; NaN for a document without words and vector.

        Documents with a label, `own`, are left out of their cluster. For one that is alone there a new cluster means
        staying.
        """
        has_vector, n_clusters = np.asarray(vectors.any(axis=1)), self.sizes.size
        logs = self.log_words(counts, own) * self.weights.words
        logs[:, :n_clusters] += self.weights.vectors * cosines_with(vectors, self.sums, own)
        logs[has_vector, n_clusters] += self._log_uniform()
        if own is not None:
            alone = np.flatnonzero((own >= 0) & (np.append(self.sizes, 0)[own] == 1))
            # By words the new cluster's mass is in the own column already; the cosine there is 0.
            logs[alone, own[alone]] += np.where(has_vector[alone], self._log_uniform(), 0.0)
            logs[alone, n_clusters] = -np.inf
        unknown = (np.diff(counts.indptr) == 0) & ~has_vector
        logs[unknown] = np.nan
        return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))

    def log_words(self, counts: scipy.sparse.csr_array, own: NDArray[np.int32] | None) -> NDArray[np.float64]:
        """Logs of the conditionals by words, the last that of a new cluster; of no words, those of the prior."""
        found = np.empty((counts.shape[0], self.sizes.size + 1))
        for block in self.words.blocks(counts, own):
            with np.errstate(divide="ignore"):
                found[block.rows] = np.log(block.probabilities)
        found[np.diff(counts.indptr) == 0] = self._log_prior()
        return np.maximum(found, _LOWEST)

    def _log_prior(self) -> NDArray[np.float64]:
        """Logs of the probabilities of clusters, the last that of a new one, for a document without words."""
        prior = self.words.prior
        pseudo_counts = prior.pseudo_counts[np.minimum(np.arange(self.sizes.size), prior.pseudo_counts.size - 1)]
        new = prior.concentration + prior.pseudo_counts[-1] * max(prior.max_clusters - self.sizes.size, 0)
        weights = np.append(self.sizes + pseudo_counts, new)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(weights / weights.sum()))

    def blocks(
        self, counts: scipy.sparse.csr_array, vectors: DocumentVectors, own: NDArray[np.int32]
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Probabilities of the documents that the clusters are made of, block by block."""
        for first in range(0, own.size, self.block_size):
            rows = slice(first, min(first + self.block_size, own.size))
            yield rows, self.probabilities(counts[rows], vectors.of(np.arange(rows.start, rows.stop)), own[rows])

    def most_probable(self, counts: scipy.sparse.csr_array, vectors: NDArray[np.float32]) -> NDArray[np.int32]:
        """The most probable cluster of new documents; −1 for one without words and vector, or if there is none."""
        labels = np.full(counts.shape[0], -1, np.int32)
        if self.sizes.size == 0:
            return labels
        for first in range(0, labels.size, self.block_size):
            rows = slice(first, first + self.block_size)
            logs = self.log_words(counts[rows], None)[:, :-1] * self.weights.words
            logs += self.weights.vectors * cosines_with(vectors[rows], self.sums)
            known = (np.diff(counts[rows].indptr) > 0) | vectors[rows].any(axis=1)
            labels[rows][known] = np.argmax(logs, axis=1)[known]
        return labels

    def _log_uniform(self) -> float:
        """What a vector adds to the log weight of a new cluster: the density of a uniform direction."""
        if self.sums.shape[1] == 0:
            return 0.0
        model = collapsed_directions(self.weights.vectors, self.sums.shape[1], 1.0)
        lone, none = log_marginal(model, np.array([1.0, 0.0]))
        return float(lone - none)


def fit_weights(
    words: PartitionScorer,
    sizes: NDArray[np.int64],
    sums: NDArray[np.float32],
    counts: scipy.sparse.csr_array,
    labels: NDArray[np.int32],
    vectors: DocumentVectors,
    votes: Votes | None = None,
) -> ViewWeights:
    """The weights with which documents' labels are most probable, each document left out of its cluster.

    `sums`: of the vectors of each cluster. With votes, what these say of a document takes the place of its label: new
    documents then get probabilities of the same kind as those of the fit.
    """
    usable = vectors.rows[np.append(sizes, 0)[labels[vectors.rows]] > 1]
    if vectors.n_dimensions:
        usable = usable[vectors.of(usable).any(axis=1)]
    if votes is not None:
        usable = usable[np.isin(usable, votes.documents, assume_unique=True)]
    n_fitted = max(min(MAX_FITTED, FITTED_CELLS // max(sizes.size, 1)), 1)
    of_usable = counts[usable]
    scale = 1.0 if of_usable.data.dtype.kind in "iu" else HASHED_UNITS
    hashes = hash_rows(of_usable.indptr, of_usable.indices, of_usable.data, scale)
    if usable.size > n_fitted:  # different documents of the smallest hashes: a sample of any order of the documents
        chosen = usable[np.unique(hashes, return_index=True)[1][:n_fitted]]
    else:
        chosen = usable[np.argsort(hashes, kind="stable")]
    if chosen.size == 0 or sizes.size < 2:
        return ViewWeights(1.0, LEAST[1])
    own = labels[chosen]
    scorer = PooledScorer(words, sizes, sums, NOT_FITTED)
    by_words = scorer.log_words(counts[chosen], own)[:, :-1]
    features = np.stack((by_words, cosines_with(vectors.of(chosen), scorer.sums, own)))
    wanted = np.zeros(features.shape[1:])
    if votes is None:
        wanted[np.arange(own.size), own] = 1.0
    else:
        order = np.argsort(chosen)
        places = np.searchsorted(votes.documents, chosen[order])
        told = np.concatenate([block for _, block in votes.blocks(labels, sizes.size, places)])[:, :-1]
        wanted[order] = told / np.maximum(told.sum(axis=1, keepdims=True), 1e-300)
    at_wanted = np.einsum("vij,ij->vi", features, wanted)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logs = np.tensordot(weights, features, axes=1)
        largest = logs.max(axis=1)
        posterior = np.exp(logs - largest[:, np.newaxis])
        sums = posterior.sum(axis=1)
        expected = np.einsum("vij,ij->vi", features, posterior) / sums
        scaled = weights / LIKELY
        value = float((np.log(sums) + largest - weights @ at_wanted).sum() + scaled @ scaled / 2.0)
        return value, np.asarray((expected - at_wanted).sum(axis=1) + scaled / LIKELY)

    bounds = [(least, None) for least in LEAST]
    found = minimize(loss, np.array([0.5, 10.0]), jac=True, bounds=bounds, method="L-BFGS-B").x
    return ViewWeights(float(found[0]), float(found[1]))

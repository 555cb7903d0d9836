"""What documents, old or new, weigh in the clusters of a finished partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import gammaln

from textmix.inference.layout import make_clusters
from textmix.inference.perplexity import log_predictive, perplexity, sum_log_betas
from textmix.kernels.conditionals import conditional_probabilities
from textmix.kernels.state import ClusterStatistics, Documents, Model, Prior
from textmix.models.dirichlet_multinomial import dirichlet_multinomial

BLOCK_BYTES = 1 << 25  # of probabilities computed at a time


class ScoredBlock(NamedTuple):
    """Probabilities of a run of documents, and the logs of the weights they are made of."""

    rows: slice
    probabilities: NDArray[np.float64]
    log_existing: NDArray[np.float64]
    log_new: NDArray[np.float64]


def log_joint(
    cluster_sizes: NDArray[np.int64],
    cluster_word_counts: scipy.sparse.csr_array,
    beta: float | NDArray[np.float64],
    prior: Prior,
) -> float:
    """log p(labels, words) of a partition, from its clusters' numbers of documents and word counts.

    Σ_z [Σ_w (log Γ(n_z^w + β_w) − log Γ(β_w)) − log Γ(n_z + Σβ) + log Γ(Σβ)], and log p(labels) as `log_prior` of
    kernels/statistics.py has it.
    """
    counts, n_words = cluster_word_counts, cluster_word_counts.shape[1]
    betas = np.full(n_words, beta) if np.ndim(beta) == 0 else np.asarray(beta)
    own, total = betas[counts.indices], float(betas.sum())
    likelihood = float((gammaln(own + counts.data) - gammaln(own)).sum())
    likelihood -= float((gammaln(total + np.asarray(counts.sum(axis=1))) - gammaln(total)).sum())
    occupied = np.flatnonzero(cluster_sizes)
    sizes = cluster_sizes[occupied]
    if prior.concentration > 0.0:
        weights = sizes.size * np.log(prior.concentration) + float(gammaln(sizes).sum())
    else:
        pseudo_counts = prior.pseudo_counts[np.minimum(occupied, prior.pseudo_counts.size - 1)]
        weights = float((gammaln(pseudo_counts + sizes) - gammaln(pseudo_counts)).sum())
    return float(likelihood + weights - gammaln(prior.mass + sizes.sum()) + gammaln(prior.mass))


@dataclass(frozen=True)
class PartitionScorer:
    """Conditionals given a finished partition, which is held fixed."""

    clusters: ClusterStatistics
    model: Model
    prior: Prior

    @classmethod
    def from_statistics(
        cls,
        cluster_sizes: NDArray[np.int64],
        cluster_word_counts: scipy.sparse.csr_array,
        beta: float | NDArray[np.float64],
        prior: Prior,
        unit: float,
    ) -> PartitionScorer:
        """From each cluster's number of documents and word counts."""
        n_clusters, n_words = cluster_word_counts.shape
        by_word = cluster_word_counts.tocsc()
        counts = _in_units(by_word.data, unit)
        totals = np.zeros(max(n_clusters, 1), np.int64)
        np.add.at(totals, by_word.indices, counts)
        sizes, starts = np.asarray(cluster_sizes, dtype=np.int64), by_word.indptr.astype(np.int64)
        slots = by_word.indices.astype(np.uint32)
        clusters = make_clusters(sizes, totals, starts, counts, pair_slots=slots, n_clusters=n_clusters)
        model = dirichlet_multinomial(beta, n_words, unit, int(counts.max(initial=0)))
        return cls(clusters, model, prior)

    @property
    def block_size(self) -> int:
        """How many documents are scored at a time."""
        return max(BLOCK_BYTES // (8 * (int(self.clusters.counters[0]) + 1)), 1)

    def blocks(self, counts: scipy.sparse.csr_array, labels: NDArray[np.int32] | None = None) -> Iterator[ScoredBlock]:
        """Score documents block by block; those with a label are taken out of their cluster first."""
        for first in range(0, counts.shape[0], self.block_size):
            yield self.block(counts, labels, first, min(first + self.block_size, counts.shape[0]))

    def block(
        self, counts: scipy.sparse.csr_array, labels: NDArray[np.int32] | None, first: int, last: int
    ) -> ScoredBlock:
        """Score the documents first … last − 1; threads may do so side by side."""
        own = np.full(last - first, -1, np.int32) if labels is None else labels[first:last]
        result = ScoredBlock(
            slice(first, last),
            np.empty((last - first, int(self.clusters.counters[0]) + 1)),
            np.empty(last - first),
            np.empty(last - first),
        )
        documents = self._documents(counts[first:last])
        conditional_probabilities(
            documents,
            self.clusters._replace(labels=np.ascontiguousarray(own, dtype=np.int32)),
            self.model,
            self.prior,
            np.argsort(documents.lengths, kind="stable"),
            np.empty(self.clusters.sizes.size),
            *result[1:],
        )
        return result

    def most_probable(self, counts: scipy.sparse.csr_array) -> NDArray[np.int32]:
        """The most probable cluster of each new document, −1 for one without words, or if there is no cluster."""
        labels = np.full(counts.shape[0], -1, np.int32)
        if int(self.clusters.counters[0]) == 0:
            return labels
        for block in self.blocks(counts):
            known = ~np.isnan(block.log_existing)
            labels[block.rows][known] = np.argmax(block.probabilities[known, :-1], axis=1)
        return labels

    def log_densities(self, counts: scipy.sparse.csr_array, n_documents: int) -> NDArray[np.float64]:
        """log p(d | the partition) of new documents, as sequences of words; 0 for a document without words."""
        mass = n_documents + self.prior.mass
        densities = np.zeros(counts.shape[0])
        for block in self.blocks(counts):
            known = ~np.isnan(block.log_new)
            log_weight = np.logaddexp(block.log_existing[known], block.log_new[known])
            densities[block.rows][known] = log_weight - np.log(mass)
        return densities + self._log_in_empty_cluster(counts)

    def perplexity(self, counts: scipy.sparse.csr_array, labels: NDArray[np.int32] | None = None) -> float:
        """Of documents at the posterior means (X-DMM, eq. 3); those with a label are left out of their cluster."""
        n_words, betas = counts.shape[1], self.model.betas
        beta = float(betas[0]) if betas.size == 1 else betas
        max_count = int(self.clusters.pair_counts.max(initial=0))
        model = dirichlet_multinomial(beta, n_words, self.model.unit, max_count, at_mean=True)
        documents = self._documents(counts)
        own = np.full(counts.shape[0], -1, np.int32) if labels is None else labels
        log_p = log_predictive(documents, self.clusters._replace(labels=own), model, self.prior)
        n_others = int(self.clusters.sizes.sum()) - (labels is not None)
        return perplexity(
            log_p,
            int(np.count_nonzero(documents.lengths)),
            max(n_others, 0),
            float(counts.data.sum(dtype=np.float64)),
            sum_log_betas(counts.indices, counts.data, beta),
            model,
            self.prior,
        )

    def _log_in_empty_cluster(self, counts: scipy.sparse.csr_array) -> NDArray[np.float64]:
        """log p(d | an empty cluster) (GSDPMM, eq. IV.43)."""
        beta, vocabulary_beta = self.model.betas, self.model.vocabulary_beta
        beta = beta if beta.size == 1 else beta[counts.indices]
        gains = scipy.sparse.csr_array(
            (gammaln(beta + counts.data) - gammaln(beta), counts.indices, counts.indptr), shape=counts.shape
        )
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        words = np.asarray(gains.sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(words - (gammaln(vocabulary_beta + lengths) - gammaln(vocabulary_beta)))

    def _documents(self, counts: scipy.sparse.csr_array) -> Documents:
        in_units = _in_units(counts.data, self.model.unit)
        sums = np.concatenate(([0], np.cumsum(in_units)))
        return Documents(
            starts=counts.indptr.astype(np.int64),
            words=counts.indices.astype(np.uint32),
            counts=in_units,
            lengths=np.diff(sums[counts.indptr]),
        )


def _in_units(counts: NDArray[Any], unit: float) -> NDArray[np.int64]:
    """Counts above 0 as integers, rounded but never to zero, as the sampler takes them."""
    if unit == 1.0:
        return counts.astype(np.int64)
    return np.maximum(np.rint(counts / unit), 1.0).astype(np.int64)

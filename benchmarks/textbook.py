"""GSDMM as textbooks and most programs have it: every cluster, a product for every word occurrence.

The yardstick that speeds are given against. Compiled, on dense counts; nothing else is clever about it.
"""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse

LARGE, SMALL = 1e150, 1e-150


@numba.njit(cache=False, error_model="numpy")
def sweep(starts, tokens, labels, sizes, totals, counts, alpha, beta, uniforms):
    """Draw every document's cluster once (X-DMM, eq. 1, factor by factor); returns how many moved."""
    n_clusters, n_words = counts.shape
    weights, powers = np.empty(n_clusters), np.empty(n_clusters, np.int64)
    seen = np.zeros(n_words, np.int64)
    n_moved = 0
    for document in range(labels.size):
        first, last = starts[document], starts[document + 1]
        own = labels[document]
        sizes[own] -= 1
        totals[own] -= last - first
        for place in range(first, last):
            counts[own, tokens[place]] -= 1
        for cluster in range(n_clusters):
            weight, power = sizes[cluster] + alpha, 0
            for place in range(first, last):
                word = tokens[place]
                weight *= (counts[cluster, word] + beta + seen[word]) / (
                    totals[cluster] + n_words * beta + (place - first)
                )
                seen[word] += 1
                if weight < SMALL:
                    weight *= LARGE
                    power -= 1
            for place in range(first, last):
                seen[tokens[place]] = 0
            weights[cluster], powers[cluster] = weight, power
        highest = powers.max()
        total = 0.0
        for cluster in range(n_clusters):
            if powers[cluster] < highest:
                weights[cluster] = 0.0
            total += weights[cluster]
        target = uniforms[document] * total
        chosen = 0
        while chosen < n_clusters - 1 and target >= weights[chosen]:
            target -= weights[chosen]
            chosen += 1
        sizes[chosen] += 1
        totals[chosen] += last - first
        for place in range(first, last):
            counts[chosen, tokens[place]] += 1
        labels[document] = chosen
        n_moved += chosen != own
    return n_moved


class Textbook:
    """The sampler's state."""

    def __init__(self, counts: scipy.sparse.csr_array, n_clusters: int, alpha: float, beta: float, seed: int) -> None:
        self.alpha, self.beta = alpha, beta
        self.tokens = np.repeat(counts.indices, counts.data).astype(np.int64)
        self.starts = np.concatenate(([0], np.cumsum(counts.data)))[counts.indptr].astype(np.int64)
        self.rng = np.random.default_rng(seed)
        self.labels = self.rng.integers(n_clusters, size=counts.shape[0])
        self.sizes = np.bincount(self.labels, minlength=n_clusters).astype(np.int64)
        self.counts = np.zeros((n_clusters, counts.shape[1]), np.int32)
        np.add.at(self.counts, (np.repeat(self.labels, np.diff(self.starts)), self.tokens), 1)
        self.totals = self.counts.sum(axis=1, dtype=np.int64)

    def sweep(self) -> int:
        """One sweep; returns how many documents moved."""
        uniforms = self.rng.random(self.labels.size)
        return sweep(
            self.starts,
            self.tokens,
            self.labels,
            self.sizes,
            self.totals,
            self.counts,
            self.alpha,
            self.beta,
            uniforms,
        )

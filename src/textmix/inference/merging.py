"""A hierarchy over the clusters of a finished partition: greedy merges by the information that each loses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.ordering import order_by_size
from textmix.kernels.merging import WordWeights, add_rows, costs_of_merging, fill_terms

MAX_COMPARED = 2000  # clusters; those beyond, the smallest, are taken together first, unseen, at a cost of NaN
KEPT_APART = 1e12  # nats that merging two clusters costs beside the information lost where they are to be kept apart


class Merges(NamedTuple):
    """Which clusters are merged, in order; later merges lose more information, as a rule."""

    n_clusters: int  # before any merge
    pairs: NDArray[np.int32]  # (merge, 2): cluster pairs[i, 1] goes into pairs[i, 0], a number that stays in use
    costs: NDArray[np.float64]  # information lost, in nats

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """For each cluster the number, 0 … n_clusters − 1, of the one it is part of when so many are left."""
        if not min(1, self.n_clusters) <= n_clusters <= self.n_clusters:
            raise ValueError(f"{self.n_clusters} clusters can be merged to fewer, but not to {n_clusters}")
        into = np.arange(self.n_clusters)
        for one, other in self.pairs[: self.n_clusters - n_clusters][::-1]:  # from the last: a number's end is known
            into[other] = into[one]
        return np.unique(into, return_inverse=True)[1].astype(np.int32)

    def cut_labels(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int32]:
        """Labels by falling size when so many clusters are left; −1 stays."""
        return order_by_size(np.append(self.cut(n_clusters), np.int32(-1))[labels])


def merge_documents(
    counts: scipy.sparse.csr_array, labels: NDArray[np.int32], n_words: int, apart: NDArray[np.bool_] | None = None
) -> Merges:
    """Merge clusters of documents, numbered by falling size, of which each counts at most as much as n_words words.

    Clusters that are to be kept `apart` are merged with each other when there are no others left.
    """
    lengths = counts.sum(axis=1)
    weights = np.minimum(1.0, n_words / np.maximum(lengths, 1))
    known = np.flatnonzero(labels >= 0)
    shape = (int(labels.max(initial=-1)) + 1, labels.size)
    members = scipy.sparse.csr_array((weights[known], (labels[known], known)), shape=shape)
    merged = scipy.sparse.csr_array(members @ counts)
    merged.sort_indices()
    return merge_clusters(merged, apart)


def merge_clusters(word_weights: scipy.sparse.csr_array, apart: NDArray[np.bool_] | None = None) -> Merges:
    """Merge the clusters of a clusters × words matrix of weights, each time the two whose merging costs least.

    The cost is (n_a + n_b) times the Jensen-Shannon divergence of the two distributions of words, weighted by n_a and
    n_b, the clusters' sums of weights. All costs are made once, and those of a merged cluster anew: in all twice the
    number of clusters times the entries of the matrix. Costs grow with clusters' sizes, so that small ones are merged
    first, single documents with each other too.
    """
    if apart is None:
        apart = np.zeros(word_weights.shape[0], bool)
    if apart.size > MAX_COMPARED:
        return _merge_after_lumping(word_weights, apart)
    n_clusters, n_words = word_weights.shape
    apart = apart.copy()  # also true of what is merged from such
    n_entries = word_weights.nnz
    room = 2 * n_entries + n_words  # rows of live clusters have n_entries at most, a merged one n_words
    rows = lay_out(word_weights, word_weights.data, room)
    totals = np.asarray(word_weights.sum(axis=1), dtype=np.float64)
    own, own_terms = np.zeros(n_words), np.empty(n_words)
    costs = np.full((n_clusters, n_clusters), np.inf)

    def cost_with(cluster: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.empty(others.size)
        costs_of_merging(rows, totals, cluster, others, own, own_terms, found)
        found[apart[cluster] & apart[others]] += KEPT_APART
        return found

    for cluster in range(n_clusters - 1):
        others = np.arange(cluster + 1, n_clusters)
        costs[cluster, others] = costs[others, cluster] = cost_with(cluster, others)
    nearest = np.argmin(costs, axis=1) if n_clusters else np.empty(0, np.int64)
    alive, free = np.ones(n_clusters, bool), n_entries
    pairs, lost = np.empty((max(n_clusters - 1, 0), 2), np.int32), np.empty(max(n_clusters - 1, 0))
    for merge in range(n_clusters - 1):
        clusters = np.flatnonzero(alive)
        one = int(clusters[np.argmin(costs[clusters, nearest[clusters]])])
        other = int(nearest[one])
        one, other = min(one, other), max(one, other)
        pairs[merge], lost[merge] = (one, other), costs[one, other] - KEPT_APART * (apart[one] & apart[other])
        apart[one] |= apart[other]
        sizes = rows.ends - rows.starts
        if free + sizes[one] + sizes[other] > room:
            free = _close_gaps(clusters, rows)
        end = add_rows(rows, one, other, free)
        rows.starts[one], rows.ends[one], free = free, end, end
        totals[one] += totals[other]
        alive[other] = False
        costs[other, :] = costs[:, other] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != one]
        costs[one, others] = costs[others, one] = cost_with(one, others)
        stale = np.flatnonzero(alive & ((nearest == one) | (nearest == other)))
        stale = np.union1d(stale, [one])
        nearest[stale] = np.argmin(costs[stale], axis=1)
        nearer = others[costs[others, one] < costs[others, nearest[others]]]
        nearest[nearer] = one
    return Merges(n_clusters, pairs, lost)


def lay_out(matrix: scipy.sparse.csr_array, values: NDArray[Any], room: int) -> WordWeights:
    """The rows of a clusters × words matrix, with other values for its entries, and room for so many in all."""
    n_entries = matrix.nnz
    rows = WordWeights(
        matrix.indptr[:-1].astype(np.int64),
        matrix.indptr[1:].astype(np.int64),
        np.empty(room, np.int32),
        np.empty(room),
        np.empty(room),
    )
    rows.words[:n_entries], rows.values[:n_entries] = matrix.indices, values
    fill_terms(rows.values[:n_entries], rows.terms[:n_entries])
    return rows


def _merge_after_lumping(word_weights: scipy.sparse.csr_array, apart: NDArray[np.bool_]) -> Merges:
    """Merges of more clusters than can be compared: the smallest that need not be kept apart are taken together."""
    n_given = word_weights.shape[0]
    order = np.argsort(~apart, kind="stable")
    kept, rest = np.sort(order[: MAX_COMPARED - 1]), np.sort(order[MAX_COMPARED - 1 :])
    together = np.full(n_given, MAX_COMPARED - 1)
    together[kept] = np.arange(kept.size)
    lump = scipy.sparse.csr_array((np.ones(n_given), (together, np.arange(n_given))), shape=(MAX_COMPARED, n_given))
    lumped = scipy.sparse.csr_array(lump @ word_weights)
    lumped.sort_indices()
    merges = merge_clusters(lumped, np.append(apart[kept], apart[rest].any()))
    numbers = np.append(kept, rest[0]).astype(np.int32)
    first = np.column_stack((np.full(rest.size - 1, rest[0]), rest[1:])).astype(np.int32)
    costs = np.append(np.full(rest.size - 1, np.nan), merges.costs)
    return Merges(n_given, np.vstack((first, numbers[merges.pairs])), costs)


def _close_gaps(clusters: NDArray[np.int64], rows: WordWeights) -> int:
    """Move the rows of clusters that are left to the front; return the place after them."""
    free = 0
    for cluster in clusters[np.argsort(rows.starts[clusters], kind="stable")]:
        size = int(rows.ends[cluster] - rows.starts[cluster])
        old = slice(int(rows.starts[cluster]), int(rows.ends[cluster]))
        for entries in (rows.words, rows.values, rows.terms):
            entries[free : free + size] = entries[old]
        rows.starts[cluster], rows.ends[cluster] = free, free + size
        free += size
    return free

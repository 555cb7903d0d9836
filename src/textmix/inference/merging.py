"""A hierarchy over the clusters of a finished partition: greedy merges by the information that each loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import eigh

from textmix.inference.ordering import order_by_size
from textmix.inference.pooling import DocumentVectors
from textmix.kernels.merging import WordWeights, add_rows, costs_of_merging, fill_terms

MAX_COMPARED = 2000  # clusters; those beyond, the smallest, are taken together first, unseen, at a cost of NaN
N_DIRECTIONS = 100  # of words, beside vectors
WORD_SHARE = 0.5  # of the squared length of a document that is its words, where it has a vector too
KEPT_APART = 1e9  # what merging costs beside all else where clusters are to be kept apart; other costs are far lower


Tiers = tuple[NDArray[np.int32], ...]  # for each cluster the number of its group; a merged one has that of its first


class Merges(NamedTuple):
    """Which clusters are merged, in order; later merges lose more information, as a rule."""

    n_clusters: int  # before any merge
    pairs: NDArray[np.int32]  # (merge, 2): cluster pairs[i, 1] goes into pairs[i, 0], a number that stays in use
    costs: NDArray[np.float64]  # information lost, in nats; by both views the rise of the sum of squares

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

    def linkage(self) -> NDArray[np.float64]:
        """The merges as SciPy's hierarchy functions take them, the clusters being its observations."""
        nodes, totals = np.arange(self.n_clusters), np.ones(self.n_clusters)
        heights = np.maximum.accumulate(np.nan_to_num(self.costs))
        rows = np.empty((len(self.pairs), 4))
        for step, (one, other) in enumerate(self.pairs):
            totals[one] += totals[other]
            rows[step] = *sorted((nodes[one], nodes[other])), heights[step], totals[one]
            nodes[one] = self.n_clusters + step
        return rows


def merge_documents(
    counts: scipy.sparse.csr_array,
    labels: NDArray[np.int32],
    n_words: int,
    apart: NDArray[np.bool_] | None = None,
    tiers: Tiers = (),
) -> Merges:
    """Merge clusters of documents, numbered by falling size, of which each counts at most as much as n_words words.

    Clusters that are to be kept `apart` are merged with each other when there are no others left, and those of
    different groups of a tier when none of the same group are left.
    """
    lengths = counts.sum(axis=1)
    weights = np.minimum(1.0, n_words / np.maximum(lengths, 1))
    known = np.flatnonzero(labels >= 0)
    shape = (int(labels.max(initial=-1)) + 1, labels.size)
    members = scipy.sparse.csr_array((weights[known], (labels[known], known)), shape=shape)
    merged = scipy.sparse.csr_array(members @ counts)
    merged.sort_indices()
    return merge_clusters(merged, apart, tiers)


def merge_clusters(
    word_weights: scipy.sparse.csr_array, apart: NDArray[np.bool_] | None = None, tiers: Tiers = ()
) -> Merges:
    """Merge the clusters of a clusters × words matrix of weights, each time the two whose merging costs least.

    The cost is (n_a + n_b) times the Jensen-Shannon divergence of the two distributions of words, weighted by n_a and
    n_b, the clusters' sums of weights. All costs are made once, and those of a merged cluster anew: in all twice the
    number of clusters times the entries of the matrix. Costs grow with clusters' sizes, so that small ones are merged
    first, single documents with each other too.
    """
    if apart is None:
        apart = np.zeros(word_weights.shape[0], bool)
    if apart.size > MAX_COMPARED + (int(tiers[-1].max()) + 1 if tiers else 0):
        return _merge_after_lumping(
            apart, tiers, lambda into, lumped, above: merge_clusters(_add_rows(word_weights, into), lumped, above)
        )
    n_clusters, n_words = word_weights.shape
    n_entries = word_weights.nnz
    room = 2 * n_entries + n_words  # rows of live clusters have n_entries at most, a merged one n_words
    rows = lay_out(word_weights, word_weights.data, room)
    totals = np.asarray(word_weights.sum(axis=1), dtype=np.float64)
    own, own_terms = np.zeros(n_words), np.empty(n_words)
    free = n_entries

    def cost_with(cluster: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.empty(others.size)
        costs_of_merging(rows, totals, cluster, others, own, own_terms, found)
        return found

    def merge(one: int, other: int, clusters: NDArray[np.int64]) -> None:
        nonlocal free
        sizes = rows.ends - rows.starts
        if free + sizes[one] + sizes[other] > room:
            free = _close_gaps(clusters, rows)
        end = add_rows(rows, one, other, free)
        rows.starts[one], rows.ends[one], free = free, end, end
        totals[one] += totals[other]

    return merge_greedily(n_clusters, cost_with, merge, apart, tiers)


def merge_by_both(
    counts: scipy.sparse.csr_array,
    labels: NDArray[np.int32],
    vectors: DocumentVectors,
    apart: NDArray[np.bool_],
    tiers: Tiers = (),
) -> Merges:
    """Merge clusters of documents by Ward's criterion: each time the two whose variance rises least.

    A document is its vector beside its words (TF-IDF in some main directions, WORD_SHARE of the squared length), a
    cluster the mean of its documents; merging costs m_a m_b / (m_a + m_b) times the squared distance of the means.
    """
    sizes = np.bincount(labels[labels >= 0], minlength=int(labels.max(initial=-1)) + 1).astype(np.float64)
    n_clusters = sizes.size
    if n_clusters > MAX_COMPARED + (int(tiers[-1].max()) + 1 if tiers else 0):
        return _merge_after_lumping(
            apart,
            tiers,
            lambda into, lumped, above: merge_by_both(
                counts, np.append(into, np.int32(-1))[labels], vectors, lumped, above
            ),
        )
    sums = vectors.sum_by_cluster(labels, n_clusters).astype(np.float64)
    own = labels[vectors.rows]
    n_vectors = np.bincount(own[(own >= 0) & vectors.matrix.any(axis=1)], minlength=n_clusters)
    means = sums / np.maximum(n_vectors, 1)[:, np.newaxis]
    means[n_vectors == 0] = sums.sum(axis=0) / max(int(n_vectors.sum()), 1)  # without vectors: like all clusters
    words = mean_word_directions(counts, labels, n_clusters)
    points = np.hstack((np.sqrt(1.0 - WORD_SHARE) * means, np.sqrt(WORD_SHARE) * words))

    def cost_with(cluster: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        differences = points[others] - points[cluster]
        squares = np.einsum("ij,ij->i", differences, differences)
        return np.asarray(sizes[cluster] * sizes[others] / (sizes[cluster] + sizes[others]) * squares)

    def merge(one: int, other: int, clusters: NDArray[np.int64]) -> None:
        share = sizes[other] / (sizes[one] + sizes[other])
        points[one] += share * (points[other] - points[one])
        sizes[one] += sizes[other]

    return merge_greedily(n_clusters, cost_with, merge, apart, tiers)


def mean_word_directions(
    counts: scipy.sparse.csr_array, labels: NDArray[np.int32], n_clusters: int
) -> NDArray[np.float64]:
    """The means over the documents of each cluster of their words: TF-IDF of length 1, in N_DIRECTIONS main ones."""
    rows = np.flatnonzero(labels >= 0)
    shares = 1.0 / np.bincount(labels[rows])[labels[rows]]
    members = scipy.sparse.csr_array((shares, (labels[rows], np.arange(rows.size))), shape=(n_clusters, rows.size))
    means = scipy.sparse.csr_array(members @ unit_word_rows(counts[rows]))
    n_directions = min(N_DIRECTIONS, n_clusters)
    gram = np.asarray((means @ means.T).toarray())
    values, axes = eigh(gram, subset_by_index=(n_clusters - n_directions, n_clusters - 1))
    return np.asarray(axes * np.sqrt(np.maximum(values, 0.0)))


def unit_word_rows(counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Documents' words as TF-IDF, log(1 + n) log(N / N_w), of length 1; a row of words that all have stays zero."""
    words = counts.astype(np.float64)
    frequencies = np.maximum(np.bincount(words.indices, minlength=words.shape[1]), 1)
    words.data = np.log1p(words.data) * np.log(max(words.shape[0], 1) / frequencies)[words.indices]
    lengths = np.sqrt(np.asarray(words.multiply(words).sum(axis=1)))
    words.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(words.indptr))
    return words


def merge_greedily(
    n_clusters: int,
    cost_with: Callable[[int, NDArray[np.int64]], NDArray[np.float64]],
    merge: Callable[[int, int, NDArray[np.int64]], None],
    apart: NDArray[np.bool_],
    tiers: Tiers = (),
) -> Merges:
    """Merge two clusters at a time, those that it costs least, until one is left.

    cost_with(cluster, others): what merging a cluster with each of the others costs. merge(one, other, clusters): put
    the statistics of `other` into those of `one`; `clusters` are all that are left. Clusters of one group of each tier
    are merged first.
    """
    apart = apart.copy()  # also true of what is merged from such
    costs = np.full((n_clusters, n_clusters), np.inf)

    def penalties(cluster: int, others: Any) -> Any:
        n_tiers = sum((tier[cluster] != tier[others] for tier in tiers), start=np.zeros(np.shape(others)))
        return KEPT_APART * ((apart[cluster] & apart[others]) + 2.0 * n_tiers)

    def costs_of(cluster: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(cost_with(cluster, others) + penalties(cluster, others))

    for cluster in range(n_clusters - 1):
        others = np.arange(cluster + 1, n_clusters)
        costs[cluster, others] = costs[others, cluster] = costs_of(cluster, others)
    nearest = np.argmin(costs, axis=1) if n_clusters else np.empty(0, np.int64)
    alive = np.ones(n_clusters, bool)
    pairs, lost = np.empty((max(n_clusters - 1, 0), 2), np.int32), np.empty(max(n_clusters - 1, 0))
    for step in range(n_clusters - 1):
        clusters = np.flatnonzero(alive)
        one = int(clusters[np.argmin(costs[clusters, nearest[clusters]])])
        other = int(nearest[one])
        one, other = min(one, other), max(one, other)
        pairs[step], lost[step] = (one, other), cost_with(one, np.array([other]))[0]
        apart[one] |= apart[other]
        merge(one, other, clusters)
        alive[other] = False
        costs[other, :] = costs[:, other] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != one]
        costs[one, others] = costs[others, one] = costs_of(one, others)
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


def _merge_after_lumping(
    apart: NDArray[np.bool_],
    tiers: Tiers,
    merge: Callable[[NDArray[np.int32], NDArray[np.bool_], Tiers], Merges],
) -> Merges:
    """Merges of more clusters than can be compared: the smallest that need not be kept apart are taken together.

    Those of each group of the finest tier, if there are tiers. merge(into, apart, tiers): the merges of the clusters
    that are left, of which cluster z is part of into[z]; MAX_COMPARED and a few more.
    """
    n_given = apart.size
    group_of = tiers[-1] if tiers else np.zeros(n_given, np.int32)
    order = np.argsort(~apart, kind="stable")
    kept, rest = np.sort(order[: MAX_COMPARED - 1]), np.sort(order[MAX_COMPARED - 1 :])
    first_of = np.full(int(group_of.max()) + 1, -1)
    first_of[group_of[rest][::-1]] = rest[::-1]  # what is lumped goes into the first of its group
    numbers = np.append(kept, np.unique(first_of[first_of >= 0])).astype(np.int32)
    place_of = np.empty(n_given, np.int32)
    place_of[numbers] = np.arange(numbers.size)
    place_of[rest] = place_of[first_of[group_of[rest]]]
    lumped = apart[numbers].copy()
    np.logical_or.at(lumped, place_of[rest], apart[rest])
    gone = rest[first_of[group_of[rest]] != rest]
    merges = merge(place_of, lumped, tuple(tier[numbers] for tier in tiers))
    first = np.column_stack((first_of[group_of[gone]], gone)).astype(np.int32)
    costs = np.append(np.full(gone.size, np.nan), merges.costs)
    return Merges(n_given, np.vstack((first, numbers[merges.pairs])), costs)


def _add_rows(word_weights: scipy.sparse.csr_array, into: NDArray[np.int32]) -> scipy.sparse.csr_array:
    """Sums of rows: row z is added to into[z]."""
    shape = (int(into.max()) + 1, into.size)
    members = scipy.sparse.csr_array((np.ones(into.size), (into, np.arange(into.size))), shape=shape)
    lumped = scipy.sparse.csr_array(members @ word_weights)
    lumped.sort_indices()
    return lumped


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

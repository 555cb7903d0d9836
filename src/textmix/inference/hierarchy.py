"""Fewer and larger groups of the clusters that were found: for a number that is asked for, and at levels worth reading.

Greedy merging never takes back what it did early. So the groups that it ends with are a start: documents are moved
between groups by spherical k-means on their words and vectors, and then each cluster goes, as a whole, to the group
that most of its documents have moved to. Clusters are never split (docs/decisions/levels.md has what was tried).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.merging import Merges, merge_by_both, merge_documents, unit_word_rows
from textmix.inference.ordering import canonical_order
from textmix.inference.pooling import DocumentVectors
from textmix.inference.views.vectors import chances_by_length
from textmix.vectors.source import blocks, fingerprint_rows

VECTOR_SHARE = 0.5  # of the score of a short document with a vector; of longer ones less, as in runs on vectors
MAX_REFINED = 20_000  # documents that are moved; of more a sample
MAX_ROUNDS = 10
LEAST_MOVED = 1e-3  # share of the documents; where fewer move, moving ends
WINDOWS = ((3, 8), (10, 25), (40, 80))  # numbers of groups among which a level is sought
FINEST = 0.6  # times the number of clusters: a level has no more groups
_CELLS = 1 << 22  # documents × groups that are scored together


class Clustered(NamedTuple):
    """Documents and the clusters they are in."""

    counts: scipy.sparse.csr_array
    labels: NDArray[np.int32]  # by falling size; −1: does not count
    n_words: int  # a document counts at most as much as so many words
    vectors: DocumentVectors | None
    apart: NDArray[np.bool_]  # clusters that are merged with each other only when there are no others left

    def joined(self, groups: NDArray[np.int32]) -> Clustered:
        """The same documents in groups of these clusters."""
        apart = np.zeros(int(groups.max(initial=-1)) + 1, bool)
        np.logical_or.at(apart, groups, self.apart)
        return self._replace(labels=np.append(groups, np.int32(-1))[self.labels], apart=apart)

    def in_order(self, unit: float) -> Clustered:
        """The same in canonical order, so that sums do not depend on where documents stand."""
        held = self.vectors
        order = canonical_order(
            self.counts, unit, fingerprint=None if held is None else lambda rows: fingerprint_rows(held.of(rows))
        )
        places = np.empty_like(order)
        places[order] = np.arange(order.size)
        vectors = self.vectors
        if vectors is not None:
            rows = places[vectors.rows]
            by_row = np.argsort(rows)
            vectors = DocumentVectors(rows[by_row], vectors.matrix[by_row])
        return self._replace(counts=self.counts[order], labels=self.labels[order], vectors=vectors)


def merge_clustered(documents: Clustered, tiers: tuple[NDArray[np.int32], ...] = ()) -> Merges:
    """Merge clusters one by one; those of one group of a tier before those of different groups."""
    if documents.vectors is not None:
        return merge_by_both(documents.counts, documents.labels, documents.vectors, documents.apart, tiers)
    return merge_documents(documents.counts, documents.labels, documents.n_words, documents.apart, tiers)


def group_clusters(documents: Clustered, n_groups: int, merges: Merges | None = None) -> NDArray[np.int32]:
    """For each cluster the number of its group, 0 … n_groups − 1; `merges`: those of `merge_clustered`, if made."""
    groups = (merge_clustered(documents) if merges is None else merges).cut(n_groups)
    return groups if n_groups in (0, 1, groups.size) else refine_groups(documents, groups)


def refine_groups(documents: Clustered, groups: NDArray[np.int32]) -> NDArray[np.int32]:
    """The groups after documents were moved between them and clusters have followed most of their documents.

    Each group keeps its largest cluster, and those that are to be kept apart stay where they are.
    """
    labels = documents.labels
    rows = np.flatnonzero(labels >= 0)
    rows = rows[:: max(-(-rows.size // MAX_REFINED), 1)]
    moved = move_documents(*views_of(documents, rows), groups[labels[rows]], int(groups.max()) + 1)
    shape = groups.size, int(groups.max()) + 1
    votes = scipy.sparse.coo_array((np.ones(rows.size), (labels[rows], moved)), shape=shape).toarray()
    refined = np.where(votes.any(axis=1), votes.argmax(axis=1), groups).astype(np.int32)
    by_size = np.argsort(-np.bincount(labels[labels >= 0], minlength=groups.size), kind="stable")
    largest = by_size[np.unique(groups[by_size], return_index=True)[1]]
    refined[largest], refined[documents.apart] = groups[largest], groups[documents.apart]
    return refined


def views_of(
    documents: Clustered, rows: NDArray[np.int64]
) -> tuple[scipy.sparse.csr_array, NDArray[np.float32], NDArray[np.float64]]:
    """Unit rows of words (TF-IDF) and of vectors of some documents, and how much the vectors count in each."""
    counts = documents.counts[rows]
    vectors = np.zeros((rows.size, 0), np.float32) if documents.vectors is None else documents.vectors.of(rows)
    shares = VECTOR_SHARE * chances_by_length(np.diff(counts.indptr)) * vectors.any(axis=1)
    return unit_word_rows(counts), vectors, shares


def move_documents(
    words: scipy.sparse.csr_array,
    vectors: NDArray[np.float32],
    shares: NDArray[np.float64],
    groups: NDArray[np.int32],
    n_groups: int,
) -> NDArray[np.int32]:
    """Spherical k-means from these groups: each document goes to the group whose mean it is most like without itself.

    Likeness is (1 − share) times the cosine of the words plus share times that of the vectors.
    """
    groups = groups.copy()
    for _ in range(MAX_ROUNDS):
        members = scipy.sparse.csr_array(
            (np.ones(groups.size), (groups, np.arange(groups.size))), (n_groups, groups.size)
        )
        word_sums, vector_sums = (members @ words).toarray(), np.asarray(members @ vectors)
        found = np.empty_like(groups)
        for block in blocks(groups.size, max(_CELLS // n_groups, 1)):
            own = groups[block]
            by_words = _cosines_without_own(np.asarray(words[block] @ word_sums.T), word_sums, own)
            by_vectors = _cosines_without_own(vectors[block] @ vector_sums.T, vector_sums, own)
            share = shares[block, np.newaxis]
            found[block] = np.argmax((1.0 - share) * by_words + share * by_vectors, axis=1)
        n_moved = np.count_nonzero(found != groups)
        groups = found
        if n_moved <= LEAST_MOVED * groups.size:
            break
    return groups


def _cosines_without_own(
    products: NDArray[np.floating], sums: NDArray[np.floating], own: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Cosines of unit rows with sums of such rows, each row taken out of the sum that it is part of."""
    rows, squares = np.arange(own.size), np.einsum("ij,ij->i", sums, sums, dtype=np.float64)
    of_own = products[rows, own]
    cosines = products / np.sqrt(np.maximum(squares, 1e-12))
    left = np.maximum(squares[own] - 2.0 * of_own + 1.0, 1e-12)
    cosines[rows, own] = (of_own - 1.0) / np.sqrt(left)
    return np.asarray(cosines)


def find_levels(documents: Clustered) -> tuple[NDArray[np.int32], ...]:
    """Groups of the clusters at the levels above them, coarse to fine, each made of groups of the next finer one.

    In each window of numbers, the one before the merge whose cost rises most over the merge before it.
    """
    levels: list[NDArray[np.int32]] = []
    units = np.arange(documents.apart.size, dtype=np.int32)
    n_clusters = int(np.count_nonzero(np.bincount(documents.labels[documents.labels >= 0]) > 1))
    for least, most in reversed(WINDOWS):
        most = min(most, int(FINEST * n_clusters))
        if most < least:
            continue
        joined = documents.joined(units)
        merges = merge_clustered(joined)
        number = choose_number(merges, least, most)
        units = group_clusters(joined, number, merges)[units]
        levels.insert(0, units)
        n_clusters = number
    return tuple(levels)


def choose_number(merges: Merges, least: int, most: int) -> int:
    """The number of groups after which the next merge costs most, in proportion to the merge before it."""
    costs = np.maximum.accumulate(np.nan_to_num(merges.costs))
    numbers = np.arange(least, min(most, merges.n_clusters - 1) + 1)
    rises = costs[merges.n_clusters - numbers] / np.maximum(costs[merges.n_clusters - numbers - 1], 1e-12)
    return int(numbers[np.argmax(rises)])

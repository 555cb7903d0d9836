"""What scikit-learn does not have: purity, entropy, accuracy by the best matching of clusters and labels.

Every document counts: those of cluster −1, documents without words, as one more cluster. `agreement` leaves them out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.special import entr


class ConfusionTable(NamedTuple):
    """How many documents of each known label stand in each cluster: a row a label, a column a cluster."""

    counts: NDArray[np.int64]
    labels: NDArray[Any]
    clusters: NDArray[Any]


def confusion_table(labels_true: ArrayLike, labels_pred: ArrayLike) -> ConfusionTable:
    """Count labels against clusters, both sorted."""
    counts, labels, clusters = _count(labels_true, labels_pred)
    return ConfusionTable(counts.toarray(), labels, clusters)


def purity_score(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The share of documents that have the most frequent label of their cluster."""
    counts, _, _ = _count(labels_true, labels_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def entropy_score(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The entropy of the labels within a cluster, mean over documents, as a share of its largest value, log(labels).

    0: every cluster has one label. 0 too where there is only one label.
    """
    counts, labels, _ = _count(labels_true, labels_pred)
    if labels.size < 2:
        return 0.0
    sizes = counts.sum(axis=0)
    # The size of a cluster times the entropy of its labels, summed over the labels that it has.
    entropies = sizes[counts.indices] * entr(counts.data / sizes[counts.indices])
    return float(entropies.sum() / (sizes.sum() * np.log(labels.size)))


def accuracy_score(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The share of documents in the cluster that stands for their label, under the best one-to-one matching.

    Where there are more clusters than labels some stand for none, and the other way round.
    """
    counts, labels, clusters = _count(labels_true, labels_pred)
    if labels.size > clusters.size:  # the same by symmetry, and faster
        counts = csr_array(counts.T)
    # A row that gets no column is matched with one of its own. Edges weigh 1 more, as a weight of 0 is no edge.
    n_rows = counts.shape[0]
    edges = csr_array((counts.data + 1.0, counts.indices, counts.indptr), shape=counts.shape)
    weights = csr_array(scipy.sparse.hstack([edges, scipy.sparse.eye_array(n_rows)], format="csr"))
    rows, columns = min_weight_full_bipartite_matching(weights, maximize=True)
    return float((weights[rows, columns].sum() - n_rows) / counts.sum())


def _count(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[csr_array, NDArray[Any], NDArray[Any]]:
    """Documents by label and cluster, the labels, the clusters."""
    labels, rows = _distinct("labels_true", labels_true)
    clusters, columns = _distinct("labels_pred", labels_pred)
    if rows.size != columns.size:
        raise ValueError(f"labels_true has {rows.size} documents, labels_pred has {columns.size}")
    counts = csr_array((np.ones(rows.size, np.int64), (rows, columns)), shape=(labels.size, clusters.size))
    counts.sum_duplicates()
    return counts, labels, clusters


def _distinct(name: str, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    given: NDArray[Any] = np.asarray(labels)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(
            f"{name} must be a list with a label for each document, at least one; it has shape {given.shape}"
        )
    try:
        values, codes = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"{name} must hold labels of one kind, all text or all numbers, without None") from error
    return values, codes

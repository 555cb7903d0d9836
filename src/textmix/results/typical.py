"""Which documents stand best for their cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


def rank_typical(
    counts: scipy.sparse.csr_array,
    labels: NDArray[Any],
    cluster_word_counts: scipy.sparse.csr_array,
    beta: float | NDArray[np.float64],
) -> list[NDArray[np.int64]]:
    """For each cluster its documents, the most typical first; equals in their order.

    A document is typical when its words and the cluster's telling words point the same way: the cosine of its
    counts and the words' telling scores (results/words.py), those below 0 taken as 0. Probabilities would not
    do, since most are 1.
    """
    weights = _telling_weights(cluster_word_counts, beta)
    n_clusters, n_words = weights.shape
    starts, words, amounts = counts.indptr, counts.indices, counts.data.astype(np.float64)
    documents = np.repeat(np.arange(counts.shape[0]), np.diff(starts))
    used = labels[documents] >= 0
    documents, words, amounts = documents[used], words[used], amounts[used]
    # (cluster, word) as one number; each of these stands in the cluster's own counts.
    own_keys = _row_numbers(weights) * n_words + weights.indices
    found = np.searchsorted(own_keys, labels[documents].astype(np.int64) * n_words + words)
    n_documents = counts.shape[0]
    products = np.bincount(documents, amounts * weights.data[found], minlength=n_documents)
    norms = np.sqrt(np.bincount(documents, amounts**2, minlength=n_documents))
    scores = np.divide(products, norms, out=np.zeros(n_documents), where=norms > 0)
    order = np.lexsort((-scores, labels))
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [order[first:last] for first, last in pairwise(bounds)]


def _telling_weights(
    cluster_word_counts: scipy.sparse.csr_array, beta: float | NDArray[np.float64]
) -> scipy.sparse.csr_array:
    """φ̂_zw log(φ̂_zw / φ̂_w elsewhere) for every word of every cluster, at least 0; words sorted."""
    matrix = cluster_word_counts.astype(np.float64)
    matrix.sort_indices()
    n_words = matrix.shape[1]
    everywhere = np.asarray(matrix.sum(axis=0)).ravel()
    totals = np.asarray(matrix.sum(axis=1)).ravel()[_row_numbers(matrix)]
    betas = np.broadcast_to(beta, n_words)
    smoothing, mass = betas[matrix.indices], betas.sum()
    here = (matrix.data + smoothing) / (totals + mass)
    elsewhere = (everywhere[matrix.indices] - matrix.data + smoothing) / (everywhere.sum() - totals + mass)
    matrix.data = np.maximum(here * np.log(here / elsewhere), 0.0)
    return matrix


def _row_numbers(matrix: scipy.sparse.csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))

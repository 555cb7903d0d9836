"""How near clusters are to each other, and where that puts them on a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import eigh

from textmix.inference.merging import lay_out
from textmix.kernels.merging import costs_of_merging

PERPLEXITY = 12  # clusters that count as neighbours on the map
_SEED = 0


def cluster_distances(cluster_word_counts: scipy.sparse.csr_array) -> NDArray[np.float64]:
    """The distance of each two clusters: the square root of their Jensen-Shannon divergence, as a share of its largest.

    It is the measure by which clusters are merged, each cluster counting alike: 0 for the same words as often, 1 for no
    word in common.
    """
    n_clusters, n_words = cluster_word_counts.shape
    totals = np.asarray(cluster_word_counts.sum(axis=1), dtype=np.float64)
    of_entries = np.repeat(np.maximum(totals, 1e-300), np.diff(cluster_word_counts.indptr))
    rows = lay_out(cluster_word_counts, cluster_word_counts.data / of_entries, cluster_word_counts.nnz)
    ones, own, own_terms = np.ones(n_clusters), np.zeros(n_words), np.empty(n_words)
    divergences = np.zeros((n_clusters, n_clusters))
    for cluster in range(n_clusters - 1):
        others = np.arange(cluster + 1, n_clusters)
        costs = np.empty(others.size)
        costs_of_merging(rows, ones, cluster, others, own, own_terms, costs)
        divergences[cluster, others] = divergences[others, cluster] = costs / (2.0 * np.log(2.0))
    return np.sqrt(np.clip(divergences, 0.0, 1.0))


def distances_by_both(by_words: NDArray[np.float64], directions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Distances by words and by vectors together: the root of the mean of their squares.

    By vectors the square is half of 1 less the cosine of the clusters' directions: 0 for the same, 1 for opposite ones.
    """
    sums = directions.astype(np.float64)
    units = sums / np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), 1e-12)[:, np.newaxis]
    squares = np.clip((1.0 - units @ units.T) / 2.0, 0.0, 1.0)
    found = np.sqrt((by_words**2 + squares) / 2.0)
    np.fill_diagonal(found, 0.0)
    return np.asarray((found + found.T) / 2.0)


def place_clusters(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points in the plane, near ones for clusters that are near: (cluster, 2), each coordinate within ±1.

    By t-SNE from where classical scaling puts them; up to four clusters by classical scaling alone. The same distances
    give the same points.
    """
    n_clusters = len(distances)
    points = _classical_scaling(distances)
    if n_clusters > 4:
        from sklearn.manifold import TSNE  # takes its time to import

        spread = points / max(points[:, 0].std(), 1e-12) * 1e-4  # as its authors start it
        perplexity = min(PERPLEXITY, (n_clusters - 1) / 3)
        # "exact", since the other method adds up in an order that threads decide.
        embedding = TSNE(
            perplexity=perplexity, metric="precomputed", init=spread, random_state=_SEED, method="exact", max_iter=500
        )
        points = embedding.fit_transform(distances.copy()).astype(np.float64)  # it squares them in place
    if n_clusters:
        points -= (points.max(axis=0) + points.min(axis=0)) / 2
    return np.asarray(points / max(np.abs(points).max(initial=0.0), 1e-12))


def _classical_scaling(distances: NDArray[np.float64]) -> NDArray[Any]:
    """The two main axes of points that have these distances, as nearly as can be."""
    n_points = len(distances)
    points = np.zeros((n_points, 2))
    n_axes = min(2, n_points - 1)
    if n_axes > 0:
        squares = distances**2
        centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, np.newaxis] + squares.mean())
        values, vectors = eigh(centred, subset_by_index=(n_points - n_axes, n_points - 1))
        if vectors.shape[1] < n_axes:  # some of several equal ones are not found that way
            values, vectors = (each[..., -n_axes:] for each in eigh(centred))
        vectors *= np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(n_axes)] < 0, -1.0, 1.0)  # a fixed sign
        points[:, :n_axes] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    return points

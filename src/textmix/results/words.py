"""The words that stand for a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

ORDERS = ("probable", "telling")


class ScoredWord(NamedTuple):
    """A word (or its column number) and its score in a cluster."""

    word: Any
    score: float


def top_words(
    cluster_word_counts: scipy.sparse.csr_array,
    beta: float | NDArray[np.float64],
    n: int,
    order: str,
    vocabulary: Sequence[str] | ArrayLike | None,
) -> list[list[ScoredWord]]:
    """The n leading words of each cluster among those that occur in it; equals by the alphabet."""
    names = _check(order, vocabulary, cluster_word_counts.shape[1])
    scored = score_words(cluster_word_counts, beta, order)
    return [leading_words(names[cluster_word_counts.indices[entries]], scores, n) for entries, scores in scored]


def score_words(
    cluster_word_counts: scipy.sparse.csr_array, beta: float | NDArray[np.float64], order: str
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """For each cluster where its words are among the entries of the matrix, and their scores.

    "probable": φ̂_zw = (n_z^w + β) / (n_z + Vβ); "telling": φ̂_zw log(φ̂_zw / φ̂_w elsewhere).
    """
    everywhere = np.asarray(cluster_word_counts.sum(axis=0), dtype=np.float64).ravel()
    n_everywhere = everywhere.sum()
    betas = np.broadcast_to(beta, everywhere.size)
    mass = betas.sum()
    for cluster in range(cluster_word_counts.shape[0]):
        entries = slice(*cluster_word_counts.indptr[cluster : cluster + 2])
        words = cluster_word_counts.indices[entries]
        counts = cluster_word_counts.data[entries].astype(np.float64)
        if order == "telling":
            yield entries, telling_scores(counts, everywhere[words], n_everywhere, betas[words], mass)
        else:
            yield entries, (counts + betas[words]) / (counts.sum() + mass)


def telling_scores(
    counts: NDArray[np.float64],
    everywhere: NDArray[Any],
    n_everywhere: float,
    betas: float | NDArray[np.float64],
    mass: float,
) -> NDArray[np.float64]:
    """φ̂_zw log(φ̂_zw / φ̂_w elsewhere) of all words of one cluster, mass being Σ β over the vocabulary."""
    total = counts.sum()
    shares = (counts + betas) / (total + mass)
    elsewhere = (everywhere - counts + betas) / (n_everywhere - total + mass)
    return np.asarray(shares * np.log(shares / elsewhere))


def top_components(
    values: NDArray[np.float64],
    cluster_sizes: NDArray[np.int64],
    n: int,
    order: str,
    vocabulary: Sequence[str] | ArrayLike | None,
    cluster_word_counts: scipy.sparse.csr_array,
) -> list[list[ScoredWord]]:
    """The n leading words of each cluster by its parameters (clusters × words), among those that occur in it.

    What a word has elsewhere is the mean over the other clusters by their sizes; a word that has nothing elsewhere is
    taken to have a millionth of what it has here.
    """
    names = _check(order, vocabulary, values.shape[1])
    everywhere = cluster_sizes @ values
    result = []
    for cluster, own in enumerate(values):
        words = cluster_word_counts.indices[slice(*cluster_word_counts.indptr[cluster : cluster + 2])]
        words = words[own[words] > 0.0]
        scores = own[words]
        if order == "telling":
            n_others = max(cluster_sizes.sum() - cluster_sizes[cluster], 1)
            elsewhere = (everywhere[words] - cluster_sizes[cluster] * scores) / n_others
            scores = scores * np.log(scores / np.maximum(elsewhere, 1e-6 * scores))
        result.append(leading_words(names[words], scores, n))
    return result


def _check(order: str, vocabulary: Sequence[str] | ArrayLike | None, n_words: int) -> NDArray[Any]:
    """The names of the words."""
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
    names = np.arange(n_words) if vocabulary is None else np.asarray(vocabulary, dtype=object)
    if names.size != n_words:
        raise ValueError(f"vocabulary has {names.size} words, the counts have {n_words}")
    return names


def leading_words(words: NDArray[Any], scores: NDArray[np.float64], n: int) -> list[ScoredWord]:
    """The n words of the highest scores, equals by the alphabet: the same whatever the order of the columns."""
    if n < 1:
        return []
    least = -np.partition(-scores, n - 1)[n - 1] if n < scores.size else -np.inf
    leading = sorted(np.flatnonzero(scores >= least), key=lambda i: (-scores[i], words[i]))[:n]
    return [ScoredWord(words[i], float(scores[i])) for i in leading]

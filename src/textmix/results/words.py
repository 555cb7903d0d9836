"""The words that stand for a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

ORDERS = ("probable", "telling")


class ScoredWord(NamedTuple):
    """A word (or its column number) and its score in a cluster."""

    word: Any
    score: float


class ClusterWords:
    """The words of clusters and their scores, of which each kind is computed once, when it is first asked for."""

    def __init__(
        self,
        counts: scipy.sparse.csr_array,
        beta: float | NDArray[np.float64],
        vocabulary: Sequence[str] | ArrayLike | None = None,
    ) -> None:
        self.counts = counts if counts.has_sorted_indices else counts.sorted_indices()
        self.beta = beta
        self._names = _names_of_words(vocabulary, counts.shape[1])
        self._scores: dict[str, NDArray[np.float64]] = {}

    @property
    def vocabulary(self) -> NDArray[Any]:
        """The word of each column, or its number."""
        return self._names

    def scores(self, order: str) -> NDArray[np.float64]:
        """The score of each entry of `counts`.

        "probable": φ̂_zw = (n_z^w + β) / (n_z + Vβ); "telling": φ̂_zw log(φ̂_zw / φ̂_w elsewhere).
        """
        _check_order(order)
        if order not in self._scores:
            counts, scores = self.counts, np.empty(self.counts.nnz)
            everywhere = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
            n_everywhere = everywhere.sum()
            betas = np.broadcast_to(self.beta, everywhere.size)
            mass = betas.sum()
            for entries in self._entries():
                words, own = counts.indices[entries], counts.data[entries].astype(np.float64)
                if order == "telling":
                    scores[entries] = telling_scores(own, everywhere[words], n_everywhere, betas[words], mass)
                else:
                    scores[entries] = (own + betas[words]) / (own.sum() + mass)
            self._scores[order] = scores
        return self._scores[order]

    def top(self, n: int, order: str) -> list[list[ScoredWord]]:
        """The n leading words of each cluster among those that occur in it; equals by the alphabet."""
        words, scores = self.counts.indices, self.scores(order)
        return [leading_words(self._names[words[entries]], scores[entries], n) for entries in self._entries()]

    def _entries(self) -> Iterator[slice]:
        """Where the words of each cluster are among the entries of `counts`."""
        return (slice(*ends) for ends in pairwise(self.counts.indptr))


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
    _check_order(order)
    names = _names_of_words(vocabulary, values.shape[1])
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


def _check_order(order: str) -> None:
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")


def _names_of_words(vocabulary: Sequence[str] | ArrayLike | None, n_words: int) -> NDArray[Any]:
    """The words of a vocabulary of the right size; without one the numbers of their columns."""
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

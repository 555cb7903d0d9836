"""The words that stand for a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

ORDERS = ("probable", "telling")


class ScoredWord(NamedTuple):
    """A word (or its column number) and its score in a cluster."""

    word: Any
    score: float


def top_words(
    cluster_word_counts: scipy.sparse.csr_array,
    beta: float,
    n: int,
    order: str,
    vocabulary: Sequence[str] | ArrayLike | None,
) -> list[list[ScoredWord]]:
    """The n leading words of each cluster among those that occur in it; equals in the order of their columns."""
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
    n_words = cluster_word_counts.shape[1]
    names = np.arange(n_words) if vocabulary is None else np.asarray(vocabulary, dtype=object)
    if names.size != n_words:
        raise ValueError(f"vocabulary has {names.size} words, the counts have {n_words}")
    everywhere = np.asarray(cluster_word_counts.sum(axis=0), dtype=np.float64).ravel()
    n_everywhere = everywhere.sum()
    result = []
    for cluster in range(cluster_word_counts.shape[0]):
        entries = slice(*cluster_word_counts.indptr[cluster : cluster + 2])
        words = cluster_word_counts.indices[entries]
        counts = cluster_word_counts.data[entries].astype(np.float64)
        total = counts.sum()
        scores = (counts + beta) / (total + n_words * beta)
        if order == "telling":
            elsewhere = (everywhere[words] - counts + beta) / (n_everywhere - total + n_words * beta)
            scores = scores * np.log(scores / elsewhere)
        leading = np.lexsort((words, -scores))[: max(n, 0)]
        result.append([ScoredWord(names[words[i]], float(scores[i])) for i in leading])
    return result

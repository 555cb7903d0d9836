"""Whether words that stand for a cluster stand together in documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


def npmi_coherence(counts: scipy.sparse.csr_array, word_lists: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """The coherence of lists of words (columns of counts): the mean over pairs of their normalised mutual information.

    npmi(v, w) = log(p(v, w) / (p(v) p(w))) / −log p(v, w), where p are shares of the documents that have words
    (Bouma 2009): 1 for words that always stand together, 0 for independent ones, −1 for words that never meet. NaN for
    a list of fewer than two words.
    """
    words = np.unique(
        np.concatenate([np.asarray(own, dtype=np.int64) for own in word_lists] or [np.empty(0, np.int64)])
    )
    column_of = np.full(counts.shape[1], -1, dtype=counts.indices.dtype)
    column_of[words] = np.arange(words.size)
    columns = column_of[counts.indices]
    kept = (columns >= 0) & (counts.data > 0)
    starts = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[counts.indptr]
    shape = (counts.shape[0], words.size)
    present = scipy.sparse.csr_array((np.ones(np.count_nonzero(kept), np.float32), columns[kept], starts), shape=shape)
    n_documents = max(int(np.count_nonzero(np.diff(counts.indptr))), 1)
    together = scipy.sparse.csr_array(present.T @ present)
    coherences = np.full(len(word_lists), np.nan)
    for place, own in enumerate(word_lists):
        chosen = column_of[np.asarray(own, dtype=np.int64)]
        if chosen.size > 1:
            coherences[place] = _mean_npmi(together[chosen][:, chosen].toarray().astype(np.float64) / n_documents)
    return coherences


def _mean_npmi(shares: NDArray[np.float64]) -> float:
    """Of the words of one list: shares of documents that have two of them, on the diagonal one."""
    single, one, other = np.diag(shares), *np.triu_indices(len(shares), k=1)
    both = shares[one, other]
    npmi = np.full(both.size, -1.0)
    meet = (both > 0) & (both < 1)
    npmi[meet] = np.log(both[meet] / (single[one] * single[other])[meet]) / -np.log(both[meet])
    npmi[both == 1] = 1.0
    return float(npmi.mean())

"""How much better documents are explained by their cluster than by the collection at large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from textmix.results.lookup import PairTable

_BLOCK = 1 << 20  # entries looked at together, or those of one document
_MAX_FITTED = 1 << 22  # entries that the weight is fitted to
_LOG_WEIGHTS = np.linspace(-5.0, 25.0, 31)  # where it is sought, and then between the neighbours of the best


class _Entries(NamedTuple):
    """Of each word of each document what its score is made of, the document itself left out."""

    documents: NDArray[np.int64]
    amounts: NDArray[np.float64]
    lifted: NDArray[np.float64]  # n_z^w / q_w
    totals: NDArray[np.float64]  # n_z


class Background:
    """Outlier scores of documents of a finished partition, or of new ones; threads may share it.

    The score of document d in cluster z is the mean over its words of log(q_w / p_w), where q_w = n_w / n is the share
    that word w has in the collection, and p_w = (n_z^w + μ q_w) / (n_z + μ) the share it has in the cluster, drawn
    towards q by a weight of μ words. So a word that the cluster has as often as the collection gives 0, and one that it
    lacks log((n_z + μ) / μ). A document that the counts are made of is taken out of them first: alone in its cluster it
    has 0.

    `fit_weight` gives the μ with which the scores of all documents are lowest in the mean (leave one out, as Zhai and
    Lafferty 2002 fit it, but documents count alike whatever their length).
    """

    def __init__(self, cluster_word_counts: scipy.sparse.csr_array, weight: float = 1.0) -> None:
        counts = cluster_word_counts.sorted_indices()
        self.weight = weight
        self._pairs = PairTable(counts)
        self._values = np.append(counts.data.astype(np.float64), 0.0)
        self._cluster_totals = np.asarray(counts.sum(axis=1), dtype=np.float64)
        self._word_totals = np.asarray(counts.sum(axis=0), dtype=np.float64)

    def fit_weight(self, counts: scipy.sparse.csr_array, labels: NDArray[Any]) -> Background:
        """Set the weight by the documents that the clusters' counts are made of, or some of them."""
        chosen = np.flatnonzero(labels >= 0)[:: -(-max(counts.nnz, 1) // _MAX_FITTED)]
        entries = self._entries(counts[chosen], labels[chosen], own=True)
        shares = entries.amounts / np.bincount(entries.documents, entries.amounts)[entries.documents]

        def total_score(log_weight: float) -> float:
            weight = np.exp(log_weight)
            return -float(shares @ np.log((entries.lifted + weight) / (entries.totals + weight)))

        best = int(np.argmin([total_score(log_weight) for log_weight in _LOG_WEIGHTS]))
        bounds = _LOG_WEIGHTS[max(best - 1, 0)], _LOG_WEIGHTS[min(best + 1, _LOG_WEIGHTS.size - 1)]
        self.weight = float(np.exp(minimize_scalar(total_score, bounds=bounds, method="bounded").x))
        return self

    def score(self, counts: scipy.sparse.csr_array, labels: NDArray[Any], *, own: bool) -> NDArray[np.float64]:
        """The score of each document in the cluster that its label names; NaN where that is −1.

        own: whether the documents are among those that the clusters' counts are made of.
        """
        blocks = list(self._score_blocks(counts, labels, own))
        return np.concatenate(blocks) if blocks else np.empty(0)

    def _score_blocks(
        self, counts: scipy.sparse.csr_array, labels: NDArray[Any], own: bool
    ) -> Iterator[NDArray[np.float64]]:
        last = 0
        while last < labels.size:
            first = last
            last = max(first + 1, int(np.searchsorted(counts.indptr, counts.indptr[first] + _BLOCK, side="right")) - 1)
            block, n_documents = slice(first, last), last - first
            documents, amounts, lifted, totals = self._entries(counts[block], labels[block], own)
            losses = np.log((totals + self.weight) / (lifted + self.weight))
            lengths = np.bincount(documents, amounts, minlength=n_documents)
            total = np.bincount(documents, amounts * losses, minlength=n_documents)
            yield np.divide(total, lengths, out=np.full(n_documents, np.nan), where=lengths > 0)

    def _entries(self, counts: scipy.sparse.csr_array, labels: NDArray[Any], own: bool) -> _Entries:
        documents = np.repeat(np.arange(labels.size), np.diff(counts.indptr))
        used = labels[documents] >= 0
        documents, words, amounts = documents[used], counts.indices[used], counts.data[used].astype(np.float64)
        lengths = np.bincount(documents, amounts, minlength=labels.size)[documents]
        in_cluster = self._pairs.values(labels[documents], words, self._values) - (amounts if own else 0.0)
        in_all = self._word_totals[words] - (amounts if own else 0.0)
        n_all = self._word_totals.sum() - (lengths if own else 0.0)
        totals = self._cluster_totals[labels[documents]] - (lengths if own else 0.0)
        # A word of this document alone is in none without it.
        lifted = np.divide(in_cluster * n_all, in_all, out=np.zeros(in_all.size), where=in_all > 0)
        return _Entries(documents, amounts, lifted, totals)

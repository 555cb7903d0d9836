"""What is known of documents before they are clustered: which belong together, and how much each counts.

Documents whose cluster is known come last and stay where they are; all others are sampled given these. To be found by
those that are like them, known clusters need more than that: a run starts from random clusters, and where another one
has gathered such documents first, none of them would leave it for a cluster of a few. So documents that fit a known
cluster better than the collection at large start there. That is where sampling begins, not where it must end.

A weight is the probability with which a run sees a document. Copies would not do: a document that is there three times
makes a cluster of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.ordering import order_by_size

OWN_SHARE = 0.2  # of a document's words that a known cluster is taken to explain; the others are as in all documents
START_SIZE, SMALL = 2.0, 20  # of a known cluster: times the mean size of all at the start, and in any case
SEEN_SHARE = 0.5  # of the documents that have any weight: those that a run sees, at least
_BLOCK = 1 << 22  # documents × known clusters that are compared together


class Documents(NamedTuple):
    """Documents, those whose cluster is known last."""

    counts: scipy.sparse.csr_array
    known: NDArray[np.int32]  # the clusters, 0 … n_known − 1, of the last documents
    n_known: int
    chances: NDArray[np.float64] | None = None  # that a run sees a document; None: it sees all

    @property
    def n_free(self) -> int:
        """Documents whose cluster is not known."""
        return int(self.counts.shape[0]) - self.known.size

    def take(self, rows: NDArray[np.int64]) -> Documents:
        """Some of them, by rising row."""
        known = self.known[rows[np.searchsorted(rows, self.n_free) :] - self.n_free]
        chances = None if self.chances is None else self.chances[rows]
        return Documents(self.counts[rows], known, self.n_known, chances)


def all_free(counts: scipy.sparse.csr_array) -> Documents:
    """Documents of which nothing is known."""
    return Documents(counts, np.empty(0, np.int32), 0)


def chances_of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability with which a run sees each document: its weight in proportion to the largest, at most 1.

    Where runs would see fewer than half of the documents so, the largest count as less, until it is half.
    """
    if weights.size == 0:
        return weights
    weights = weights / weights.max()
    falling, n_wanted = np.sort(weights[weights > 0])[::-1], SEEN_SHARE * np.count_nonzero(weights)
    rest = np.cumsum(falling[::-1])[::-1]  # of each weight and those below
    # With the i largest at 1 and all others c times their weight, runs see i + c rest[i] documents, c ≤ 1 / falling[i].
    n_at_1 = int(np.argmax(np.arange(falling.size) + rest / falling >= n_wanted))
    scale = 1.0 if n_at_1 == 0 else (n_wanted - n_at_1) / rest[n_at_1]
    return np.asarray(np.minimum(scale * weights, 1.0))


def sample_rows(documents: Documents, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of at most so many documents, by chance; up to half of them of known clusters, of each as many if it can be.

    All rows if there are no more.
    """
    n_documents, n_free = documents.counts.shape[0], documents.n_free
    if n_documents <= most:
        return np.arange(n_documents)
    order = (
        rng.permutation(documents.known.size) if documents.known.size > most // 2 else np.arange(documents.known.size)
    )
    by_cluster = order[np.argsort(documents.known[order], kind="stable")]
    sizes = np.bincount(documents.known, minlength=documents.n_known)
    place = np.arange(by_cluster.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its cluster
    known = by_cluster[np.argsort(place, kind="stable")][: most // 2]
    free = rng.choice(n_free, min(n_free, most - known.size), replace=False)
    return np.sort(np.append(free, n_free + known))


def start_labels(
    documents: Documents, fitting: Fitting, n_clusters: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Where documents start: in known clusters, 0 … n_known − 1, those that fit them best; others by chance elsewhere.

    A known cluster starts with twice as many documents as all have in the mean at the most, or with some few: a larger
    one would draw in what has little to do with it while all others are still as chance made them. None starts there
    by chance: a known cluster never vanishes, and what has come to it would stay.
    """
    labels = rng.integers(documents.n_known, n_clusters, size=documents.counts.shape[0], dtype=np.int32)
    if documents.known.size == 0:
        return labels
    best, fits = fitting
    most = max(SMALL, round(START_SIZE * documents.n_free / n_clusters))
    order = np.lexsort((-fits, best))  # cluster by cluster, those that fit best first
    sizes = np.bincount(best + 1, minlength=documents.n_known + 1)  # of those that fit none, and of each cluster
    place = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = order[(place < most) & (best[order] >= 0)]
    labels[chosen] = best[chosen]
    labels[documents.n_free :] = documents.known
    return labels


class Fitting(NamedTuple):
    """The known cluster that each of the other documents fits best, and how well; −1: the collection at large does."""

    clusters: NDArray[np.int32]
    fits: NDArray[np.float64]


def fit_known(documents: Documents) -> Fitting:
    """Compare the documents whose cluster is not known with those of known clusters.

    Words of cluster z are taken to be a mixture of its own share n_z^w / n_z, with weight s, and of the collection's
    share q_w: a document fits by Σ_w N_w log(1 − s + s n_z^w / (n_z q_w)).
    """
    counts, n_free = documents.counts, documents.n_free
    n_examples = documents.known.size
    if n_examples == 0:
        return Fitting(np.full(n_free, -1, np.int32), np.zeros(n_free))
    members = scipy.sparse.csr_array(
        (np.ones(n_examples), (documents.known, np.arange(n_examples))), shape=(documents.n_known, n_examples)
    )
    gains = scipy.sparse.csc_array(members @ counts[n_free:]).astype(np.float64)
    totals = np.maximum(np.asarray(gains.sum(axis=1)), 1.0)
    in_all = np.maximum(np.asarray(counts.sum(axis=0), dtype=np.float64), 1.0)
    lift = gains.data / totals[gains.indices] * in_all.sum() / np.repeat(in_all, np.diff(gains.indptr))
    gains.data = np.log1p(OWN_SHARE / (1.0 - OWN_SHARE) * lift)  # beyond log(1 − s), which all words have
    best, highest = np.full(n_free, -1, np.int32), np.zeros(n_free)
    n_together = max(1, _BLOCK // documents.n_known)
    for first in range(0, n_free, n_together):
        rows = slice(first, min(first + n_together, n_free))
        block = counts[rows]
        fits = (block @ gains.T).toarray() + np.asarray(block.sum(axis=1))[:, np.newaxis] * np.log1p(-OWN_SHARE)
        highest[rows] = fits.max(axis=1)
        best[rows] = np.where(highest[rows] > 0, fits.argmax(axis=1), -1)
    return Fitting(best, highest)


def known_clusters(labels: NDArray[np.int32], documents: Documents) -> NDArray[np.int32]:
    """The label of each known cluster, −1 if none of its documents has one."""
    clusters = np.full(documents.n_known, -1, np.int32)
    own = labels[documents.n_free :]
    clusters[documents.known[own >= 0]] = own[own >= 0]
    return clusters


def let_go(labels: NDArray[np.int32], documents: Documents, fitting: Fitting) -> NDArray[np.int32]:
    """Labels with what has come to a known cluster by chance in a cluster of its own.

    A cluster vanishes when its last document leaves; a known one cannot, so that sooner or later what has nothing to do
    with it may gather there. Where fewer than one in five of those who came fit it, the others get a cluster of their
    own.
    """
    labels, n_used = labels.copy(), int(labels.max(initial=-1)) + 1
    free = labels[: documents.n_free]
    for known, cluster in enumerate(known_clusters(labels, documents).tolist()):
        came = np.flatnonzero(free == cluster) if cluster >= 0 else np.empty(0, np.int64)
        fits = fitting.clusters[came] == known
        if came.size and fits.mean() < OWN_SHARE:
            free[came[~fits]] = n_used
            n_used += 1
    return order_by_size(labels)

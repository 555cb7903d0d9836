"""What is known of documents before they are clustered: which belong together, and how much each counts.

Documents whose cluster is known come last and stay where they are; all others are sampled given these. Where that
begins matters: a cluster vanishes when its last document leaves, a known one never does, and what has gathered there
from random clusters stays, foreign or not. So the documents are first sampled as if nothing were known, and clusters
follow the known documents that are in them. That is where sampling begins, not where it must end.

A weight is the probability with which a run sees a document. Copies would not do: a document that is there three times
makes a cluster of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.ordering import order_by_size

OWN_SHARE = 0.2  # of a document's words that a known cluster is taken to explain; the others are as in all documents
ALIKE = 0.02  # nats a word; a document that fits a cluster worse than the collection by less fits it as well
LEAST_SUPPORT = 0.2  # share of those that came to a known cluster; if fewer fit it, the others leave
FOLLOWED = 0.25  # times the mean share of known documents, in a cluster that follows them
SEEN_SHARE = 0.5  # of the documents that have any weight: those that a run sees, at least
_BLOCK = 1 << 22  # documents × known clusters that are compared together


class GuidedDocuments(NamedTuple):
    """Documents, those whose cluster is known last."""

    counts: scipy.sparse.csr_array
    known: NDArray[np.int32]  # the clusters, 0 … n_known − 1, of the last documents
    n_known: int
    chances: NDArray[np.float64] | None = None  # that a run sees a document; None: it sees all

    @property
    def n_free(self) -> int:
        """Documents whose cluster is not known."""
        return int(self.counts.shape[0]) - self.known.size

    def take(self, rows: NDArray[np.int64]) -> GuidedDocuments:
        """Some of them, by rising row."""
        known = self.known[rows[np.searchsorted(rows, self.n_free) :] - self.n_free]
        chances = None if self.chances is None else self.chances[rows]
        return GuidedDocuments(self.counts[rows], known, self.n_known, chances)


def all_free(counts: scipy.sparse.csr_array) -> GuidedDocuments:
    """Documents of which nothing is known."""
    return GuidedDocuments(counts, np.empty(0, np.int32), 0)


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


def sample_rows(documents: GuidedDocuments, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
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


def known_gains(documents: GuidedDocuments) -> scipy.sparse.csr_array:
    """What a word adds to how well a document fits a known cluster (clusters × words).

    Words of cluster z are taken to be a mixture of its own share n_z^w / n_z, with weight s, and of the collection's
    share q_w: a document fits by Σ_w N_w log(1 − s + s n_z^w / (n_z q_w)), of which log(1 − s) is left out here.
    """
    counts, n_free = documents.counts, documents.n_free
    n_examples = documents.known.size
    members = scipy.sparse.csr_array(
        (np.ones(n_examples), (documents.known, np.arange(n_examples))), shape=(documents.n_known, n_examples)
    )
    gains = scipy.sparse.csc_array(members @ counts[n_free:]).astype(np.float64)
    totals = np.asarray(gains.sum(axis=1))  # above 0 where there are entries
    in_all = np.asarray(counts.sum(axis=0), dtype=np.float64)
    lift = gains.data / totals[gains.indices] * in_all.sum() / np.repeat(in_all, np.diff(gains.indptr))
    gains.data = np.log1p(OWN_SHARE / (1.0 - OWN_SHARE) * lift)
    return scipy.sparse.csr_array(gains)


def fits_of(counts: scipy.sparse.csr_array, gains: scipy.sparse.csr_array) -> NDArray[np.float64]:
    """How much better documents fit known clusters than the collection at large (documents × clusters)."""
    lengths = np.asarray(counts.sum(axis=1))
    return np.asarray((counts @ gains.T).toarray() + lengths[:, np.newaxis] * np.log1p(-OWN_SHARE))


def best_known(
    counts: scipy.sparse.csr_array, gains: scipy.sparse.csr_array, allowed: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Of the known clusters that are allowed to each document the one that it fits best."""
    best = np.empty(counts.shape[0], np.int32)
    n_together = max(1, _BLOCK // gains.shape[0])
    for first in range(0, best.size, n_together):
        rows = slice(first, min(first + n_together, best.size))
        best[rows] = np.where(allowed[rows], fits_of(counts[rows], gains), -np.inf).argmax(axis=1)
    return best


def start_labels(
    documents: GuidedDocuments,
    unguided: NDArray[np.int32],
    choose: Callable[[NDArray[np.int64], NDArray[np.bool_]], NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Where sampling begins: known clusters are 0 … n_known − 1, those of an unguided run come after them.

    A cluster of that run follows a known one if the share that its known documents have in it is at least a quarter of
    what it is in the mean over these documents: a stray one draws no cluster along, and documents of a wide subject
    draw all that they are in. Where a cluster follows several, each of its documents goes to the one that it fits best:
    choose(documents, allowed) tells which, of those that are allowed to each.
    """
    n_free, n_known = documents.n_free, documents.n_known
    sizes = np.bincount(unguided + 1)[1:]
    has_label = unguided[n_free:] >= 0
    where = documents.known[has_label], unguided[n_free:][has_label]
    there = scipy.sparse.csr_array((np.ones(where[0].size), where), shape=(n_known, sizes.size)).toarray()
    shares = there / np.maximum(sizes, 1)
    mean_shares = (there * shares).sum(axis=1) / np.maximum(there.sum(axis=1), 1.0)
    follows = (there > 0) & (shares >= FOLLOWED * mean_shares[:, np.newaxis])
    labels = (np.maximum(unguided, 0) + n_known).astype(np.int32)  # those without a label have no words: any will do
    free = np.flatnonzero(unguided[:n_free] >= 0)
    following = free[follows.any(axis=0)[unguided[free]]]
    labels[following] = choose(following, follows.T[unguided[following]])
    labels[n_free:] = documents.known
    return labels


def labels_of_known(labels: NDArray[np.int32], documents: GuidedDocuments) -> NDArray[np.int32]:
    """The label of each known cluster, −1 if none of its documents has one."""
    clusters = np.full(documents.n_known, -1, np.int32)
    own = labels[documents.n_free :]
    clusters[documents.known[own >= 0]] = own[own >= 0]
    return clusters


def release_unsupported(
    labels: NDArray[np.int32], documents: GuidedDocuments, gains: scipy.sparse.csr_array
) -> NDArray[np.int32]:
    """Labels with what has come to a known cluster by chance in a cluster of its own, by words.

    A document fits if it does so as well as the collection at large.
    """

    def fits(known: int, came: NDArray[np.int64]) -> NDArray[np.bool_]:
        own = documents.counts[came]
        return np.asarray(fits_of(own, gains[[known]])[:, 0] > -ALIKE * np.asarray(own.sum(axis=1)))

    return release_misfits(labels, documents, fits)


def release_misfits(
    labels: NDArray[np.int32],
    documents: GuidedDocuments,
    fits: Callable[[int, NDArray[np.int64]], NDArray[np.bool_]],
) -> NDArray[np.int32]:
    """Labels, by falling size, with what has come to a known cluster by chance in a cluster of its own.

    A known cluster cannot vanish, so that sooner or later what has nothing to do with it may gather there. Where fewer
    than one in five of those who came fit it, the others get a cluster of their own: fits(known cluster, documents).
    """
    labels, n_used = labels.copy(), int(labels.max(initial=-1)) + 1
    free = labels[: documents.n_free]
    for known, cluster in enumerate(labels_of_known(labels, documents).tolist()):
        came = np.flatnonzero(free == cluster) if cluster >= 0 else np.empty(0, np.int64)
        if came.size == 0:
            continue
        fit = fits(known, came)
        if fit.mean() < LEAST_SUPPORT:
            free[came[~fit]] = n_used
            n_used += 1
    return order_by_size(labels)

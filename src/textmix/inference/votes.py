"""How sure the runs are of a document's cluster: its probabilities under the model of the second step.

The labels that a document has in the runs are its votes. Given the other documents, the Dirichlet-multinomial mixture
of the second step says how probable each cluster is by these votes. Runs of one view see the same documents, so their
votes are not independent, and the model is far too sure: of texts with a probability above .9 one in eight did not
belong to the subject of its cluster. Probabilities are therefore taken to the power DEPENDENCE and scaled to sum to 1,
as if five votes were one; which cluster is the most probable does not change. An approximation, measured in
docs/guide/results.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.matrix import sum_by_cluster
from textmix.inference.consensus import AGREED_ALPHA, MAX_AGREED, cluster_stabilities, labels_as_words
from textmix.inference.scoring import BLOCK_BYTES, PartitionScorer
from textmix.priors.finite_dirichlet import finite_dirichlet

DEPENDENCE = 0.2


@dataclass(frozen=True)
class Votes:
    """The labels that documents have in the runs, and in the clusters that these were found to agree on.

    Merging leaves `found` as it is: the probabilities of clusters that were merged are added up.
    """

    rows: NDArray[np.int64]  # the documents that the runs saw, rising
    runs: NDArray[np.int32]  # (run, document of rows); −1: a run has not seen it
    found: NDArray[np.int32]  # of all documents; −1 without words
    beta: float  # of the second step

    def following(self, labels: NDArray[np.int32]) -> Votes:
        """The same for other labels: those are taken for what was found if they are not merged from it."""
        known = (self.found >= 0) & (labels >= 0)
        pairs = np.unique(np.column_stack((self.found, labels))[known], axis=0)
        return self if np.unique(pairs[:, 0]).size == len(pairs) else replace(self, found=labels)

    def stabilities(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
        """How well the runs find each cluster; see `cluster_stabilities`."""
        if self.runs.size == 0:
            return np.full(n_clusters, np.nan)
        return cluster_stabilities(labels[self.rows], self.runs, n_clusters)

    @cached_property
    def _voters(self) -> NDArray[np.int64]:
        """Places in `rows` of the documents that have a vote and a label."""
        return np.flatnonzero((self.runs >= 0).any(axis=0) & (self.found[self.rows] >= 0))

    @cached_property
    def _votes(self) -> scipy.sparse.csr_array:
        """Voters × (run, cluster of that run)."""
        return labels_as_words(self.runs[:, self._voters])

    @property
    def documents(self) -> NDArray[np.int64]:
        """The documents that probabilities are known of, rising."""
        return self.rows[self._voters]

    @cached_property
    def _own(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The clusters found that have voters, and for each voter the place of its own among these."""
        clusters, own = np.unique(self.found[self.documents], return_inverse=True)
        return clusters.astype(np.int32), own.astype(np.int32)

    @cached_property
    def _scorer(self) -> PartitionScorer:
        clusters, own = self._own
        prior = finite_dirichlet(max(MAX_AGREED, clusters.size), AGREED_ALPHA)
        sizes = np.bincount(own, minlength=clusters.size)
        counts = sum_by_cluster(self._votes, own, clusters.size)
        return PartitionScorer.from_statistics(sizes, counts, self.beta, prior, 1.0)

    def blocks(
        self, labels: NDArray[np.int32], n_clusters: int, chosen: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Voters, or those of them at some places, and their probabilities of clusters of these labels, block by block.

        `labels`: those found, or merged from them. The last column is a new cluster's.
        """
        clusters, own = self._own
        places = np.arange(own.size) if chosen is None else chosen
        group_of = np.zeros(int(self.found.max(initial=0)) + 1, np.int32)
        known = (self.found >= 0) & (labels >= 0)
        group_of[self.found[known]] = labels[known]
        groups = np.append(group_of[clusters], n_clusters)
        joined = scipy.sparse.csr_array(
            (np.ones(groups.size), (np.arange(groups.size), groups)), shape=(groups.size, n_clusters + 1)
        )
        n_together = max(BLOCK_BYTES // (8 * (max(n_clusters, clusters.size) + 1)), 1)
        for first in range(0, places.size, n_together):
            block = places[first : first + n_together]
            scored = self._scorer.block(self._votes[block], own[block], 0, block.size).probabilities
            scored **= DEPENDENCE
            scored /= scored.sum(axis=1, keepdims=True)
            yield self.documents[block], np.asarray(scored @ joined)


def prefer_labels(probabilities: NDArray[np.float64], labels: NDArray[np.int32]) -> None:
    """Exchange, in place, the probability of a document's label with the highest where that is another's.

    So the label is the most probable cluster also where it was not chosen by these probabilities: documents that were
    known, identical ones that were put together, and merged clusters, of which the others may sum to more.
    """
    rows = np.flatnonzero(labels >= 0)
    best, own = np.argmax(probabilities[rows], axis=1), labels[rows]
    rows, best, own = rows[best != own], best[best != own], own[best != own]
    highest, lower = probabilities[rows, best], probabilities[rows, own]
    probabilities[rows, best] = lower
    probabilities[rows, own] = np.nextafter(highest, np.inf)  # above all that are as high

"""The arrays that kernels work on, grouped in NamedTuples: documents, model, prior, clusters, scratch space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# What `Clusters.counters` holds.
N_SLOTS = 0  # slots 0 … n_slots − 1 have been in use; some of them may be empty again
N_FREE = 1  # how many of these stand in free_slots
N_MOVED = 2  # documents moved since the statistics were laid out

# What `Proposals.counters` holds: documents refreshed; proposals to go elsewhere; those of them that were accepted.
N_REFRESHED, N_PROPOSED, N_ACCEPTED = 0, 1, 2


# Index arrays that kernels gather by are unsigned: Numba checks signed ones for negative values at every access.
# Arrays of type Any hold int32 where all counts are whole and add up to less than 2^31, else int64; all of them alike.


class Documents(NamedTuple):
    """Counts by document (CSR). Words of one document alone are left out: they score the same in every cluster."""

    starts: NDArray[Any]  # where a document's entries begin; one more than documents
    words: NDArray[np.uint32]  # rising within a document; the most widespread word is 0
    counts: NDArray[Any]  # in units of Model.unit
    lengths: NDArray[Any]  # all words counted, also those left out; in units; 0: the document has no words


class Model(NamedTuple):
    """Dirichlet-multinomial component model with its tables."""

    betas: NDArray[np.float64]  # β of each word, as the sampler numbers them; the last one holds for all that follow
    vocabulary_beta: float  # Σ β over the vocabulary: V β
    rise: float  # of one factor over the last: 1, word probabilities integrated out; 0, at their mean: a power
    unit: float  # what 1 in the count arrays stands for: 1 for whole counts
    # For n = 0, 1, … log Γ(β + n) − log Γ(β), or with rise 0 log(β + n); empty where counts are not whole or β differs.
    log_rising_word: NDArray[np.float64]
    log_rising_length: NDArray[np.float64]  # the same for V β

    @property
    def beta(self) -> float:
        """The β that all words have."""
        assert self.betas.size == 1
        return float(self.betas[0])


class Prior(NamedTuple):
    """Prior on partitions: a cluster of m documents weighs m + its pseudo-count, all empty ones together new_weight.

    labelled: clusters differ, so that each of max_clusters has a slot of its own, also while it is empty.
    """

    pseudo_counts: NDArray[np.float64]  # of each slot; the last one holds for all that follow
    concentration: float
    max_clusters: int
    labelled: bool

    @property
    def alpha(self) -> float:
        """The parameter by the name that users know: of the Dirichlet process, or of each cluster."""
        return self.concentration if self.concentration > 0.0 else float(self.pseudo_counts[0])

    @property
    def mass(self) -> float:
        """What all clusters weigh without documents."""
        n_alike = max(self.max_clusters - self.pseudo_counts.size + 1, 0)
        return self.concentration + float(self.pseudo_counts[:-1].sum() + n_alike * self.pseudo_counts[-1])


class ClusterStatistics(NamedTuple):
    """A partition and its statistics. A cluster lives in a slot; a slot is empty when its size is 0."""

    labels: NDArray[np.int32]  # the slot of each document, −1 for documents without words
    sizes: NDArray[np.int64]  # documents (m_z)
    totals: NDArray[np.int64]  # words (n_z)
    rows: NDArray[Any]  # counts (n_z^w) of the words 0 … n_rows − 1, a row a word, a column a slot
    list_starts: NDArray[Any]  # where a word's list of pairs begins; its room is the word's document frequency
    list_lengths: NDArray[np.int32]  # pairs in the list
    pair_slots: NDArray[np.uint32]
    pair_counts: NDArray[Any]  # n_z^w > 0
    free_slots: NDArray[np.int32]  # a stack; without room where slots belong to their clusters for good
    counters: NDArray[np.int64]


class LengthTable(NamedTuple):
    """For the most frequent document lengths N, what a cluster weighs for a document that shares no word with it.

    bases[r, z] = (m_z + pseudo_count) ∏_{i<N} (Vβ + i) / (n_z + Vβ + i), that is, relative to an empty cluster of
    weight 1, so that no term exceeds m + pseudo_count; 0 for an empty slot.
    """

    row_of_length: NDArray[np.int32]  # −1: this length has no row
    lengths: NDArray[np.int64]  # rising
    bases: NDArray[np.float64]
    sums: NDArray[np.float64]  # of bases[r], kept up to date
    peaks: NDArray[np.float64]  # largest value of the sum since it was last computed anew
    n_updates: NDArray[np.int64]  # one number: changes since then


class Scratch(NamedTuple):
    """Working space, one entry a slot and one to spare."""

    gains: NDArray[np.float64]  # 1 between documents
    touched: NDArray[np.uint32]
    weights: NDArray[np.float64]
    sums: NDArray[np.float64]  # partial sums of weights
    factor_words: NDArray[np.uint32]  # the words of a document that have a row, repeated as often as they occur
    factor_shifts: NDArray[np.float64]  # β, β + 1, … for these


class Proposals(NamedTuple):
    """Candidates of each document, drawn from its conditional when it was refreshed."""

    slots: NDArray[np.int32]  # a row a document
    log_q: NDArray[np.float64]  # of each of these
    gaps: NDArray[np.int32]  # how often the held label is proposed before each candidate, and after the last
    n_kept: NDArray[np.int32]
    next_kept: NDArray[np.int32]
    held: NDArray[np.int32]  # the label that the document had after its refresh
    log_q_held: NDArray[np.float64]
    log_q_own: NDArray[np.float64]  # of the label that it has now
    counters: NDArray[np.int64]


class Alias(NamedTuple):
    """An alias table and room to make it; one entry an item."""

    weights: NDArray[np.float64]
    shares: NDArray[np.float64]  # how much of an item's place is its own
    others: NDArray[np.int32]  # whose the rest is
    queue: NDArray[np.int32]


class Logs(NamedTuple):
    """Logarithms of what a cluster makes of a document, relative to an empty cluster, for one sweep over all documents.

    log w_z = weights[z] + N lengths[z] + Σ_w N_w (rows[w, z], or that of the word's pair; 0 where it has none)

    Rows without columns: hardly any document needs logarithms, and they are taken when it does.
    """

    weights: NDArray[np.float64]
    lengths: NDArray[np.float64]
    rows: NDArray[np.float64]
    pairs: NDArray[np.float64]

"""From a counts matrix to the arrays that the samplers work on, and how the statistics lie in memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.kernels import counts as count_kernels
from textmix.kernels.state import N_SLOTS, ClusterStatistics, Documents, LengthTable, Model, Prior, Scratch
from textmix.kernels.statistics import count_pairs, move_lists_to_rows
from textmix.kernels.weights import FEWEST_SUMS, SUMMED_TOGETHER, fill_bases

MAX_LENGTHS = 64  # document lengths that have a row in the length table, the most frequent ones
PLAIN_POWERS = 240.0  # powers of ten that a product in plain numbers may span
PLAIN_BETA_LIMIT = 1e9  # above, (n + β)/β could round to 1
# A row costs some tenths of a nanosecond a slot, a list some nanoseconds a pair.
ROW_SHARE = 0.15  # a word gets a row when it stands in more than this share of the clusters
SPARE_SLOTS = 16


class Prepared(NamedTuple):
    """Documents in the form the kernels take, and what they need to know of them."""

    documents: Documents
    words: NDArray[np.int64]  # the column of each word, as the sampler numbers them
    list_starts: NDArray[Any]  # room for each word's pairs: as many as documents that hold it
    unit: float
    max_word_total: int
    log_lone_words: float  # what the words left out add to the log joint, whatever the partition


def fixed_point_scale(total: float, whole: bool) -> float:
    """What counts of this total are multiplied by to become integers: 1, or for fractional ones a power of two.

    The power is so large that rounding is below that of a sum in floating point, and adding and removing is exact; 1 is
    for whole counts alone.
    """
    return 1.0 if whole else 2.0 ** max(60 - math.ceil(math.log2(max(total, 1.0))), 1)


def prepare_documents(
    counts: scipy.sparse.csr_array, beta: float | NDArray[np.float64], whole: bool, *, keep_lone_words: bool = False
) -> Prepared:
    """Number the words by falling document frequency, leave out those of one document, take counts as integers."""
    indptr, indices, data = counts.indptr, counts.indices, counts.data
    n_documents, n_words = counts.shape
    total = float(data.sum(dtype=np.float64))
    scale = fixed_point_scale(total, whole)
    frequencies = count_kernels.document_frequencies(indices, data, n_words)
    n_kept = int(np.count_nonzero(frequencies > (0 if keep_lone_words else 1)))
    kept = np.argsort(-frequencies, kind="stable")[:n_kept]
    new_ids = np.full(n_words, -1, np.int32)
    new_ids[kept] = np.arange(n_kept, dtype=np.int32)
    count_type: Any = np.int32 if whole and total < np.iinfo(np.int32).max else np.int64
    word_starts = np.zeros(n_kept + 1, count_type)
    np.cumsum(frequencies[kept], out=word_starts[1:])
    del frequencies
    n_entries = int(word_starts[-1])
    lengths = np.zeros(n_documents, count_type)
    by_word = np.empty(n_entries, np.int32), np.empty(n_entries, count_type)
    starts = np.zeros(n_documents + 1, count_type)
    betas = np.atleast_1d(np.asarray(beta, dtype=np.float64))
    log_lone_words = count_kernels.fill_by_word(
        indptr, indices, data, scale, betas, new_ids, word_starts, *by_word, lengths, starts
    )
    del new_ids
    np.cumsum(starts, out=starts)
    by_document = np.empty(n_entries, np.uint32), np.empty(n_entries, count_type)
    max_word_total = int(count_kernels.fill_by_document(word_starts, *by_word, starts, *by_document))
    documents = Documents(starts, *by_document, lengths)
    return Prepared(documents, kept, word_starts, 1.0 / scale, max_word_total, log_lone_words)


def betas_of_words(beta: float | NDArray[np.float64], words: NDArray[np.int64]) -> float | NDArray[np.float64]:
    """β of each word as the sampler numbers them, from β of each column; those of words left out come last."""
    if isinstance(beta, float):
        return beta
    return np.append(beta[words], np.delete(beta, words))


class PairRoom(NamedTuple):
    """Room for the pairs of all lists: a word stands in no more clusters than documents."""

    slots: NDArray[np.uint32]
    counts: NDArray[Any]


def build_pair_room(documents: Documents) -> PairRoom:
    """The room that the lists of these documents need, whatever the partition."""
    return PairRoom(np.empty(documents.words.size, np.uint32), np.empty_like(documents.counts))


def check_labels_fit(labels: NDArray[np.int32], n_documents: int, n_clusters: int) -> None:
    """Raise ValueError unless every document has a label from −1 (none) to n_clusters − 1.

    Kernels write statistics at the places that labels name, without a check of their own.
    """
    if labels.size != n_documents:
        raise ValueError(f"there are {labels.size:,} labels, but {n_documents:,} documents")
    lowest, highest = int(labels.min(initial=-1)), int(labels.max(initial=-1))
    if lowest < -1 or highest >= n_clusters:
        wrong = lowest if lowest < -1 else highest
        raise ValueError(f"labels must be from −1 to {n_clusters - 1}, but one is {wrong}")


def make_clusters(
    sizes: NDArray[np.int64],
    totals: NDArray[np.int64],
    list_starts: NDArray[Any],
    pair_counts: NDArray[Any],
    *,
    labels: NDArray[np.int32] | None = None,
    rows: NDArray[Any] | None = None,
    list_lengths: NDArray[np.int32] | None = None,
    pair_slots: NDArray[np.uint32] | None = None,
    n_clusters: int | None = None,
    n_free: int = 0,
) -> ClusterStatistics:
    """Clusters of these statistics, one in every slot unless n_clusters says otherwise, every list as long as its room.

    What else is not given is empty: labels where none are sampled, rows, the slots of pairs where only counts are read.
    """
    return ClusterStatistics(
        labels=np.empty(0, np.int32) if labels is None else labels,
        sizes=sizes,
        totals=totals,
        rows=np.zeros((0, totals.size), pair_counts.dtype) if rows is None else rows,
        list_starts=list_starts,
        list_lengths=np.diff(list_starts).astype(np.int32) if list_lengths is None else list_lengths,
        pair_slots=np.empty(0, np.uint32) if pair_slots is None else pair_slots,
        pair_counts=pair_counts,
        free_slots=np.empty(n_free, np.int32),
        counters=np.array([sizes.size if n_clusters is None else n_clusters, 0, 0]),
    )


def lay_out_clusters(
    prepared: Prepared,
    labels: NDArray[np.int32],
    n_clusters: int,
    capacity: int,
    layout: str,
    pairs: PairRoom,
    labelled: bool = False,
) -> ClusterStatistics:
    """Count the statistics of labels 0 … n_clusters − 1, with room for `capacity` clusters; `pairs` is overwritten.

    Words in many clusters get a row with a column a slot, others a list of (cluster, count) pairs; `layout` is "auto",
    or "dense" (every word a row), or "sparse" (none). "auto" spends on rows at most half the memory of the lists.
    labelled: slots belong to their clusters for good.
    """
    documents, n_words = prepared.documents, prepared.list_starts.size - 1
    check_labels_fit(labels, documents.lengths.size, capacity)
    count_type = documents.counts.dtype
    clusters = make_clusters(
        *(np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), prepared.list_starts, pairs.counts),
        labels=labels,
        list_lengths=np.zeros(n_words, np.int32),
        pair_slots=pairs.slots,
        n_clusters=n_clusters,
        n_free=0 if labelled else capacity,
    )
    count_pairs(documents, clusters)
    n_rows = n_words if layout == "dense" else 0
    if layout == "auto":
        n_rows = int(np.count_nonzero(clusters.list_lengths > ROW_SHARE * n_clusters))
        n_rows = min(n_rows, documents.words.size // capacity)
    clusters = clusters._replace(rows=np.zeros((n_rows, capacity), count_type))
    move_lists_to_rows(clusters)
    return clusters


def plain_length_limit(n_tokens: int, max_word_total: int, model: Model) -> int:
    """The longest document whose weights are sure to be computed in plain numbers without over- or underflow."""
    if model.unit != 1.0 or model.betas.max() > PLAIN_BETA_LIMIT:
        return 0
    widest = max(max_word_total / model.betas.min(), n_tokens / model.vocabulary_beta)
    return int(PLAIN_POWERS / math.log10(2.0 + widest))


def build_length_table(prepared: Prepared, clusters: ClusterStatistics, model: Model, prior: Prior) -> LengthTable:
    """The table of the most frequent document lengths; it takes at most half the memory of the counts."""
    lengths = prepared.documents.lengths
    limit = plain_length_limit(int(lengths.sum()), prepared.max_word_total, model)
    frequencies = count_kernels.count_lengths(lengths, min(limit, int(lengths.max(initial=0))))
    return tabulate_lengths(frequencies, prepared.documents.words.size // 2, clusters, model, prior)


def tabulate_lengths(
    frequencies: NDArray[np.int64], n_numbers: int, clusters: ClusterStatistics, model: Model, prior: Prior
) -> LengthTable:
    """The table of the most frequent of the lengths 0, 1, …, each of which so many documents have.

    It has some n_numbers at most, but one length in any case.
    """
    capacity = clusters.sizes.size
    frequencies[0] = 0
    room = max(n_numbers // capacity, 1)
    frequent = np.argsort(-frequencies, kind="stable")[: min(MAX_LENGTHS, room)]
    frequent = np.sort(frequent[frequencies[frequent] > 0])
    row_of_length = np.full(frequencies.size, -1, np.int32)
    row_of_length[frequent] = np.arange(frequent.size, dtype=np.int32)
    table = LengthTable(
        row_of_length=row_of_length,
        lengths=frequent.astype(np.int64),
        bases=np.zeros((frequent.size, capacity)),
        sums=np.zeros(frequent.size),
        peaks=np.zeros(frequent.size),
        n_updates=np.zeros(1, np.int64),
    )
    fill_bases(clusters, model, prior, table)
    return table


def build_scratch(clusters: ClusterStatistics, table: LengthTable) -> Scratch:
    """Working space for as many slots as there are, and documents as long as the table's longest."""
    n, length = clusters.sizes.size + 1, table.row_of_length.size
    return Scratch(
        gains=np.ones(n),
        touched=np.empty(n, np.uint32),
        weights=np.empty(n),
        sums=np.empty(n // SUMMED_TOGETHER + FEWEST_SUMS),
        factor_words=np.empty(length, np.uint32),
        factor_shifts=np.empty(length),
    )


def roomy(n_clusters: int, max_clusters: int) -> int:
    """Slots for n_clusters and some that may come."""
    return max(min(n_clusters + n_clusters // 4 + SPARE_SLOTS, max_clusters), n_clusters, 1)


def n_active_clusters(clusters: ClusterStatistics) -> int:
    """How many clusters hold documents."""
    return int(np.count_nonzero(clusters.sizes[: clusters.counters[N_SLOTS]]))

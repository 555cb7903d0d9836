"""Documents dealt out to partitions, for algorithms that work through them side by side, or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.partitions import n_partitions
from textmix.inference.layout import Prepared, prepare_documents
from textmix.inference.perplexity import sum_log_betas
from textmix.kernels.counts import count_lengths
from textmix.kernels.state import Documents

LONGEST_COUNTED = 1 << 12  # lengths beyond are too rare to have a row of the length table


class PartitionedDocuments(NamedTuple):
    """Where the documents are, and what must be known of all of them together."""

    loaders: Sequence[Callable[[], Documents]]  # of one partition each; what they give is not to be changed
    words: NDArray[np.int64]  # the column of each word, as the documents number them
    n_documents: int
    n_with_words: int
    n_columns: int
    n_entries: int
    n_tokens: int  # in units
    unit: float
    count_type: Any
    max_word_total: int
    length_frequencies: NDArray[np.int64]  # of the lengths 0, 1, …
    log_lone_words: float  # see Prepared
    log_betas: float  # Σ log β over all words of all documents

    @property
    def n_partitions(self) -> int:
        """How many there are; it depends on the documents alone."""
        return len(self.loaders)


def deal_out_counts(
    counts: scipy.sparse.csr_array, beta: float | NDArray[np.float64], whole: bool, *, keep_lone_words: bool = False
) -> PartitionedDocuments:
    """Counts in memory as partitions in memory."""
    prepared = prepare_documents(counts, beta, whole, keep_lone_words=keep_lone_words)
    documents = prepared.documents
    n_parts = n_partitions(documents.words.size, documents.lengths.size)
    n_tokens = int(documents.lengths.sum())
    longest = min(int(documents.lengths.max(initial=0)), LONGEST_COUNTED)
    return PartitionedDocuments(
        loaders=[partial(_same, _every(documents, part, n_parts)) for part in range(n_parts)],
        words=prepared.words,
        n_documents=documents.lengths.size,
        n_with_words=int(np.count_nonzero(documents.lengths)),
        n_columns=counts.shape[1],
        n_entries=documents.words.size,
        n_tokens=n_tokens,
        unit=prepared.unit,
        count_type=documents.counts.dtype,
        max_word_total=prepared.max_word_total,
        length_frequencies=count_lengths(documents.lengths, longest),
        log_lone_words=prepared.log_lone_words,
        log_betas=sum_log_betas(counts.indices, counts.data, beta),
    )


def _same(documents: Documents) -> Documents:
    return documents


def _every(documents: Documents, first: int, step: int) -> Documents:
    """The documents first, first + step, … alone."""
    sizes = np.diff(documents.starts)[first::step]
    starts = np.zeros(sizes.size + 1, documents.starts.dtype)
    np.cumsum(sizes, out=starts[1:])
    shift = documents.starts[:-1][first::step] - starts[:-1]
    entries = np.repeat(shift, sizes) + np.arange(starts[-1], dtype=starts.dtype)
    return Documents(starts, documents.words[entries], documents.counts[entries], documents.lengths[first::step].copy())


def join(parts: Sequence[Documents], source: PartitionedDocuments) -> Prepared:
    """Some partitions together, one after the other, as a collapsed sampler takes them."""
    starts = np.zeros(sum(part.lengths.size for part in parts) + 1, parts[0].starts.dtype)
    np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]), out=starts[1:])
    documents = Documents(
        starts,
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.lengths for part in parts]),
    )
    list_starts = np.zeros(source.words.size + 1, starts.dtype)
    np.cumsum(np.bincount(documents.words, minlength=source.words.size), out=list_starts[1:])
    return Prepared(documents, source.words, list_starts, source.unit, source.max_word_total, 0.0)

"""Documents dealt out to shards, for algorithms that work through them side by side, or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import gammaln

from textmix.corpus.shards import DamagedError, ShardCounts, ShardedCorpus, count_shards
from textmix.inference.layout import Prepared, prepare_documents
from textmix.inference.loop import Tick
from textmix.inference.perplexity import sum_log_betas
from textmix.kernels.counts import count_lengths, leave_out_words
from textmix.kernels.state import Documents

LONGEST_COUNTED = 1 << 12  # lengths beyond are too rare to have a row of the length table


class ShardedDocuments(NamedTuple):
    """Where the documents are, and what must be known of all of them together."""

    loaders: Sequence[Callable[[], Documents]]  # of one shard each; what they give is not to be changed
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
    def n_shards(self) -> int:
        """How many there are; it depends on the documents alone."""
        return len(self.loaders)


def deal_out_counts(
    counts: scipy.sparse.csr_array, beta: float | NDArray[np.float64], whole: bool, *, keep_lone_words: bool = False
) -> ShardedDocuments:
    """Counts in memory as shards in memory."""
    prepared = prepare_documents(counts, beta, whole, keep_lone_words=keep_lone_words)
    documents = prepared.documents
    n_parts = count_shards(counts.nnz, documents.lengths.size)
    n_tokens = int(documents.lengths.sum())
    longest = min(int(documents.lengths.max(initial=0)), LONGEST_COUNTED)
    return ShardedDocuments(
        loaders=[partial(_same, select_documents(documents, slice(part, None, n_parts))) for part in range(n_parts)],
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


def deal_out_disk(corpus: ShardedCorpus, beta: float | NDArray[np.float64], tick: Tick) -> ShardedDocuments:
    """A corpus on disk as shards that are read when they are needed; one pass over it tells the rest.

    DamagedError if the shards are not those that the corpus tells of: types of numbers depend on that.
    """
    count_type: Any = np.int32 if corpus.n_tokens < np.iinfo(np.int32).max else np.int64
    n_kept = int(np.count_nonzero(corpus.document_frequencies > 1))
    totals, frequencies = np.zeros((2, corpus.n_words), np.int64)
    length_frequencies = np.zeros(LONGEST_COUNTED + 1, np.int64)
    log_lone_words = 0.0
    for shard in range(corpus.n_shards):
        row_starts, words, counts = corpus.read_shard(shard)
        totals += np.bincount(words, counts, minlength=totals.size).astype(np.int64)
        frequencies += np.bincount(words, minlength=totals.size)
        lengths = _row_sums(row_starts, counts)
        length_frequencies += count_lengths(lengths, LONGEST_COUNTED)
        lone = words >= n_kept
        betas = beta if isinstance(beta, float) else beta[words[lone]]
        log_lone_words += float((gammaln(betas + counts[lone]) - gammaln(betas)).sum())
        tick(lengths.size)
    n_with_words = corpus.n_documents - corpus.n_empty_documents
    told = (corpus.n_tokens, n_with_words)
    if told != (int(totals.sum()), corpus.n_documents - int(length_frequencies[0])) or not np.array_equal(
        frequencies, corpus.document_frequencies
    ):
        raise DamagedError(f"the shards in {corpus.folder} do not belong to its manifest; build the corpus again")
    load = partial(_read_shard, corpus.read_shard, n_kept, count_type)
    return ShardedDocuments(
        loaders=[partial(load, shard) for shard in range(corpus.n_shards)],
        words=np.arange(n_kept),
        n_documents=corpus.n_documents,
        n_with_words=n_with_words,
        n_columns=corpus.n_words,
        n_entries=corpus.n_entries - (corpus.n_words - n_kept),
        n_tokens=corpus.n_tokens,
        unit=1.0,
        count_type=np.dtype(count_type),
        max_word_total=int(totals[:n_kept].max(initial=0)),
        length_frequencies=length_frequencies[: np.flatnonzero(length_frequencies).max(initial=0) + 1],
        log_lone_words=log_lone_words,
        log_betas=float((totals * np.log(beta)).sum()),
    )


def _row_sums(row_starts: NDArray[np.int64], counts: NDArray[np.int32]) -> NDArray[np.int64]:
    sums = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return np.diff(sums[row_starts])


def _read_shard(read: Callable[[int], ShardCounts], n_kept: int, count_type: Any, shard: int) -> Documents:
    """A shard without the words of a single document."""
    row_starts, words, counts = read(shard)
    counts = counts.astype(count_type, copy=False)
    lengths = np.empty(row_starts.size - 1, count_type)
    leave_out_words(n_kept, row_starts, words, counts, lengths)
    starts = row_starts.astype(count_type)
    return Documents(starts, words[: starts[-1]], counts[: starts[-1]], lengths)


def _same(documents: Documents) -> Documents:
    return documents


def select_documents(documents: Documents, rows: NDArray[np.int64] | slice) -> Documents:
    """Some of the documents."""
    sizes = np.diff(documents.starts)[rows]
    starts = np.zeros(sizes.size + 1, documents.starts.dtype)
    np.cumsum(sizes, out=starts[1:])
    shift = documents.starts[:-1][rows] - starts[:-1]
    entries = np.repeat(shift, sizes) + np.arange(starts[-1], dtype=starts.dtype)
    return Documents(starts, documents.words[entries], documents.counts[entries], documents.lengths[rows].copy())


def join(parts: Sequence[Documents], source: ShardedDocuments) -> Prepared:
    """Some shards together, one after the other, as a collapsed sampler takes them."""
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

"""Building a corpus on disk: texts are counted into a file, then one pass over it writes the partitions."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.build_folder import KIND, SPILL, VOCABULARY, building
from textmix.corpus.corpus import Corpus
from textmix.corpus.counting import WordCounts, count_batches
from textmix.corpus.files import Record, save_record, write_files
from textmix.corpus.partition_files import PartitionWriter
from textmix.corpus.partitions import n_partitions
from textmix.corpus.spill import Spill
from textmix.corpus.tokens import Tokenizer
from textmix.corpus.vocabulary import Columns, build_ordered_vocabulary, order_vocabulary, with_language
from textmix.kernels.tokenize import Rows

if TYPE_CHECKING:
    from textmix.corpus.readers import Batch

VERSION = 1
_BYTES_A_WORD = 300  # measured, at its highest: the word, the table of words, stems, columns
_DOCUMENTS_AT_ONCE = 1 << 14  # of a corpus in memory

Tick = Callable[[str, int], object]


def build_from_batches(
    folder: Path,
    batches: Iterable[Batch],
    tokenizer: Tokenizer,
    *,
    memory: int | None,
    source: Mapping[str, Any] | None,
    replace: bool,
    tick: Tick | None,
) -> None:
    """Build a corpus of the texts of all batches in a folder."""
    tick = tick or _no_tick
    json.dumps(source)  # what cannot be stored is not to be found out at the end
    with building(folder, replace=replace):
        texts = chain.from_iterable(_texts_of(batches, tick))
        counts = _count_into(folder / SPILL, texts, tokenizer, memory)
        chosen = with_language(tokenizer, counts)
        _write(folder, counts, _Ordered(*build_ordered_vocabulary(counts, chosen)), chosen, source, tick)


def build_from_corpus(folder: Path, corpus: Corpus, *, source: Mapping[str, Any] | None, replace: bool) -> None:
    """Build the same of a corpus that is in memory."""
    if corpus.counts.dtype != np.int32:
        raise ValueError(
            f"counts on disk are whole numbers below 2^31, but these are {corpus.counts.dtype}; "
            "round them, or keep the corpus in memory"
        )
    json.dumps(source)
    counts = WordCounts(_MatrixBatches(corpus.counts), corpus.vocabulary, corpus.n_documents)
    columns = np.arange(corpus.n_words, dtype=np.int32)
    frequencies = counts.document_frequencies(columns, corpus.n_words)
    ordered = _Ordered(*order_vocabulary(corpus.vocabulary, columns, frequencies))
    with building(folder, replace=replace):
        _write(folder, counts, ordered, corpus.tokenizer, source, _no_tick)


def vocabulary_bytes(n_distinct_words: int) -> int:
    """The bytes that a build takes for so many distinct words, of usual lengths; all else of it is some 50 MB."""
    return _BYTES_A_WORD * n_distinct_words


class _Ordered(NamedTuple):
    """A vocabulary by falling document frequency."""

    vocabulary: list[str]
    columns: Columns  # of the distinct words
    frequencies: npt.NDArray[np.int64]


def _count_into(path: Path, texts: Iterable[str], tokenizer: Tokenizer, memory: int | None) -> WordCounts:
    """Count the words of texts, the counts in a file."""
    splitter = tokenizer.splitter()
    spill = Spill(path)
    for rows in count_batches(texts, splitter):
        spill.add(rows)
        if memory is not None and vocabulary_bytes(spill.n_words) > memory:
            raise ValueError(
                f"the first {spill.n_documents:,} texts have {spill.n_words:,} distinct words, which need "
                f"{vocabulary_bytes(spill.n_words) / 1e6:,.0f} MB of memory, but {memory / 1e6:,.0f} MB are "
                "allowed; allow more: leaving out rare words (min-df) does not help, since all are counted first"
            )
    spill.finish()
    return WordCounts(spill, splitter.words(), spill.n_documents)


def _write(
    folder: Path,
    counts: WordCounts,
    ordered: _Ordered,
    tokenizer: Tokenizer | None,
    source: Mapping[str, Any] | None,
    tick: Tick,
) -> None:
    """Write all files of a corpus and remove the spilled counts."""
    vocabulary, columns, frequencies = ordered
    writer = PartitionWriter(folder, n_partitions(int(frequencies.sum()), counts.n_documents), len(vocabulary))
    n_tokens = n_empty = 0
    for rows in counts.remapped(columns, len(vocabulary)):
        n_tokens += int(rows.counts.sum(dtype=np.int64))
        n_empty += int(np.count_nonzero(np.diff(rows.row_ends, prepend=0) == 0))
        writer.add(rows)
        tick("writing", rows.row_ends.size)
    files = writer.close()
    (folder / SPILL).unlink(missing_ok=True)
    words = json.dumps(vocabulary).encode()
    write_files(folder, {VOCABULARY: lambda file: _write_bytes(file, words)})
    arrays: dict[str, npt.NDArray[Any]] = {
        "document_frequencies": frequencies,
        "partition_entries": files.n_entries,
        "partition_checksums": files.checksums,
    }
    settings = {
        "n_documents": counts.n_documents,
        "n_empty_documents": n_empty,
        "n_tokens": n_tokens,
        "tokenizer": None if tokenizer is None else tokenizer.settings(),
        "source": dict(source or {}),
        "vocabulary_checksum": zlib.crc32(words),
    }
    save_record(folder, KIND, VERSION, Record(arrays, {}, settings))


class _MatrixBatches:
    """The rows of a matrix in batches, copied."""

    def __init__(self, counts: csr_array) -> None:
        self._counts = counts

    def __iter__(self) -> Iterator[Rows]:
        for first in range(0, self._counts.shape[0], _DOCUMENTS_AT_ONCE):
            bounds = self._counts.indptr[first : first + _DOCUMENTS_AT_ONCE + 1].astype(np.int64)
            entries = slice(int(bounds[0]), int(bounds[-1]))
            words = self._counts.indices[entries].astype(np.int32)
            yield Rows(words, self._counts.data[entries].copy(), bounds[1:] - bounds[0])


def _texts_of(batches: Iterable[Batch], tick: Tick) -> Iterator[list[str]]:
    for batch in batches:
        yield batch.texts
        tick("reading", len(batch.texts))


def _write_bytes(file: BinaryIO, content: bytes) -> None:
    file.write(content)


def _no_tick(stage: str, n_documents: int) -> None:
    pass

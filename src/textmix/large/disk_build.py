"""Building a corpus on disk: texts are counted into a file, then one pass over it writes the shards."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.corpus import Corpus
from textmix.corpus.counting import WordCounts, count_batches
from textmix.corpus.files import Record, save_record, write_files
from textmix.corpus.shards import count_shards
from textmix.corpus.tokens import Tokenizer
from textmix.corpus.vocabulary import Columns, build_ordered_vocabulary, order_vocabulary, with_language
from textmix.kernels.tokenize import Rows
from textmix.large.errors import MemoryLimitError
from textmix.large.shard_files import ShardWriter, join_rows

if TYPE_CHECKING:
    from textmix.corpus.readers import Batch

KIND = "disk-corpus"
VERSION = 1
MANIFEST = f"{KIND}.json"
VOCABULARY = "vocabulary.json"

# In names of files and of arrays a shard is called a partition, as in corpora of earlier versions.
_SPILL = "counts.spill"
_UNFINISHED = "unfinished"  # a file that is there from the first moment of a build to its last
_NAMES = (
    rf"{KIND}\.json|vocabulary\.json|(document_frequencies|shard_entries|shard_checksums)\.npy"
    r"|shard-\d+\.(row_starts|words|counts)"
)
_OWN_FILE = re.compile(rf"{_NAMES}|counts\.spill|{_UNFINISHED}|\.({_NAMES})\.[0-9a-f]+\.tmp")

_BYTES_A_WORD = 300  # measured, at its highest: the word, the table of words, stems, columns
_DOCUMENTS_AT_ONCE = 1 << 14  # of a corpus in memory
# Batches are written and read in blocks of at least so many entries (1 MB), or so many documents if these
# are short; larger ones leave the processor's cache.
_BLOCK_ENTRIES = 1 << 17
_BLOCK_DOCUMENTS = 1 << 16

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
        counts = _count_into(folder / _SPILL, texts, tokenizer, memory)
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
            what = f"the first {spill.n_documents:,} texts have {spill.n_words:,} distinct words, which"
            raise MemoryLimitError(what, vocabulary_bytes(spill.n_words), memory, "counting")
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
    writer = ShardWriter(folder, count_shards(int(frequencies.sum()), counts.n_documents), len(vocabulary))
    n_tokens = n_empty = 0
    for rows in counts.remapped(columns, len(vocabulary)):
        n_tokens += int(rows.counts.sum(dtype=np.int64))
        n_empty += int(np.count_nonzero(np.diff(rows.row_ends, prepend=0) == 0))
        writer.add(rows)
        tick("writing", rows.row_ends.size)
    files = writer.close()
    (folder / _SPILL).unlink(missing_ok=True)
    words = json.dumps(vocabulary).encode()
    write_files(folder, {VOCABULARY: lambda file: _write_bytes(file, words)})
    arrays: dict[str, npt.NDArray[Any]] = {
        "document_frequencies": frequencies,
        "shard_entries": files.n_entries,
        "shard_checksums": files.checksums,
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


class Spill:
    """Batches of counts in a file, which can be gone through any number of times.

    A block is its numbers of documents and of entries, then row ends, words and counts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._path.touch()
        self._waiting: list[Rows] = []
        self._n_waiting_documents = self._n_waiting_entries = 0
        self.n_documents = 0
        self.n_words = 0  # distinct ones, which are numbered by first occurrence

    def add(self, rows: Rows) -> None:
        """Add a batch."""
        self._waiting.append(rows)
        self._n_waiting_documents += rows.row_ends.size
        self._n_waiting_entries += rows.words.size
        self.n_documents += rows.row_ends.size
        self.n_words = max(self.n_words, int(rows.words.max(initial=-1)) + 1)
        if self._n_waiting_entries >= _BLOCK_ENTRIES or self._n_waiting_documents >= _BLOCK_DOCUMENTS:
            self._write_block()

    def finish(self) -> None:
        """End the writing: what was added can be read from now on."""
        if self._waiting:
            self._write_block()

    def __iter__(self) -> Iterator[Rows]:
        with open(self._path, "rb") as file:
            while (sizes := np.fromfile(file, dtype=np.int64, count=2)).size:
                n_documents, n_entries = sizes.tolist()
                row_ends = np.fromfile(file, dtype=np.int64, count=n_documents)
                words = np.fromfile(file, dtype=np.int32, count=n_entries)
                counts = np.fromfile(file, dtype=np.int32, count=n_entries)
                yield Rows(words, counts, row_ends)

    def _write_block(self) -> None:
        words, counts, row_ends = join_rows(self._waiting)
        sizes = np.array([row_ends.size, words.size], dtype=np.int64)
        with open(self._path, "ab") as file:
            for array in (sizes, row_ends, words, counts):
                file.write(array.data)
        self._waiting = []
        self._n_waiting_documents = self._n_waiting_entries = 0


def is_unfinished(folder: Path) -> bool:
    """Whether a build in this folder goes on, or broke off."""
    return (folder / _UNFINISHED).exists() and not (folder / MANIFEST).exists()


@contextmanager
def building(folder: Path, *, replace: bool) -> Iterator[None]:
    """An empty folder to build a corpus in; should that fail, it is empty again, or gone if it was not there.

    Raises ValueError if the folder holds anything but a build that broke off, or a corpus if `replace` is
    true: these are removed.
    """
    was_there = folder.exists()
    _check(folder, replace)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _UNFINISHED).touch()
    try:
        _empty(folder)
        yield
    except BaseException:
        _empty(folder)
        (folder / _UNFINISHED).unlink()
        if not was_there:
            with suppress(OSError):  # another's files are in it by now
                folder.rmdir()
        raise
    (folder / _UNFINISHED).unlink()


def remove_corpus(folder: Path) -> None:
    """Remove a corpus, or what is left of a build; a folder with files of others stays, with these alone."""
    if folder.is_dir():
        (folder / _UNFINISHED).touch()
        _empty(folder)
        (folder / _UNFINISHED).unlink()
        with suppress(OSError):
            folder.rmdir()


def _check(folder: Path, replace: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; a corpus on disk needs a folder of its own")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    foreign = sorted(name for name in names if not _OWN_FILE.fullmatch(name))
    if foreign or (names and not names & {MANIFEST, _UNFINISHED}):
        example = (foreign or sorted(names))[0]
        raise ValueError(f'{folder} holds other files, such as "{example}"; a corpus on disk needs a folder of its own')
    if MANIFEST in names and not replace:
        raise ValueError(f"{folder} holds a corpus already; open it, replace it (replace=True), or take another folder")


def _empty(folder: Path) -> None:
    """Remove all files of a build but the one that says it is unfinished; the manifest goes first."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        if path.name != _UNFINISHED and _OWN_FILE.fullmatch(path.name):
            path.unlink()

"""A corpus on disk: the same counts as `Corpus` has, in shards that are read one at a time.

Building it (disk_build.py) reads the texts once. Their counts go to a file and only the distinct words stay in memory.
When all texts are counted it is known which words become columns, and one pass over that file writes the shards
(shard_files.py). The manifest, disk-corpus.json, is written last.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from textmix.corpus.corpus import Corpus
from textmix.corpus.files import load_record
from textmix.corpus.matrix import MAX_TOTAL
from textmix.corpus.saved_files import MOST_LISTED, parse_json, read_content
from textmix.corpus.saved_values import WHOLE, check_number, check_range, check_strings, check_type, check_vector
from textmix.corpus.shards import ShardCounts, ShardedCorpus
from textmix.corpus.tokens import Tokenizer, check_settings
from textmix.large.disk_build import (
    KIND,
    MANIFEST,
    VERSION,
    VOCABULARY,
    Tick,
    build_from_batches,
    build_from_corpus,
    is_unfinished,
)
from textmix.large.shard_files import ShardFiles

if TYPE_CHECKING:
    from textmix.corpus.readers import Batch

BYTES_A_WORD = 100  # measured: the string, its place in the list, its frequency


@dataclass(frozen=True, eq=False)
class DiskCorpus(ShardedCorpus):
    """Documents as counts of words, in shards on disk.

    Attributes
    ----------
    document_frequencies
        In how many documents each word is. They fall: the words of most documents are the first columns.
    n_documents, n_empty_documents
        The number of documents, and of those that no word is left of.
    n_tokens
        The sum of all counts.
    tokenizer
        The settings that the texts were counted with; its language is the one that was recognised. None if
        the corpus was made from counts without them.
    source
        What the builder said about the input, as JSON gives it back.
    """

    tokenizer: Tokenizer | None
    source: dict[str, Any]
    files: ShardFiles
    _vocabulary_checksum: int

    @classmethod
    def build(
        cls,
        folder: str | os.PathLike[str],
        batches: Iterable[Batch],
        tokenizer: Tokenizer,
        *,
        memory: int | None = None,
        source: Mapping[str, Any] | None = None,
        replace: bool = False,
        tick: Tick | None = None,
    ) -> DiskCorpus:
        """Count the texts of a `DocumentReader`, reading them once, and write the counts to a folder.

        The folder is new, empty, or holds a build that broke off, which is removed; so is a corpus with
        `replace`. `memory` is the number of bytes that the distinct words may take: ValueError if they need
        more. `tick` is called with "reading" or "writing" and the number of documents that were just read or
        written.
        """
        build_from_batches(Path(folder), batches, tokenizer, memory=memory, source=source, replace=replace, tick=tick)
        return cls.open(folder, tokenizer.tokenizer)

    @classmethod
    def from_corpus(
        cls,
        folder: str | os.PathLike[str],
        corpus: Corpus,
        *,
        source: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> DiskCorpus:
        """Write a corpus that is in memory; its counts have to be whole numbers below 2^31."""
        build_from_corpus(Path(folder), corpus, source=source, replace=replace)
        return cls.open(folder, None if corpus.tokenizer is None else corpus.tokenizer.tokenizer)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], tokenizer: Callable[[str], Iterable[str]] | None = None
    ) -> DiskCorpus:
        """Open a corpus; if a tokenizer of your own split its texts, `count` needs it again.

        Raises ValueError if it is not there, not complete, damaged, or of a newer textmix.
        """
        folder = Path(folder)
        if is_unfinished(folder):
            raise ValueError(f"the corpus in {folder} was not built to its end; build it again")
        record = load_record(folder, KIND, VERSION)
        try:
            settings, arrays = record.settings, record.arrays
            n_documents, frequencies = settings["n_documents"], arrays["document_frequencies"]
            try:
                _check_totals(settings, arrays)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{folder} is damaged ({error}); build the corpus again") from error
            files = ShardFiles(
                folder, n_documents, frequencies.size, arrays["shard_entries"], arrays["shard_checksums"]
            )
            corpus = cls(
                folder=folder,
                document_frequencies=frequencies,
                n_shards=files.n_shards,
                n_documents=n_documents,
                n_empty_documents=settings["n_empty_documents"],
                n_tokens=settings["n_tokens"],
                tokenizer=_as_tokenizer(settings["tokenizer"], tokenizer),
                source=settings["source"],
                files=files,
                _vocabulary_checksum=settings["vocabulary_checksum"],
            )
        except KeyError as error:
            raise ValueError(f"{folder / MANIFEST} is damaged ({error} is missing); build the corpus again") from error
        files.check_sizes()
        return corpus

    @cached_property
    def vocabulary(self) -> list[str]:
        """The word of each column, by falling document frequency, then by first occurrence; read when asked for."""
        path = self.folder / VOCABULARY
        try:
            content = read_content(path, MOST_LISTED)
            if zlib.crc32(content) != self._vocabulary_checksum:
                raise ValueError("it is not what was written")
            words: list[str] = parse_json(content)
            check_strings("it", words, self.n_words)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is damaged or missing ({error}); build the corpus again") from error
        return words

    @property
    def read_shard(self) -> Callable[[int], ShardCounts]:
        """What reads a shard, by its number: `shard` without the corpus."""
        return self.files.read

    def shard(self, shard: int, *, mmap: bool = False) -> ShardCounts:
        """The counts of a shard: of document i of all, if i % n_shards is `shard`, at i // n_shards.

        With `mmap` they stay on disk and are read as they are used, without a look for damages.
        """
        return self.files.read(shard, mmap=mmap)

    def count(self, texts: Iterable[str | None]) -> csr_array:
        """Count new texts in this corpus's columns; words that it does not have are left out."""
        return self.without_documents.count(texts)

    @cached_property
    def without_documents(self) -> Corpus:
        """The vocabulary and the tokenizer, which new texts are counted by."""
        counts = np.empty((0, self.n_words), dtype=np.int32)
        return Corpus(counts=csr_array(counts), vocabulary=self.vocabulary, tokenizer=self.tokenizer)

    def estimate(self) -> int:
        """The bytes that this corpus takes in memory with its vocabulary and one shard, the largest."""
        return BYTES_A_WORD * self.n_words + self.files.bytes_of_largest()


def _check_totals(settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise ValueError if what is said of all documents together cannot be so."""
    frequencies, n_entries = arrays["document_frequencies"], arrays["shard_entries"]
    check_number("n_documents", settings["n_documents"], 0, MAX_TOTAL, whole=True)
    check_number("n_empty_documents", settings["n_empty_documents"], 0, settings["n_documents"], whole=True)
    check_number("n_tokens", settings["n_tokens"], 0, MAX_TOTAL, whole=True)
    check_type("source", settings["source"], dict)
    check_vector("document_frequencies.npy", frequencies, WHOLE)
    check_range("document_frequencies.npy", frequencies, 0, settings["n_documents"])
    if (frequencies[1:] > frequencies[:-1]).any():
        raise ValueError("document_frequencies.npy rises")
    check_vector("shard_entries.npy", n_entries, WHOLE)
    check_range("shard_entries.npy", n_entries, 0, settings["n_tokens"])
    if n_entries.size == 0 or n_entries.sum(dtype=np.float64) != frequencies.sum(dtype=np.float64):
        raise ValueError("shard_entries.npy does not add up to document_frequencies.npy")
    if arrays["shard_checksums"].shape != (n_entries.size, len(ShardCounts._fields)):
        raise ValueError("shard_checksums.npy does not have one number for each file")
    if settings["tokenizer"] is not None:
        check_settings(settings["tokenizer"])


def _as_tokenizer(
    settings: Mapping[str, Any] | None, tokenizer: Callable[[str], Iterable[str]] | None
) -> Tokenizer | None:
    if settings is not None:
        return Tokenizer.from_settings(settings, tokenizer)
    if tokenizer is not None:
        raise ValueError("this corpus was made from counts, not by a tokenizer; leave the tokenizer out")
    return None

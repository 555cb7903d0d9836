"""What the benchmarks share: the labelled collections, timing, memory, tables."""

from __future__ import annotations

import ctypes
import gzip
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.metrics import normalized_mutual_info_score

DATA = Path(os.environ.get("TEXTMIX_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


class Collection(NamedTuple):
    """Counts, labels, and the same documents as lists of words."""

    name: str
    counts: scipy.sparse.csr_array
    labels: np.ndarray
    words: list[list[str]]


def read(name: str) -> tuple[list[str], np.ndarray]:
    """The texts and labels of a collection."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    return [document["text"] for document in documents], np.array([document["label"] for document in documents])


def load(name: str) -> Collection:
    """A collection split at blanks where its authors preprocessed it, else with textmix's own defaults."""
    from textmix import Corpus

    texts, labels = read(name)
    if name in ("Tweet", "T", "S", "TS"):
        corpus = Corpus.from_texts(texts, tokenizer=str.split, language=None, min_word_length=1)
    else:
        corpus = Corpus.from_texts(texts)
    return Collection(name, corpus.counts, labels, as_words(corpus.counts, list(corpus.vocabulary)))


def as_words(counts: scipy.sparse.csr_array, vocabulary: Sequence[str]) -> list[list[str]]:
    """Each document as a list of words, repeated as often as they occur."""
    tokens = np.repeat(counts.indices, counts.data).tolist()
    ends = np.concatenate(([0], np.cumsum(counts.data)))[counts.indptr]
    return [[vocabulary[word] for word in tokens[first:last]] for first, last in itertools.pairwise(ends)]


def repeated(counts: scipy.sparse.csr_array, times: int) -> scipy.sparse.csr_array:
    """The same documents several times over, 4-byte ids and counts."""
    stacked = scipy.sparse.csr_array(scipy.sparse.vstack([counts] * times))
    return scipy.sparse.csr_array(
        (stacked.data.astype(np.int32), stacked.indices.astype(np.int32), stacked.indptr), shape=stacked.shape
    )


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def alternate(first: Callable[[], Any], second: Callable[[], Any], times: int) -> tuple[float, float]:
    """Medians of the times of two programs, run in turn."""
    pairs = [(seconds(first), seconds(second)) for _ in range(times)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def peak_growth(work: Callable[[], Any]) -> int:
    """By how many bytes the peak memory of this process rises above what it holds before the call (Linux)."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # memory that was freed earlier does not count as there already
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def csr_bytes(counts: scipy.sparse.csr_array) -> int:
    """The size of counts in CSR with 4-byte ids and counts."""
    return 8 * counts.nnz + 4 * counts.indptr.size


def nmi(truth: np.ndarray, labels: np.ndarray) -> float:
    """Normalised mutual information, geometric mean."""
    return float(normalized_mutual_info_score(truth, labels, average_method="geometric"))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|")
    for row in rows:
        print(
            "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row) + " |",
            flush=True,
        )

"""What a run with its counts on disk takes of memory, and how it keeps within what it was given."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from textmix.corpus.readers import Batch
from textmix.corpus.tokens import Tokenizer
from textmix.engines.threads import count_threads
from textmix.estimators import DirichletMultinomialMixture
from textmix.kernels import jit
from textmix.large.disk_corpus import BYTES_A_WORD, DiskCorpus
from textmix.large.run_files import Scorers, score_shard

SMALLEST_MEMORY = 512_000_000

# The memory that a run takes, measured, in bytes.
ITSELF = 300_000_000  # Python with its packages, compiled code, buffers of readers, the documents being worked on
A_WORD = BYTES_A_WORD
A_DOCUMENT = 24  # its label, in the state, in the order of the files and in what is saved; its scores, mapped
A_LABEL = 70  # of a document, that clusters are compared with
A_PAIR = 60  # a word that stands in a cluster: its statistics as they are, as they are merged, and as kernels take them
SHARE_OF_PAIRS = 0.5  # of the pairs that there could be: as many for a word as it has documents, or there are clusters
A_THREAD = 32_000_000  # probabilities of the documents being scored, and
A_THREADS_ENTRY = 100  # for each count of a shard: documents, and what has changed in the statistics

_COMPILED = "large-runs-"  # a file in the folder of compiled kernels: all that large runs need are there


def estimate_memory(corpus: DiskCorpus, n_clusters: int, *, compared: bool = False) -> int:
    """The bytes that a run with so many clusters takes for this corpus; compared: with labels of the documents."""
    n_pairs = SHARE_OF_PAIRS * float(np.minimum(corpus.document_frequencies, n_clusters).sum(dtype=np.float64))
    a_document = A_DOCUMENT + A_LABEL * compared
    return ITSELF + A_WORD * corpus.n_words + a_document * corpus.n_documents + int(A_PAIR * n_pairs)


def compile_kernels() -> None:
    """Cluster a few texts, so that whoever comes next finds all kernels compiled."""
    with TemporaryDirectory() as folder:
        corpus = DiskCorpus.build(Path(folder) / "corpus", [Batch(["red apple", "fast car"] * 20)], Tokenizer())
        for init in ("online", "random"):
            model = DirichletMultinomialMixture(5, init=init, progress=False).fit_disk(corpus)
        score_shard(corpus.shard(0), Scorers.of(model.mixture_), model.labels_)
    marker = _marker()
    if marker is not None:
        marker.touch()


def compile_apart() -> None:
    """Compile in another process: compilers take memory, and do not give all of it back."""
    subprocess.run([sys.executable, "-c", f"from {__name__} import compile_kernels; compile_kernels()"], check=False)


def is_compiled() -> bool:
    """Whether all kernels that a run needs are in the cache, or there is no cache."""
    marker = _marker()
    return marker is None or marker.exists()


def _marker() -> Path | None:
    """A file that is there once all is compiled; Numba keeps machine code by where its source is."""
    if jit._CACHE_FOLDER is None:
        return None
    place = hashlib.sha256(str(Path(jit.__file__).resolve()).encode()).hexdigest()[:12]
    return Path(jit._CACHE_FOLDER, _COMPILED + place)


def threads_within(memory: int, corpus: DiskCorpus, n_jobs: int | None) -> int:
    """How many threads may run in so many bytes: one at least."""
    a_thread = A_THREAD + A_THREADS_ENTRY * int(corpus.files.n_entries.max(initial=0))
    return max(min(count_threads(n_jobs), memory // a_thread), 1)

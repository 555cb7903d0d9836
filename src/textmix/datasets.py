"""Synthetic documents to try feature partition on (DMAFP 6.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


class PartitionedDocuments(NamedTuple):
    """Documents of which the discriminative words are known."""

    counts: scipy.sparse.csr_array  # documents × words
    labels: NDArray[np.int64]
    discriminative: NDArray[np.bool_]  # of each word


def make_partitioned(
    n_documents: int = 600,
    n_words: int = 2000,
    n_discriminative: int = 200,
    n_clusters: int = 6,
    *,
    discriminative_length: int = 200,
    background_length: int = 200,
    random_state: Any = 0,
) -> PartitionedDocuments:
    """The synthetic data of DMAFP 6.2: clusters differ in the first n_discriminative words and in nothing else.

    A document has discriminative_length words drawn from the distribution of its cluster and background_length words
    from one that all share; distributions are uniform random numbers, normalised. Documents come cluster by cluster,
    clusters as equal in size as can be.
    """
    for name, value, least in (
        ("n_documents", n_documents, 0),
        ("n_clusters", n_clusters, 1),
        ("discriminative_length", discriminative_length, 0),
        ("background_length", background_length, 0),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}")
    if not 0 < n_discriminative <= n_words:
        raise ValueError(f"n_discriminative must be 1 to n_words={n_words}, not {n_discriminative}")
    if n_discriminative == n_words and background_length > 0:
        raise ValueError("with all words discriminative there is no background: background_length must be 0")
    rng = np.random.default_rng(random_state)
    clusters = _distributions(rng, n_clusters, n_discriminative)
    background = _distributions(rng, 1, n_words - n_discriminative)[0]
    labels = np.sort(np.arange(n_documents) % n_clusters)
    counts = np.zeros((n_documents, n_words), np.int64)
    counts[:, :n_discriminative] = rng.multinomial(discriminative_length, clusters[labels])
    if n_discriminative < n_words:
        counts[:, n_discriminative:] = rng.multinomial(background_length, background, size=n_documents)
    return PartitionedDocuments(scipy.sparse.csr_array(counts), labels, np.arange(n_words) < n_discriminative)


def _distributions(rng: np.random.Generator, n: int, size: int) -> NDArray[np.float64]:
    values = 1.0 - rng.random((n, size))  # above 0
    return np.asarray(values / values.sum(axis=1, keepdims=True))

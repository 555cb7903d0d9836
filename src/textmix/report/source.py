"""What a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.corpus import Corpus
from textmix.inference.merging import Merges
from textmix.results.clusters import Cluster, Tally
from textmix.results.levels import Level
from textmix.results.typical import Example
from textmix.results.words import ClusterWords


@dataclass(frozen=True)
class Source:
    """A clustering as a report takes it. What there is not of each text is None: the texts may be on disk."""

    clusters: Sequence[Cluster]
    labels: NDArray[np.int32]
    corpus: Corpus
    words: ClusterWords
    texts: Sequence[str] | None
    typicality: NDArray[np.float32] | None
    outliers: NDArray[np.bool_]
    outlier_scores: NDArray[np.float64] | None
    outlier_threshold: float
    outliers_at: Callable[[float], NDArray[np.bool_]] | None  # which texts are outliers at another threshold
    strangest: Sequence[Example]  # of the outliers, where no threshold tells them
    merges: Merges | None
    tally: Tally
    trace: Mapping[str, NDArray[Any]]
    stability: float | None
    agreement: Mapping[str, float] | None  # with the labels beside the texts
    n_without_words: int
    levels: Sequence[Level] = ()  # above the clusters, coarse to fine
    n_clusters_range: tuple[int, int] | None = None
    directions: NDArray[np.float32] | None = None  # of the clusters' vectors, where there is a second view
    run: Mapping[str, Any] = field(default_factory=dict)  # what run.json says
    title: str | None = None

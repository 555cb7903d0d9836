"""Where the texts of a clustering are: in memory, or on disk only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from textmix.results.clusters import Cluster, describe_clusters, list_clusters
from textmix.results.run import read_texts
from textmix.results.typical import N_OUTLIERS, Example, Examples, KeptExamples

if TYPE_CHECKING:
    from textmix.clustering.clustering import Clustering
    from textmix.clustering.fitted_model import FittedModel


class TextsInMemory:
    """A list of texts; those of a saved clustering are read when they are first asked for."""

    in_memory = True  # so are their counts and scores

    def __init__(self, texts: Sequence[str] | None, n_documents: int, folder: Path | None = None) -> None:
        self._texts = texts
        self._n_documents = n_documents
        self._folder = folder

    def texts(self) -> Sequence[str]:
        """All texts."""
        if self._texts is None:
            assert self._folder is not None
            self._texts = read_texts(self._folder, self._n_documents)
        return self._texts

    def describe_clusters(self, clustering: Clustering, names: Mapping[int, str]) -> list[Cluster]:
        """The clusters with their most typical texts."""
        model = clustering.model
        known = set(model.known_clusters.values())
        return describe_clusters(
            clustering.labels,
            clustering.typicality,
            model.words,
            self.texts(),
            model.stabilities,
            names,
            known,
        )

    def strangest(self, clustering: Clustering) -> list[Example]:
        """The outliers with the highest outlier scores."""
        examples = Examples(1, N_OUTLIERS)
        examples.add(0, self.texts(), np.where(clustering.outliers, 0, -1), clustering.outlier_scores)
        return examples.lists()[0]

    def check_at_hand(self, what: str) -> None:
        """Raise AttributeError unless there is something to tell of each text."""

    def check_relabelling(self, model: FittedModel, done: str) -> None:
        """Raise ValueError unless the texts can be given other labels."""
        model.check_relabelling(done)

    def check_saving(self) -> None:
        """Raise ValueError unless the clustering can be saved."""


class TextsOnDisk:
    """Texts that were never in memory as a whole, nor were their counts; some of each cluster were kept.

    What is said of each text is in assignments.csv.
    """

    in_memory = False

    def __init__(self, examples: KeptExamples, folder: Path) -> None:
        self._examples = examples
        self._folder = folder

    def texts(self) -> NoReturn:
        """They are not at hand."""
        self.check_at_hand("texts")

    def describe_clusters(self, clustering: Clustering, names: Mapping[int, str]) -> list[Cluster]:
        """The clusters with the examples that were kept."""
        model = clustering.model
        return list_clusters(model.mixture.cluster_sizes, model.words, self._examples.clusters, given_names=names)

    def strangest(self, clustering: Clustering) -> list[Example]:
        """Those that were kept."""
        return self._examples.outliers

    def check_at_hand(self, what: str) -> NoReturn:
        """Raise AttributeError."""
        raise AttributeError(
            f"there are no {what} here: the texts and counts of this run were never in memory as a whole; "
            f'see assignments.csv in "{self._folder}"'
        )

    def check_relabelling(self, model: FittedModel, done: str) -> NoReturn:
        """Raise ValueError."""
        raise ValueError(f"the texts of this run were never in memory as a whole; its clusters cannot be {done}")

    def check_saving(self) -> NoReturn:
        """Raise ValueError: the run is on disk already."""
        raise ValueError(f'this clustering is saved already; copy the folder "{self._folder}"')


TextStore = TextsInMemory | TextsOnDisk

"""A fitted mixture as plain data, held by its estimator, saved and loaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.files import Record, describing_damage, load_record, save_record
from textmix.engines.threads import threads
from textmix.inference.pooling import NOT_FITTED, DocumentVectors, ViewWeights
from textmix.inference.scoring import PartitionScorer
from textmix.inference.votes import Votes
from textmix.kernels.conditionals import settle_ties
from textmix.kernels.state import Prior
from textmix.results.mixture_values import CONSENSUS, KNOWN, LEVEL, RANGE, TRACE, VIEW_WEIGHTS, VOTE_BETA, read_values

_KIND = "model"
_VERSION = 2
NOT_STORED = "client"  # a cluster of machines may be gone when the model is loaded


class DocumentScores(NamedTuple):
    """Each document's probability of its own cluster and its outlier score; NaN without words.

    The score is the log of the odds of a new cluster, or another that the estimator has.
    """

    probabilities: NDArray[np.float64]
    outlier_scores: NDArray[np.float64]


@dataclass(frozen=True)
class DocumentScorer:
    """Scores documents that a mixture was fitted to; threads may share it."""

    partition: PartitionScorer
    cluster_sizes: NDArray[np.int64]
    polished: bool

    def score(
        self,
        counts: scipy.sparse.csr_array,
        own: NDArray[np.int32],
        n_identical: NDArray[np.int32],
        n_jobs: int | None = None,
    ) -> DocumentScores:
        """Score documents with these labels block by block, so that no documents × clusters array is held."""
        scores = DocumentScores(np.full(own.size, np.nan), np.full(own.size, np.nan))

        def score_block(first: int, last: int) -> None:
            block = self.partition.block(counts, own, first, last)
            labels = own[block.rows]
            if self.polished:
                settle_ties(
                    block.probabilities,
                    labels,
                    self.cluster_sizes,
                    n_identical[block.rows] if n_identical.size else n_identical,
                )
            used = np.flatnonzero(labels >= 0)
            scores.probabilities[block.rows][used] = block.probabilities[used, labels[used]]
            scores.outlier_scores[block.rows] = block.log_new - block.log_existing

        with threads(n_jobs) as pool:
            pool.run_blocks(score_block, own.size, self.partition.block_size)
        return scores


@dataclass(frozen=True)
class FittedMixture:
    """What a fitted estimator knows, apart from the counts it was fitted to."""

    estimator: str  # its class
    parameters: dict[str, Any]  # those that JSON can hold
    labels: NDArray[np.int32]
    cluster_sizes: NDArray[np.int64]
    cluster_word_counts: scipy.sparse.csr_array
    alpha: float | NDArray[np.float64]
    beta: float | NDArray[np.float64]
    prior: Prior
    unit: float
    polished: bool
    n_identical: NDArray[np.int32]
    trace: dict[str, NDArray[Any]]
    n_sweeps: int
    converged: bool
    log_joint: float
    inference: str  # how it was sampled
    stabilities: NDArray[np.float64]  # of the clusters; empty where there was a single run
    known_clusters: dict[str, int]  # the label of each cluster that was known beforehand, by name; −1: it is empty
    known_documents: NDArray[np.int64]  # whose cluster was given
    vectors: DocumentVectors | None = None  # of the documents, where there is a second view
    weights: ViewWeights = NOT_FITTED  # of the views, of a consensus
    votes: Votes | None = None  # of the runs, of a consensus
    n_clusters_range: tuple[int, int] | None = None  # of clusters of two documents or more
    levels: tuple[NDArray[np.int32], ...] = ()  # for each cluster its group at each level above, coarse to fine

    def scorer(self) -> DocumentScorer:
        """What scores the training documents, some at a time."""
        partition = PartitionScorer.from_statistics(
            self.cluster_sizes, self.cluster_word_counts, self.beta, self.prior, self.unit
        )
        return DocumentScorer(partition, self.cluster_sizes, self.polished)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save as arrays and JSON."""
        arrays: dict[str, NDArray[Any]] = {
            "labels": self.labels,
            "cluster_sizes": self.cluster_sizes,
            "word_counts_data": self.cluster_word_counts.data,
            "word_counts_indices": self.cluster_word_counts.indices,
            "word_counts_row_starts": self.cluster_word_counts.indptr,
            "twins": self.n_identical,
            "stabilities": self.stabilities,
            "known_documents": self.known_documents,
            **{f"{TRACE}{name}": values for name, values in self.trace.items()},
        }
        settings: dict[str, Any] = {
            "estimator": self.estimator,
            "parameters": self.parameters,
            "alpha": _as_json(self.alpha),
            "beta": _as_json(self.beta),
            "prior": {**self.prior._asdict(), "pseudo_counts": self.prior.pseudo_counts.tolist()},
            "unit": self.unit,
            "polished": self.polished,
            "n_words": int(self.cluster_word_counts.shape[1]),
            "n_sweeps": self.n_sweeps,
            "converged": self.converged,
            "log_joint": self.log_joint,
            "inference": self.inference,
            KNOWN: self.known_clusters,
        }
        if self.vectors is not None:
            arrays |= {"vectors": self.vectors.matrix, "vector_rows": self.vectors.rows}
        if self.estimator == CONSENSUS:
            settings[VIEW_WEIGHTS] = self.weights._asdict()
            settings[RANGE] = None if self.n_clusters_range is None else list(self.n_clusters_range)
            arrays |= {f"{LEVEL}{place}": groups for place, groups in enumerate(self.levels)}
        if self.votes is not None:
            votes = self.votes
            arrays |= {"vote_rows": votes.rows, "vote_runs": votes.runs, "vote_found": votes.found}
            settings[VOTE_BETA] = votes.beta
        save_record(folder, _KIND, _VERSION, Record(arrays, {}, settings))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> FittedMixture:
        """Load what `save` saved; ValueError if it is not there, broken, or newer."""
        arrays, _, settings = load_record(folder, _KIND, _VERSION)
        with describing_damage(folder, _KIND):
            return cls(**read_values(arrays, settings))


def _as_json(value: float | NDArray[np.float64]) -> float | list[float]:
    return value if isinstance(value, float) else value.tolist()


def plain_parameters(estimator: Any) -> dict[str, Any]:
    """An estimator's parameters, but for the client and what JSON cannot hold (a random generator, an array)."""
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        plain = value.item() if isinstance(value, np.generic) else value
        if name != NOT_STORED and (plain is None or isinstance(plain, bool | int | float | str)):
            parameters[name] = plain
    return parameters

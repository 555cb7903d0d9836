"""Clusters with no settings: what many short runs of a Dirichlet-multinomial mixture agree on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from textmix.corpus import Corpus
from textmix.corpus.matrix import sum_by_cluster
from textmix.estimators.counts import check_counts
from textmix.estimators.prior_knowledge import (
    PriorKnowledge,
    arrange,
    know_identical,
    read_knowledge,
)
from textmix.estimators.two_view_mixture import TwoViewMixture, as_source
from textmix.inference.consensus import check_number, mean_trace, split_off
from textmix.inference.consensus_fit import (
    MAX_SAMPLED,
    ConsensusSettings,
    Found,
    fit_consensus,
    make_pooled,
    place_others,
)
from textmix.inference.hierarchy import Clustered, find_levels, group_clusters, merge_clustered
from textmix.inference.identical import are_first, group_identical
from textmix.inference.known_clusters import GuidedDocuments, labels_of_known
from textmix.inference.layout import fixed_point_scale
from textmix.inference.merging import Merges
from textmix.inference.ordering import (
    are_among,
    canonical_order,
    join_groups,
    number_by_size,
    order_by_size,
    renumber,
)
from textmix.inference.partition import score_labels
from textmix.inference.pooling import DocumentVectors
from textmix.inference.progress import Progress
from textmix.inference.seeds import seed_from
from textmix.inference.views.words import WordSettings
from textmix.inference.votes import Votes
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet
from textmix.results.background import Background
from textmix.vectors.source import ArrangedVectors, HeldVectors, VectorSource, fingerprints, hold_vectors

GRANULARITIES = {"coarse": 0.25, "medium": 1.0, "fine": 5.0}
ROUNDING = 1e-9  # of outlier scores: in a single cluster all are 0
ALL, ONCE = "all", "once"


@dataclass(eq=False, repr=False)
class ConsensusMixture(TwoViewMixture):
    """What many short runs agree on: of a mixture of words, and of one of vectors if there are any.

    Each run on words samples a Dirichlet-multinomial mixture from random clusters, and of each document sees at most
    `n_words` words, drawn anew; words of a single document count for nothing. With vectors as many runs more sample a
    mixture of von Mises-Fisher distributions times Dirichlet-multinomials, each on half of the dimensions and at most
    six words of a document (on vectors alone if counts are not whole numbers). The documents' labels in all runs are
    then their "words" for the first model once more. Clusters are those of this second step; their words are counted
    in whole documents.

    Above 50,000 documents, the runs see a random sample. The others join its clusters: by words alone the parallel
    sampler goes over all documents, those of the sample too, in one sweep and greedy passes by all of their words; with
    vectors each other document gets its most probable cluster by both.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Exactly this many clusters: those found are merged; if they are too few, finer ones are looked for, and
        documents that fit their cluster least are split off. None: as many as are found.
    granularity : "coarse", "medium", "fine" or float, default="medium"
        How readily runs that differ are taken for finer clusters; as a number, 1 is medium, more is finer.
    n_runs : int, default=10
        Runs on words, and as many on vectors, that are to agree.
    n_words : int, default=40
        Words that a run sees of a document; all, if counts are not whole numbers.
    n_start_clusters : int, default=500
        Clusters that a run starts from.
    alpha, beta : float, default=0.1
        Pseudo-counts of each cluster and of each word, in the runs.
    n_sweeps : int, default=20
        Of each run.
    duplicates : {"all", "once"}, default="all"
        "once": identical documents count as one in finding clusters, in the words of clusters and in outlier scores;
        in the sizes of clusters, and in the directions that predictions by vectors go by, all count.
    outlier_threshold : float, default=0.25
        Documents of a higher outlier score are outliers, beside those alone in their cluster; it can be changed after
        a fit.
    n_jobs : int or None, default=-1
        Threads, −1 for as many as there are cores. Labels do not depend on it.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same labels; None: others at each fit. NumPy's global state is never touched.
    progress : bool or None, default=None
        Whether to show a progress bar when a fit takes long; None: on a terminal.

    Attributes
    ----------
    labels_ : array of shape (n_documents,)
        0 … n_clusters_ − 1 by falling size; −1 for documents without words.
    n_clusters_, cluster_sizes_, cluster_word_counts_
        Number of clusters, documents of each, word counts of each (sparse).
    cluster_stabilities_, stability_
        How well the runs find each cluster: its overlap (Jaccard) with the most similar cluster of a run, the mean over
        runs; 1: each run has just this one. And the mean of that over documents. Merged clusters have less, since runs
        have their parts.
    known_clusters_ : dict
        The label of each cluster that was known by y or examples, by name; −1 if none of the documents is in it.
    merges_ : Merges
        The hierarchy: how clusters are merged one by one, each time the two whose merging loses least information; with
        vectors by Ward's criterion on both views. (Of more than 2,000 clusters the smallest are taken together first.)
    probabilities_, outliers_, outlier_scores_
        See their own descriptions; computed on request.
    trace_ : dict of arrays, one entry a sweep
        n_clusters, n_moved, log_joint, seconds: means over the runs on words.
    n_runs_, n_vector_runs_
        Runs that were finished, and how many of them were on vectors.
    n_iter_, converged_, log_joint_
        Sweeps of a run; whether the second step ended at a fixed point; log p(labels, words) of whole documents.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "granularity": [StrOptions(set(GRANULARITIES)), Interval(Real, 0, None, closed="neither")],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "n_start_clusters": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1e100, closed="neither")],
        "beta": [Interval(Real, 0, 1e100, closed="neither")],
        "n_sweeps": [Interval(Integral, 1, None, closed="left")],
        "duplicates": [StrOptions({ALL, ONCE})],
        "outlier_threshold": [Interval(Real, None, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "progress": ["boolean", None],
    }
    polish = False

    n_clusters: int | None = None
    _: KW_ONLY
    granularity: str | float = "medium"
    n_runs: int = 10
    n_words: int = 40
    n_start_clusters: int = 500
    alpha: float = 0.1
    beta: float = 0.1
    n_sweeps: int = 20
    duplicates: str = ALL
    outlier_threshold: float = 0.25
    n_jobs: int | None = -1
    random_state: Any = 0
    progress: bool | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        vectors: Any = None,
        examples: Mapping[Any, Any] | None = None,
        example_vectors: Mapping[Any, Any] | None = None,
    ) -> Self:
        """Find the clusters of X: documents × words, counts sparse or dense, or a Corpus.

        y: the known cluster of each document, by number or name; −1, None or "" where it is not known, as for most.
        Documents of one known cluster are together, those of two are apart; others join them or form clusters of their
        own.

        sample_weight: how much each document counts in finding clusters. A run sees it with a probability in
        proportion; documents that no run sees, such as those of weight 0, are put into the clusters that the others
        form. Runs see half of the documents at least: if weights differ widely, the largest count as less. Known
        documents count in full; sizes and words count every document once.

        vectors: one row per document, such as sentence embeddings: a second view, on which as many runs are made. Only
        directions count; a row of zeros is a document without a vector.

        examples: other documents of known clusters, {name: counts}, with the columns of X; example_vectors: their
        vectors, {name: rows}.
        """
        self._validate_params()
        counts, whole = check_counts(self, X, reset=True)
        source = None if vectors is None else as_source(vectors, counts.shape[0])
        self._vocabulary = X.vocabulary if isinstance(X, Corpus) else None
        n_dimensions = None if source is None else source.n_dimensions
        knowledge = read_knowledge(self, counts, y, sample_weight, examples, example_vectors, n_dimensions)
        whole = whole and bool((knowledge.examples.data == np.floor(knowledge.examples.data)).all())
        unit = 1.0 / fixed_point_scale(float(counts.sum()) + float(knowledge.examples.sum()), whole)
        knowledge = know_identical(counts, knowledge, unit)
        if self.n_clusters is not None:
            check_number(counts, int(self.n_clusters), unit, knowledge.known)
        if source is not None and counts.shape[0] <= MAX_SAMPLED:
            source = hold_vectors(source, np.arange(counts.shape[0]))  # each is encoded once
        fingerprint = None if source is None else partial(fingerprints, source)
        order = canonical_order(counts, unit, knowledge.known, knowledge.weights, fingerprint)
        documents, rows = arrange(counts, knowledge, unit, order, once=self.duplicates == ONCE)
        found = self._sample(documents, rows, knowledge, whole, unit, source)
        own, has_words = rows < counts.shape[0], np.diff(counts.indptr) > 0
        is_known = has_words & (knowledge.known >= 0)
        labels, clusters = np.full(counts.shape[0], -1, np.int32), labels_of_known(found.labels, documents)
        labels[rows[own]] = found.labels[own]
        labels[is_known] = clusters[knowledge.known[is_known]]
        labels, clusters = renumber(labels, order_by_size(labels, order), clusters)
        held = None if source is None else self._hold(source, found, rows, own)
        if (has_words & (labels < 0)).any():
            word_counts = self._count_words(counts, whole, labels)
            prior = self._prior(word_counts.shape[0])
            placed = place_others(
                *(counts, whole, labels, order, word_counts, float(self.beta), prior, unit, source, held, self.n_jobs)
            )
            labels, clusters = renumber(labels, placed, clusters)
        found_labels = labels
        if self.n_clusters is not None:
            number = int(self.n_clusters)
            labels, clusters = self._bring_to_number(counts, labels, clusters, knowledge, unit, number, held, order)
        known = dict(zip(knowledge.names, clusters.tolist(), strict=True))
        self.n_runs_, self.n_vector_runs_ = len(found.runs), found.n_vector_runs
        seen = rows[found.rows[own[found.rows]]]
        by_row = np.argsort(seen)
        votes = Votes(seen[by_row], found.run_labels[:, own[found.rows]][:, by_row], found_labels, found.beta)
        return self._set_labels(
            *(counts, whole, labels, mean_trace(found.runs), found.converged, known, np.flatnonzero(is_known), held),
            votes=votes,
            bounds=None if self.n_clusters is not None else found.more_or_fewer,
        )

    def _sample(
        self,
        documents: GuidedDocuments,
        rows: NDArray[np.int64],
        knowledge: PriorKnowledge,
        whole: bool,
        unit: float,
        source: VectorSource | None,
    ) -> Found:
        """What runs on these documents, rows of X and then examples, agree on."""
        vectors = None
        if source is not None and knowledge.example_vectors is not None:
            vectors = ArrangedVectors(source, rows, knowledge.example_vectors)
        seed, progress = seed_from(self.random_state), Progress(self.progress)
        n_examples = knowledge.example_of.size
        return fit_consensus(documents, n_examples, whole, unit, self._settings(), seed, self.n_jobs, progress, vectors)

    @staticmethod
    def _hold(
        source: VectorSource, found: Found, rows: NDArray[np.int64], own: NDArray[np.bool_]
    ) -> DocumentVectors | None:
        """The vectors that are kept: of all documents, or of those that the runs saw where there are too many.

        None if no document has one.
        """
        if isinstance(source, HeldVectors):  # `fit` has read all of them
            return DocumentVectors(np.arange(source.n_documents), source.matrix) if source.matrix.any() else None
        if found.vectors is None:
            return None
        is_own = own[found.rows]
        documents = rows[found.rows[is_own]]
        order = np.argsort(documents)
        return DocumentVectors(documents[order], found.vectors.matrix[np.flatnonzero(is_own)[order]])

    def fit_labels(self, X: Any, labels: NDArray[np.int32], *, vectors: Any = None) -> Self:
        """Take labels of any origin for the clusters of X, numbered by falling size; nothing is sampled.

        Documents without words get −1. Words, outliers, hierarchy and prediction are those of these clusters.
        """
        self._validate_params()
        counts, whole = check_counts(self, X, reset=True)
        self._vocabulary = X.vocabulary if isinstance(X, Corpus) else None
        held = None
        if vectors is not None:
            source = as_source(vectors, counts.shape[0])
            rows = np.arange(counts.shape[0])
            if rows.size > MAX_SAMPLED:
                rows = np.sort(np.random.default_rng(seed_from(self.random_state)).permutation(rows)[:MAX_SAMPLED])
            held = DocumentVectors(rows, hold_vectors(source, rows).matrix)
        own = order_by_size(np.where(np.diff(counts.indptr) > 0, labels, -1).astype(np.int32))
        return self._set_labels(counts, whole, own, {}, True, {}, np.empty(0, np.int64), held)

    def fit_predict(self, X: Any, y: Any = None, **known: Any) -> NDArray[np.int32]:
        """`fit` and its labels."""
        return self.fit(X, y, **known).labels_

    def _settings(self) -> ConsensusSettings:
        words = WordSettings(
            int(self.n_runs),
            int(self.n_words),
            int(self.n_start_clusters),
            float(self.alpha),
            float(self.beta),
            int(self.n_sweeps),
        )
        return ConsensusSettings(
            words,
            GRANULARITIES[self.granularity] if isinstance(self.granularity, str) else float(self.granularity),
            None if self.n_clusters is None else int(self.n_clusters),
        )

    def _bring_to_number(
        self,
        counts: scipy.sparse.csr_array,
        labels: NDArray[np.int32],
        clusters: NDArray[np.int32],
        knowledge: PriorKnowledge,
        unit: float,
        number: int,
        vectors: DocumentVectors | None,
        order: NDArray[np.int64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Labels of so many clusters, and those of the known ones, which are kept apart if that can be."""
        n_found = int(labels.max(initial=-1)) + 1
        apart, numbered = are_among(clusters, n_found), labels
        if n_found < number:
            numbered = np.empty_like(labels)
            numbered[order] = split_off(counts[order], labels[order], number, unit, knowledge.known[order])
        elif n_found > number:
            groups = group_clusters(self._clustered(counts, labels, unit, apart, vectors), number)
            numbered = join_groups(labels, number_by_size(groups, np.bincount(labels[labels >= 0])))
        labels, clusters = renumber(labels, numbered, clusters)
        is_known = (labels >= 0) & (knowledge.known >= 0)
        clusters[knowledge.known[is_known]] = labels[is_known]  # what was split off is none of these
        if apart.sum() > number:
            message = f"n_clusters is {number:,}, but {apart.sum():,} clusters are known: some of them are merged"
            warnings.warn(message, stacklevel=3)
        return labels, clusters

    def _set_labels(
        self,
        counts: scipy.sparse.csr_array,
        whole: bool,
        labels: NDArray[np.int32],
        trace: dict[str, NDArray[Any]],
        converged: bool,
        known_clusters: dict[str, int],
        known_documents: NDArray[np.int64],
        vectors: DocumentVectors | None = None,
        votes: Votes | None = None,
        bounds: tuple[int, int] | None = None,
    ) -> Self:
        """Make these labels, by falling size, the fitted ones; `bounds`: this many fewer or more clusters may be."""
        n_found = int(labels.max(initial=-1)) + 1
        scored, word_counts = score_labels(counts, whole, labels, float(self.beta), self._prior(n_found))
        partition = replace(scored, trace=trace, n_sweeps=int(self.n_sweeps), converged=converged)
        if votes is not None:
            votes = votes.following(partition.labels)
        stabilities = np.full(n_found, np.nan) if votes is None else votes.stabilities(partition.labels, n_found)
        if self.duplicates == ONCE:
            word_counts = self._count_words(counts, whole, partition.labels)
        beta, prior = float(self.beta), self._prior(n_found)
        pooled = make_pooled(counts, whole, partition.labels, word_counts, beta, prior, vectors, votes)
        return self._set_fitted(
            *(partition, word_counts, counts, "consensus"),
            vectors=vectors,
            weights=pooled.weights,
            n_clusters_range=_range_of(partition.labels, bounds),
            votes=votes,
            stabilities=stabilities,
            known_clusters=known_clusters,
            known_documents=known_documents,
        )

    def _set_counts(self, counts: scipy.sparse.csr_array | None) -> Self:
        self._forget("_merges", "_levels", "_fitted_background", "_lone_and_scores")
        return super()._set_counts(counts)

    def _labels_that_count(
        self, counts: scipy.sparse.csr_array, labels: NDArray[np.int32], unit: float
    ) -> NDArray[np.int32]:
        """The labels; −1 for all but the first of identical documents of a cluster, if these count once."""
        if self.duplicates == ALL:
            return labels
        return np.where(are_first(group_identical(counts, unit), labels), labels, np.int32(-1))

    def _count_words(
        self, counts: scipy.sparse.csr_array, whole: bool, labels: NDArray[np.int32]
    ) -> scipy.sparse.csr_array:
        """The words of each cluster, those of identical documents once if these count once."""
        unit = 1.0 / fixed_point_scale(float(counts.data.sum(dtype=np.float64)), whole)
        return sum_by_cluster(counts, self._labels_that_count(counts, labels, unit), int(labels.max(initial=-1)) + 1)

    def _clustered(
        self,
        counts: scipy.sparse.csr_array,
        labels: NDArray[np.int32],
        unit: float,
        apart: NDArray[np.bool_],
        vectors: DocumentVectors | None,
    ) -> Clustered:
        """The documents that count, in canonical order, for grouping their clusters."""
        ordered = Clustered(counts, labels, int(self.n_words), vectors, apart).in_order(unit)
        return ordered._replace(labels=self._labels_that_count(ordered.counts, ordered.labels, unit))

    def _prior(self, n_clusters: int) -> Prior:
        return finite_dirichlet(max(int(self.n_start_clusters), n_clusters), float(self.alpha))

    def _alpha_of(self, prior: Prior) -> float:
        return prior.alpha

    @property
    def cluster_stabilities_(self) -> NDArray[np.float64]:
        """How well the runs agree on each cluster, 0 to 1; NaN where that is not known."""
        return self._fitted.stabilities

    @property
    def known_clusters_(self) -> dict[str, int]:
        """The label of each cluster that was known beforehand, by name; −1 if it is empty."""
        return self._fitted.known_clusters

    @property
    def outlier_scores_(self) -> NDArray[np.float64]:
        """How much more probable a document's words are in the collection at large than in its cluster without it.

        The mean over words of the logarithm of the ratio (results/background.py): above 0 a document might as well be
        words of all clusters. With vectors, `score_vectors` is added. NaN without words.
        """
        check_is_fitted(self)
        if "_outlier_scores" not in self.__dict__:
            counts, vectors = self._training_counts(), self._fitted.vectors
            scores = self._background.score(counts, self.labels_, own=True)
            if vectors is not None:
                scores[vectors.rows] += self.score_vectors(vectors.matrix, self.labels_[vectors.rows], own=True)
            self._outlier_scores = scores
        return self._outlier_scores

    @property
    def outliers_(self) -> NDArray[np.bool_]:
        """Documents alone in a cluster that was not known, and those with a score above `outlier_threshold`.

        None whose cluster was given.
        """
        return self.outliers_at(float(self.outlier_threshold))

    def outliers_at(self, threshold: float) -> NDArray[np.bool_]:
        """What `outliers_` would be with another threshold."""
        check_is_fitted(self)
        if "_lone_and_scores" not in self.__dict__:
            is_single = (self.cluster_sizes_ == 1) & ~are_among(self._known_labels(), self.n_clusters_)
            lone, scores = np.append(is_single, False)[self.labels_], self.outlier_scores_.copy()
            lone[self._fitted.known_documents] = False
            scores[self._fitted.known_documents] = np.nan
            self._lone_and_scores = lone, scores
        lone, scores = self._lone_and_scores
        return np.asarray(lone | (scores > threshold + ROUNDING))

    def score_new(self, X: Any, labels: NDArray[np.int32], vectors: Any = None) -> NDArray[np.float64]:
        """Outlier scores of new documents in the clusters of these labels; NaN where that is −1."""
        check_is_fitted(self)
        counts = check_counts(self, X, reset=False).matrix
        scores = self._background.score(counts, labels, own=False)
        if vectors is not None:
            units = self.check_new_vectors(vectors, counts.shape[0])
            has_words = np.diff(counts.indptr) > 0
            scores[~has_words & units.any(axis=1) & (labels >= 0)] = 0.0  # words say nothing
            scores += self.score_vectors(units, labels, own=False)
        return scores

    def are_outliers(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether outlier scores are above `outlier_threshold`."""
        return np.asarray(scores > self.outlier_threshold + ROUNDING)

    @property
    def _background(self) -> Background:
        if "_fitted_background" not in self.__dict__:
            background = Background(self.cluster_word_counts_)
            counts = self._training_counts()
            counted = self._labels_that_count(counts, self.labels_, self._fitted.unit)
            self._fitted_background = background.fit_weight(counts, counted)
        return self._fitted_background

    @property
    def stability_(self) -> float:
        """The mean over documents of the stability of their clusters."""
        check_is_fitted(self)
        known = ~np.isnan(self.cluster_stabilities_)
        sizes = self.cluster_sizes_[known]
        return float(self.cluster_stabilities_[known] @ sizes / sizes.sum()) if known.any() else float("nan")

    def _all_clustered(self) -> Clustered:
        apart, fitted = are_among(self._known_labels(), self.n_clusters_), self._fitted
        return self._clustered(self._training_counts(), self.labels_, fitted.unit, apart, fitted.vectors)

    @property
    def levels_(self) -> tuple[NDArray[np.int32], ...]:
        """For each cluster the number of its group at the levels above, coarse to fine; made on request.

        Groups are numbered by falling size, and each is made of groups of the next level.
        """
        check_is_fitted(self)
        if "_levels" not in self.__dict__:
            if self._fitted.levels or self._counts is None:
                self._levels = self._fitted.levels
            else:
                found = find_levels(self._all_clustered())
                self._levels = tuple(number_by_size(groups, self.cluster_sizes_) for groups in found)
        return self._levels

    @property
    def merges_(self) -> Merges:
        """How the clusters are merged one by one, at each level into its groups; made on request."""
        check_is_fitted(self)
        if "_merges" not in self.__dict__:
            self._merges = merge_clustered(self._all_clustered(), self.levels_)
        return self._merges

    def group(self, n_clusters: int) -> NDArray[np.int32]:
        """For each cluster the number of its group, by falling size, when there are so many groups."""
        if not min(1, self.n_clusters_) <= n_clusters <= self.n_clusters_:
            raise ValueError(f"{self.n_clusters_} clusters can be merged to fewer, but not to {n_clusters}")
        for groups in self.levels_:
            if int(groups.max(initial=-1)) + 1 == n_clusters:
                return groups
        return number_by_size(group_clusters(self._all_clustered(), n_clusters), self.cluster_sizes_)

    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Labels, by falling size, when the clusters are in so many groups; clusters stay whole."""
        return join_groups(self.labels_, self.group(n_clusters))

    def merged(self, n_clusters: int) -> Self:
        """A fitted model whose clusters are those of this one, in so many groups; nothing is sampled."""
        other = self.relabelled(self.cut(n_clusters))
        other.n_clusters = n_clusters
        return other

    def relabelled(self, labels: NDArray[np.int32]) -> Self:
        """A fitted model of the same documents with other labels, by falling size; nothing is sampled."""
        fitted = self._fitted
        _, known = renumber(fitted.labels, labels, self._known_labels())
        return copy(self)._set_labels(
            *(self._training_counts(), fitted.unit == 1.0, labels, fitted.trace, fitted.converged),
            dict(zip(fitted.known_clusters, known.tolist(), strict=True)),
            fitted.known_documents,
            fitted.vectors,
            fitted.votes,
        )

    @property
    def n_clusters_range_(self) -> tuple[int, int] | None:
        """How many clusters of two documents or more there may be, 5 % to 95 %.

        By the numbers that the sampler of the second step goes through. None if the number was given.
        """
        check_is_fitted(self)
        return self._fitted.n_clusters_range

    def _known_labels(self) -> NDArray[np.int32]:
        return np.array([*self.known_clusters_.values()], dtype=np.int32)


def _range_of(labels: NDArray[np.int32], bounds: tuple[int, int] | None) -> tuple[int, int] | None:
    """Numbers of clusters of two documents or more, this many fewer and more than there are."""
    if bounds is None:
        return None
    n_several = int(np.count_nonzero(np.bincount(labels[labels >= 0]) > 1))
    return max(n_several + min(bounds[0], 0), min(n_several, 1)), n_several + max(bounds[1], 0)

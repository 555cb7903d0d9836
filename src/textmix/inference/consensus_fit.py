"""From documents to what runs agree on; of many documents, a sample forms the clusters and the others join them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from textmix.corpus.matrix import sum_by_cluster
from textmix.engines.engine import make_engine
from textmix.engines.threads import threads
from textmix.inference.consensus import complete_labels, find_consensus, labels_as_words, sample_runs
from textmix.inference.identical import count_identical, join_identical
from textmix.inference.known_clusters import GuidedDocuments, labels_of_known, sample_rows
from textmix.inference.layout import fixed_point_scale
from textmix.inference.ordering import order_by_size
from textmix.inference.parallel import MEANS
from textmix.inference.parallel_fit import ParallelSettings, fit_parallel
from textmix.inference.pooling import DocumentVectors, PooledScorer, fit_weights, no_vectors
from textmix.inference.progress import Progress
from textmix.inference.scoring import PartitionScorer
from textmix.inference.seeds import START, generator
from textmix.inference.sharded import deal_out_counts
from textmix.inference.views.vectors import N_START_CLUSTERS, VectorView
from textmix.inference.views.view import View, ViewRun
from textmix.inference.views.words import WordSettings, WordView
from textmix.inference.votes import Votes
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet
from textmix.vectors.source import ArrangedVectors, HeldVectors, VectorSource, hold_vectors

LABEL_BETA = 0.6  # of the second step at granularity 1, of words alone ...
BETA_PER_LABEL = 0.09  # ... and of two views, for each label that a document has in the mean
FINER = (1.0, 5.0, 25.0, 125.0)  # times the granularity, until there are as many clusters as were asked for
MAX_SAMPLED = 50_000  # documents that the runs see; others are put into the clusters that these form
REMAINING = START - 1  # in place of a sweep's number
REMAINING_SETTINGS = ParallelSettings(1, 1e-3, True, MEANS, True)


@dataclass(frozen=True)
class ConsensusSettings:
    """Of the runs, and of what they are to agree on."""

    words: WordSettings  # those on vectors have the same
    granularity: float = 1.0  # more is finer
    n_clusters: int | None = None  # that there are to be at least, if that can be


class Found(NamedTuple):
    """What runs agree on."""

    labels: NDArray[np.int32]  # of all documents that took part, in any order
    rows: NDArray[np.int64]  # those of them that the runs saw
    runs: list[ViewRun]
    n_vector_runs: int  # the last ones
    run_labels: NDArray[np.int32]  # (run, document)
    beta: float  # of the second step
    more_or_fewer: tuple[int, int]  # clusters that the second step says there may be: fewest, 5 %, and most, 95 %
    converged: bool  # labels are a fixed point of the second step
    vectors: HeldVectors | None  # of the documents that the runs saw, where these are a sample and any of them has one


def fit_consensus(
    documents: GuidedDocuments,
    n_examples: int,
    whole: bool,
    unit: float,
    settings: ConsensusSettings,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
    vectors: ArrangedVectors | None = None,
) -> Found:
    """What the runs agree on, for all documents that take part, the last ones being examples."""
    n_documents = documents.counts.shape[0]
    rows = sample_rows(documents, MAX_SAMPLED, generator(seed, START))
    shown = documents if rows.size == n_documents else documents.take(rows)
    words = WordView(shown, whole, settings.words)
    runs = sample_runs(words, seed, n_jobs, progress)
    n_word_runs = len(runs)
    held = None
    if vectors is not None and n_word_runs == words.n_runs:  # Ctrl-C is to end all sampling
        n_found = [int(run.labels.max(initial=-1)) + 1 for run in runs]
        n_start = int(np.median(n_found)) or N_START_CLUSTERS
        seen = vectors if rows.size == n_documents and vectors.is_held else hold_vectors(vectors, rows)
        view = VectorView(words.documents, whole, seen, settings.words, n_start)
        if view.sees_any:
            runs += sample_more(view, seed, n_jobs, progress)
            held = seen if isinstance(seen, HeldVectors) else None
    run_labels = np.stack([run.labels for run in runs])
    has_label = run_labels >= 0
    n_labels = float(has_label.sum()) / max(int(has_label.any(axis=0).sum()), 1)
    beta = LABEL_BETA if len(runs) == n_word_runs or n_labels == 0 else BETA_PER_LABEL * n_labels
    labelled = shown._replace(counts=labels_as_words(run_labels))
    for times in FINER:
        own_beta = beta / (settings.granularity * times)
        agreed, numbers = find_consensus(labelled, own_beta, seed, n_jobs, progress)
        labels = complete_labels(shown, agreed.labels, words.shares_words, unit)
        own = labels[rows < n_documents - n_examples]
        if settings.n_clusters is None or np.unique(own[own >= 0]).size >= settings.n_clusters:
            break
    n_agreed = int(agreed.labels.max(initial=-1)) + 1
    differences = np.append(numbers, n_agreed) - n_agreed
    bounds = int(np.floor(np.quantile(differences, 0.05))), int(np.ceil(np.quantile(differences, 0.95)))
    if rows.size < n_documents:
        of_all = np.full(n_documents, -1, np.int32)
        is_joined = words.shares_words | has_label.any(axis=0)
        of_all[rows] = np.where(is_joined, labels, -1)  # what is alone in the sample need not be so among all
        labels = order_by_size(of_all)
        if labels.max(initial=-1) >= 0:
            if vectors is None or held is None:
                labels = assign_remaining(documents, whole, labels, settings.words, seed, n_jobs, progress)
            else:
                sampled = DocumentVectors(rows, held.matrix)
                labels = assign_by_both(documents, whole, labels, settings.words, vectors, sampled, n_jobs, progress)
        labels = complete_labels(documents, labels, np.zeros(n_documents, bool), unit)
    return Found(labels, rows, runs, len(runs) - n_word_runs, run_labels, own_beta, bounds, agreed.converged, held)


def sample_more(view: View, seed: int, n_jobs: int | None, progress: Progress) -> list[ViewRun]:
    """The runs of a second view; none if Ctrl-C comes before the first is finished, since those of another are."""
    try:
        return sample_runs(view, seed, n_jobs, progress)
    except KeyboardInterrupt:
        warnings.warn("sampling interrupted: this is what runs on words agree on", stacklevel=2)
        return []


def assign_remaining(
    documents: GuidedDocuments,
    whole: bool,
    labels: NDArray[np.int32],
    settings: WordSettings,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
) -> NDArray[np.int32]:
    """Labels of all documents by the parallel sampler, in as many clusters as a sample has or fewer.

    It knows of no known clusters: their documents are put back into them afterwards.
    """
    source = deal_out_counts(documents.counts, settings.beta, whole)
    prior = finite_dirichlet(int(labels.max(initial=0)) + 1, settings.alpha)
    own_seed = int(generator(seed, REMAINING).integers(2**63))
    with make_engine("threads", n_jobs, None) as engine:
        fitted = fit_parallel(source, labels, settings.beta, prior, REMAINING_SETTINGS, own_seed, engine, progress)
    if documents.n_known == 0:
        return fitted.partition.labels
    former = np.append(fitted.slots, -1)[fitted.partition.labels].astype(np.int32)
    former[documents.n_free :] = labels_of_known(labels, documents)[documents.known]
    return former


def assign_by_both(
    documents: GuidedDocuments,
    whole: bool,
    labels: NDArray[np.int32],
    settings: WordSettings,
    vectors: VectorSource,
    held: DocumentVectors,
    n_jobs: int | None,
    progress: Progress,
) -> NDArray[np.int32]:
    """Labels of all documents: those of a sample stay, each other one gets its most probable by words and vectors.

    Vectors of some documents at a time are in memory, beside those of the sample.
    """
    n_clusters = int(labels.max()) + 1
    prior = finite_dirichlet(max(settings.n_start_clusters, n_clusters), settings.alpha)
    word_counts = sum_by_cluster(documents.counts, labels, n_clusters)
    scorer = make_pooled(documents.counts, whole, labels, word_counts, settings.beta, prior, held)
    others, clusters, labels = np.flatnonzero(labels < 0), labels_of_known(labels, documents), labels.copy()
    with progress.task("assigning", total=others.size) as task:
        for block, found in place_by_both(scorer, documents.counts, vectors, others, n_jobs):
            labels[block] = found
            task.advance(block.size)
    labels[documents.n_free :] = clusters[documents.known]  # not where they would go by themselves
    return labels


def place_by_both(
    scorer: PooledScorer,
    counts: scipy.sparse.csr_array,
    vectors: VectorSource,
    documents: NDArray[np.int64],
    n_jobs: int | None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Blocks of these documents with their most probable clusters; threads work on several blocks at once."""

    def place(first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        block = documents[first:last]
        return block, scorer.most_probable(counts[block], vectors.rows(block))

    with threads(n_jobs) as pool, threadpool_limits(1, user_api="blas"):
        yield from pool.map_blocks(place, documents.size, scorer.block_size)


def make_pooled(
    counts: scipy.sparse.csr_array,
    whole: bool,
    labels: NDArray[np.int32],
    word_counts: scipy.sparse.csr_array,
    beta: float,
    prior: Prior,
    vectors: DocumentVectors | None,
    votes: Votes | None = None,
) -> PooledScorer:
    """What places documents in clusters of these word counts, weights of the views fitted to these labels or votes."""
    sizes = np.bincount(labels[labels >= 0], minlength=word_counts.shape[0])
    unit = 1.0 / fixed_point_scale(float(word_counts.sum()) + float(counts.sum()), whole)
    words = PartitionScorer.from_statistics(sizes, word_counts, beta, prior, unit)
    held = no_vectors(labels.size) if vectors is None else vectors
    sums = held.sum_by_cluster(labels, sizes.size)
    return PooledScorer(words, sizes, sums, fit_weights(words, sizes, sums, counts, labels, held, votes))


def place_others(
    counts: scipy.sparse.csr_array,
    whole: bool,
    labels: NDArray[np.int32],
    order: NDArray[np.int64],
    word_counts: scipy.sparse.csr_array,
    beta: float,
    prior: Prior,
    unit: float,
    vectors: VectorSource | None = None,
    held: DocumentVectors | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Labels by falling size also of documents that took no part, in clusters of these word counts.

    A document gets the label of those identical to it, else the most probable one. `order`: the documents in canonical
    order. `held`: vectors of documents that took part, which directions of clusters are made of.
    """
    labels, sizes = labels.copy(), np.bincount(labels[labels >= 0])
    others = np.flatnonzero((labels < 0) & (np.diff(counts.indptr) > 0))
    if vectors is None or held is None:
        scale = fixed_point_scale(float(word_counts.sum()) + float(counts[others].sum()), whole)
        scorer = PartitionScorer.from_statistics(sizes, word_counts, beta, prior, 1.0 / scale)
        labels[others] = scorer.most_probable(counts[others])
    else:
        pooled = make_pooled(counts, whole, labels, word_counts, beta, prior, held)
        for block, found in place_by_both(pooled, counts, vectors, others, n_jobs):
            labels[block] = found
    # Identical documents that took part have more to say than those that did not.
    others_first = order[np.argsort(~np.isin(order, others), kind="stable")]
    ordered, rows = labels[others_first], counts[others_first]
    join_identical(rows, unit, ordered, count_identical(rows, unit), labels.size - others.size)
    labels[others_first] = ordered
    return order_by_size(labels, order)

"""From documents to what runs agree on; of many documents, a sample forms the clusters and the others join them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.engines.engine import make_engine
from textmix.inference.consensus import (
    ConsensusSettings,
    complete_labels,
    drop_lone_words,
    find_consensus,
    labels_as_words,
    sample_runs,
)
from textmix.inference.identical import count_identical, join_identical
from textmix.inference.known_clusters import GuidedDocuments, labels_of_known, sample_rows
from textmix.inference.layout import fixed_point_scale
from textmix.inference.ordering import order_by_size
from textmix.inference.parallel import MEANS
from textmix.inference.parallel_fit import ParallelSettings, fit_parallel
from textmix.inference.partition import FittedPartition
from textmix.inference.progress import Progress
from textmix.inference.scoring import PartitionScorer
from textmix.inference.seeds import START, generator
from textmix.inference.sharded import deal_out_counts
from textmix.kernels.state import Prior
from textmix.priors.finite_dirichlet import finite_dirichlet

LABEL_BETA = 0.6  # of granularity 1
FINER = (1.0, 5.0, 25.0, 125.0)  # times the granularity, until there are as many clusters as were asked for
MAX_SAMPLED = 50_000  # documents that the runs see; others are put into the clusters that these form
REMAINING = START - 1  # in place of a sweep's number
REMAINING_SETTINGS = ParallelSettings(1, 1e-3, True, MEANS, True)


class Found(NamedTuple):
    """What runs agree on."""

    labels: NDArray[np.int32]  # of all documents that took part, in any order
    rows: NDArray[np.int64]  # those of them that the runs saw
    runs: list[FittedPartition]
    run_labels: NDArray[np.int32]  # (run, document)
    converged: bool  # labels are a fixed point of the second step


def fit_consensus(
    documents: GuidedDocuments,
    n_examples: int,
    whole: bool,
    unit: float,
    settings: ConsensusSettings,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
) -> Found:
    """What the runs agree on, for all documents that take part, the last ones being examples."""
    n_documents = documents.counts.shape[0]
    rows = sample_rows(documents, MAX_SAMPLED, generator(seed, START))
    shown = documents if rows.size == n_documents else documents.take(rows)
    shared = shown._replace(counts=drop_lone_words(shown.counts))
    runs = sample_runs(shared, whole, settings, seed, n_jobs, progress)
    run_labels = np.stack([run.labels for run in runs])
    shares_words = np.diff(shared.counts.indptr) > 0
    labelled = shown._replace(counts=labels_as_words(run_labels))
    for times in FINER:
        agreed = find_consensus(labelled, LABEL_BETA / (settings.granularity * times), seed, n_jobs, progress)
        labels = complete_labels(shown, agreed.labels, shares_words, unit)
        own = labels[rows < n_documents - n_examples]
        if settings.n_clusters is None or np.unique(own[own >= 0]).size >= settings.n_clusters:
            break
    if rows.size < n_documents:
        of_all = np.full(n_documents, -1, np.int32)
        of_all[rows] = np.where(shares_words, labels, -1)  # what is alone in the sample need not be so among all
        labels = order_by_size(of_all)
        if labels.max(initial=-1) >= 0:
            labels = assign_remaining(documents, whole, labels, settings, seed, n_jobs, progress)
        labels = complete_labels(documents, labels, np.zeros(n_documents, bool), unit)
    return Found(labels, rows, runs, run_labels, agreed.converged)


def assign_remaining(
    documents: GuidedDocuments,
    whole: bool,
    labels: NDArray[np.int32],
    settings: ConsensusSettings,
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


def place_others(
    counts: scipy.sparse.csr_array,
    whole: bool,
    labels: NDArray[np.int32],
    word_counts: scipy.sparse.csr_array,
    beta: float,
    prior: Prior,
    unit: float,
) -> NDArray[np.int32]:
    """Labels by falling size also of documents that took no part, in clusters of these word counts.

    A document gets the label of those identical to it, else the most probable one.
    """
    labels, sizes = labels.copy(), np.bincount(labels[labels >= 0])
    others = np.flatnonzero((labels < 0) & (np.diff(counts.indptr) > 0))
    scale = fixed_point_scale(float(word_counts.sum()) + float(counts[others].sum()), whole)
    scorer = PartitionScorer.from_statistics(sizes, word_counts, beta, prior, 1.0 / scale)
    labels[others] = scorer.most_probable(counts[others])
    # Identical documents that took part have more to say than those that did not.
    order = np.argsort(~np.isin(np.arange(labels.size), others), kind="stable")
    ordered = labels[order]
    join_identical(counts[order], unit, ordered, count_identical(counts[order], unit), labels.size - others.size)
    labels[order] = ordered
    return order_by_size(labels)

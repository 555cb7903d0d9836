"""Huang and others' experiments with DMAFP (section 6): synthetic data, five sets of documents, what words it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix import FeaturePartitionMixture, algorithm
from textmix.datasets import PartitionedDocuments, make_partitioned
from textmix_studies import baselines
from textmix_studies.dmafp_page import make_page
from textmix_studies.dmafp_results import (
    ANNEALED,
    CONTROLS,
    FEW_GROUPS,
    FORMS,
    LDA_ETA,
    LDA_ITERATIONS_LARGE,
    LDA_ITERATIONS_SMALL,
    LIBRARY,
    MANY_GROUPS,
    PARTITIONED,
    SYNTHETIC,
    TRUE_SIZE,
    WAYS,
)
from textmix_studies.dmafp_sets import LARGE, SETS, SMALL, count_groups, cut_set
from textmix_studies.scores import count_clusters, nmi
from textmix_studies.study import Cell, Study, Values
from textmix_studies.timing import timed_fit

N_TRIALS, N_LIBRARY_TRIALS = 20, 5
N_DATA_SETS, N_CONTROLS = 5, 3  # synthetic
MAX_CLUSTERS = 30  # of synthetic data
MAX_ITERATIONS = 500
K_MEANS_ITERATIONS = 100
QUIET: dict[str, Any] = {"n_jobs": 1, "progress": False}


def synthetic(inference: str, start: str, data_seed: int, seed: int) -> Values:
    """One start of variational inference or one run of Gibbs sampling on synthetic data (6.2)."""
    data = make_partitioned(random_state=data_seed)
    settings = {**SYNTHETIC, **WAYS[inference, start].settings, **QUIET}
    model = FeaturePartitionMixture(MAX_CLUSTERS, inference, n_init=1, random_state=seed, **settings)
    seconds = timed_fit(model, data.counts)
    values: Values = {
        **_score_partition(data, model),
        "n_large": count_clusters(model.labels_, TRUE_SIZE // 2),
        "merit": float(model.merit_),
        "fit_seconds": seconds,
        "labels": [int(label) for label in model.labels_],
    }
    if inference == "gibbs":
        values["clusters_by_sweep"] = [int(n) for n in model.trace_["n_clusters"]]
        values["words_by_sweep"] = [int(n) for n in model.trace_["n_discriminative"]]
    return values


def control(form: str, case: str, data_seed: int) -> Values:
    """What Gibbs sampling finds where frequency is the only difference between words, and where it is none."""
    lengths, max_clusters = CONTROLS[case]
    data = make_partitioned(discriminative_length=lengths[0], background_length=lengths[1], random_state=data_seed)
    model = FeaturePartitionMixture(max_clusters, "gibbs", random_state=0, **FORMS[form], **QUIET)
    return _score_partition(data, model.fit(data.counts))


def _score_partition(data: PartitionedDocuments, model: FeaturePartitionMixture) -> Values:
    found = model.discriminative_words_
    return {
        "nmi": nmi(data.labels, model.labels_),
        "n_clusters": int(model.n_clusters_),
        "n_true": int(np.count_nonzero(found & data.discriminative)),
        "n_false": int(np.count_nonzero(found & ~data.discriminative)),
    }


def describe_set(document_set: str, cut: int) -> Values:
    """How large a set is, and in how many groups its words stand."""
    documents = cut_set(document_set, cut)
    groups = count_groups(documents)
    return {
        "n_documents": int(documents.counts.shape[0]),
        "n_words": int(documents.counts.shape[1]),
        "n_few": int(np.count_nonzero(groups <= FEW_GROUPS)),
        "n_many": int(np.count_nonzero(groups >= MANY_GROUPS)),
    }


def fit_partition(document_set: str, cut: int, method: str, max_iter: int, seed: int) -> Values:
    """One start of DMAFP or DMA, hyperparameters learned (6.3.2)."""
    documents = cut_set(document_set, cut)
    model = FeaturePartitionMixture(
        SETS[document_set].max_clusters,
        partition=method == "DMAFP",
        n_init=1,
        max_iter=max_iter,
        random_state=seed,
        **QUIET,
    ).fit(documents.counts)
    values: Values = {
        "nmi": nmi(documents.labels, model.labels_),
        "n_clusters": int(model.n_clusters_),
        "merit": float(model.merit_),
        "bound": float(model.objective_),
        "n_iterations": int(model.n_iter_),
        "fit_seconds": float(model.trace_["seconds"].sum()),
    }
    if method == "DMAFP":
        values |= _describe_words(documents.counts, count_groups(documents), model.discriminative_words_)
    return values


def _describe_words(counts: Any, groups: NDArray[np.int64], found: NDArray[np.bool_]) -> Values:
    """Discriminative words and the others: in how many groups they stand, and how often."""
    occurrences = np.asarray(counts.sum(axis=0)).ravel()
    return {
        "n_discriminative": int(found.sum()),
        "n_background": int((~found).sum()),
        "n_discriminative_in_few": int(np.count_nonzero(groups[found] <= FEW_GROUPS)),
        "n_background_in_many": int(np.count_nonzero(groups[~found] >= MANY_GROUPS)),
        "occurrences_discriminative": float(np.median(occurrences[found])) if found.any() else None,
        "occurrences_background": float(np.median(occurrences[~found])) if not found.all() else None,
    }


def fit_fixed(document_set: str, cut: int, method: str, k: int, seed: int) -> Values:
    """One run of a method that is told the number of clusters."""
    documents = cut_set(document_set, cut)
    lda_iterations = LDA_ITERATIONS_LARGE if document_set in LARGE else LDA_ITERATIONS_SMALL
    labels = _labels(method, documents.counts, k, seed, lda_iterations)
    return {"nmi": nmi(documents.labels, labels), "n_clusters": count_clusters(labels)}


def _labels(method: str, counts: Any, k: int, seed: int, lda_iterations: int) -> NDArray[Any]:
    if method in ANNEALED:
        found: NDArray[Any] = algorithm(ANNEALED[method], k, random_state=seed, **QUIET).fit(counts).labels_
        return found
    if method == "LDA":
        return baselines.lda(counts, k, seed, alpha=1.0, eta=LDA_ETA, n_iterations=lda_iterations, learn=True)
    vectors = counts.astype(np.float64) if method == "K-means, counts" else baselines.unit_vectors(counts)
    return baselines.k_means_of_vectors(vectors, k, seed, n_init=1, max_iter=K_MEANS_ITERATIONS)


class Extent(NamedTuple):
    """How much a run computes."""

    n_trials: int
    n_library_trials: int
    n_data_sets: int
    n_controls: int
    n_cuts: int  # of small sets
    max_iter: int
    large_methods: Sequence[str]  # that are told K
    large_sets: Sequence[str]
    large_trials: int
    large_max_iter: int

    def n_fixed(self, method: str) -> int:
        """Trials of a method that is told K."""
        return self.n_library_trials if method in LIBRARY else self.n_trials


METHODS = (*ANNEALED, *LIBRARY)
FULL = Extent(
    *(N_TRIALS, N_LIBRARY_TRIALS, N_DATA_SETS, N_CONTROLS),
    n_cuts=5,
    max_iter=MAX_ITERATIONS,
    large_methods=METHODS,
    large_sets=tuple(LARGE),
    large_trials=N_TRIALS,
    large_max_iter=MAX_ITERATIONS,
)
QUICK = Extent(
    *(2, 2, 2, 1),
    n_cuts=2,
    max_iter=100,
    large_methods=("EM-MN",),
    large_sets=("News-all-20",),
    large_trials=1,
    large_max_iter=20,
)


def plan(quick: bool) -> Sequence[Cell]:
    """All cells, those of the large sets first; of a quick run, few trials and hardly anything of the large sets."""
    extent = QUICK if quick else FULL
    return [*_large_cells(extent), *_small_cells(extent), *_synthetic_cells(extent)]


def _large_cells(extent: Extent) -> Iterator[Cell]:
    for name in extent.large_sets:
        yield _cell("data", name, 0)
        for seed in range(extent.large_trials):
            for method in PARTITIONED:
                yield _cell("partition", name, 0, method=method, max_iter=extent.large_max_iter, seed=seed)
        for method in extent.large_methods:
            for k in SETS[name].ks:
                for seed in range(min(extent.large_trials, extent.n_fixed(method))):
                    yield _cell("fixed", name, 0, method=method, k=k, seed=seed)


def _small_cells(extent: Extent) -> Iterator[Cell]:
    for name, described in SMALL.items():
        for cut in range(min(extent.n_cuts, described.n_cuts)):
            yield _cell("data", name, cut)
            for method in PARTITIONED:
                for seed in range(extent.n_trials):
                    yield _cell("partition", name, cut, method=method, max_iter=extent.max_iter, seed=seed)
            for method in METHODS:
                for k in described.ks:
                    for seed in range(extent.n_fixed(method)):
                        yield _cell("fixed", name, cut, method=method, k=k, seed=seed)


def _synthetic_cells(extent: Extent) -> Iterator[Cell]:
    """Runs from the paper's starts on the first data set are timed."""
    for inference, start in WAYS:
        for data_seed in range(extent.n_data_sets):
            for seed in range(extent.n_trials):
                arguments = {"inference": inference, "start": start, "data_seed": data_seed, "seed": seed}
                yield Cell("synthetic", arguments, alone=start == "paper" and data_seed == 0)
    for form in FORMS:
        for case in CONTROLS:
            for data_seed in range(extent.n_controls):
                yield Cell("control", {"form": form, "case": case, "data_seed": data_seed})


def _cell(part: str, name: str, cut: int, **arguments: Any) -> Cell:
    return Cell(part, {"document_set": name, "cut": cut, **arguments}, SETS[name].collection)


STUDY = Study(
    "dmafp",
    "Huang et al.: Dirichlet Process Mixture Model for Document Clustering with Feature Partition (TKDE 2013)",
    {
        "synthetic": synthetic,
        "control": control,
        "data": describe_set,
        "partition": fit_partition,
        "fixed": fit_fixed,
    },
    plan,
    make_page,
)

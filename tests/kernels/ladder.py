"""The ladder: which step judges which kernel, and the small corpora it is climbed on.

| step | what it shows |
|---|---|
| conditional | what the sampler draws from equals the ratio of joints, for every document, to 1e-9 |
| twins | the compiled kernel equals the same code run by Python, and tests/reference.py |
| recount | statistics equal a recount after any sequence of moves |
| posterior | thinned draws match the enumerated posterior (chi-square) |
| joint | learned hyperparameters pass a joint-distribution test: tests/inference/test_learned_prior.py |
| reference | numbers equal tests/reference.py: tests/inference |
| objective | what is to rise never falls: tests/inference |
| faults | deliberately broken copies fail the ladder |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import prepare_documents
from textmix.kernels.state import Prior
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.priors.finite_dirichlet import finite_dirichlet

# Every compiled function of textmix.kernels and the steps that judge it. test_every_kernel_is_judged compares this
# table with what is there, so that a new kernel cannot be forgotten.
STEPS: dict[str, tuple[str, ...]] = {
    "gibbs.sweep": ("conditional", "twins", "recount", "posterior", "faults"),
    "weights.sum_bases": ("conditional", "recount"),
    "weights.fill_bases": ("conditional", "recount"),
    "weights.partial_sums": ("conditional", "posterior"),
    "weights.log_weigh_all": ("conditional", "twins"),
    "statistics.move_document": ("recount", "twins"),
    "conditionals.conditional_probabilities": ("conditional", "twins"),
    "conditionals.settle_ties": ("twins",),
    "statistics.compact_labels": ("recount",),
    "statistics.count_pairs": ("recount", "twins"),
    "statistics.move_lists_to_rows": ("recount", "twins"),
    "statistics.log_likelihood": ("twins",),
    "statistics.log_prior": ("twins",),
    "em.multiply": ("twins", "reference", "objective", "faults"),
    "em.sum_by_label": ("twins", "reference", "objective", "faults"),
    "em.sum_of_squares": ("twins", "reference"),
    "em.split_entries": ("twins", "reference"),
    "em.choose_best": ("twins", "objective"),
    "em.to_posteriors": ("twins", "reference", "objective", "faults"),
    "em.draw_labels": ("twins", "reference", "faults"),
    "statistics.gather_counts": ("twins", "recount", "joint"),
    "variational.take_logs": ("reference",),
    "variational.digammas_and_log_gammas": ("reference", "faults"),
    "variational.update_words": ("twins", "reference", "objective", "faults"),
    "feature_partition.log_rising_or_zero": ("reference",),
    "feature_partition.log_share": ("reference", "posterior"),
    "feature_partition.log_ratio_of_flip": ("reference", "posterior", "faults"),
    "feature_partition.flip_words": ("twins", "recount", "posterior", "joint", "faults"),
    "counts.classify_counts": ("twins",),
    "counts.document_frequencies": ("twins",),
    "counts.fill_by_word": ("twins", "recount"),
    "counts.fill_by_document": ("twins", "recount"),
    "counts.hash_rows": ("twins",),
    "counts.count_lengths": ("recount", "twins"),
}

PRIORS = {
    "finite, room left": ("finite", 9, 0.3),
    "finite, few clusters": ("finite", 3, 0.3),
    "process": ("process", 0.8),
}
SAMPLERS = ("sparse", "dense", "auto")
# plain: products of plain numbers; log: log space for every document, as for long ones.
ARITHMETICS = ("plain", "log")


class Corpus(NamedTuple):
    """A small corpus: dense counts and a β."""

    counts: np.ndarray
    beta: float


def random_corpus(seed: int, n_documents: int, n_words: int, mean_length: float, beta: float) -> Corpus:
    """Documents of two kinds of topics, with repeated words, words of one document and empty documents."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(n_words, 0.3), size=2)
    rows = [rng.multinomial(rng.poisson(mean_length), kinds[rng.integers(2)]) for _ in range(n_documents)]
    return Corpus(np.array(rows).reshape(n_documents, n_words), beta)


CORPORA = {
    "short": random_corpus(1, 12, 15, 4, 0.1),
    "long": random_corpus(2, 8, 20, 60, 0.02),
    "tiny β": random_corpus(3, 10, 12, 5, 1e-8),
    "large β": random_corpus(4, 10, 12, 5, 50.0),
    "fractional": Corpus(random_corpus(5, 9, 10, 6, 0.1).counts * 0.37, 0.1),
    "one word": Corpus(np.array([[1], [3], [1], [0], [2]]), 0.5),
    "huge counts": Corpus(np.array([[10**6, 0, 3], [0, 10**6, 1], [10**6, 2, 0], [5, 5, 10**5], [1, 0, 0]]), 0.1),
}


def kernel_prior(prior: tuple, n_documents: int) -> Prior:
    """The kernels' form of a reference prior."""
    if prior[0] == "finite":
        return finite_dirichlet(prior[1], prior[2])
    return dirichlet_process(prior[1], n_documents)


def build_state(corpus: Corpus, labels: np.ndarray, prior: tuple, sampler: str, arithmetic: str) -> GibbsState:
    """A sampler's state on a small corpus with the given labels."""
    counts = scipy.sparse.csr_array(corpus.counts)
    whole = bool((corpus.counts == np.floor(corpus.counts)).all())
    prepared = prepare_documents(counts, corpus.beta, whole)
    model = dirichlet_multinomial(corpus.beta, counts.shape[1], prepared.unit, prepared.max_word_total)
    labels = np.where(corpus.counts.sum(axis=1) > 0, labels, -1).astype(np.int32)
    state = GibbsState(prepared, labels, model, kernel_prior(prior, len(labels)), sampler)
    if arithmetic == "log":
        force_log_space(state)
    return state


def force_log_space(state: GibbsState) -> None:
    """Take the rows of the length table away, so that every document is weighed in log space."""
    state.table = state.table._replace(row_of_length=np.empty(0, np.int32))


def random_labels(corpus: Corpus, prior: tuple, seed: int) -> np.ndarray:
    """Labels such as a sampler may meet: within the prior's bound, some clusters of one document."""
    n_documents = len(corpus.counts)
    n_clusters = min(prior[1], n_documents) if prior[0] == "finite" else n_documents
    return np.random.default_rng(seed).integers(n_clusters, size=n_documents)

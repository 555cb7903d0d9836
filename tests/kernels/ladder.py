"""The ladder: which step judges which kernel, and the small corpora it is climbed on.

| step | what it shows |
|---|---|
| conditional | what the sampler draws from equals the ratio of joints, for every document, to 1e-9 |
| twins | the compiled kernel equals the same code run by Python, and tests/reference.py |
| recount | statistics equal a recount after any sequence of moves |
| posterior | thinned draws match the enumerated posterior (chi-square) |
| distance | how far an approximation is from the enumerated posterior is measured: tests/inference |
| joint | learned hyperparameters pass a joint-distribution test: tests/inference/test_learned_prior.py |
| reference | numbers equal tests/reference.py: tests/inference, tests/stream |
| objective | what is to rise never falls: tests/inference |
| faults | deliberately broken copies fail the ladder |
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import reference
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import (
    betas_of_words,
    build_length_table,
    build_pair_room,
    build_scratch,
    lay_out_clusters,
    prepare_documents,
)
from textmix.kernels.state import N_FREE, N_SLOTS, Prior
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.priors.finite_dirichlet import finite_dirichlet

# Every compiled function of textmix.kernels and the steps that judge it. test_every_kernel_is_judged compares this
# table with what is there, so that a new kernel cannot be forgotten.
STEPS: dict[str, tuple[str, ...]] = {
    "gibbs.sweep": ("conditional", "twins", "recount", "posterior", "faults"),
    "gibbs.place": ("twins", "recount", "posterior", "faults"),
    "weights.sum_bases": ("conditional", "recount"),
    "weights.fill_bases": ("conditional", "recount"),
    "weights.partial_sums": ("conditional", "posterior"),
    "weights.log_weigh_all": ("conditional", "twins"),
    "weights.log_weight_in": ("conditional", "twins", "faults"),
    "metropolis.build_alias": ("reference", "twins", "faults"),
    "metropolis.refresh": ("twins", "recount", "posterior", "faults"),
    "metropolis.metropolis_sweep": ("twins", "recount", "posterior", "distance", "faults"),
    "parallel.sweep_independently": ("reference", "twins", "posterior", "distance", "faults"),
    "parallel.list_changes": ("recount", "twins", "faults"),
    "parallel.add_changes": ("recount", "twins", "faults"),
    "parallel.merge_changes": ("recount", "twins", "faults"),
    "parallel.spread_rows": ("reference", "twins"),
    "parallel.take_log_ratios": ("reference", "twins", "faults"),
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
    "word_split.take_logs": ("reference",),
    "word_split.digammas_and_log_gammas": ("reference", "faults"),
    "word_split.update_words": ("twins", "reference", "objective", "faults"),
    "word_split.log_rising_or_zero": ("reference",),
    "word_split.log_share": ("reference", "posterior"),
    "word_split.log_ratio_of_flip": ("reference", "posterior", "faults"),
    "word_split.flip_words": ("twins", "recount", "posterior", "joint", "faults"),
    "counts.classify_counts": ("twins",),
    "counts.document_frequencies": ("twins",),
    "counts.fill_by_word": ("twins", "recount"),
    "counts.fill_by_document": ("twins", "recount"),
    "counts.hash_rows": ("twins",),
    "counts.count_lengths": ("recount", "twins"),
    "counts.leave_out_words": ("twins",),
    "counts.draw_words": ("twins", "reference", "faults"),
    "stream.make_room": ("recount", "twins", "faults"),
    "stream.take_out": ("recount", "conditional", "twins", "faults"),
    "stream.count_words_of": ("reference", "twins"),
    "stream.gains_of_merging": ("reference", "twins", "faults"),
    "stream.describe_documents": ("conditional", "twins", "faults"),
    "stream.join_clusters": ("recount", "twins", "faults"),
    "merging.costs_of_merging": ("twins", "reference", "faults"),
    "merging.add_rows": ("twins", "reference", "faults"),
    "merging.fill_terms": ("twins", "reference", "faults"),
    "directions.sweep_block": ("conditional", "twins", "recount", "posterior", "faults"),
}

PRIORS = {
    "finite, room left": ("finite", 9, 0.3),
    "finite, few clusters": ("finite", 3, 0.3),
    "process": ("process", 0.8),
    "clusters differ": ("finite", 4, (0.2, 1.5, 0.05, 0.7)),
}
SAMPLERS = ("sparse", "dense", "auto")
# plain: products of plain numbers; log: log space for every document, as for long ones.
ARITHMETICS = ("plain", "log")


class Corpus(NamedTuple):
    """A small corpus: dense counts and a β, or one for each word."""

    counts: np.ndarray
    beta: float | np.ndarray


def random_corpus(seed: int, n_documents: int, n_words: int, mean_length: float, beta: float | np.ndarray) -> Corpus:
    """Documents of two kinds of topics, with repeated words, words of one document and empty documents."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(n_words, 0.3), size=2)
    rows = [rng.multinomial(rng.poisson(mean_length), kinds[rng.integers(2)]) for _ in range(n_documents)]
    return Corpus(np.array(rows).reshape(n_documents, n_words), beta)


def uneven(n_words: int, seed: int = 0) -> np.ndarray:
    """A β for each word, from hundredths to tens."""
    return np.exp(np.random.default_rng(seed).uniform(-4.0, 3.0, n_words))


CORPORA = {
    "short": random_corpus(1, 12, 15, 4, 0.1),
    "long": random_corpus(2, 8, 20, 60, 0.02),
    "tiny β": random_corpus(3, 10, 12, 5, 1e-8),
    "large β": random_corpus(4, 10, 12, 5, 50.0),
    "fractional": Corpus(random_corpus(5, 9, 10, 6, 0.1).counts * 0.37, 0.1),
    "one word": Corpus(np.array([[1], [3], [1], [0], [2]]), 0.5),
    "words differ": random_corpus(6, 12, 15, 4, uneven(15)),
    "words differ, long": random_corpus(7, 8, 20, 60, uneven(20)),
    "words differ, fractional": Corpus(random_corpus(8, 9, 10, 6, 0.1).counts * 0.37, uneven(10)),
    "huge counts": Corpus(np.array([[10**6, 0, 3], [0, 10**6, 1], [10**6, 2, 0], [5, 5, 10**5], [1, 0, 0]]), 0.1),
}


# Few enough documents to list every partition.
TINY = {
    "short": Corpus(np.array([[2, 0, 1, 0], [1, 1, 0, 0], [0, 0, 2, 1], [0, 1, 1, 1], [0, 0, 1, 0]]), 0.4),
    "wordless": Corpus(np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 2], [1, 0, 1]]), 0.2),
    "words differ": Corpus(np.array([[2, 0, 1], [1, 1, 0], [0, 1, 2], [0, 1, 0]]), np.array([0.1, 0.9, 0.3])),
}


@functools.cache
def enumerated_posterior(name: str, prior: tuple) -> dict:
    """The exact posterior of a tiny corpus."""
    counts, beta = TINY[name]
    return reference.posterior(counts[counts.any(axis=1)], beta, prior)


def kernel_prior(prior: tuple, n_documents: int) -> Prior:
    """The kernels' form of a reference prior."""
    if prior[0] == "finite":
        return finite_dirichlet(prior[1], np.array(prior[2]) if np.ndim(prior[2]) else prior[2])
    return dirichlet_process(prior[1], n_documents)


def build_state(corpus: Corpus, labels: np.ndarray, prior: tuple, sampler: str, arithmetic: str) -> GibbsState:
    """A sampler's state on a small corpus with the given labels."""
    counts = scipy.sparse.csr_array(corpus.counts)
    whole = bool((corpus.counts == np.floor(corpus.counts)).all())
    prepared = prepare_documents(counts, corpus.beta, whole)
    betas = betas_of_words(corpus.beta, prepared.words)
    model = dirichlet_multinomial(betas, counts.shape[1], prepared.unit, prepared.max_word_total)
    labels = np.where(corpus.counts.sum(axis=1) > 0, labels, -1).astype(np.int32)
    state = GibbsState(prepared, labels, model, kernel_prior(prior, len(labels)), sampler)
    if arithmetic == "log":
        force_log_space(state)
    return state


def put_into_slots(state: GibbsState, labels: np.ndarray, slots: np.ndarray) -> None:
    """Give a state these labels, cluster k being in slots[k]; those behind are free, the last one is taken first."""
    used = int(labels.max(initial=-1)) + 1
    state.labels[:] = np.where(labels >= 0, slots[labels], -1)
    room, n = build_pair_room(state.prepared.documents), slots.size
    state.clusters = lay_out_clusters(
        state.prepared, state.labels, n, n, state.layout, room, labelled=state.prior.labelled
    )
    if not state.prior.labelled:
        state.clusters.free_slots[: n - used] = slots[used:]
        state.clusters.counters[N_FREE] = n - used
    state.table = build_length_table(state.prepared, state.clusters, state.model, state.prior)
    state.scratch = build_scratch(state.clusters, state.table)


def force_log_space(state: GibbsState) -> None:
    """Take the rows of the length table away, so that every document is weighed in log space."""
    state.table = state.table._replace(row_of_length=np.empty(0, np.int32))


def random_labels(corpus: Corpus, prior: tuple, seed: int) -> np.ndarray:
    """Labels such as a sampler may meet: within the prior's bound, some clusters of one document."""
    n_documents = len(corpus.counts)
    n_clusters = min(prior[1], n_documents) if prior[0] == "finite" else n_documents
    return np.random.default_rng(seed).integers(n_clusters, size=n_documents)


def labels_in_prior(model: Any, prior: tuple) -> np.ndarray:
    """A fitted model's labels as the prior has them: where clusters differ, each is told by its pseudo-count."""
    if not reference.is_labelled(prior):
        return model.labels_
    slots = [prior[2].index(value) for value in model.mixture_.prior.pseudo_counts[: model.n_clusters_]]
    return np.append(slots, -1)[model.labels_]


def assert_statistics_equal_a_recount(state: GibbsState) -> None:
    """Compare every array of the state with one made from the labels alone."""
    clusters, n_slots = state.clusters, int(state.clusters.counters[N_SLOTS])
    documents = state.prepared.documents
    n_words = clusters.list_lengths.size
    expected = np.zeros((n_words, n_slots), np.int64)
    sizes, totals = np.zeros(n_slots, np.int64), np.zeros(n_slots, np.int64)
    for document, slot in enumerate(clusters.labels):
        if slot >= 0:
            sizes[slot] += 1
            totals[slot] += documents.lengths[document]
            for entry in range(documents.starts[document], documents.starts[document + 1]):
                expected[documents.words[entry], slot] += documents.counts[entry]
    found = np.zeros_like(expected)
    for word in range(n_words):
        start = clusters.list_starts[word]
        pairs = slice(start, start + clusters.list_lengths[word])
        slots = clusters.pair_slots[pairs]
        assert len(set(slots.tolist())) == slots.size
        assert (clusters.pair_counts[pairs] > 0).all()
        assert start + clusters.list_lengths[word] <= clusters.list_starts[word + 1]
        found[word, slots] = clusters.pair_counts[pairs]
    n_rows = clusters.rows.shape[0]
    found[:n_rows] = clusters.rows[:, :n_slots]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(clusters.sizes[:n_slots], sizes)
    np.testing.assert_array_equal(clusters.totals[:n_slots], totals)
    free = clusters.free_slots[: clusters.counters[N_FREE]]
    assert sorted(free.tolist()) == ([] if state.prior.labelled else np.flatnonzero(sizes == 0).tolist())
    fresh = build_length_table(state.prepared, clusters, state.model, state.prior)
    np.testing.assert_allclose(state.table.bases[:, :n_slots], fresh.bases[:, :n_slots], rtol=1e-12)
    uncertainty = 2.3e-16 * (state.table.n_updates[0] + 8) * state.table.peaks
    assert (np.abs(state.table.sums - fresh.sums) <= uncertainty).all()
    assert (state.scratch.gains == 1.0).all()

"""What is known beforehand: documents that stay where they are, where others start, how much each counts."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest
import scipy.sparse

import reference
from kernels.ladder import PRIORS, TINY, build_state, enumerated_posterior
from textmix.inference import guidance
from textmix.inference.guidance import (
    OWN_SHARE,
    Documents,
    Fitting,
    chances_of,
    fit_known,
    let_go,
    sample_rows,
    start_labels,
)
from textmix.inference.identical import count_twins, put_twins_together
from textmix.inference.ordering import renumber

INTERPRETED = bool(numba.config.DISABLE_JIT)


@pytest.mark.parametrize("prior_name", ["finite, room left", "finite, few clusters", "process"])
@pytest.mark.parametrize("last_two", [(0, 0), (0, 1)], ids=["together", "apart"])
def test_sweeps_draw_from_the_posterior_given_the_fixed_documents(prior_name, last_two):
    prior, rng, n_draws = PRIORS[prior_name], np.random.default_rng(1), 400 if INTERPRETED else 4000
    together = last_two[0] == last_two[1]
    possible = {
        partition: probability
        for partition, probability in enumerated_posterior("short", prior).items()
        if (partition[-1] == partition[-2]) == together
    }
    expected = {partition: p / sum(possible.values()) for partition, p in possible.items()}
    state = build_state(TINY["short"], np.array([0, 0, 0, *last_two]), prior, "auto", "plain")
    state.n_fixed = 2
    seen: Counter = Counter()
    for _ in range(n_draws):
        for _ in range(3):
            state.sample(rng, lambda _: None)
        seen[reference.canonical(state.labels)] += 1
    assert set(seen) <= set(expected)
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


def test_greedy_passes_leave_fixed_documents_alone():
    counts = np.array([[5, 0], [5, 0], [0, 5], [5, 0], [0, 5]])
    state = build_state(
        TINY["short"]._replace(counts=counts), np.array([1, 1, 0, 0, 1]), ("finite", 4, 0.1), "auto", "plain"
    )
    state.n_fixed = 2
    while state.improve(np.empty(0, np.int32), lambda _: None):
        pass
    labels = state.labels
    assert labels[3] != labels[4]
    assert labels[0] == labels[1] != labels[2]
    assert state.n_clusters == len(set(labels.tolist()))


def test_identical_documents_follow_those_that_are_fixed():
    counts = scipy.sparse.csr_array(np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [1, 0]]))
    labels = np.array([0, 0, 0, 2, 2, 1, 3], dtype=np.int32)
    twins = count_twins(counts, 1.0)
    assert put_twins_together(counts, 1.0, labels, twins, n_fixed=2)
    assert labels.tolist() == [3, 3, 3, 1, 1, 1, 3]
    labels[:] = [0, 0, 1, 2, 2, 3, 4]
    put_twins_together(counts, 1.0, labels, twins, n_fixed=4)  # of which 2 and 3 are the same document
    assert labels.tolist() == [4, 4, 4, 2, 2, 3, 4]


def random_documents(n_free=30, n_known=3, n_examples=8, n_words=12, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (n_free + n_examples, n_words))
    known = np.append(np.arange(n_known), rng.integers(n_known, size=n_examples - n_known)).astype(np.int32)
    return Documents(scipy.sparse.csr_array(counts), known, n_known), counts


def test_documents_fit_known_clusters_as_the_slow_twin_has_it(monkeypatch):
    monkeypatch.setattr(guidance, "_BLOCK", 21)
    documents, counts = random_documents()
    found, fits = fit_known(documents)
    for document in range(documents.n_free):
        expected = [
            reference.fit_of_cluster(
                counts[document], counts[documents.n_free :][documents.known == known], counts, OWN_SHARE
            )
            for known in range(documents.n_known)
        ]
        np.testing.assert_allclose(fits[document], max(expected), atol=1e-12)
        assert found[document] == (np.argmax(expected) if max(expected) > 0 else -1)


def test_those_that_fit_best_start_in_known_clusters_and_only_so_many(monkeypatch):
    monkeypatch.setattr(guidance, "SMALL", 3)
    documents, _ = random_documents(n_free=200)
    n_clusters = 40
    labels = start_labels(documents, fit_known(documents), n_clusters, np.random.default_rng(0))
    by_chance = np.random.default_rng(0).integers(3, n_clusters, size=208, dtype=np.int32)
    best, fits = fit_known(documents)
    assert labels[200:].tolist() == documents.known.tolist()
    for known in range(3):
        ranked = np.flatnonzero(best == known)[np.argsort(-fits[best == known], kind="stable")]
        assert (labels[ranked[:10]] == known).all()
        np.testing.assert_array_equal(labels[ranked[10:]], by_chance[ranked[10:]])
    free = documents._replace(known=np.empty(0, np.int32), n_known=0)
    by_chance = np.random.default_rng(0).integers(n_clusters, size=208, dtype=np.int32)
    np.testing.assert_array_equal(start_labels(free, fit_known(free), n_clusters, np.random.default_rng(0)), by_chance)
    assert free.n_free == 208


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([2, 2, 2], [1, 1, 1]),
        ([4, 2, 3, 4], [1, 0.5, 0.75, 1]),
        ([0, 1, 1, 0], [0, 1, 1, 0]),
        ([1e6, 1, 1, 1], [1, 1 / 3, 1 / 3, 1 / 3]),
        ([100, 6, 3, 3], [1, 1 / 2, 1 / 4, 1 / 4]),
        ([1e307, 1e307, 0], [1, 1, 0]),
        ([100, 80, 20, 10, 0], [1, 0.8, 0.2, 0.1, 0]),
        ([], []),
    ],
)
def test_runs_see_documents_by_weight_and_half_of_them_at_least(weights, expected):
    chances = chances_of(np.array(weights, dtype=float))
    np.testing.assert_allclose(chances, expected, atol=1e-12)


def test_what_does_not_fit_a_known_cluster_is_let_go():
    known = np.array([0, 1], dtype=np.int32)
    documents = Documents(scipy.sparse.csr_array(np.ones((14, 1), int)), known, 2)
    clusters = np.array([0, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1, -1], dtype=np.int32)
    labels = np.array([0] * 6 + [1] * 4 + [2] * 2 + [0, 1], dtype=np.int32)  # one in six fits, and two in four
    found = let_go(labels, documents, Fitting(clusters, np.zeros(12)))
    assert reference.canonical(found) == (0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 0, 2)
    assert np.bincount(found).tolist() == [5, 5, 2, 2]


def test_a_sample_has_documents_of_all_known_clusters():
    known = np.repeat(np.array([0, 1, 2], dtype=np.int32), [80, 3, 17])
    documents = Documents(scipy.sparse.csr_array(np.ones((400, 1), int)), known, 3)
    rows = sample_rows(documents, 100, np.random.default_rng(0))
    assert rows.size == 100
    assert (np.diff(rows) > 0).all()
    taken = documents.take(rows)
    assert taken.n_free == 50
    assert np.bincount(taken.known).tolist() == [30, 3, 17]
    assert sample_rows(documents, 400, np.random.default_rng(0)).tolist() == list(range(400))


def test_documents_are_taken_with_what_is_known_of_them():
    documents, counts = random_documents()
    documents = documents._replace(chances=np.arange(38) / 38)
    rows = np.array([0, 2, 5, 30, 31, 33])
    taken = documents.take(rows)
    np.testing.assert_array_equal(taken.counts.toarray(), counts[rows])
    assert taken.known.tolist() == documents.known[[0, 1, 3]].tolist()
    assert taken.chances.tolist() == (rows / 38).tolist()
    assert taken.n_free == 3


def test_clusters_are_followed_when_labels_change():
    before = np.array([0, 0, 0, 1, 1, 2, -1], dtype=np.int32)
    after = np.array([2, 1, 1, 0, 0, 0, -1], dtype=np.int32)
    labels, clusters = renumber(before, after, np.array([2, 0, -1, 5], dtype=np.int32))
    assert labels is after
    assert clusters.tolist() == [0, 1, -1, -1]

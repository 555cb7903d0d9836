"""What is known beforehand: documents that stay where they are, where others start, how much each counts."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest
import scipy.sparse

import reference
from kernels.ladder import PRIORS, TINY, build_state, enumerated_posterior
from textmix.inference import known_clusters
from textmix.inference.identical import count_identical, join_identical
from textmix.inference.known_clusters import (
    OWN_SHARE,
    GuidedDocuments,
    best_known,
    chances_of,
    fits_of,
    known_gains,
    release_unsupported,
    sample_rows,
    start_labels,
)
from textmix.inference.ordering import renumber

INTERPRETED = bool(numba.config.DISABLE_JIT)


@pytest.mark.parametrize("prior_name", ["finite, room left", "finite, few clusters", "process"])
@pytest.mark.parametrize("last_two", [(0, 0), (0, 1)], ids=["together", "apart"])
def test_sweeps_draw_from_the_posterior_given_the_fixed_documents(prior_name, last_two):
    prior, rng, n_draws = PRIORS[prior_name], np.random.default_rng(1), 400 if INTERPRETED else 2000
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
    n_identical = count_identical(counts, 1.0)
    assert join_identical(counts, 1.0, labels, n_identical, n_fixed=2)
    assert labels.tolist() == [3, 3, 3, 1, 1, 1, 3]
    labels[:] = [0, 0, 1, 2, 2, 3, 4]
    join_identical(counts, 1.0, labels, n_identical, n_fixed=4)  # of which 2 and 3 are the same document
    assert labels.tolist() == [4, 4, 4, 2, 2, 3, 4]


def random_documents(n_free=30, n_known=3, n_examples=8, n_words=12, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (n_free + n_examples, n_words))
    known = np.append(np.arange(n_known), rng.integers(n_known, size=n_examples - n_known)).astype(np.int32)
    return GuidedDocuments(scipy.sparse.csr_array(counts), known, n_known), counts


def test_documents_fit_known_clusters_as_the_slow_twin_has_it(monkeypatch):
    monkeypatch.setattr(known_clusters, "_BLOCK", 21)
    documents, counts = random_documents()
    free, gains = documents.counts[: documents.n_free], known_gains(documents)
    examples = [counts[documents.n_free :][documents.known == known] for known in range(documents.n_known)]
    expected = np.array(
        [
            [reference.fit_of_cluster(row, own, counts, OWN_SHARE) for own in examples]
            for row in counts[: documents.n_free]
        ]
    )
    np.testing.assert_allclose(fits_of(free, gains), expected, atol=1e-12)
    allowed = np.random.default_rng(1).random(expected.shape) < 0.6
    allowed[:, 0] |= ~allowed.any(axis=1)
    best = best_known(free, gains, allowed)
    np.testing.assert_array_equal(best, np.where(allowed, expected, -np.inf).argmax(axis=1))
    tenth = documents._replace(counts=documents.counts * 0.1)  # shares are the same
    np.testing.assert_allclose(known_gains(tenth).toarray(), gains.toarray(), rtol=1e-9)


def start_by_words(documents, unguided):
    gains = known_gains(documents)
    return start_labels(documents, unguided, lambda rows, allowed: best_known(documents.counts[rows], gains, allowed))


def test_clusters_of_an_unguided_run_follow_the_known_documents_in_them():
    # Cluster 0: 10 documents, 3 of them known; 1: 10 documents, a stray one of the same; 2: 6, half of them known.
    unguided = np.repeat(np.array([0, 1, 2, 3], dtype=np.int32), [7, 9, 3, 4])
    known = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    where = np.array([0, 0, 0, 1, 2, 2, 2], dtype=np.int32)
    documents = GuidedDocuments(scipy.sparse.csr_array(np.ones((30, 2), int)), known, 2)
    labels = start_by_words(documents, np.append(unguided, where))
    # Mean share of the first: (3 × 3 / 10 + 1 / 10) / 4 = 0.25, of which 1 / 10 is more than a quarter.
    assert labels.tolist() == [0] * 16 + [1] * 3 + [5] * 4 + known.tolist()
    larger = np.append(np.repeat(np.array([0, 1, 2, 3], dtype=np.int32), [7, 24, 3, 4]), where)  # now 1 / 25
    documents = GuidedDocuments(scipy.sparse.csr_array(np.ones((45, 2), int)), known, 2)
    labels = start_by_words(documents, larger)
    assert labels.tolist() == [0] * 7 + [3] * 24 + [1] * 3 + [5] * 4 + known.tolist()


def test_where_a_cluster_follows_two_its_documents_go_where_they_fit():
    counts = np.array([[2, 0, 1], [0, 2, 1], [0, 0, 1], [0, 1, 0], [2, 0, 0], [0, 2, 0]])
    documents = GuidedDocuments(scipy.sparse.csr_array(counts), np.array([0, 1], dtype=np.int32), 2)
    unguided = np.array([0, 0, -1, 1, 0, 0], dtype=np.int32)
    labels = start_by_words(documents, unguided)
    assert labels[[0, 1, 3, 4, 5]].tolist() == [0, 1, 3, 0, 1]
    assert labels.min() >= 0


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
    like_first, like_second, neither = [3, 0, 0, 1], [0, 3, 0, 1], [0, 0, 3, 1]
    came = [like_first, *[neither] * 5, like_second, like_second, neither, neither, neither, neither]
    counts = scipy.sparse.csr_array(np.array([*came, like_first, like_second]))
    documents = GuidedDocuments(counts, np.array([0, 1], dtype=np.int32), 2)
    labels = np.array([0] * 6 + [1] * 4 + [2] * 2 + [0, 1], dtype=np.int32)  # one in six fits, and two in four
    found = release_unsupported(labels, documents, known_gains(documents))
    assert reference.canonical(found) == (0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 0, 2)
    assert np.bincount(found).tolist() == [5, 5, 2, 2]


def test_what_fits_a_known_cluster_stays_though_another_fits_better():
    counts = scipy.sparse.csr_array(np.array([[1, 1, 0], [0, 0, 9], [3, 1, 0], [2, 3, 0]]))
    documents = GuidedDocuments(counts, np.array([0, 1], dtype=np.int32), 2)
    for label in (0, 1):
        labels = np.array([label, 2, 0, 1], dtype=np.int32)
        assert reference.canonical(
            release_unsupported(labels, documents, known_gains(documents))
        ) == reference.canonical(labels)


def test_a_sample_has_documents_of_all_known_clusters():
    known = np.repeat(np.array([0, 1, 2], dtype=np.int32), [80, 3, 17])
    documents = GuidedDocuments(scipy.sparse.csr_array(np.ones((400, 1), int)), known, 3)
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

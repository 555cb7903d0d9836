"""The hierarchy of clusters by words and vectors: Ward's criterion against all pairs computed anew."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.cluster.hierarchy import linkage

import reference
from textmix.inference import merging
from textmix.inference.merging import WORD_SHARE, mean_word_directions, merge_by_both, merge_greedily
from textmix.inference.ordering import order_by_size
from textmix.inference.pooling import DocumentVectors


def hold(vectors, rows=None):
    rows = np.arange(len(vectors)) if rows is None else np.asarray(rows)
    return DocumentVectors(rows, vectors[rows].astype(np.float16))


def random_documents(n_documents=60, n_clusters=9, n_words=12, n_dimensions=5, seed=0):
    """Counts, held vectors and labels; a cluster and some documents have no vectors, two documents no words."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.5, (n_documents, n_words))
    vectors = rng.normal(size=(n_documents, n_dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = rng.integers(n_clusters, size=n_documents).astype(np.int32)
    labels[:n_clusters] = np.arange(n_clusters)
    vectors[(labels == 1) | (rng.random(n_documents) < 0.2)] = 0.0
    counts[:, 0] += counts.sum(axis=1) == 0
    counts[-2:] = 0
    labels[-2:] = -1
    return scipy.sparse.csr_array(counts), hold(vectors), order_by_size(labels)


def no_cluster_apart(labels):
    return np.zeros(int(labels.max(initial=-1)) + 1, bool)


def points_of(counts, vectors, labels):
    """What documents are to Ward's criterion; one without a vector has the mean of its cluster, or else of all."""
    units, words = vectors.matrix.astype(float), reference.word_points(counts.toarray(), labels)
    has_vector = units.any(axis=1) & (labels >= 0)
    for document in np.flatnonzero(~has_vector):
        own = has_vector & (labels == labels[document])
        units[document] = units[own if own.any() else has_vector].mean(axis=0)
    return np.hstack((np.sqrt(1 - WORD_SHARE) * units, np.sqrt(WORD_SHARE) * words))


def assert_same_merges(merges, expected, rounding=1e-9):
    members = {number: {number} for number in range(merges.n_clusters)}
    for (one, other), cost, (together, loss) in zip(merges.pairs, merges.costs, expected, strict=True):
        members[one] = members[one] | members.pop(other)
        assert members[one] == together
        assert cost == pytest.approx(loss, rel=1e-6, abs=rounding)


@pytest.mark.parametrize(("n_documents", "n_clusters"), [(60, 2), (60, 9), (80, 20), (30, 22)])
def test_merges_are_those_of_the_slow_twin(n_documents, n_clusters):
    counts, vectors, labels = random_documents(n_documents, n_clusters, seed=n_clusters)
    merges = merge_by_both(counts, labels, vectors, no_cluster_apart(labels))
    assert merges.n_clusters == n_clusters
    assert_same_merges(merges, reference.merge_by_ward(points_of(counts, vectors, labels), labels))


def test_clusters_kept_apart_are_merged_last_as_by_the_slow_twin():
    counts, vectors, labels = random_documents(80, 12, seed=4)
    apart = np.isin(np.arange(12), [0, 3, 11])
    merges = merge_by_both(counts, labels, vectors, apart)
    expected = reference.merge_by_ward(points_of(counts, vectors, labels), labels, apart)
    assert_same_merges(merges, expected, rounding=2 * np.spacing(merging.KEPT_APART))
    for n_clusters in range(3, 13):
        assert len(set(merges.cut(n_clusters)[apart])) == 3
    assert (merges.costs < 1e6).all()


def test_of_vectors_alone_it_is_the_ward_linkage_of_scipy():
    """All documents have the same words, so these say nothing; each is a cluster of its own."""
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(40, 3))
    vectors = hold(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    labels = np.arange(40, dtype=np.int32)
    merges = merge_by_both(scipy.sparse.csr_array(np.ones((40, 2), int)), labels, vectors, no_cluster_apart(labels))
    # SciPy's distance is √2 times the root of what merging adds to the sum of squares.
    expected = linkage(vectors.matrix.astype(float), "ward")[:, 2] ** 2 / 2
    np.testing.assert_allclose(merges.costs, (1 - WORD_SHARE) * expected, rtol=1e-9)


def test_clusters_that_mean_the_same_are_merged_first_though_they_have_no_word_in_common():
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(4, dtype=np.int32), 20)
    counts = np.zeros((80, 16), int)
    counts[np.arange(80)[:, np.newaxis], 4 * labels[:, np.newaxis] + rng.integers(4, size=(80, 3))] = 1
    directions = np.eye(3)[[0, 1, 2, 0]]
    merges = merge_by_both(scipy.sparse.csr_array(counts), labels, hold(directions[labels]), no_cluster_apart(labels))
    assert merges.pairs[0].tolist() == [0, 3]


def test_vectors_of_a_sample_stand_for_their_clusters():
    """Two copies of each document, of which one vector is held, have the same hierarchy at twice the cost."""
    counts, vectors, labels = random_documents(60, 9)
    twice = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts)))
    once = merge_by_both(counts, labels, vectors, no_cluster_apart(labels))
    both = merge_by_both(twice, np.append(labels, labels), vectors, no_cluster_apart(labels))
    np.testing.assert_array_equal(both.pairs, once.pairs)
    np.testing.assert_allclose(both.costs, 2 * once.costs, rtol=1e-9)


@pytest.mark.parametrize("n_clusters", [2, 9, 25])
def test_word_directions_have_the_products_of_mean_documents(n_clusters):
    counts, _, labels = random_documents(80, n_clusters, seed=n_clusters)
    points = reference.word_points(counts.toarray(), labels)
    means = np.stack([points[labels == cluster].mean(axis=0) for cluster in range(n_clusters)])
    found = mean_word_directions(counts, labels, n_clusters)
    np.testing.assert_allclose(found @ found.T, means @ means.T, atol=1e-12)


def test_of_more_clusters_than_directions_the_main_ones_are_kept(monkeypatch):
    monkeypatch.setattr(merging, "N_DIRECTIONS", 4)
    counts, _, labels = random_documents(80, 11)
    points = reference.word_points(counts.toarray(), labels)
    means = np.stack([points[labels == cluster].mean(axis=0) for cluster in range(11)])
    left, values, _ = np.linalg.svd(means)
    closest = (left[:, :4] * values[:4] ** 2) @ left[:, :4].T
    found = mean_word_directions(counts, labels, 11)
    assert found.shape == (11, 4)
    np.testing.assert_allclose(found @ found.T, closest, atol=1e-12)


@pytest.mark.parametrize("n_clusters", [0, 1])
def test_there_may_be_nothing_to_merge(n_clusters):
    labels = np.full(3, n_clusters - 1, np.int32)
    merges = merge_by_both(
        scipy.sparse.csr_array(np.ones((3, 2), int)), labels, hold(np.eye(3)), no_cluster_apart(labels)
    )
    assert merges.pairs.shape == (0, 2)
    assert merges.cut(n_clusters).size == n_clusters


def test_the_smallest_of_very_many_clusters_are_taken_together_first(monkeypatch):
    counts, vectors, labels = random_documents(80, 12)
    monkeypatch.setattr(merging, "MAX_COMPARED", 5)
    merges = merge_by_both(counts, labels, vectors, no_cluster_apart(labels))
    assert merges.pairs[:7].tolist() == [[4, number] for number in range(5, 12)]
    assert np.isnan(merges.costs[:7]).all()
    lumped = np.minimum(labels, 4)
    expected = merge_by_both(counts, lumped, vectors, no_cluster_apart(lumped))
    np.testing.assert_array_equal(merges.pairs[7:], expected.pairs)
    np.testing.assert_allclose(merges.costs[7:], expected.costs)


def test_of_very_many_clusters_those_kept_apart_are_not_lumped_together(monkeypatch):
    counts, vectors, labels = random_documents(80, 12)
    monkeypatch.setattr(merging, "MAX_COMPARED", 6)
    apart = np.isin(np.arange(12), [2, 9, 11])
    merges = merge_by_both(counts, labels, vectors, apart)
    for n_clusters in range(3, 13):
        into = merges.cut(n_clusters)
        assert np.unique(into).size == n_clusters
        assert len({into[2], into[9], into[11]}) == 3


def test_merging_by_any_cost_takes_the_cheapest_pair_each_time():
    """Groups of numbers, merged by the distance of their sums: the least of all pairs, computed anew."""
    numbers = np.random.default_rng(3).normal(size=14)
    sums = numbers.copy()

    def merge(one, other, clusters):
        assert {one, other} <= set(clusters.tolist())
        sums[one] += sums[other]

    merges = merge_greedily(14, lambda cluster, others: np.abs(sums[others] - sums[cluster]), merge, np.zeros(14, bool))
    alive = dict(enumerate(numbers))
    for (one, other), cost in zip(merges.pairs, merges.costs, strict=True):
        least = min(abs(alive[i] - alive[j]) for i in alive for j in alive if i < j)
        assert cost == pytest.approx(least)
        assert abs(alive[one] - alive[other]) == pytest.approx(least)
        alive[one] += alive.pop(other)
    assert list(alive) == [0]

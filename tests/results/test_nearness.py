"""Distances of clusters, and their places on a map."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import reference
from textmix.results.nearness import cluster_distances, place_clusters


def random_counts(n_clusters, n_words=30, seed=0):
    return scipy.sparse.csr_array(np.random.default_rng(seed).poisson(0.5, (n_clusters, n_words)) + 0)


def test_distances_are_those_of_the_slow_twin():
    counts = random_counts(7)
    found = cluster_distances(counts)
    dense = counts.toarray()
    expected = [[reference.jensen_shannon_distance(one, other) for other in dense] for one in dense]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_same_words_are_at_0_others_at_1():
    found = cluster_distances(scipy.sparse.csr_array(np.array([[1, 2, 0], [2, 4, 0], [0, 0, 5]])))
    np.testing.assert_allclose(found, [[0, 0, 1], [0, 0, 1], [1, 1, 0]], atol=1e-7)


@pytest.mark.parametrize("n_clusters", [0, 1, 2, 3, 4, 5, 40])
def test_any_number_of_clusters_is_placed_and_twice_the_same(n_clusters):
    distances = cluster_distances(random_counts(n_clusters))
    points = place_clusters(distances)
    assert points.shape == (n_clusters, 2)
    assert np.isfinite(points).all()
    assert np.abs(points).max(initial=0.0) <= 1.0
    np.testing.assert_array_equal(points, place_clusters(distances))


def test_near_clusters_are_near_on_the_map():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(200, 0.05), size=4)
    counts = np.array([rng.multinomial(400, 0.85 * topics[i % 4] + 0.15 / 200) for i in range(24)])
    points = place_clusters(cluster_distances(scipy.sparse.csr_array(counts)))
    between = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
    same = np.equal.outer(np.arange(24) % 4, np.arange(24) % 4)
    np.fill_diagonal(between, np.inf)
    assert same[np.arange(24), between.argmin(axis=1)].all()


def test_three_clusters_keep_their_distances():
    distances = cluster_distances(random_counts(3))
    points = place_clusters(distances)
    between = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
    np.testing.assert_allclose(between / between.max(), distances / distances.max(), atol=1e-9)


@pytest.mark.parametrize("n_clusters", range(2, 40))
def test_clusters_without_common_words_have_places(n_clusters):
    points = place_clusters(1.0 - np.eye(n_clusters))
    assert points.shape == (n_clusters, 2)
    assert np.isfinite(points).all()

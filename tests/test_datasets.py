"""Synthetic collections."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from textmix.datasets import make_partitioned


def test_a_partitioned_collection_has_the_sizes_asked_for():
    counts, labels, discriminative = make_partitioned(50, 80, 12, 4, discriminative_length=30, background_length=70)
    assert isinstance(counts, scipy.sparse.csr_array)
    assert counts.shape == (50, 80)
    assert counts.dtype.kind == "i"
    assert counts.data.min() > 0
    assert labels.shape == (50,)
    assert discriminative.dtype == bool
    assert discriminative.tolist() == [True] * 12 + [False] * 68
    np.testing.assert_array_equal(counts[:, :12].sum(axis=1), 30)
    np.testing.assert_array_equal(counts[:, 12:].sum(axis=1), 70)


def test_the_default_is_the_paper_s():
    counts, labels, discriminative = make_partitioned()
    assert counts.shape == (600, 2000)
    assert np.bincount(labels).tolist() == [100] * 6
    assert discriminative.sum() == 200
    np.testing.assert_array_equal(counts[:, :200].sum(axis=1), 200)
    np.testing.assert_array_equal(counts.sum(axis=1), 400)


@pytest.mark.parametrize(
    ("n_documents", "n_clusters", "sizes"), [(10, 3, [4, 3, 3]), (9, 3, [3, 3, 3]), (2, 5, [1, 1])]
)
def test_clusters_come_one_after_the_other_and_are_as_equal_as_can_be(n_documents, n_clusters, sizes):
    labels = make_partitioned(n_documents, 20, 5, n_clusters).labels
    assert labels.tolist() == sorted(labels)
    assert np.bincount(labels).tolist() == sizes


def test_clusters_differ_in_the_first_words_and_in_nothing_else():
    lengths = {"discriminative_length": 4000, "background_length": 4000}
    counts, labels, discriminative = make_partitioned(200, 40, 10, 2, **lengths, random_state=1)
    shares = np.array([counts[labels == cluster].sum(axis=0) for cluster in range(2)]) / (100 * 4000)
    differences = np.abs(shares[0] - shares[1])
    # Standard deviation of a difference: about sqrt(2 · 0.1 / 400,000) = 0.0007 at most.
    assert differences[~discriminative].max() < 0.003
    assert np.median(differences[discriminative]) > 0.01


def test_documents_of_a_cluster_have_one_distribution_and_all_words_occur():
    counts = make_partitioned(400, 40, 10, 1, discriminative_length=400, background_length=400).counts.toarray()
    first, second = counts[:200].sum(axis=0) / 160_000, counts[200:].sum(axis=0) / 160_000
    np.testing.assert_allclose(first, second, atol=0.005)
    assert (counts.sum(axis=0) > 0).sum() > 35
    assert np.std(counts[:, :10].sum(axis=0)) > 1000  # not all words are equally frequent


def test_the_seed_decides_what_is_drawn():
    def draw(random_state):
        return make_partitioned(30, 40, 10, 3, random_state=random_state).counts.toarray()

    np.testing.assert_array_equal(draw(5), draw(5))
    np.testing.assert_array_equal(draw(0), make_partitioned(30, 40, 10, 3).counts.toarray())
    np.testing.assert_array_equal(draw(np.random.default_rng(5)), draw(5))
    assert not np.array_equal(draw(5), draw(6))


def test_numpy_s_global_state_is_left_alone():
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    make_partitioned(10, 20, 5, 2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_the_smallest_collections():
    counts, labels, discriminative = make_partitioned(1, 2, 1, 1, discriminative_length=3, background_length=5)
    assert counts.toarray().tolist() == [[3, 5]]
    assert labels.tolist() == [0]
    assert discriminative.tolist() == [True, False]
    no_own_words = make_partitioned(4, 6, 3, 2, discriminative_length=0, background_length=9)
    assert no_own_words.counts[:, :3].sum() == 0
    no_background = make_partitioned(4, 6, 3, 2, background_length=0)
    assert no_background.counts[:, 3:].sum() == 0
    assert make_partitioned(0, 6, 3, 2).counts.shape == (0, 6)


def test_all_words_may_be_discriminative():
    counts, _, discriminative = make_partitioned(4, 6, 6, 2, discriminative_length=9, background_length=0)
    assert counts.shape == (4, 6)
    assert discriminative.all()
    np.testing.assert_array_equal(counts.sum(axis=1), 9)


@pytest.mark.parametrize("n_discriminative", [0, -1, 21])
def test_an_impossible_number_of_discriminative_words_is_refused(n_discriminative):
    with pytest.raises(ValueError, match=r"n_discriminative must be 1 to n_words=20"):
        make_partitioned(10, 20, n_discriminative)


def test_a_background_without_words_is_refused():
    with pytest.raises(ValueError, match="background_length must be 0"):
        make_partitioned(10, 20, 20)


@pytest.mark.parametrize(
    "settings", [{"n_clusters": 0}, {"n_documents": -1}, {"discriminative_length": -1}, {"background_length": -1}]
)
def test_impossible_sizes_are_refused_by_name(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        make_partitioned(**{"n_documents": 10, "n_words": 20, "n_discriminative": 5, **settings})

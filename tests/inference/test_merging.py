"""The hierarchy of clusters, compared with merging as it is defined."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import reference
from textmix.inference import merging
from textmix.inference.merging import merge_clusters, merge_documents


def random_clusters(n_clusters, n_words, seed):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.3, 4.0, (n_clusters, n_words)) * (rng.random((n_clusters, n_words)) < 0.6)


@pytest.mark.parametrize(("n_clusters", "n_words"), [(2, 5), (7, 4), (12, 30), (25, 8)])
def test_merges_are_those_of_the_slow_twin(n_clusters, n_words):
    clusters = random_clusters(n_clusters, n_words, n_clusters)
    merges = merge_clusters(scipy.sparse.csr_array(clusters))
    members = {number: {number} for number in range(n_clusters)}
    for (one, other), cost, (together, loss) in zip(
        merges.pairs, merges.costs, reference.merge_greedily(clusters), strict=True
    ):
        members[one] = members[one] | members.pop(other)
        assert members[one] == together
        assert cost == pytest.approx(loss, rel=1e-9, abs=1e-9)


def test_cuts_are_nested_and_have_the_number_asked_for():
    merges = merge_clusters(scipy.sparse.csr_array(random_clusters(15, 20, 0)))
    finer = merges.cut(15)
    np.testing.assert_array_equal(finer, np.arange(15))
    for n_clusters in range(14, 0, -1):
        coarser = merges.cut(n_clusters)
        assert np.unique(coarser).tolist() == list(range(n_clusters))
        assert all(np.unique(coarser[finer == part]).size == 1 for part in range(n_clusters + 1))
        finer = coarser
    for n_clusters in (0, 16):
        with pytest.raises(ValueError, match="15 clusters can be merged"):
            merges.cut(n_clusters)


@pytest.mark.parametrize("n_clusters", [0, 1])
def test_there_may_be_nothing_to_merge(n_clusters):
    merges = merge_clusters(scipy.sparse.csr_array((n_clusters, 3)))
    assert merges.pairs.shape == (0, 2)
    assert merges.cut(n_clusters).size == n_clusters


def test_long_documents_weigh_no_more_than_short_ones():
    """Of three clusters the two are merged first that weights by document make alike."""
    counts = np.array([[4, 0, 0], [400, 0, 400], [0, 5, 5]])
    merges = merge_documents(scipy.sparse.csr_array(counts), np.array([0, 1, 2], dtype=np.int32), 10)
    weighted = np.array([[4, 0, 0], [5, 0, 5], [0, 5, 5]], dtype=float)
    assert merges.costs[0] == pytest.approx(reference.merge_greedily(weighted)[0][1])
    labels = np.array([0, 1, -1, 2], dtype=np.int32)
    four = scipy.sparse.csr_array(np.vstack((counts[:2], np.zeros((1, 3), int), counts[2:])))
    assert merge_documents(four, labels, 10).cut_labels(labels, 1).tolist() == [0, 0, -1, 0]


def test_the_smallest_of_very_many_clusters_are_taken_together_first(monkeypatch):
    clusters = scipy.sparse.csr_array(random_clusters(12, 10, 3))
    monkeypatch.setattr(merging, "MAX_COMPARED", 5)
    merges = merge_clusters(clusters)
    assert merges.pairs[:7].tolist() == [[4, number] for number in range(5, 12)]
    assert merges.cut(5).tolist() == [0, 1, 2, 3, *[4] * 8]
    assert np.unique(merges.cut(2)).tolist() == [0, 1]


def test_clusters_that_are_kept_apart_are_merged_last():
    clusters = random_clusters(9, 20, 3)
    clusters[4] = clusters[7] = clusters[1]  # alike: by themselves merged first
    apart = np.isin(np.arange(9), [1, 4, 7])
    merges = merge_clusters(scipy.sparse.csr_array(clusters), apart)
    for n_clusters in range(3, 10):
        into = merges.cut(n_clusters)
        assert len({into[1], into[4], into[7]}) == 3
    assert np.unique(merges.cut(2)).size == 2
    assert (merges.costs < 1e6).all()
    freely = merge_clusters(scipy.sparse.csr_array(clusters))
    assert len({*freely.cut(7)[[1, 4, 7]]}) == 1


def test_of_very_many_clusters_those_kept_apart_are_not_lumped_together(monkeypatch):
    monkeypatch.setattr(merging, "MAX_COMPARED", 6)
    clusters = scipy.sparse.csr_array(random_clusters(12, 20, 5))
    apart = np.isin(np.arange(12), [2, 9, 11])
    merges = merge_clusters(clusters, apart)
    assert np.isnan(merges.costs).sum() == 6
    for n_clusters in range(3, 13):
        into = merges.cut(n_clusters)
        assert np.unique(into).size == n_clusters
        assert len({into[2], into[9], into[11]}) == 3

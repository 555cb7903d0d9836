"""Groups of clusters: moving documents against a slow twin, whole clusters, levels that fit into each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

import reference
from textmix.inference import hierarchy
from textmix.inference.hierarchy import (
    Clustered,
    find_levels,
    group_clusters,
    merge_clustered,
    move_documents,
    refine_groups,
    views_of,
)
from textmix.inference.merging import Merges
from textmix.inference.ordering import order_by_size
from textmix.inference.pooling import DocumentVectors
from textmix.vectors.source import as_unit_rows


def planted(with_vectors: bool, n_topics: int = 6, n_parts: int = 4, seed: int = 0) -> tuple[Clustered, np.ndarray]:
    """Clusters that are parts of topics: they share the topic's words, and have some of their own."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(np.arange(n_topics), n_parts * 12)
    parts = np.arange(topics.size) % n_parts
    labels = order_by_size((topics * n_parts + parts).astype(np.int32))
    counts = np.zeros((topics.size, n_topics * 10 + n_topics * n_parts * 3), int)
    for document, (topic, part) in enumerate(zip(topics, parts, strict=True)):
        for _ in range(6):
            counts[document, topic * 10 + rng.integers(10)] += 1
        counts[document, n_topics * 10 + (topic * n_parts + part) * 3 + rng.integers(3)] += 1
    vectors = None
    if with_vectors:
        directions = np.linalg.qr(rng.normal(size=(16, 16)))[0][:n_topics]
        rows = as_unit_rows(directions[topics] + 0.15 * rng.normal(size=(topics.size, 16)))
        vectors = DocumentVectors(np.arange(topics.size), rows.astype(np.float16))
    n_clusters = int(labels.max()) + 1
    return Clustered(scipy.sparse.csr_array(counts), labels, 40, vectors, np.zeros(n_clusters, bool)), topics


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = {(int(a), int(b)) for a, b in zip(one, other, strict=True)}
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@pytest.mark.parametrize("with_vectors", [False, True])
def test_documents_move_as_in_the_slow_twin(with_vectors):
    documents, _ = planted(with_vectors, n_topics=4)
    rng = np.random.default_rng(1)
    words, vectors, shares = views_of(documents, np.arange(documents.labels.size))
    groups = rng.integers(4, size=documents.labels.size).astype(np.int32)
    moved = move_documents(words, vectors, shares, groups, 4)
    expected = reference.move_documents(words.toarray(), vectors, shares, groups, 4, hierarchy.MAX_ROUNDS)
    np.testing.assert_array_equal(moved, expected)
    assert not np.array_equal(moved, groups)


@pytest.mark.parametrize("with_vectors", [False, True])
def test_clusters_of_a_topic_are_one_group_however_merging_began(with_vectors):
    documents, topics = planted(with_vectors)
    found = group_clusters(documents, 6)
    assert same_partition(found[documents.labels], topics)
    topic_of = np.array([topics[documents.labels == cluster][0] for cluster in range(found.size)])
    wrong = topic_of.astype(np.int32)
    last = np.flatnonzero(wrong == 5)[-1]
    wrong[last] = 0
    assert same_partition(refine_groups(documents, wrong), topic_of)


def test_a_cluster_to_be_kept_apart_stays_in_its_group():
    documents, topics = planted(False)
    groups = np.array([topics[documents.labels == cluster][0] for cluster in range(24)], np.int32)
    moved = np.flatnonzero(groups == 5)[-1]
    groups[moved] = 0
    apart = np.zeros(24, bool)
    apart[moved] = True
    refined = refine_groups(documents._replace(apart=apart), groups)
    assert refined[moved] == 0
    assert refine_groups(documents, groups)[moved] == 5


@pytest.mark.parametrize("n_groups", [1, 2, 5, 23, 24])
def test_there_are_as_many_groups_as_asked_for(n_groups):
    documents, _ = planted(True)
    groups = group_clusters(documents, n_groups)
    assert np.unique(groups).tolist() == list(range(n_groups))


@pytest.mark.parametrize("with_vectors", [False, True])
def test_levels_fit_into_each_other_and_the_tree_has_them(with_vectors):
    documents, _ = planted(with_vectors, n_topics=16)
    levels = find_levels(documents)
    numbers = [int(groups.max()) + 1 for groups in levels]
    assert numbers == sorted(set(numbers))
    assert 2 <= len(levels) <= 3
    for coarse, fine in pairwise(levels):
        assert np.unique(np.column_stack((fine, coarse)), axis=0).shape[0] == int(fine.max()) + 1
    merges = merge_clustered(documents, levels)
    linkage = merges.linkage()
    assert is_valid_linkage(linkage)
    for groups, number in zip(levels, numbers, strict=True):
        assert same_partition(merges.cut(number), groups)
        assert same_partition(fcluster(linkage, number, "maxclust"), groups)


def test_levels_of_clusters_without_structure_fit_into_each_other_too():
    rng = np.random.default_rng(5)
    labels = order_by_size(rng.integers(60, size=600).astype(np.int32))
    own_words = rng.integers(200, size=(60, 4))
    counts = rng.poisson(0.02, size=(600, 200))
    for document, label in enumerate(labels):
        counts[document, rng.choice(own_words[label], 2)] += 1
    levels = find_levels(Clustered(scipy.sparse.csr_array(counts), labels, 40, None, np.zeros(60, bool)))
    assert len(levels) >= 2
    for coarse, fine in pairwise(levels):
        assert np.unique(np.column_stack((fine, coarse)), axis=0).shape[0] == int(fine.max()) + 1


def test_a_level_is_where_the_next_merge_costs_most():
    costs = np.array([1.0, 1.1, 1.2, 9.0, 10.0, 11.0])
    merges = Merges(7, np.column_stack((np.zeros(6, np.int32), np.arange(1, 7, dtype=np.int32))), costs)
    assert hierarchy.choose_number(merges, 2, 6) == 4


def test_few_clusters_have_no_levels():
    documents, _ = planted(False, n_topics=2, n_parts=2)
    assert find_levels(documents) == ()


def test_order_of_the_documents_makes_no_difference():
    documents, _ = planted(True)
    order = np.random.default_rng(3).permutation(documents.labels.size)
    shuffled = documents._replace(
        counts=documents.counts[order],
        labels=documents.labels[order],
        vectors=DocumentVectors(np.arange(order.size), documents.vectors.matrix[order]),
    )
    one, other = (each.in_order(1.0) for each in (documents, shuffled))
    np.testing.assert_array_equal(one.counts.toarray(), other.counts.toarray())
    np.testing.assert_array_equal(one.vectors.of(np.arange(order.size)), other.vectors.of(np.arange(order.size)))
    np.testing.assert_array_equal(group_clusters(one, 7), group_clusters(other, 7))


@pytest.mark.parametrize("apart", [[], [0, 5]])
def test_of_very_many_clusters_the_tree_has_the_levels_too(monkeypatch, apart):
    monkeypatch.setattr("textmix.inference.merging.MAX_COMPARED", 30)
    rng = np.random.default_rng(0)
    labels = np.arange(600, dtype=np.int32) % 60
    counts, tier = rng.poisson(0.3, size=(600, 80)), rng.integers(5, size=60).astype(np.int32)
    is_apart = np.isin(np.arange(60), apart)
    merges = merge_clustered(Clustered(scipy.sparse.csr_array(counts), labels, 40, None, is_apart), (tier,))
    assert same_partition(merges.cut(5), tier)
    assert sorted(merges.pairs[:, 1].tolist()) == sorted(set(merges.pairs[:, 1].tolist()))
    assert len(merges.pairs) == 59


def test_costs_that_are_not_known_do_not_hide_the_others():
    costs = np.array([np.nan, np.nan, 1.0, 1.1, 9.0, 10.0])
    merges = Merges(7, np.column_stack((np.zeros(6, np.int32), np.arange(1, 7, dtype=np.int32))), costs)
    assert hierarchy.choose_number(merges, 2, 4) == 3

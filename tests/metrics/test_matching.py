"""Purity, entropy, accuracy and the confusion table."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import homogeneity_score

from textmix.metrics import accuracy_score, agreement, confusion_table, entropy_score, purity_score

SCORES = [purity_score, entropy_score, accuracy_score]
every_score = pytest.mark.parametrize("score", [*SCORES, confusion_table])

# Pairs of a label out of at most 4 and a cluster out of at most 5.
labelings = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30)
many = settings(max_examples=200, deadline=None, derandomize=True)

# Clusters: {a a b}, {b}, {a b c}.
KNOWN = ["a", "a", "b", "b", "a", "b", "c"]
FOUND = [0, 0, 0, 1, 2, 2, 2]


def best_by_permutations(known, found):
    """The largest share of documents whose label is that of their cluster, over all ways to give clusters a label."""
    counts = Counter(zip(known, found, strict=True))
    labels, clusters = sorted(set(known)), sorted(set(found))
    labels += [None] * (len(clusters) - len(labels))  # clusters that stand for no label
    matchings = permutations(labels, len(clusters))
    hits = (sum(counts[label, cluster] for label, cluster in zip(m, clusters, strict=True)) for m in matchings)
    return max(hits) / len(known)


def by_cluster(known, found):
    return [[k for k, f in zip(known, found, strict=True) if f == cluster] for cluster in set(found)]


# Examples by hand


def test_purity_counts_the_most_frequent_label_of_each_cluster():
    assert purity_score(KNOWN, FOUND) == pytest.approx((2 + 1 + 1) / 7)


def test_entropy_is_the_mean_over_documents_as_a_share_of_the_largest():
    first = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert entropy_score(KNOWN, FOUND) == pytest.approx((3 * first + 1 * 0 + 3 * math.log(3)) / 7 / math.log(3))


def test_accuracy_gives_each_label_one_cluster():
    # 0 stands for a, 1 for b, 2 for c.
    assert accuracy_score(KNOWN, FOUND) == pytest.approx((2 + 1 + 1) / 7)
    # Both clusters are mostly a, only one can stand for it.
    assert accuracy_score(["a"] * 6 + ["b"] * 2, [0, 0, 0, 0, 1, 1, 1, 1]) == pytest.approx((4 + 2) / 8)


def test_the_best_matching_is_not_the_greedy_one():
    # Counts [[5, 4], [4, 0]]: taking the 5 first leaves 0, while 4 + 4 are possible.
    known = ["a"] * 9 + ["b"] * 4
    found = [0] * 5 + [1] * 4 + [0] * 4
    assert accuracy_score(known, found) == pytest.approx(8 / 13)


def test_the_confusion_table_has_a_row_a_label_and_a_column_a_cluster():
    table = confusion_table(["b", "a", "b", "b"], [7, 7, -1, 7])
    assert table.labels.tolist() == ["a", "b"]
    assert table.clusters.tolist() == [-1, 7]
    assert table.counts.tolist() == [[0, 1], [1, 2]]


# Any labels


@many
@given(labelings)
def test_accuracy_is_that_of_the_best_of_all_matchings(pairs):
    known, found = zip(*pairs, strict=True)
    assert accuracy_score(known, found) == pytest.approx(best_by_permutations(known, found))
    assert accuracy_score(found, known) == pytest.approx(best_by_permutations(known, found))


@many
@given(labelings)
def test_purity_is_that_of_counting_each_cluster(pairs):
    known, found = zip(*pairs, strict=True)
    hits = sum(Counter(labels).most_common(1)[0][1] for labels in by_cluster(known, found))
    assert purity_score(known, found) == pytest.approx(hits / len(known))


@many
@given(labelings)
def test_entropy_is_that_of_counting_each_cluster(pairs):
    known, found = zip(*pairs, strict=True)
    total = 0.0
    for labels in by_cluster(known, found):
        total -= sum(number * math.log(number / len(labels)) for number in Counter(labels).values())
    largest = math.log(len(set(known))) if len(set(known)) > 1 else 1.0
    assert entropy_score(known, found) == pytest.approx(total / len(known) / largest, abs=1e-12)
    assert math.copysign(1.0, entropy_score(known, found)) == 1.0


@many
@given(labelings)
def test_the_confusion_table_counts_every_document_once(pairs):
    known, found = zip(*pairs, strict=True)
    table = confusion_table(known, found)
    counts = Counter(pairs)
    assert table.counts.dtype == np.int64
    assert table.counts.tolist() == [[counts[label, cluster] for cluster in table.clusters] for label in table.labels]


@many
@given(labelings, st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(pairs, names):
    known, found = zip(*pairs, strict=True)
    renamed = [f"cluster {names[cluster]}" for cluster in found]
    for score in SCORES:
        assert score(known, renamed) == pytest.approx(score(known, found), abs=1e-12)


def test_entropy_is_what_homogeneity_lacks_where_labels_are_balanced():
    rng = np.random.default_rng(0)
    known, found = np.repeat(np.arange(4), 25), rng.integers(6, size=100)
    assert entropy_score(known, found) == pytest.approx(1 - homogeneity_score(known, found))


# The edges


def test_the_same_partition_has_no_fault():
    known, found = ["a", "a", "b", "c"], [2, 2, 0, 1]
    assert [score(known, found) for score in SCORES] == [1.0, 0.0, 1.0]


def test_one_cluster_has_the_share_of_the_largest_label():
    known = ["a", "a", "a", "b"]
    assert purity_score(known, [0] * 4) == accuracy_score(known, [0] * 4) == 0.75
    assert entropy_score(["a", "a", "b", "b"], [0] * 4) == pytest.approx(1.0)


def test_one_label_is_pure_in_any_clusters_but_only_one_cluster_stands_for_it():
    found = [0, 0, 0, 1, 2]
    assert purity_score(["a"] * 5, found) == 1.0
    assert entropy_score(["a"] * 5, found) == 0.0
    assert accuracy_score(["a"] * 5, found) == 0.6


def test_every_document_alone_is_pure_but_hardly_accurate():
    known = ["a"] * 5 + ["b"] * 5
    assert purity_score(known, range(10)) == 1.0
    assert entropy_score(known, range(10)) == 0.0
    assert accuracy_score(known, range(10)) == 0.2


def test_one_document():
    assert [score(["a"], [3]) for score in SCORES] == [1.0, 0.0, 1.0]


def test_many_labels_and_clusters_need_little_memory():
    """A number for each label and cluster would take 128 MB."""
    known = np.arange(4000)
    tracemalloc.start()
    try:
        assert [score(known, known[::-1]) for score in SCORES] == [1.0, 0.0, 1.0]
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


@every_score
def test_no_documents_are_refused(score):
    with pytest.raises(ValueError, match="labels_true must be a list with a label for each document, at least one"):
        score([], [])


@every_score
def test_different_numbers_of_documents_are_refused(score):
    with pytest.raises(ValueError, match="labels_true has 2 documents, labels_pred has 3"):
        score(["a", "b"], [0, 1, 1])


@every_score
def test_tables_are_refused(score):
    with pytest.raises(ValueError, match=r"labels_pred must be a list.*shape \(1, 2\)"):
        score(["a", "b"], [[0, 1]])


@every_score
def test_labels_that_cannot_be_compared_are_refused(score):
    with pytest.raises(ValueError, match="labels_true must hold labels of one kind"):
        score(["a", None], [0, 1])


# Among the scores of `agreement`


def test_agreement_has_them_for_the_documents_it_compares():
    scores = agreement([*KNOWN, "a", None], [*FOUND, -1, 0])
    assert scores["purity"] == purity_score(KNOWN, FOUND)
    assert scores["entropy"] == entropy_score(KNOWN, FOUND)
    assert scores["accuracy"] == accuracy_score(KNOWN, FOUND)
    assert scores["v_measure"] == pytest.approx(scores["nmi_arithmetic"])
    assert math.isnan(agreement(["a"], [-1])["entropy"])

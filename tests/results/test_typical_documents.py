"""Typical documents and the description of clusters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from textmix.results.clusters import Tally, describe_clusters, summarise
from textmix.results.lookup import PairTable
from textmix.results.typical import Examples, Typicality
from textmix.results.words import ClusterWords

COUNTS = scipy.sparse.csr_array(
    np.array(
        [
            [1, 0, 0, 0, 2],  # mostly a word that is everywhere
            [2, 1, 0, 0, 0],  # the words of cluster 0
            [1, 0, 0, 0, 0],
            [0, 0, 2, 1, 0],
            [0, 0, 1, 0, 2],
            [0, 0, 0, 0, 0],
        ]
    )
)
LABELS = np.array([0, 0, 0, 1, 1, -1])
WORD_COUNTS = scipy.sparse.csr_array(np.array([[4, 1, 0, 0, 2], [0, 0, 3, 1, 2]]))
TYPICALITY = Typicality(ClusterWords(WORD_COUNTS, 0.1)).score(COUNTS, LABELS)


def slow_cosine(document: int, beta: float) -> float:
    """The definition, word by word, but for the length of the cluster's words."""
    counts, words, cluster = COUNTS.toarray(), WORD_COUNTS.toarray(), LABELS[document]
    here = (words[cluster] + beta) / (words[cluster].sum() + 5 * beta)
    rest = words.sum(axis=0) - words[cluster]
    elsewhere = (rest + beta) / (rest.sum() + 5 * beta)
    telling = np.maximum(here * np.log(here / elsewhere), 0) * (words[cluster] > 0)
    return float(telling @ counts[document] / np.linalg.norm(counts[document]))


def test_documents_are_scored_as_defined():
    for beta in (0.02, 0.1, 1.0):
        scores = Typicality(ClusterWords(WORD_COUNTS, beta)).score(COUNTS, LABELS)
        np.testing.assert_allclose(scores, [*(slow_cosine(d, beta) for d in range(5)), 0.0], rtol=1e-6)


def test_a_document_of_common_words_is_the_least_typical():
    scores = Typicality(ClusterWords(WORD_COUNTS, 0.1)).score(COUNTS, LABELS)
    assert scores[:3].argmin() == 0
    assert scores[3] > scores[4]


def test_some_documents_are_scored_as_all_are():
    typicality = Typicality(ClusterWords(WORD_COUNTS, 0.1))
    odd = typicality.score(COUNTS[[1, 3, 5]], LABELS[[1, 3, 5]])
    np.testing.assert_array_equal(odd, typicality.score(COUNTS, LABELS)[[1, 3, 5]])


def test_a_word_that_is_rarer_here_than_elsewhere_counts_as_nothing():
    # Both hold the cluster's word and one that others hold: the second word much more often than the third.
    counts = np.array([[1, 1, 0], [1, 0, 1], [0, 9, 5], [0, 9, 5]])
    word_counts = scipy.sparse.csr_array(np.array([[2, 1, 1], [0, 18, 10]]))
    scores = Typicality(ClusterWords(word_counts, 0.1)).score(scipy.sparse.csr_array(counts), np.array([0, 0, 1, 1]))
    assert scores[0] == scores[1] > 0


def test_a_word_that_the_cluster_is_not_known_by_counts_as_nothing():
    background_left_out = scipy.sparse.csr_array(np.array([[4, 1, 0, 0, 0], [0, 0, 3, 1, 0]]))
    scores = Typicality(ClusterWords(background_left_out, 0.1)).score(COUNTS, LABELS)
    assert 0 < scores[0] < scores[1]
    nothing = scipy.sparse.csr_array(np.zeros((2, 5)))
    assert Typicality(ClusterWords(nothing, 0.1)).score(COUNTS, LABELS).tolist() == [0.0] * 6


def slow_examples(texts: list[str], groups: list[int], scores: list[float], group: int, n: int) -> list[int]:
    """Sort, then take the first of each text."""
    members = [i for i in range(len(texts)) if groups[i] == group and not np.isnan(scores[i])]
    ranked = sorted(members, key=lambda i: (-scores[i], i))
    first = {texts[i]: i for i in reversed(ranked)}
    return [first[text] for text in dict.fromkeys(texts[i] for i in ranked)][:n]


def test_examples_are_the_best_of_each_group_however_they_pass_by():
    rng = np.random.default_rng(4)
    texts = [f"text {number}" for number in rng.integers(300, size=1000)]
    groups = np.array([int(text.split()[1]) % 4 - 1 for text in texts])
    scores = np.array([float(int(text.split()[1]) // 8) for text in texts])
    scores[groups == 2] = np.nan
    expected = [slow_examples(texts, groups.tolist(), scores.tolist(), group, 3) for group in range(3)]
    for size in (1, 7, 1000):
        examples = Examples(3, 3)
        for first in range(0, 1000, size):
            block = slice(first, first + size)
            examples.add(first, texts[block], groups[block], scores[block])
        assert [[example.document for example in found] for found in examples.lists()] == expected
    assert [len(found) for found in expected] == [3, 3, 0]
    assert all(texts[document] == text for found in examples.lists() for document, text in found)


def test_examples_are_distinct_texts():
    texts = ["common", "same", "same", "three", "four", ""]
    clusters = describe_clusters(LABELS, TYPICALITY, ClusterWords(WORD_COUNTS, 0.1, list("abcde")), texts)
    assert sorted(clusters[0].examples) == ["common", "same"]
    assert [cluster.size for cluster in clusters] == [3, 2]
    assert clusters[0].share == 0.6


def test_the_summary_names_numbers_and_the_first_clusters():
    clusters = describe_clusters(LABELS, TYPICALITY, ClusterWords(WORD_COUNTS, 0.1, list("abcde")), ["x"] * 6)
    lines = summarise(clusters, Tally(6, 2, 0, 0, 1)).splitlines()
    assert lines[0] == "Clustering of 6 texts, 1 without words: 2 clusters, 0 outliers"
    assert lines[1].split()[:3] == ["0", "3", "a,"]
    assert summarise(clusters * 6, Tally(6, 12, 0, 0, 0)).endswith("… and 2 more")


@pytest.mark.parametrize("most", [0, 1 << 24], ids=["searched for", "in a table"])
def test_entries_of_pairs_are_found(monkeypatch, most):
    monkeypatch.setattr("textmix.results.lookup.MAX_CELLS", most)
    rng = np.random.default_rng(0)
    dense = rng.integers(4, size=(6, 9)) * (rng.random((6, 9)) < 0.5)
    matrix = scipy.sparse.csr_array(dense)
    clusters, words = rng.integers(6, size=200), rng.integers(9, size=200)
    found = PairTable(matrix).values(clusters, words, np.append(matrix.data.astype(float), 77.0))
    np.testing.assert_array_equal(found, dense[clusters, words])

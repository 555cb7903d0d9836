"""Typical documents and the description of clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from textmix.results.clusters import describe_clusters, summarise
from textmix.results.typical import rank_typical

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


def slow_ranking(cluster: int, beta: float) -> list[int]:
    """The definition, word by word."""
    counts, words = COUNTS.toarray(), WORD_COUNTS.toarray()
    here = (words[cluster] + beta) / (words[cluster].sum() + 5 * beta)
    rest = words.sum(axis=0) - words[cluster]
    elsewhere = (rest + beta) / (rest.sum() + 5 * beta)
    telling = np.maximum(here * np.log(here / elsewhere), 0) * (words[cluster] > 0)
    members = [document for document, label in enumerate(LABELS) if label == cluster]
    cosines = {document: telling @ counts[document] / np.linalg.norm(counts[document]) for document in members}
    return sorted(cosines, key=lambda document: (-cosines[document], document))


def test_documents_are_ranked_as_defined():
    for beta in (0.02, 0.1, 1.0):
        ranked = rank_typical(COUNTS, LABELS, WORD_COUNTS, beta)
        assert [documents.tolist() for documents in ranked] == [slow_ranking(0, beta), slow_ranking(1, beta)]


def test_a_document_of_common_words_is_the_least_typical():
    ranked = rank_typical(COUNTS, LABELS, WORD_COUNTS, 0.1)
    assert ranked[0].tolist()[-1] == 0
    assert ranked[1].tolist() == [3, 4]


def test_a_word_that_is_rarer_here_than_elsewhere_counts_as_nothing():
    # Both hold the cluster's word and one that others hold: the second word much more often than the third.
    counts = np.array([[1, 1, 0], [1, 0, 1], [0, 9, 5], [0, 9, 5]])
    word_counts = scipy.sparse.csr_array(np.array([[2, 1, 1], [0, 18, 10]]))
    ranked = rank_typical(scipy.sparse.csr_array(counts), np.array([0, 0, 1, 1]), word_counts, 0.1)
    assert ranked[0].tolist() == [0, 1]


def test_examples_are_distinct_texts():
    texts = ["common", "same", "same", "three", "four", ""]
    clusters = describe_clusters(COUNTS, LABELS, WORD_COUNTS, 0.1, list("abcde"), texts)
    assert sorted(clusters[0].examples) == ["common", "same"]
    assert [cluster.size for cluster in clusters] == [3, 2]
    assert clusters[0].share == 0.6


def test_the_summary_names_numbers_and_the_first_clusters():
    clusters = describe_clusters(COUNTS, LABELS, WORD_COUNTS, 0.1, list("abcde"), ["x"] * 6)
    lines = summarise(clusters, 6, 0, 1).splitlines()
    assert lines[0] == "Clustering of 6 texts, 1 without words: 2 clusters, 0 outliers"
    assert lines[1].split()[:3] == ["0", "3", "a"]
    assert summarise(clusters * 6, 6, 0, 0).endswith("… and 2 more")

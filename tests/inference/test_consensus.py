"""What many short runs agree on: the words they see, the step that brings them together, how stable clusters are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy import stats
from sklearn.metrics import adjusted_rand_score

import reference
from textmix.inference.consensus import (
    check_number,
    cluster_stabilities,
    complete_labels,
    find_consensus,
    labels_as_words,
    sample_runs,
    split_off,
)
from textmix.inference.known_clusters import all_free
from textmix.inference.ordering import order_by_size
from textmix.inference.progress import Progress
from textmix.inference.views.words import WordSettings, WordView, drop_lone_words, limit_words
from textmix.kernels.counts import draw_words

SETTINGS = WordSettings(n_runs=4, n_words=3, n_start_clusters=10, alpha=0.1, beta=0.1, n_sweeps=10)
QUIET = Progress(shown=False)


def topics(n_documents=90, n_topics=3, n_words=12, seed=0):
    """Documents of topics with hardly any word in common, and a word that only one document has."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_topics, size=n_documents)
    shares = np.full((n_topics, 10 * n_topics), 0.01)
    for topic in range(n_topics):
        shares[topic, 10 * topic : 10 * (topic + 1)] = 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.array([rng.multinomial(n_words, shares[label]) for label in labels])
    lone = np.zeros((n_documents, 1), rows.dtype)
    lone[0] = 1
    return scipy.sparse.csr_array(np.hstack((rows, lone))), labels


@pytest.mark.parametrize("most", [1, 3, 10])
def test_words_are_drawn_as_the_slow_twin_draws_them(most):
    rng = np.random.default_rng(most)
    dense = rng.poisson(0.8, (40, 9))
    dense[3] = 0
    counts = scipy.sparse.csr_array(dense)
    is_long = dense.sum(axis=1) > most
    uniforms = rng.random((int(is_long.sum()), most))
    kept = np.empty_like(counts.data)
    draw_words(counts.indptr, counts.data, most, uniforms.ravel(), kept)
    found = scipy.sparse.csr_array((kept, counts.indices, counts.indptr), counts.shape).toarray()
    own = iter(uniforms)
    expected = [
        reference.draw_words(row, most, next(own) if long else None) for row, long in zip(dense, is_long, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found.sum(axis=1), np.minimum(dense.sum(axis=1), most))


def test_all_words_of_a_document_are_drawn_alike():
    row = np.array([[1, 2, 3, 0, 4]])
    counts, n_draws, most = scipy.sparse.csr_array(row), 4000, 3
    rng = np.random.default_rng(0)
    drawn = np.zeros(counts.nnz)
    for _ in range(n_draws):
        kept = np.empty_like(counts.data)
        draw_words(counts.indptr, counts.data, most, rng.random(most), kept)
        drawn += kept
    expected = n_draws * most * counts.data / counts.data.sum()
    # The draws of one document go against each other: the statistic is smaller than chi-square's, never larger.
    assert stats.chisquare(drawn, expected).pvalue > 1e-3


def test_a_run_sees_few_words_of_a_document_and_their_columns_alone():
    counts = scipy.sparse.csr_array(np.array([[5, 0, 0, 1], [0, 2, 0, 0], [0, 0, 0, 0]]))
    seen = limit_words(counts, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(seen.sum(axis=1), [2, 2, 0])
    assert seen.shape[1] == np.count_nonzero(seen.toarray().any(axis=0))
    assert limit_words(counts, 6, np.random.default_rng(0)) is counts


def test_words_of_one_document_are_left_out():
    counts, _ = topics()
    shared = drop_lone_words(counts)
    frequencies = (counts.toarray() > 0).sum(axis=0)
    np.testing.assert_array_equal(shared.toarray(), counts.toarray()[:, frequencies > 1])
    assert drop_lone_words(scipy.sparse.csr_array(np.eye(3))).shape == (3, 1)


def test_runs_do_not_depend_on_threads_and_find_the_topics():
    counts, labels = topics()
    view = WordView(all_free(counts), whole=True, settings=SETTINGS)
    alone, together = (sample_runs(view, seed=3, n_jobs=n_jobs, progress=QUIET) for n_jobs in (1, 4))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
    runs = np.stack([run.labels for run in alone])
    assert not (runs[0] == runs[1]).all()
    agreed, _ = find_consensus(all_free(labels_as_words(runs)), 0.5, seed=3, n_jobs=1, progress=QUIET)
    assert adjusted_rand_score(labels, agreed.labels) > 0.9


def test_labels_become_words():
    runs = np.array([[0, 1, -1, 0], [0, 0, -1, 2]], dtype=np.int32)
    expected = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(labels_as_words(runs).toarray(), expected)
    assert labels_as_words(np.full((2, 3), -1, np.int32)).nnz == 0


def test_stabilities_are_those_of_the_slow_twin():
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=30).astype(np.int32)
    runs = np.stack([np.where(rng.random(30) < 0.7, labels, rng.integers(5, size=30)) for _ in range(3)])
    runs[:, [7, 11, 12]] = -1  # share no word with others
    labels[7], labels[11:13] = 4, 5
    expected = [*(reference.stability(labels, cluster, runs) for cluster in range(4)), 1.0, 0.5, np.nan]
    np.testing.assert_allclose(cluster_stabilities(labels, runs.astype(np.int32), 7), expected)


def test_runs_that_have_not_seen_a_document_say_nothing_of_it():
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=30).astype(np.int32)
    runs = np.stack([np.where(rng.random(30) < 0.7, labels, rng.integers(5, size=30)) for _ in range(3)])
    runs[1, :10], runs[0, labels == 3] = -1, -1
    expected = [reference.stability(labels, cluster, runs) for cluster in range(4)]
    np.testing.assert_allclose(cluster_stabilities(labels, runs.astype(np.int32), 4), expected)


def test_documents_without_words_in_common_are_alone_and_identical_ones_together():
    dense = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 2], [1, 1, 0]])
    agreed = np.array([0, 1, -1, -1, 0], dtype=np.int32)
    shares_words = np.array([True, True, False, False, True])
    labels = complete_labels(all_free(scipy.sparse.csr_array(dense)), agreed, shares_words, 1.0)
    np.testing.assert_array_equal(order_by_size(labels), [0, 0, -1, 1, 0])


def test_documents_that_fit_least_are_split_off():
    dense = np.array([[2, 1, 0, 0], [1, 2, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    labels = np.array([0, 0, 0, 0, 0, -1], dtype=np.int32)
    counts, unknown = scipy.sparse.csr_array(dense), np.full(6, -1, np.int32)
    np.testing.assert_array_equal(split_off(counts, labels, 2, 1.0, unknown), [0, 0, 0, 1, 0, -1])
    apart = split_off(counts, labels, 4, 1.0, unknown)
    assert apart[2] == apart[4]
    assert apart.max() == 3
    check_number(counts, 4, 1.0, unknown)
    with pytest.raises(ValueError, match="only 4 of the texts are different"):
        check_number(counts, 5, 1.0, unknown)

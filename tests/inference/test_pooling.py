"""Words and vectors together: cosines against loops, probabilities against the slow twin, weights against labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import approx_fprime

import reference
from textmix.corpus.matrix import sum_by_cluster
from textmix.inference import pooling
from textmix.inference.pooling import (
    LEAST,
    LIKELY,
    DocumentVectors,
    PooledScorer,
    ViewWeights,
    cosines_with,
    fit_weights,
)
from textmix.inference.scoring import PartitionScorer
from textmix.priors.finite_dirichlet import finite_dirichlet

BETA, ALPHA, MAX_CLUSTERS = 0.3, 0.2, 9
PRIOR = ("finite", MAX_CLUSTERS, ALPHA)

# Clusters: 0 and 1 of several documents; 2: one of its three has a vector; 3: none of its two; 4: alone, with a vector;
# 5: alone, without. The last two documents have no words and so no label, one of them has no vector either.
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, -1, -1], dtype=np.int32)
WITHOUT_VECTOR = [3, 8, 9, 10, 11, 13, 15]


def unit_rows(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def some_vectors(n_dimensions=6, seed=0, rounded=False):
    vectors = unit_rows(np.random.default_rng(seed).normal(size=(LABELS.size, n_dimensions)) + 0.4)
    vectors[WITHOUT_VECTOR] = 0.0
    return vectors.astype(np.float16).astype(np.float32) if rounded else vectors


def some_counts(seed=0):
    counts = np.random.default_rng([seed, 1]).poisson(0.8, (LABELS.size, 7))
    counts[:, 0] += LABELS >= 0  # all with a label have a word
    counts[LABELS < 0] = 0
    return counts


def sums_of(vectors, labels):
    return np.stack([vectors[labels == cluster].sum(axis=0) for cluster in range(labels.max() + 1)])


def make_words(counts, labels, max_clusters=MAX_CLUSTERS):
    counts, n_clusters = scipy.sparse.csr_array(counts), int(labels.max()) + 1
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    word_counts = sum_by_cluster(counts, labels, n_clusters)
    prior = finite_dirichlet(max_clusters, ALPHA)
    return PartitionScorer.from_statistics(sizes, word_counts, BETA, prior, 1.0), sizes


def make_scorer(counts, vectors, labels, weights, max_clusters=MAX_CLUSTERS):
    words, sizes = make_words(counts, labels, max_clusters)
    return PooledScorer(words, sizes, sums_of(vectors, labels), ViewWeights(*weights))


# Cosines


@pytest.mark.parametrize("rounded", [False, True], ids=["of four bytes", "kept in two bytes"])
@pytest.mark.parametrize("n_dimensions", [2, 6, 300])
def test_cosines_are_those_of_loops_with_the_document_taken_out(n_dimensions, rounded):
    vectors = some_vectors(n_dimensions, rounded=rounded)
    found = cosines_with(vectors, sums_of(vectors, LABELS), LABELS)
    for document, vector in enumerate(vectors.astype(float)):
        for cluster in range(6):
            others = (cluster == LABELS) & (np.arange(LABELS.size) != document)
            expected = reference.cosine(vector, vectors[others].astype(float).sum(axis=0))
            assert found[document, cluster] == pytest.approx(expected, abs=2e-6), (document, cluster)


def test_cosines_of_new_documents_are_with_all_of_a_cluster():
    vectors, new = some_vectors(), unit_rows(np.random.default_rng(5).normal(size=(4, 6)))
    sums = sums_of(vectors, LABELS)
    expected = [[reference.cosine(x, s) for s in sums.astype(float)] for x in new.astype(float)]
    np.testing.assert_allclose(cosines_with(new, sums), expected, atol=2e-6)
    np.testing.assert_allclose(cosines_with(new, sums, np.full(4, -1)), expected, atol=2e-6)


def test_the_cosine_with_nothing_is_0():
    vectors, sums = some_vectors(), sums_of(some_vectors(), LABELS)
    found = cosines_with(vectors, sums, LABELS)
    assert (found[WITHOUT_VECTOR] == 0).all()
    assert (found[:, [3, 5]] == 0).all()  # clusters without vectors
    assert found[12, 4] == 0  # alone
    assert found[7, 2] == 0  # the only one with a vector
    assert cosines_with(vectors[:0], sums).shape == (0, 6)
    assert cosines_with(vectors, sums[:0]).shape == (LABELS.size, 0)


@pytest.mark.parametrize("n_copies", [2, 3, 5000])
@pytest.mark.parametrize("rounded", [False, True], ids=["of four bytes", "kept in two bytes"])
def test_the_cosine_with_copies_of_itself_is_1(n_copies, rounded):
    row = unit_rows(np.random.default_rng(1).normal(size=(1, 200)))
    vectors = np.repeat(row.astype(np.float16).astype(np.float32) if rounded else row, n_copies, axis=0)
    found = cosines_with(vectors[:5], vectors.sum(axis=0, keepdims=True), np.zeros(min(n_copies, 5), np.int32))
    np.testing.assert_allclose(found, 1.0, atol=1e-4)


# Vectors as they are kept


def held_vectors(vectors=None, rows=None):
    vectors = some_vectors() if vectors is None else vectors
    rows = np.arange(len(vectors)) if rows is None else np.asarray(rows)
    return DocumentVectors(rows, vectors[rows].astype(np.float16))


def test_vectors_are_found_by_document_and_are_zero_where_there_is_none():
    vectors = some_vectors()
    held = held_vectors(vectors, [1, 4, 5, 12])
    documents = np.array([5, 0, 1, 12, 15, 5, 4])
    expected = np.where(np.isin(documents, held.rows)[:, np.newaxis], vectors[documents], 0.0)
    np.testing.assert_allclose(held.of(documents), expected, atol=5e-4)
    assert held.of(documents).dtype == np.float32
    assert held.of(documents[:0]).shape == (0, 6)
    assert held.n_dimensions == 6


def test_no_vectors_at_all_are_zeros():
    held = held_vectors(rows=np.empty(0, np.int64))
    assert (held.of(np.arange(3)) == np.zeros((3, 6))).all()
    assert (held.sum_by_cluster(LABELS, 6) == np.zeros((6, 6))).all()


@pytest.mark.parametrize("rows", [None, [0, 3, 5, 12, 14]], ids=["all", "a sample"])
def test_sums_are_those_of_the_vectors_of_each_cluster(rows):
    vectors, n_clusters = some_vectors(rounded=True), 8  # the last two clusters are empty
    held = held_vectors(vectors, rows)
    expected = np.zeros((n_clusters, 6))
    for document in held.rows:
        if LABELS[document] >= 0:
            expected[LABELS[document]] += vectors[document]
    np.testing.assert_allclose(held.sum_by_cluster(LABELS, n_clusters), expected, atol=1e-6)


# Probabilities


def expected_probabilities(counts, vectors, labels, weights, documents, prior=PRIOR):
    """By the slow twin; for a document alone in its cluster a new one means staying."""
    n_clusters = int(labels.max()) + 1
    found = np.zeros((len(documents), n_clusters + 1))
    for row, document in enumerate(documents):
        options = reference.pooled_conditional(counts, vectors, labels, document, BETA, prior, *weights)
        for option, probability in options.items():
            found[row, n_clusters if option == reference.NEW else option] = probability
        if labels[document] >= 0 and labels[document] not in options:
            found[row, labels[document]], found[row, n_clusters] = found[row, n_clusters], 0.0
    return found


@pytest.mark.parametrize("weights", [(1.0, 1e-3), (0.3, 12.0), (1e-3, 40.0), (2.5, 0.7)], ids=str)
@pytest.mark.parametrize("max_clusters", [MAX_CLUSTERS, 6], ids=["room left", "no room for a new cluster"])
def test_probabilities_are_those_of_the_slow_twin(weights, max_clusters):
    counts, vectors = some_counts(), some_vectors()
    scorer = make_scorer(counts, vectors, LABELS, weights, max_clusters)
    found = scorer.probabilities(scipy.sparse.csr_array(counts), vectors, LABELS)
    prior = ("finite", max_clusters, ALPHA)
    expected = expected_probabilities(counts, vectors, LABELS, weights, range(15), prior)
    np.testing.assert_allclose(found[:15], expected, atol=2e-6)
    np.testing.assert_allclose(found[:15].sum(axis=1), 1.0, rtol=1e-12)
    assert np.isnan(found[15]).all()  # neither words nor a vector


@pytest.mark.parametrize("weights", [(1.0, 1e-3), (0.3, 12.0)], ids=str)
def test_new_documents_are_in_no_cluster_before(weights):
    counts, vectors = some_counts(), some_vectors()
    new_counts, new_vectors = some_counts(seed=7), some_vectors(seed=7)
    scorer = make_scorer(counts, vectors, LABELS, weights)
    found = scorer.probabilities(scipy.sparse.csr_array(new_counts), new_vectors)
    for document in range(15):
        together = np.vstack((counts, new_counts[document])), np.vstack((vectors, new_vectors[document]))
        expected = expected_probabilities(*together, np.append(LABELS, -1), weights, [LABELS.size])
        np.testing.assert_allclose(found[[document]], expected, atol=2e-6)
    assert np.isnan(found[15]).all()
    best = scorer.most_probable(scipy.sparse.csr_array(new_counts), new_vectors)
    np.testing.assert_array_equal(best[:15], found[:15, :-1].argmax(axis=1))
    assert best[15] == -1


def test_a_document_alone_in_its_cluster_may_stay_and_cannot_leave_for_a_new_one():
    counts, vectors = some_counts(), some_vectors()
    scorer = make_scorer(counts, vectors, LABELS, (0.3, 5.0))
    found = scorer.probabilities(scipy.sparse.csr_array(counts), vectors, LABELS)
    assert (found[[12, 13], [4, 5]] > 0.01).all()
    assert (found[[12, 13], -1] == 0.0).all()


def test_a_vector_like_no_cluster_makes_a_new_one_more_probable():
    counts, vectors = some_counts(), some_vectors()
    scorer = make_scorer(counts, vectors, LABELS, (0.3, 10.0))
    opposite = unit_rows(-vectors.sum(axis=0, keepdims=True))
    row = scipy.sparse.csr_array(counts[:1])
    with_opposite, without = (scorer.probabilities(row, x)[0, -1] for x in (opposite, np.zeros((1, 6), np.float32)))
    assert with_opposite > 3 * without


def test_probabilities_come_block_by_block_and_the_same(monkeypatch):
    counts, held = scipy.sparse.csr_array(some_counts()), held_vectors()
    units = held.matrix.astype(np.float32)
    scorer = make_scorer(some_counts(), units, LABELS, (0.3, 5.0))
    whole = scorer.probabilities(counts, units, LABELS)
    monkeypatch.setattr("textmix.inference.scoring.BLOCK_BYTES", 8 * 7 * 5)
    blocks = list(scorer.blocks(counts, held, LABELS))
    assert [rows.stop - rows.start for rows, _ in blocks] == [5, 5, 5, 1]
    np.testing.assert_allclose(np.concatenate([found for _, found in blocks]), whole, atol=1e-9)


def test_without_clusters_everything_is_new():
    words = make_words(np.zeros((2, 3), int), np.full(2, -1, np.int32))[0]
    scorer = PooledScorer(words, np.empty(0, np.int64), np.empty((0, 4), np.float32), ViewWeights(1.0, 1.0))
    counts, vectors = scipy.sparse.csr_array(np.array([[1, 0, 2]])), np.eye(1, 4, dtype=np.float32)
    assert scorer.probabilities(counts, vectors).tolist() == [[1.0]]
    assert scorer.most_probable(counts, vectors).tolist() == [-1]


# Weights


def topics_of(n_documents, n_topics, seed=0):
    return (np.arange(n_documents) % n_topics).astype(np.int32), np.random.default_rng(seed)


def words_by(labels, rng, own_share):
    """Documents of eight words, each one of its label's three words with this probability, else any."""
    n_topics = int(labels.max()) + 1
    counts = np.zeros((labels.size, 3 * n_topics), int)
    for document, label in enumerate(labels):
        for _ in range(8):
            own = 3 * label + rng.integers(3)
            counts[document, own if rng.random() < own_share else rng.integers(3 * n_topics)] += 1
    return counts


def vectors_by(labels, rng, noise):
    n_topics = int(labels.max()) + 1
    directions = np.linalg.qr(rng.normal(size=(24, 24)))[0][:n_topics]
    return unit_rows(directions[labels] + noise * rng.normal(size=(labels.size, 24)) / np.sqrt(24))


def fitted_weights(counts, vectors, labels, held=None):
    words, sizes = make_words(counts, labels, max_clusters=50)
    held = held_vectors(vectors) if held is None else held
    sums = held.sum_by_cluster(labels, sizes.size)
    return fit_weights(words, sizes, sums, scipy.sparse.csr_array(counts), labels, held)


@pytest.fixture
def losses(monkeypatch):
    """The functions that weights are found by."""
    seen, minimize = [], pooling.minimize

    def minimize_and_tell(loss, *arguments, **settings):
        seen.append(loss)
        return minimize(loss, *arguments, **settings)

    monkeypatch.setattr(pooling, "minimize", minimize_and_tell)
    return seen


def both_views(seed=0):
    """Labels that both views tell something of, and neither all."""
    labels, rng = topics_of(120, 4, seed)
    return words_by(labels, rng, 0.3), vectors_by(labels, rng, 2.5), labels


def test_the_loss_is_minus_the_log_of_the_probability_of_labels_and_weights(losses):
    counts, vectors, labels = both_views()
    counts, vectors, labels = counts[:24], vectors[:24].astype(np.float16).astype(np.float32), labels[:24]
    fitted_weights(counts, vectors, labels)
    for weights in ([0.4, 3.0], [1.0, 20.0]):
        total = weights[0] ** 2 / (2 * LIKELY[0] ** 2) + weights[1] ** 2 / (2 * LIKELY[1] ** 2)
        for document, own in enumerate(labels):
            options = reference.pooled_conditional(
                counts, vectors, labels, document, BETA, ("finite", 50, ALPHA), *weights
            )
            del options[reference.NEW]
            total -= math.log(options[own] / math.fsum(options.values()))
        assert losses[0](np.array(weights))[0] == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("weights", [(0.5, 10.0), (0.01, 0.01), (2.0, 30.0), (0.2, 1.0)], ids=str)
def test_the_gradient_is_that_of_differences(losses, weights):
    fitted_weights(*both_views())
    point = np.array(weights)
    slope = approx_fprime(point, lambda x: losses[0](x)[0], 1e-6)
    np.testing.assert_allclose(losses[0](point)[1], slope, rtol=1e-4, atol=1e-4)


def test_no_weights_near_those_found_make_the_labels_more_probable(losses):
    found = np.array(fitted_weights(*both_views()))
    least, slope = losses[0](found)
    assert (found > np.array(LEAST)).all()
    np.testing.assert_allclose(slope * found, 0.0, atol=0.01)
    for factors in ((0.8, 1), (1.25, 1), (1, 0.8), (1, 1.25), (0.8, 1.25)):
        assert losses[0](found * factors)[0] > least


def test_a_view_that_says_nothing_about_the_labels_weighs_little():
    labels, rng = topics_of(400, 4)
    telling_words, any_words = words_by(labels, rng, 0.35), words_by(labels, rng, 0.0)
    telling_vectors, any_vectors = vectors_by(labels, rng, 2.0), vectors_by(rng.permutation(labels), rng, 2.0)
    by_vectors = fitted_weights(any_words, telling_vectors, labels)
    by_words = fitted_weights(telling_words, any_vectors, labels)
    by_both = fitted_weights(telling_words, telling_vectors, labels)
    assert by_vectors.words < 0.1
    assert by_words.vectors < 1
    assert min(by_words.words, by_both.words) > 0.5
    assert min(by_vectors.vectors, by_both.vectors) > 5


def test_weights_stay_moderate_where_the_views_tell_all_labels():
    """Any larger weights would make the labels hardly more probable; of two equal views neither is left out."""
    labels, rng = topics_of(120, 4)
    clear_words, clear_vectors, any_vectors = (
        words_by(labels, rng, 1.0),
        vectors_by(labels, rng, 0.3),
        vectors_by(rng.permutation(labels), rng, 0.3),
    )
    by_both = fitted_weights(clear_words, clear_vectors, labels)
    assert 0.05 < by_both.words < 1
    assert 1 < by_both.vectors < 20
    assert fitted_weights(clear_words, any_vectors, labels).vectors < 0.2 * by_both.vectors


def test_weights_do_not_depend_on_documents_without_a_vector_or_a_label(losses):
    counts, vectors, labels = both_views()
    vectors = vectors.astype(np.float16).astype(np.float32)
    lost = np.where(np.arange(120) % 5 == 0, np.float32(0.0), np.float32(1.0))[:, np.newaxis]
    zeros, sample = held_vectors(vectors * lost), held_vectors(vectors, np.flatnonzero(lost))
    with_zeros, of_sample = (fitted_weights(counts, vectors, labels, held) for held in (zeros, sample))
    assert with_zeros == pytest.approx(of_sample, rel=1e-4)
    counts, vectors = np.vstack((counts, counts[:9])), np.vstack((vectors, vectors[:9]))
    words, sizes = make_words(counts, np.append(labels, np.full(9, -1, np.int32)), max_clusters=50)
    held = held_vectors(vectors)
    labels = np.append(labels, np.full(9, -1, np.int32))
    sums = held.sum_by_cluster(labels, sizes.size)
    more = fit_weights(words, sizes, sums, scipy.sparse.csr_array(counts), labels, held)
    assert more == pytest.approx(fitted_weights(*both_views()), rel=1e-3)


def test_of_many_documents_some_suffice(monkeypatch, losses):
    labels, rng = topics_of(600, 4)
    counts, vectors = words_by(labels, rng, 0.3), vectors_by(labels, rng, 2.5)
    of_all = fitted_weights(counts, vectors, labels)
    monkeypatch.setattr(pooling, "MAX_FITTED", 200)
    assert fitted_weights(counts, vectors, labels) == pytest.approx(of_all, rel=0.4)
    assert losses[0](np.array(of_all))[0] != losses[1](np.array(of_all))[0]


@pytest.mark.parametrize(
    ("labels", "without_vector"),
    [
        ([0, 0, 0], []),
        ([0, 1, 2], []),
        ([0, 0, 1], [0, 1]),
        ([-1, -1, -1], []),
    ],
    ids=["one cluster", "all alone", "no vectors where there are others", "no clusters"],
)
def test_where_nothing_can_be_learned_words_count_as_they_are(labels, without_vector):
    vectors = np.eye(3, dtype=np.float32)
    vectors[without_vector] = 0.0
    found = fitted_weights(np.ones((3, 2), int), vectors, np.array(labels, dtype=np.int32))
    assert found == (1.0, LEAST[1])

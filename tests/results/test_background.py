"""Outlier scores: documents beside the collection at large."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import reference
import textmix
from textmix import ConsensusMixture
from textmix.corpus.matrix import sum_by_cluster
from textmix.results import background
from textmix.results.background import Background


@pytest.fixture
def partition():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (40, 12))
    counts[5] = 0
    counts[6] = 0
    counts[6, 11], counts[:6, 11], counts[7:, 11] = 2, 0, 0  # a word of its own
    labels = rng.integers(3, size=40).astype(np.int32)
    labels[~counts.any(axis=1)] = -1
    labels[9] = 3  # alone
    return counts, labels


def test_scores_are_those_of_the_slow_twin(partition, monkeypatch):
    counts, labels = partition
    sparse = scipy.sparse.csr_array(counts)
    scorer = Background(sum_by_cluster(sparse, labels, 4), 2.5)
    expected = [reference.outlier_score(counts, labels, d, 2.5) if labels[d] >= 0 else np.nan for d in range(40)]
    np.testing.assert_allclose(scorer.score(sparse, labels, own=True), expected, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(background, "_BLOCK", 17)
    np.testing.assert_allclose(scorer.score(sparse, labels, own=True), expected, rtol=1e-9, atol=1e-12)


def test_the_weight_makes_the_mean_score_lowest(partition):
    counts, labels = partition
    sparse = scipy.sparse.csr_array(counts)
    fitted = Background(sum_by_cluster(sparse, labels, 4)).fit_weight(sparse, labels)

    def mean_score(weight):
        return np.nanmean([reference.outlier_score(counts, labels, d, weight) for d in np.flatnonzero(labels >= 0)])

    least = min(mean_score(weight) for weight in np.geomspace(1e-2, 1e10, 60))
    assert mean_score(fitted.weight) <= least + 1e-9
    assert mean_score(fitted.weight) <= 0.0


def test_a_document_alone_has_zero_and_a_lone_word_counts_against_the_cluster(partition):
    counts, labels = partition
    sparse = scipy.sparse.csr_array(counts)
    word_counts = sum_by_cluster(sparse, labels, 4)
    scores = Background(word_counts, 2.5).score(sparse, labels, own=True)
    assert scores[9] == pytest.approx(0.0, abs=1e-12)
    n_others = word_counts[[labels[6]]].sum() - 2
    assert scores[6] == pytest.approx(np.log((n_others + 2.5) / 2.5))


def test_a_new_document_has_the_score_it_would_have_were_it_left_out(partition):
    counts, labels = partition
    document = 12
    others = np.delete(np.arange(40), document)
    own = Background(sum_by_cluster(scipy.sparse.csr_array(counts), labels, 4), 2.5)
    without = Background(sum_by_cluster(scipy.sparse.csr_array(counts[others]), labels[others], 4), 2.5)
    row, label = scipy.sparse.csr_array(counts[[document]]), labels[[document]]
    assert without.score(row, label, own=False) == pytest.approx(own.score(row, label, own=True))


TEXTS = [f"reset the password of my account, ticket {n}" for n in range(30)]
TEXTS += [f"parcel not delivered, courier lost it, ticket {n}" for n in range(30)]
STRANGE = ["forklift interview newspaper", "quux zork blorb", ""]


def test_strange_texts_are_outliers_and_the_threshold_can_be_changed():
    clustering = textmix.cluster([*TEXTS, *STRANGE], encoder=None)
    assert np.flatnonzero(clustering.outliers).tolist() == [60, 61]
    assert np.isnan(clustering.outlier_scores[62])
    assert clustering.outlier_scores[:60].max() < 0 <= clustering.outlier_scores[60:62].min()
    assert {example.document for example in clustering.strangest} == {60, 61}
    more = clustering.with_outlier_threshold(-1000.0)
    assert np.count_nonzero(more.outliers) == 62
    np.testing.assert_array_equal(more.labels, clustering.labels)
    alone = textmix.cluster([*TEXTS, *STRANGE], encoder=None, outlier_threshold=1000.0)
    assert np.flatnonzero(alone.outliers).tolist() == [60, 61]
    with pytest.raises(ValueError, match="has no outlier_threshold"):
        textmix.cluster(TEXTS, model="dirichlet-multinomial").with_outlier_threshold(0.0)


def test_new_texts_that_fit_nowhere_are_told():
    clustering = textmix.cluster([*TEXTS, *STRANGE], encoder=None)
    new = ["reset password", "courier lost my parcel", "parcel password courier account", "unheard"]
    assigned = clustering.assign(new)
    assert assigned.outliers.tolist() == [False, False, True, False]
    assert assigned.labels[3] == -1
    assert assigned.labels[0] != assigned.labels[1]


def test_outliers_survive_saving(tmp_path):
    clustering = textmix.cluster([*TEXTS, *STRANGE], outlier_threshold=-0.5)
    clustering.save(tmp_path / "run")
    again = textmix.load(tmp_path / "run")
    np.testing.assert_array_equal(again.outliers, clustering.outliers)
    np.testing.assert_allclose(again.outlier_scores, clustering.outlier_scores)


def test_planted_documents_are_found_among_topics():
    rng = np.random.default_rng(0)
    own = rng.dirichlet(np.full(120, 0.05), size=5)
    shares = 0.3 * rng.dirichlet(np.full(120, 0.5)) + 0.7 * own
    topics = [rng.multinomial(12, shares[label]) for label in rng.integers(5, size=200)]
    strange = [rng.multinomial(12, np.full(120, 1 / 120)) for _ in range(10)]
    model = ConsensusMixture().fit(np.array([*topics, *strange]))
    scores = model.outlier_scores_
    better = (scores[200:, np.newaxis] > scores[:200]).mean()  # area under the ROC curve
    assert better > 0.95

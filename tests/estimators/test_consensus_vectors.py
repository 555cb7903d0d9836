"""ConsensusMixture with vectors beside words: what is accepted, found, predicted, guided, sampled and kept."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from estimators.test_consensus_mixture import topics
from textmix import ConsensusMixture
from textmix.estimators import consensus_mixture
from textmix.estimators.prior_knowledge import read_knowledge
from textmix.inference import consensus_fit, pooling
from textmix.inference.views.vectors import VectorView
from textmix.vectors import source as vector_source
from textmix.vectors.source import ArrayVectors, HeldVectors, as_unit_rows

N_DIMENSIONS = 32


def directions(labels, noise=1.5, seed=0, n_dimensions=N_DIMENSIONS):
    """Vectors around one direction per label, in numbers that two bytes hold; `noise`: the length of what is added."""
    axes = np.linalg.qr(np.random.default_rng(99).normal(size=(n_dimensions, n_dimensions)))[0]
    rng = np.random.default_rng([seed, 2])
    rows = axes[labels] + noise / np.sqrt(n_dimensions) * rng.normal(size=(labels.size, n_dimensions))
    return rows.astype(np.float16)


def collection(n_documents=150, length=8, noise=1.5, seed=0):
    """Documents of few words, of which neither words nor vectors tell all."""
    counts, labels = topics(n_documents, length=length, seed=seed)
    return counts, directions(labels, noise, seed), labels


def with_empty(counts, n=2):
    return scipy.sparse.csr_array(
        scipy.sparse.vstack((counts, scipy.sparse.csr_array((n, counts.shape[1]), dtype=int)))
    )


@pytest.fixture(scope="module")
def fitted():
    counts, vectors, labels = collection()
    return ConsensusMixture().fit(counts, vectors=vectors), counts, vectors, labels


def quick(**settings):
    return ConsensusMixture(n_runs=3, **settings)


# What is found


def test_both_views_find_more_than_either():
    counts, vectors, labels = collection(200, noise=2.0)
    by_words = ConsensusMixture().fit(counts)
    by_vectors = ConsensusMixture().fit(np.eye(200, dtype=int), vectors=vectors)  # no word in common
    by_both = adjusted_rand_score(labels, ConsensusMixture().fit(counts, vectors=vectors).labels_)
    assert by_both > adjusted_rand_score(labels, by_words.labels_) + 0.1
    assert by_both > adjusted_rand_score(labels, by_vectors.labels_) + 0.1


def test_vectors_that_say_nothing_do_little_harm():
    counts, labels = topics()
    noise = directions(np.random.default_rng(5).integers(6, size=200))
    model = ConsensusMixture().fit(counts, vectors=noise)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    assert model._fitted.weights.vectors < 1


def test_attributes_are_those_of_words_alone_and_stay_consistent(fitted):
    model, counts, _, _ = fitted
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))
    assert (np.diff(model.cluster_sizes_) <= 0).all()
    sums = [counts.toarray()[model.labels_ == cluster].sum(axis=0) for cluster in range(model.n_clusters_)]
    np.testing.assert_array_equal(model.cluster_word_counts_.toarray(), sums)
    assert model.n_runs_ == 20
    assert model.has_vectors_
    assert model.trace_["n_clusters"].shape == (20,)
    assert ((model.cluster_stabilities_ > 0) & (model.cluster_stabilities_ <= 1)).all()


def test_the_same_seed_gives_the_same_on_any_number_of_threads(fitted):
    model, counts, vectors, _ = fitted
    again = ConsensusMixture(n_jobs=1).fit(counts, vectors=vectors)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.cluster_stabilities_, model.cluster_stabilities_)
    np.testing.assert_array_equal(again.outlier_scores_, model.outlier_scores_)
    other = ConsensusMixture(random_state=1).fit(counts, vectors=vectors)
    assert not np.array_equal(other._fitted.votes.runs, model._fitted.votes.runs)


def test_without_vectors_a_fit_is_as_before_also_after_one_with_vectors():
    counts, vectors, _ = collection()
    fresh, used = quick().fit(counts), quick().fit(counts, vectors=vectors)
    before = used.labels_.copy(), used.probabilities_, used.outlier_scores_, used.predict(counts, vectors=vectors)
    used.fit(counts)
    assert not used.has_vectors_
    np.testing.assert_array_equal(used.labels_, fresh.labels_)
    np.testing.assert_array_equal(used.probabilities_, fresh.probabilities_)
    np.testing.assert_array_equal(used.outlier_scores_, fresh.outlier_scores_)
    assert not np.array_equal(before[0], used.labels_)
    used.fit(counts, vectors=vectors)
    np.testing.assert_array_equal(used.labels_, before[0])
    np.testing.assert_array_equal(used.probabilities_, before[1])
    np.testing.assert_array_equal(used.outlier_scores_, before[2])
    np.testing.assert_array_equal(used.predict(counts, vectors=vectors), before[3])


def test_documents_that_share_no_word_with_others_go_where_their_vectors_say():
    counts, labels = topics(length=30)
    lone = scipy.sparse.csr_array(scipy.sparse.block_diag((counts, np.eye(3, dtype=int))))
    of_lone = np.array([0, 0, 4])
    model = ConsensusMixture(n_words=15).fit(lone, vectors=directions(np.append(labels, of_lone), noise=0.3))
    for document, topic in enumerate(of_lone, start=200):
        assert model.labels_[document] == np.bincount(model.labels_[:200][labels == topic]).argmax()
    alone = ConsensusMixture(n_words=15).fit(lone)
    assert np.unique(alone.labels_[200:]).size == 3


# What is accepted


class Source:
    """Vectors of a source of the user's own; remembers how many rows were asked for at once."""

    def __init__(self, array):
        self._array, self.asked = np.asarray(array), []
        self.n_documents, self.n_dimensions = self._array.shape

    def rows(self, documents):
        self.asked.append(documents.size)
        return as_unit_rows(self._array[documents])


@pytest.mark.parametrize(
    "kind", ["list", "arrays", "float32", "float64", "memory map", "pandas", "polars", "column", "source", "own source"]
)
def test_vectors_are_accepted_in_many_forms(kind, tmp_path):
    counts, vectors, _ = collection(80)
    np.save(tmp_path / "vectors.npy", vectors)
    given = {
        "list": lambda: vectors.tolist(),
        "arrays": lambda: list(vectors),
        "float32": lambda: vectors.astype(np.float32),
        "float64": lambda: vectors.astype(np.float64),
        "memory map": lambda: np.load(tmp_path / "vectors.npy", mmap_mode="r"),
        "pandas": lambda: pandas.DataFrame(vectors.astype(float)),
        "polars": lambda: polars.DataFrame(vectors.astype(float)),
        "column": lambda: pandas.Series(list(vectors.astype(float))),
        "source": lambda: ArrayVectors(vectors),
        "own source": lambda: Source(vectors),
    }[kind]()
    expected = quick().fit(counts, vectors=vectors)
    model = quick().fit(counts, vectors=given)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(counts, vectors=given), expected.predict(counts, vectors=vectors))


def test_only_directions_count():
    counts, vectors, _ = collection(100)
    expected = quick().fit(counts, vectors=vectors)
    rng = np.random.default_rng(0)
    for scales in (2.0 ** rng.integers(-60, 60, 100), 10.0 ** rng.uniform(-100, 100, 100)):
        scaled = quick().fit(counts, vectors=vectors.astype(np.float64) * scales[:, np.newaxis])
        np.testing.assert_array_equal(scaled.labels_, expected.labels_)
        np.testing.assert_allclose(scaled.probabilities_, expected.probabilities_, atol=1e-6)
        np.testing.assert_allclose(scaled.outlier_scores_, expected.outlier_scores_, atol=1e-6)


def test_the_order_of_the_dimensions_hardly_matters(fitted):
    model, counts, vectors, labels = fitted
    permuted = vectors[:, np.random.default_rng(3).permutation(N_DIMENSIONS)]
    again = ConsensusMixture().fit(counts, vectors=permuted)
    assert adjusted_rand_score(labels, again.labels_) > 0.8
    assert adjusted_rand_score(model.labels_, again.labels_) > 0.8


def test_fractional_counts_go_with_vectors():
    counts, vectors, labels = collection(length=30)
    model = ConsensusMixture().fit(counts * 0.3, vectors=vectors)
    assert adjusted_rand_score(labels, model.labels_) > 0.8
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba(counts * 0.7, vectors=vectors).sum(axis=1), 1.0)


def test_fit_predict_takes_what_fit_takes(fitted):
    model, counts, vectors, _ = fitted
    np.testing.assert_array_equal(ConsensusMixture().fit_predict(counts, vectors=vectors), model.labels_)


def test_vectors_are_left_as_they_are():
    counts, vectors, _ = collection(60)
    before = vectors.copy()
    model = quick().fit(counts, vectors=vectors)
    model.predict_proba(counts, vectors=vectors)
    np.testing.assert_array_equal(vectors, before)


def changed(row, value):
    _, vectors, _ = collection(60)
    vectors = vectors.astype(np.float64)
    vectors[row, 3] = value
    return vectors


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (lambda: changed(7, np.nan), r"row 7 of vectors \(counted from 0\) contains NaN"),
        (lambda: changed(59, np.inf), r"row 59 of vectors \(counted from 0\) contains infinity"),
        (lambda: changed(0, -np.inf), r"row 0 of vectors \(counted from 0\) contains -infinity"),
        (lambda: changed(0, 1.0)[:59], "vectors has 59 rows, but there are 60 texts"),
        (lambda: changed(0, 1.0)[:, 0], "vectors must have two dimensions"),
        (lambda: changed(0, 1.0)[:, :1], "vectors has 1 dimension; a vector needs at least 2 numbers"),
        (lambda: np.zeros((60, 4)), "all rows of vectors are zero"),
        (lambda: [["a", "b"]] * 60, "vectors must be numbers"),
        (lambda: [[1.0, 2.0]] * 59 + [[1.0]], r"row 59 of vectors \(counted from 0\) has 1 numbers, row 0 has 2"),
        (lambda: ArrayVectors(changed(0, 1.0)[:59]), "there are 59 vectors, but 60 documents"),
    ],
    ids=["NaN", "inf", "-inf", "rows", "1-D", "1 column", "zeros", "strings", "uneven", "source"],
)
def test_what_is_wrong_with_vectors_is_said_in_one_sentence(vectors, message):
    counts, _, _ = collection(60)
    with pytest.raises(ValueError, match=message):
        quick().fit(counts, vectors=vectors())


@pytest.mark.parametrize(
    ("counts", "vectors", "labels"),
    [
        (np.zeros((3, 4), int), np.eye(3), [-1, -1, -1]),
        (np.array([[2, 1]]), np.eye(1, 3), [0]),
        (np.array([[1, 1], [1, 1], [0, 0], [1, 1]]), np.eye(4), [0, 0, -1, 0]),
        (np.eye(5, dtype=int), np.ones((5, 4)), [0, 0, 0, 0, 0]),
        (np.eye(3, dtype=int), np.vstack((np.zeros((2, 2)), np.eye(1, 2))), None),
        (np.eye(4, dtype=int), np.array([[1, 0], [1, 0], [-1, 0], [-1, 0]]), None),
    ],
    ids=["no words", "one document", "the same words", "the same vector", "one vector", "two dimensions"],
)
def test_hard_cases(counts, vectors, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConsensusMixture().fit(counts, vectors=vectors)
        if labels is not None:
            assert model.labels_.tolist() == labels
        assert (model.labels_ >= 0).tolist() == counts.any(axis=1).tolist()
        assert model.merges_.costs.size == max(model.n_clusters_ - 1, 0)
        known = model.labels_ >= 0
        np.testing.assert_allclose(model.probabilities_[known].sum(axis=1), 1.0)
        assert (np.isnan(model.outlier_scores_) == ~known).all()
        beside = {"vectors": vectors} if known.any() else {}  # without documents there are no vectors either
        assert model.predict(counts, **beside).shape == known.shape


def test_a_source_may_have_no_vector_for_any_document():
    class Nothing(Source):
        def rows(self, documents):
            return np.zeros((documents.size, 4), np.float32)

    counts, labels = topics(100)
    model = ConsensusMixture(n_words=15).fit(counts, vectors=Nothing(np.zeros((100, 4))))
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    apart = quick().fit(np.eye(4, dtype=int), vectors=Nothing(np.zeros((4, 4))))
    assert sorted(apart.labels_) == [0, 1, 2, 3]


def test_runs_may_see_nothing_at_all():
    """No word in common, and vectors of one dimension, which a run sees half of the time."""
    vectors, seen = np.eye(1, 8)[[0, 0]], set()
    for seed in range(8):
        model = ConsensusMixture(n_runs=1, random_state=seed).fit(np.eye(2, dtype=int), vectors=vectors)
        seen.add(bool((model._fitted.votes.runs >= 0).any()))
        assert (model.labels_ >= 0).all()
    assert seen == {False, True}


@pytest.mark.parametrize("size", [1e-3, 1e-25, 1e-40])
def test_vectors_may_be_next_to_nothing_in_most_dimensions(size):
    """As shares of topics are."""
    counts, _, labels = collection(120)
    shares = np.full((120, 12), size)
    shares[np.arange(120), labels] = 1.0
    scores = [
        adjusted_rand_score(labels, ConsensusMixture(random_state=seed).fit(counts, vectors=shares).labels_)
        for seed in range(4)
    ]
    assert np.mean(scores) > 0.75


# Probabilities and prediction


def mixed_collection():
    """Some documents without vectors, two without words, one alone in its cluster by both views."""
    counts, vectors, _ = collection()
    counts = scipy.sparse.block_diag((with_empty(counts), np.array([[5]])))
    vectors = np.vstack((vectors, np.eye(2, N_DIMENSIONS), np.zeros((1, N_DIMENSIONS)))).astype(np.float32)
    vectors[:20] = 0.0
    return scipy.sparse.csr_array(counts), vectors


@pytest.fixture(scope="module")
def mixed():
    counts, vectors = mixed_collection()
    return ConsensusMixture().fit(counts, vectors=vectors), counts, vectors


def test_probabilities_add_up_to_1_and_are_nan_only_without_words(mixed):
    model, _, _ = mixed
    has_words = np.ones(153, bool)
    has_words[150:152] = False
    np.testing.assert_array_equal(model.labels_ >= 0, has_words)
    assert model.probabilities_.shape == (153, model.n_clusters_ + 1)
    np.testing.assert_allclose(model.probabilities_[has_words].sum(axis=1), 1.0)
    assert np.isnan(model.probabilities_[~has_words]).all()
    np.testing.assert_array_equal(np.isnan(model.outlier_scores_), ~has_words)


def test_own_probabilities_are_the_own_column(mixed):
    model, _, _ = mixed
    own, known = model.own_probabilities(), np.flatnonzero(model.labels_ >= 0)
    np.testing.assert_array_equal(own[known], model.probabilities_[known, model.labels_[known]])
    assert np.isnan(own[150:152]).all()


def test_most_documents_are_most_probable_in_their_own_cluster(mixed):
    model, _, _ = mixed
    known = np.flatnonzero(model.labels_ >= 0)
    assert (model.probabilities_[known].argmax(axis=1) == model.labels_[known]).mean() > 0.9
    assert model.labels_[152] == model.n_clusters_ - 1
    assert model.outliers_[152]
    assert model.probabilities_[152, -1] == 0.0  # a new cluster means staying


def test_blocks_make_no_difference(mixed, monkeypatch):
    model, counts, vectors = mixed
    found = pickle.loads(pickle.dumps(model))
    expected = model.predict(counts, vectors=vectors), model.own_probabilities(), model.probabilities_
    monkeypatch.setattr(pooling, "MAX_SCORED", 7)
    found._forget("_probabilities")
    np.testing.assert_array_equal(found.predict(counts, vectors=vectors), expected[0])
    np.testing.assert_allclose(found.own_probabilities(), expected[1], atol=1e-6)
    np.testing.assert_allclose(found.probabilities_, expected[2], atol=1e-6)


def test_new_documents_go_by_both_views(fitted):
    model, _, _, labels = fitted
    counts, vectors, topic = collection(seed=4)
    leading = np.array([np.bincount(model.labels_[labels == t]).argmax() for t in range(6)])
    by_both = (model.predict(counts, vectors=vectors) == leading[topic]).mean()
    by_words = (model.predict(counts) == leading[topic]).mean()
    assert by_both > 0.85
    assert by_both > by_words + 0.03
    probabilities = model.predict_proba(counts, vectors=vectors)
    assert probabilities.shape == (150, model.n_clusters_ + 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities[:, :-1].argmax(axis=1), model.predict(counts, vectors=vectors))


def test_a_new_document_may_lack_words_or_a_vector_but_not_both(fitted):
    model, _, _, labels = fitted
    counts, vectors, topic = collection(seed=4, noise=0.5)
    leading = np.array([np.bincount(model.labels_[labels == t]).argmax() for t in range(6)])
    nothing = scipy.sparse.csr_array(counts.shape, dtype=int)
    assert (model.predict(nothing, vectors=vectors) == leading[topic]).mean() > 0.9
    np.testing.assert_array_equal(model.predict(counts, vectors=np.zeros_like(vectors)), model.predict(counts))
    neither = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)[:, np.newaxis] * vectors
    found = model.predict(nothing, vectors=neither)
    np.testing.assert_array_equal(found == -1, np.arange(150) % 3 == 0)
    np.testing.assert_array_equal(np.isnan(model.predict_proba(nothing, vectors=neither)[:, 0]), found == -1)


def test_a_new_document_like_no_other_is_an_outlier(fitted):
    model, counts, vectors, _ = fitted
    labels, rows = model.labels_[:30], counts[:30]
    near, far = (model.score_new(rows, labels, vectors=x) for x in (vectors[:30], -vectors[:30]))
    assert (far > near).all()
    nothing = scipy.sparse.csr_array(rows.shape, dtype=int)
    of_vector_alone = model.score_new(nothing, labels, vectors=-vectors[:30])
    assert (of_vector_alone > 0).all()
    unknown = np.where(np.arange(30) < 5, -1, labels)
    assert np.isnan(model.score_new(rows, unknown, vectors=vectors[:30])[:5]).all()
    without = np.zeros_like(vectors[:30])
    np.testing.assert_array_equal(model.score_new(rows, labels, vectors=without), model.score_new(rows, labels))
    assert np.isnan(model.score_new(nothing, labels, vectors=without)).all()


def test_a_document_far_from_its_cluster_by_its_vector_is_an_outlier():
    counts, labels = topics(length=30)
    vectors = directions(labels, noise=0.3)
    vectors[5] = directions(np.array([20]), noise=0.3)
    model = ConsensusMixture(n_words=15).fit(counts, vectors=vectors)
    by_words = ConsensusMixture(n_words=15).fit(counts)
    assert model.outlier_scores_[5] > by_words.outlier_scores_[5]
    gains = model.outlier_scores_ - by_words.outlier_scores_
    assert gains.argmax() == 5


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((4, 7)), "vectors have 7 dimensions, those of the fit had 32; they must come from the same encoder"),
        (np.ones((3, N_DIMENSIONS)), "vectors has 3 rows, but there are 4 texts"),
        (np.full((4, N_DIMENSIONS), np.nan), r"row 0 of vectors \(counted from 0\) contains NaN"),
        (np.ones(4), "vectors must have two dimensions"),
    ],
    ids=["dimensions", "rows", "NaN", "1-D"],
)
def test_wrong_vectors_of_new_documents_are_refused(fitted, vectors, message):
    model, counts, _, _ = fitted
    for method in (
        model.predict,
        model.predict_proba,
        lambda X, vectors: model.score_new(X, np.zeros(4, int), vectors),
    ):
        with pytest.raises(ValueError, match=message):
            method(counts[:4], vectors=vectors)


def test_a_model_of_words_alone_takes_no_vectors():
    counts, vectors, labels = collection(60)
    model = quick().fit(counts)
    for method in (model.predict, model.predict_proba, lambda X, vectors: model.score_new(X, labels, vectors)):
        with pytest.raises(ValueError, match="this model was fitted to words alone: leave out vectors"):
            method(counts, vectors=vectors)


# So many clusters, coarser and finer ones


@pytest.mark.parametrize("n_clusters", [1, 3, 40, 150])
def test_there_are_exactly_as_many_clusters_as_asked_for(n_clusters):
    counts, vectors, _ = collection()
    model = quick(n_clusters=n_clusters).fit(counts, vectors=vectors)
    assert np.unique(model.labels_).tolist() == list(range(n_clusters))
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)


def test_cut_gives_what_a_fit_of_as_many_clusters_gives(fitted):
    model, counts, vectors, _ = fitted
    for n_clusters in (2, model.n_clusters_ - 1):
        exactly = ConsensusMixture(n_clusters).fit(counts, vectors=vectors)
        np.testing.assert_array_equal(exactly.labels_, model.cut(n_clusters))
        merged = model.merged(n_clusters)
        np.testing.assert_array_equal(merged.labels_, exactly.labels_)
        assert merged._fitted.weights == pytest.approx(exactly._fitted.weights, rel=1e-6)


def test_clusters_of_like_meaning_are_merged_first():
    """Six topics by words, three by vectors: of three clusters each is what two topics mean."""
    counts, labels = topics(length=30)
    model = ConsensusMixture(n_words=15).fit(counts, vectors=directions(labels % 3, noise=0.3))
    assert adjusted_rand_score(labels % 3, model.cut(3)) > 0.9
    assert adjusted_rand_score(labels % 3, ConsensusMixture(3, n_words=15).fit(counts).labels_) < 0.7


def test_finer_granularity_gives_more_clusters():
    counts, vectors, _ = collection(noise=4.0)
    numbers = [quick(granularity=g).fit(counts, vectors=vectors).n_clusters_ for g in (0.05, "coarse", 1.0, "fine", 50)]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]


# Changed models and copies


def test_merged_and_relabelled_models_keep_their_vectors(fitted):
    model, counts, vectors, _ = fitted
    merged = model.merged(3)
    np.testing.assert_array_equal(merged._fitted.vectors.matrix, model._fitted.vectors.matrix)
    assert merged.has_vectors_
    assert merged.probabilities_.shape == (150, 4)
    np.testing.assert_allclose(merged.probabilities_.sum(axis=1), 1.0)
    assert set(merged.predict(counts, vectors=vectors)) == {0, 1, 2}
    again = merged.relabelled(model.labels_)
    np.testing.assert_allclose(again.probabilities_, model.probabilities_, atol=1e-9)
    np.testing.assert_allclose(again.outlier_scores_, model.outlier_scores_)
    assert model.probabilities_.shape == (150, model.n_clusters_ + 1)
    assert model.merged(1).predict(counts, vectors=vectors).tolist() == [0] * 150


def test_a_pickle_is_the_same_and_a_clone_is_not_fitted(fitted):
    model, counts, vectors, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(counts, vectors=vectors), model.predict(counts, vectors=vectors))
    np.testing.assert_array_equal(again.probabilities_, model.probabilities_)
    np.testing.assert_array_equal(again.outlier_scores_, model.outlier_scores_)
    np.testing.assert_array_equal(again.cut(2), model.cut(2))
    assert not hasattr(clone(model), "labels_")
    np.testing.assert_array_equal(clone(model).fit(counts, vectors=vectors).labels_, model.labels_)


# What is known beforehand


def known_of(labels, n_known=3):
    """y that knows two documents of each of the first topics."""
    y = np.full(labels.size, -1)
    for topic in range(n_known):
        y[np.flatnonzero(labels == topic)[:2]] = topic
    return y


def test_known_documents_are_in_their_clusters_and_others_join_them_by_both_views():
    counts, vectors, labels = collection(noise=1.0)
    y = known_of(labels)
    model = ConsensusMixture().fit(counts, y, vectors=vectors)
    assert len(set(model.known_clusters_.values())) == 3
    for topic in range(3):
        own = model.labels_ == model.known_clusters_[str(topic)]
        assert own[y == topic].all()
        assert (labels[own] == topic).mean() > 0.8
        assert own[labels == topic].mean() > 0.8


@pytest.mark.parametrize("most", [1000, 60], ids=["all seen", "a sample"])
@pytest.mark.parametrize("settings", [{}, {"n_clusters": 4}, {"n_clusters": 90}, {"duplicates": "once"}], ids=str)
def test_y_holds_even_against_both_views(monkeypatch, most, settings):
    set_most(monkeypatch, most)
    counts, vectors, _ = collection(200)
    rng = np.random.default_rng(5)
    y = np.where(rng.random(200) < 0.5, rng.integers(4, size=200), -1)
    counts = scipy.sparse.csr_array(scipy.sparse.vstack((counts, counts[:50])))  # some known under another name
    y = np.append(y, np.where(np.arange(50) % 2 == 0, -1, (y[:50] + 1) % 4))
    model = quick(**settings).fit(counts, y, vectors=np.vstack((vectors, vectors[50:100])))
    found = {name: np.unique(model.labels_[y == int(name)]).tolist() for name in model.known_clusters_}
    assert found == {name: [label] for name, label in model.known_clusters_.items()}
    assert len(set(model.known_clusters_.values())) == len(model.known_clusters_) == 4


def test_what_is_foreign_to_known_clusters_by_both_views_stays_out_of_them():
    rng = np.random.default_rng(0)
    foreign = np.repeat(np.arange(4), 30)
    rows = np.zeros((foreign.size, 32), int)
    for row, topic in enumerate(foreign):
        rows[row, 8 * topic : 8 * (topic + 1)] = rng.multinomial(6, np.full(8, 1 / 8))
    counts = scipy.sparse.csr_array(scipy.sparse.block_diag((np.repeat(np.eye(5, dtype=int), 4, axis=1), rows)))
    vectors = directions(np.append(np.arange(5), 5 + foreign), noise=0.5, n_dimensions=64)
    y = np.append(np.arange(5), np.full(foreign.size, -1))
    model = ConsensusMixture().fit(counts, y, vectors=vectors)
    assert not set(model.labels_[5:].tolist()) & set(model.known_clusters_.values())
    assert adjusted_rand_score(foreign, model.labels_[5:]) > 0.9


def test_documents_of_weight_0_are_put_into_the_clusters_of_others_by_both_views():
    counts, vectors, labels = collection(200, noise=1.0)
    weights = (np.arange(200) % 3 > 0).astype(float)
    model = ConsensusMixture().fit(counts, sample_weight=weights, vectors=vectors)
    assert (model.labels_ >= 0).all()
    assert (model._fitted.votes.runs[:, weights[model._fitted.votes.rows] == 0] == -1).all()
    assert adjusted_rand_score(labels[weights == 0], model.labels_[weights == 0]) > 0.8
    # They have no say: whatever they are, the others' clusters are the same.
    changed = vectors.copy()
    changed[weights == 0] = directions(np.random.default_rng(0).integers(6, size=int((weights == 0).sum())))
    again = ConsensusMixture().fit(counts, sample_weight=weights, vectors=changed)
    assert adjusted_rand_score(model.labels_[weights > 0], again.labels_[weights > 0]) == 1.0


def test_identical_documents_count_once_if_that_is_asked_for():
    counts, vectors, _ = collection()
    copies = np.repeat(np.arange(150), np.where(np.arange(150) == 5, 100, 1))
    firsts = np.unique(copies, return_index=True)[1]
    once = ConsensusMixture(duplicates="once").fit(counts[copies], vectors=vectors[copies])
    each = ConsensusMixture(duplicates="once").fit(counts, vectors=vectors)
    assert adjusted_rand_score(once.labels_[firsts], each.labels_) == 1.0
    assert np.unique(once.labels_[copies == 5]).size == 1
    assert once.cluster_sizes_.sum() == 249
    np.testing.assert_allclose(sorted(once.merges_.costs), sorted(each.merges_.costs), rtol=1e-6)
    fewer = ConsensusMixture(3, duplicates="once").fit(counts[copies], vectors=vectors[copies])
    np.testing.assert_array_equal(fewer.labels_, once.cut(3))


def test_examples_from_elsewhere_say_what_a_cluster_is():
    counts, vectors, labels = collection(noise=1.0)
    others, other_vectors, other_labels = collection(seed=3, noise=1.0)
    first = other_labels == 0
    examples = {"apples": others[first][:5], "nobody's": np.eye(1, 100, 99, dtype=int)}
    example_vectors = {"apples": other_vectors[first][:5]}
    model = ConsensusMixture().fit(counts, vectors=vectors, examples=examples, example_vectors=example_vectors)
    assert model.labels_.shape == (150,)
    own = model.labels_ == model.known_clusters_["apples"]
    assert (labels[own] == 0).mean() > 0.8
    assert own[labels == 0].mean() > 0.8
    assert model._fitted.vectors.rows.size == 150  # those of examples are not kept


def test_examples_that_share_no_word_with_the_documents_are_found_by_their_vectors():
    counts, labels = topics(length=30)
    wide = scipy.sparse.csr_array(scipy.sparse.hstack((counts, scipy.sparse.csr_array((200, 4), dtype=int))))
    vectors = directions(labels, noise=0.3)
    examples = {"strange": np.hstack((np.zeros((4, 100), int), np.eye(4, dtype=int)))}
    with_vectors = ConsensusMixture(n_words=15).fit(
        wide, vectors=vectors, examples=examples, example_vectors={"strange": directions(np.full(4, 2), noise=0.3)}
    )
    own = with_vectors.labels_ == with_vectors.known_clusters_["strange"]
    np.testing.assert_array_equal(own, labels == 2)
    without = ConsensusMixture(n_words=15).fit(wide, vectors=vectors, examples=examples)
    assert without.known_clusters_["strange"] == -1


def test_examples_have_words_or_a_vector_and_others_are_left_out():
    counts = scipy.sparse.csr_array(np.ones((3, 2), int))
    model = quick()
    model.n_features_in_ = 2
    examples = {"a": np.array([[0, 0], [1, 0], [0, 0], [0, 2]]), "b": np.array([[3, 3]])}
    vectors = {"a": np.array([[0, 0, 0], [0, 4, 0], [0, 0, 2], [0, 0, 0]])}
    found = read_knowledge(model, counts, None, None, examples, vectors, 3)
    assert found.examples.toarray().tolist() == [[1, 0], [0, 0], [0, 2], [3, 3]]
    assert found.example_of.tolist() == [0, 0, 0, 1]
    assert found.example_vectors.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    by_words = read_knowledge(model, counts, None, None, examples, vectors)
    assert by_words.examples.toarray().tolist() == [[1, 0], [0, 2], [3, 3]]
    assert by_words.example_vectors is None


def test_an_example_without_words_says_by_its_vector_what_a_cluster_is():
    counts, labels = topics(length=30)
    model = ConsensusMixture(n_words=15).fit(
        counts,
        vectors=directions(labels, noise=0.3),
        examples={"wordless": np.zeros((4, 100), int)},
        example_vectors={"wordless": directions(np.full(4, 2), noise=0.3)},
    )
    np.testing.assert_array_equal(model.labels_ == model.known_clusters_["wordless"], labels == 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((2, N_DIMENSIONS)), "vectors of the examples of 'apples' has 2 rows, but there are 3"),
        (np.ones((3, 5)), "vectors of the examples of 'apples' have 5 dimensions, those of the documents 32"),
        (np.full((3, N_DIMENSIONS), np.nan), r"row 0 of vectors of the examples of 'apples' \(counted from 0\)"),
        (np.ones(3), "vectors of the examples of 'apples' must have two dimensions"),
    ],
    ids=["rows", "dimensions", "NaN", "1-D"],
)
def test_wrong_vectors_of_examples_are_refused(given, message):
    counts, vectors, _ = collection(60)
    with pytest.raises(ValueError, match=message):
        quick().fit(counts, vectors=vectors, examples={"apples": counts[:3]}, example_vectors={"apples": given})


# A sample of many documents


def set_most(monkeypatch, most, most_scored=4096):
    monkeypatch.setattr(consensus_fit, "MAX_SAMPLED", most)
    monkeypatch.setattr(consensus_mixture, "MAX_SAMPLED", most)
    monkeypatch.setattr(pooling, "MAX_SCORED", most_scored)
    monkeypatch.setattr(vector_source, "BLOCK_ROWS", min(most, most_scored))


def test_of_many_documents_a_sample_forms_the_clusters_and_others_join_by_both_views(monkeypatch):
    counts, vectors, labels = collection(500, noise=1.0)
    set_most(monkeypatch, 200, most_scored=64)
    source = Source(vectors)
    model = ConsensusMixture().fit(with_empty(counts), vectors=Source(np.vstack((vectors, vectors[:2]))))
    assert model.labels_[-2:].tolist() == [-1, -1]
    model = ConsensusMixture().fit(counts, vectors=source)
    assert max(source.asked) <= 200
    rest = np.setdiff1d(np.arange(500), model._fitted.vectors.rows)
    assert rest.size == 300
    assert adjusted_rand_score(labels[rest], model.labels_[rest]) > 0.85
    by_words = ConsensusMixture().fit(counts)
    assert adjusted_rand_score(labels[rest], by_words.labels_[rest]) < 0.75
    np.testing.assert_array_equal(ConsensusMixture(n_jobs=1).fit(counts, vectors=vectors).labels_, model.labels_)


def test_documents_of_the_sample_keep_the_labels_that_the_runs_gave_them(monkeypatch):
    counts, vectors, _ = collection(300)
    set_most(monkeypatch, 120)
    model = ConsensusMixture().fit(counts, vectors=vectors)
    rows = model._fitted.vectors.rows
    assert rows.size == 120
    votes = model._fitted.votes
    np.testing.assert_array_equal(votes.rows, rows)
    alone, _ = consensus_fit.find_consensus(
        consensus_fit.GuidedDocuments(consensus_fit.labels_as_words(votes.runs), np.empty(0, np.int32), 0),
        consensus_fit.BETA_PER_LABEL * (votes.runs >= 0).sum(axis=0).mean(),
        0,
        1,
        consensus_fit.Progress(False),
    )
    assert adjusted_rand_score(alone.labels, model.labels_[rows]) == 1.0


def test_examples_say_what_a_cluster_is_also_where_a_sample_forms_the_clusters(monkeypatch):
    counts, vectors, labels = collection(300, noise=1.0)
    others, other_vectors, other_labels = collection(seed=3, noise=1.0)
    own = np.flatnonzero(other_labels == 1)[:8]
    set_most(monkeypatch, 120, most_scored=40)
    model = ConsensusMixture().fit(
        counts,
        vectors=vectors,
        examples={"pears": others[own], "wordless": np.zeros((6, 100), int)},
        example_vectors={"pears": other_vectors[own], "wordless": directions(np.full(6, 2), noise=0.5)},
    )
    held = model._fitted.vectors
    assert held.rows.size < 120  # some of the sample are examples
    np.testing.assert_allclose(held.matrix, as_unit_rows(vectors[held.rows]), atol=1e-3)
    for name, topic in (("pears", 1), ("wordless", 2)):
        found = model.labels_ == model.known_clusters_[name]
        assert (labels[found] == topic).mean() > 0.8
        assert found[labels == topic].mean() > 0.8


def test_what_needs_all_vectors_gets_by_with_those_of_the_sample(monkeypatch):
    counts, vectors, _ = collection(300)
    set_most(monkeypatch, 100)
    model = ConsensusMixture().fit(counts, vectors=vectors)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    assert np.isfinite(model.outlier_scores_).all()
    others = np.setdiff1d(np.arange(300), model._fitted.vectors.rows)
    np.testing.assert_array_equal(
        model.outlier_scores_[others], model._background.score(counts[others], model.labels_[others], own=True)
    )
    np.testing.assert_array_equal(model.own_probabilities(), model.probabilities_[np.arange(300), model.labels_])
    assert model.merged(2).n_clusters_ == 2
    for n_clusters in (4, 60):
        assert quick(n_clusters=n_clusters).fit(counts, vectors=vectors).n_clusters_ == n_clusters


def test_vectors_are_read_once_and_kept_once(monkeypatch):
    counts, vectors, _ = collection(200)
    n_kept, keep = [], HeldVectors.__init__

    def keep_and_tell(held, matrix):
        n_kept.append(matrix.shape[0])
        keep(held, matrix)

    monkeypatch.setattr(HeldVectors, "__init__", keep_and_tell)
    source = Source(np.vstack((vectors, vectors[:2])))
    model = quick().fit(with_empty(counts), vectors=source)
    assert sum(source.asked) == 202
    assert n_kept == [202]
    assert model._fitted.vectors.matrix.dtype == np.float16


def test_outlier_scores_make_no_array_of_all_documents_and_dimensions(monkeypatch):
    counts, vectors, _ = collection(300)
    set_most(monkeypatch, 100, most_scored=50)
    model = quick().fit(counts, vectors=vectors)
    asked, find = [], pooling.DocumentVectors.of

    def find_and_tell(held, documents):
        asked.append(documents.size)
        return find(held, documents)

    monkeypatch.setattr(pooling.DocumentVectors, "of", find_and_tell)
    assert np.isfinite(model.outlier_scores_).all()
    assert np.isfinite(model.own_probabilities()).all()
    assert max(asked) <= 100


@pytest.mark.parametrize("who", ["copies", "documents of weight 0"])
def test_documents_that_take_no_part_are_looked_at_some_at_a_time(monkeypatch, who):
    counts, vectors, _ = collection(100, noise=1.0)
    copies = np.arange(400) % 100
    set_most(monkeypatch, 120, most_scored=50)
    source = Source(vectors[copies])
    weights, duplicates = (None, "once") if who == "copies" else (np.arange(400) < 110, "all")
    model = quick(duplicates=duplicates).fit(counts[copies], sample_weight=weights, vectors=source)
    assert max(source.asked) <= 120
    assert (model.labels_ >= 0).all()
    np.testing.assert_array_equal(model.labels_, model.labels_[:100][copies])


# Ctrl-C


@pytest.mark.parametrize("n_finished", [3, 0])
def test_ctrl_c_during_the_runs_on_vectors_keeps_what_is_finished(monkeypatch, n_finished):
    """Whoever waits for a run that Ctrl-C has ended gets the interruption."""
    sample = VectorView.sample

    def sample_until_interrupted(view, number, seed, progress):
        if number >= n_finished:
            raise KeyboardInterrupt
        return sample(view, number, seed, progress)

    monkeypatch.setattr(VectorView, "sample", sample_until_interrupted)
    counts, vectors, _ = collection()
    with pytest.warns(UserWarning, match="sampling interrupted: this is what") as told:
        model = ConsensusMixture(n_runs=5).fit(counts, vectors=vectors)
    assert len(told) == 1
    assert model.n_runs_ == 5 + n_finished
    assert (model.labels_ >= 0).all()
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    if n_finished == 0:
        np.testing.assert_array_equal(model.labels_, ConsensusMixture(n_runs=5).fit(counts).labels_)

"""The scikit-learn contract and the fitted attributes of the mixtures that are fitted by EM."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from textmix import BernoulliMixture, Corpus, EDCMMixture, MultinomialMixture, VonMisesFisherMixture
from textmix.estimators.em_mixture import EMMixture

CLASSES = [BernoulliMixture, MultinomialMixture, VonMisesFisherMixture, EDCMMixture]
ASSIGNMENTS = ["hard", "stochastic", "soft", "annealed"]
NEGATIVE = {"check_clustering": "sends negative values, which are not counts"}

every_class = pytest.mark.parametrize("kind", CLASSES)
every_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS)
pytestmark = pytest.mark.filterwarnings("ignore:.*hold no document")


def three_topics(n_documents=90, seed=0):
    """Documents of 25 words, half of them from one of three topics of ten words, half from anywhere."""
    rng = np.random.default_rng(seed)
    topics = np.arange(n_documents) % 3
    words = np.full((3, 30), 0.5 / 30)
    for topic in range(3):
        words[topic, 10 * topic : 10 * topic + 10] += 0.05
    return np.array([rng.multinomial(25, words[topic]) for topic in topics]), topics


# The contract


@every_class
def test_check_estimator(kind):
    check_estimator(kind(), expected_failed_checks={} if kind is VonMisesFisherMixture else NEGATIVE)


def test_a_new_mixture_is_told_what_it_lacks():
    class Unfinished(EMMixture):
        pass

    with pytest.raises(TypeError, match=r"_model.*_represent.*components_"):
        Unfinished()


@every_class
@every_assignment
def test_topics_are_found(kind, assignment):
    counts, topics = three_topics()
    model = kind(3, assignment=assignment, n_init=5).fit(counts)
    assert adjusted_rand_score(topics, model.labels_) > 0.8
    assert model.labels_.tolist() == kind(3, assignment=assignment, n_init=5).fit_predict(counts).tolist()
    assert model.labels_.tolist() == kind(3, assignment=assignment, n_init=5).fit(counts.tolist()).labels_.tolist()


@every_class
@every_assignment
def test_labels_are_what_predict_says_and_probabilities_agree(kind, assignment):
    counts, _ = three_topics()
    model = kind(4, assignment=assignment).fit(counts)
    np.testing.assert_array_equal(model.predict(counts), model.labels_)
    np.testing.assert_allclose(model.probabilities_, model.predict_proba(counts))
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    assert model.probabilities_.shape == (90, 4)
    if assignment != "hard":  # its labels do not know the weights of probabilities
        np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    assert np.isfinite(model.score_samples(counts)).all()
    assert model.score(counts) == pytest.approx(model.score_samples(counts).mean())


@every_class
def test_clusters_come_by_falling_size(kind):
    counts, _ = three_topics()
    model = kind(5).fit(counts)
    assert model.cluster_sizes_.tolist() == sorted(model.cluster_sizes_, reverse=True)
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    np.testing.assert_array_equal(
        model.cluster_word_counts_.toarray(),
        [counts[model.labels_ == cluster].sum(axis=0) for cluster in range(model.n_clusters_)],
    )
    assert model.cluster_weights_.sum() == pytest.approx(1.0)


@every_class
def test_clone_pickle_and_set_params(kind):
    counts, _ = three_topics()
    model = clone(kind(3)).set_params(assignment="hard").fit(counts)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(counts), model.predict_proba(counts))
    assert clone(model).get_params() == model.get_params()


@every_class
def test_sparse_dense_float_and_corpus_give_the_same(kind):
    counts, _ = three_topics()
    expected = kind(3).fit(counts).labels_.tolist()
    assert kind(3).fit(scipy.sparse.csr_array(counts)).labels_.tolist() == expected
    assert kind(3).fit(scipy.sparse.csc_matrix(counts)).labels_.tolist() == expected
    assert kind(3).fit(counts.astype(np.float32)).labels_.tolist() == expected
    corpus = Corpus.from_counts(counts, vocabulary=[f"w{i}" for i in range(30)])
    model = kind(3).fit(corpus)
    assert model.labels_.tolist() == expected
    assert {word.word for word in model.top_words(10)[0]} <= set(corpus.vocabulary)


@every_class
def test_a_pipeline_after_count_vectorizer_and_a_grid_search(kind):
    texts = ["apple pear fruit", "pear apple juice", "motor car wheel", "car wheel road"] * 5
    pipeline = make_pipeline(CountVectorizer(), kind(2, n_init=4))
    labels = pipeline.fit_predict(texts)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    counts, _ = three_topics()
    search = GridSearchCV(kind(), {"n_clusters": [2, 3]}, cv=2).fit(counts)
    assert search.best_params_["n_clusters"] in (2, 3)


@every_class
@every_assignment
def test_the_seed_decides(kind, assignment):
    counts, _ = three_topics()
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    one = kind(4, assignment=assignment, random_state=7).fit(counts)
    np.testing.assert_array_equal(one.labels_, kind(4, assignment=assignment, random_state=7).fit(counts).labels_)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@every_class
def test_the_best_start_is_kept(kind):
    counts, _ = three_topics(seed=3)
    several = kind(3, n_init=6, assignment="hard").fit(counts)
    assert several.objective_ >= kind(3, n_init=1, assignment="hard").fit(counts).objective_


@every_class
def test_labels_to_start_from(kind):
    counts, topics = three_topics()
    assert adjusted_rand_score(topics, kind(3, init=topics, assignment="hard").fit(counts).labels_) > 0.9
    for wrong in (topics[:-1], topics + 1, topics * 0.5):
        with pytest.raises(ValueError, match="init"):
            kind(3, init=wrong).fit(counts)


@every_class
def test_the_trace_and_top_words(kind):
    counts, _ = three_topics()
    model = kind(3, assignment="hard", n_init=3).fit(counts)
    assert set(model.trace_) == {"objective", "n_clusters", "n_moved", "n_reseeded", "sharpness", "seconds"}
    assert all(len(values) == model.n_iter_ for values in model.trace_.values())
    assert model.trace_["n_moved"][-1] == 0
    for order in ("probable", "telling"):
        words = model.top_words(5, order=order)
        assert [len(cluster) for cluster in words] == [5, 5, 5]
        for cluster in words:
            assert len({word.word // 10 for word in cluster}) == 1  # all of one topic
    with pytest.raises(ValueError, match="order"):
        model.top_words(3, order="best")


@every_class
def test_outliers(kind):
    counts, _ = three_topics()
    between = counts[:30:3] + counts[1:31:3] + counts[2:32:3]  # documents of all three topics at once
    model = kind(3, n_init=5, assignment="soft").fit(np.vstack([counts, between]))
    scores = model.outlier_scores_
    assert np.isfinite(scores).all()
    assert np.median(scores[90:]) > np.median(scores[:90])
    alone = np.bincount(model.labels_)[model.labels_] == 1
    np.testing.assert_array_equal(model.outliers_, alone)


# Input at the edges


@every_class
@every_assignment
def test_documents_without_words_belong_nowhere(kind, assignment):
    counts, _ = three_topics()
    with_empty = np.vstack([np.zeros((1, 30), int), counts[:50], np.zeros((2, 30), int), counts[50:]])
    model = kind(3, assignment=assignment, n_init=3).fit(with_empty)
    used = with_empty.any(axis=1)
    assert (model.labels_[~used] == -1).all()
    np.testing.assert_array_equal(model.labels_[used], kind(3, assignment=assignment, n_init=3).fit(counts).labels_)
    assert model.predict(with_empty)[0] == -1
    assert np.isnan(model.predict_proba(with_empty)[~used]).all()
    assert np.isnan(model.probabilities_[~used]).all()
    assert np.isnan(model.outlier_scores_[~used]).all()
    assert (model.score_samples(with_empty)[~used] == 0).all()
    assert not model.outliers_[~used].any()


@every_class
@every_assignment
def test_equal_documents_are_one_cluster_and_it_is_said(kind, assignment):
    counts = np.tile([3, 1, 0, 2], (10, 1))
    with pytest.warns(UserWarning, match="1 clusters found, n_clusters is 3"):
        model = kind(3, assignment=assignment).fit(counts)
    assert model.labels_.tolist() == [0] * 10
    assert model.n_clusters_ == 1
    assert model.cluster_sizes_.tolist() == [10]
    assert len(model.top_words(2)) == 1
    np.testing.assert_allclose(model.predict_proba(counts).sum(axis=1), 1.0)


@every_class
@every_assignment
def test_one_cluster(kind, assignment):
    counts, _ = three_topics()
    model = kind(1, assignment=assignment).fit(counts)
    assert model.labels_.tolist() == [0] * 90
    np.testing.assert_allclose(model.outlier_scores_, 0.0, atol=1e-6)


@every_class
def test_more_clusters_than_documents_is_an_error(kind):
    with pytest.raises(ValueError, match=r"n_samples=3 .* n_clusters=4"):
        kind(4).fit(np.array([[1, 0, 2], [0, 1, 0], [2, 0, 1], [0, 0, 0]]))


@every_class
def test_no_document_with_words_is_an_error(kind):
    with pytest.raises(ValueError, match=r"n_samples=0 .* n_clusters=2"):
        kind(2).fit(np.zeros((3, 2), int))


@every_class
def test_as_many_clusters_as_documents(kind):
    model = kind(3, assignment="hard", n_init=10).fit(np.eye(3, dtype=int) * 4)
    assert sorted(model.labels_.tolist()) == [0, 1, 2]


@every_class
@every_assignment
def test_a_word_in_every_document_changes_little(kind, assignment):
    counts, topics = three_topics()
    everywhere = np.hstack([counts, np.full((90, 1), 2)])
    model = kind(3, assignment=assignment, n_init=5).fit(everywhere)
    assert adjusted_rand_score(topics, model.labels_) > 0.8


@every_class
def test_an_unknown_document_gets_finite_answers(kind):
    counts, _ = three_topics()
    counts = np.hstack([counts, np.zeros((90, 1), int)])
    model = kind(3).fit(counts)
    unseen = np.zeros((1, 31), int)
    unseen[0, 30] = 5
    assert np.isfinite(model.score_samples(unseen)).all()
    if kind is VonMisesFisherMixture:  # log IDF weighs a word that no document had 0
        assert model.predict(unseen).tolist() == [-1]
    else:
        assert np.isfinite(model.predict_proba(unseen)).all()


@pytest.mark.parametrize("kind", [BernoulliMixture, MultinomialMixture, EDCMMixture])
def test_counts_below_zero_are_refused(kind):
    with pytest.raises(ValueError, match="Negative"):
        kind(2).fit([[1, -1], [0, 2]])


@every_class
def test_bad_settings_are_named(kind):
    counts, _ = three_topics()
    for name, value in [("assignment", "fuzzy"), ("n_clusters", 0), ("tol", -1), ("weights", "equal"), ("n_jobs", 0)]:
        with pytest.raises(ValueError, match=name):
            kind(**{name: value}).fit(counts)
    for schedule in [(1, 2), (0, 2, 3), (1, 0.9, 3), (3, 2, 1), (1, np.nan, 2)]:
        with pytest.raises(ValueError, match="schedule must be"):
            kind(assignment="annealed", schedule=schedule).fit(counts)


@every_class
def test_an_unfitted_model_says_so(kind):
    for use in (
        lambda model: model.predict([[1, 2]]),
        lambda model: model.probabilities_,
        lambda model: model.top_words(),
    ):
        with pytest.raises(NotFittedError):
            use(kind())


@every_class
def test_long_and_short_documents_and_large_counts(kind):
    counts, _ = three_topics()
    counts[0] *= 10**6
    counts[1] = 0
    counts[1, 3] = 1
    for assignment in ASSIGNMENTS:
        model = kind(3, assignment=assignment).fit(counts)
        assert np.isfinite(model.probabilities_).all()
        assert np.isfinite(model.score_samples(counts)).all()


@every_class
@every_assignment
def test_some_clusters_stay_empty(kind, assignment):
    counts = np.repeat([[3, 1, 0, 2, 0, 0], [0, 0, 2, 0, 1, 5]], 10, axis=0)
    model = kind(5, assignment=assignment).fit(counts)
    assert model.n_clusters_ == 2
    assert model.components_.shape == (5, 6)
    assert model.predict_proba(counts).shape == (20, 5)
    assert np.isfinite(model.score(counts))
    assert np.isfinite(model.outlier_scores_).all()
    np.testing.assert_array_equal(model.predict(counts), model.labels_)


@every_class
@every_assignment
def test_labels_are_what_predict_says_where_clusters_are_equally_near(kind, assignment):
    for seed in range(40):
        counts = np.random.default_rng(seed).integers(2, size=(8, 3))
        if counts.any(axis=1).sum() >= 3:
            model = kind(3, assignment=assignment, random_state=seed)
            if kind is VonMisesFisherMixture:
                model.set_params(weighting=None)
            np.testing.assert_array_equal(model.fit(counts).predict(counts), model.labels_)


@every_class
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, bool, np.float16, np.int64])
def test_any_type_of_number(kind, dtype):
    counts = (three_topics()[0] > 0).astype(dtype)
    expected = kind(3).fit(counts.astype(float))
    # SciPy has no sparse matrices of float16.
    for given in (counts,) if dtype is np.float16 else (counts, scipy.sparse.csr_array(counts)):
        model = kind(3).fit(given)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_allclose(model.score_samples(given), expected.score_samples(counts.astype(float)))
        np.testing.assert_array_equal(model.cluster_word_counts_.toarray(), expected.cluster_word_counts_.toarray())


@every_class
@pytest.mark.parametrize("dtype", [">i4", ">f8", ">f4", ">u2"])
def test_any_order_of_bytes(kind, dtype):
    counts, _ = three_topics()
    expected = kind(3).fit(counts)
    np.testing.assert_array_equal(kind(3).fit(counts.astype(dtype)).labels_, expected.labels_)
    swapped = scipy.sparse.csr_array(counts)
    swapped.data = swapped.data.astype(dtype)
    np.testing.assert_array_equal(expected.predict(swapped), expected.predict(counts))


@every_class
def test_words_stored_twice_add_up_whatever_their_type(kind):
    twice = scipy.sparse.csr_array((np.array([100, 100, 3, 2], np.int8), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    model = kind(2).fit(twice)
    assert np.isfinite(model.score_samples(twice)).all()
    assert model.cluster_word_counts_.sum() == 205


def test_signed_small_integers_are_summed_without_overflow():
    vectors = np.random.default_rng(0).integers(-127, 128, (400, 5)).astype(np.int8)
    model = VonMisesFisherMixture(2).fit(scipy.sparse.csr_array(vectors))
    expected = [vectors[model.labels_ == cluster].sum(axis=0, dtype=int) for cluster in range(2)]
    np.testing.assert_array_equal(model.cluster_word_counts_.toarray(), expected)


@every_class
def test_what_was_fitted_decides_not_what_was_set_afterwards(kind):
    counts, _ = three_topics()
    changes = {
        VonMisesFisherMixture: {"kappa": "learned"},
        MultinomialMixture: {"assignment": "annealed", "normalized_likelihood": True},
    }.get(kind, {"assignment": "annealed"})
    model = kind(3, assignment="hard").fit(counts)
    before = model.predict_proba(counts), model.score(counts)
    model.set_params(**changes)
    np.testing.assert_array_equal(model.predict_proba(counts), before[0])
    assert model.score(counts) == before[1]


@every_class
@every_assignment
def test_later_starts_leave_the_best_one_as_it_was(kind, assignment):
    counts, _ = three_topics()
    for given in (counts, scipy.sparse.csr_array(counts)):
        for seed in range(5):
            model = kind(4, assignment=assignment, n_init=4, random_state=seed).fit(given)
            np.testing.assert_array_equal(model.predict(given), model.labels_)


def test_converged_means_settled():
    counts, _ = three_topics()
    assert not BernoulliMixture(3, assignment="annealed", tol=0, max_iter=3).fit(counts).converged_
    assert not MultinomialMixture(3, tol=0, max_iter=5).fit(counts).converged_
    assert MultinomialMixture(3, assignment="hard", max_iter=100).fit(counts).converged_
    assert MultinomialMixture(3, assignment="annealed", max_iter=100).fit(counts).converged_


def test_starts_with_a_rising_kappa_are_compared_by_cosines():
    counts, _ = three_topics(60, seed=2)
    several = VonMisesFisherMixture(3, n_init=6, tol=1e-2).fit(counts)
    unit = counts * several.log_idf_
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    best = (unit @ several.components_.T).max(axis=1).sum()
    one = VonMisesFisherMixture(3, tol=1e-2).fit(counts)  # the first of the six
    assert best >= (unit @ one.components_.T).max(axis=1).sum() - 1e-6


def test_telling_words_of_edcm_do_not_depend_on_how_bursty_clusters_are():
    rng = np.random.default_rng(0)
    bursty, spread = np.zeros((60, 40), int), np.zeros((60, 40), int)
    for row in bursty:
        row[rng.choice(5, 4, replace=False)] = rng.integers(8, 11, 4)
    for row in spread:
        row[5 + rng.choice(35, 10, replace=False)] = 1
    model = EDCMMixture(2, n_init=3).fit(np.vstack([bursty, spread]))
    cluster = model.labels_[0]
    assert {word.word for word in model.top_words(5, order="telling")[cluster]} == {0, 1, 2, 3, 4}


def test_an_interrupt_while_clusters_are_summed_leaves_one_state(monkeypatch):
    from textmix.inference import vectors

    rng = np.random.default_rng(1)
    counts = np.hstack([rng.poisson(1.0, (60, 20)), np.eye(60, dtype=int)])  # a word of its own for each document
    original, calls = vectors.SparseVectors.sum_labels, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *arguments)

    expected = VonMisesFisherMixture(3, assignment="hard", max_iter=2, tol=0, weighting=None).fit(counts)
    monkeypatch.setattr(vectors.SparseVectors, "sum_labels", interrupted)
    with pytest.warns(UserWarning, match="interrupted in sweep 3"):
        model = VonMisesFisherMixture(3, assignment="hard", tol=0, weighting=None).fit(scipy.sparse.csr_array(counts))
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-6)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)


# What is each model's own


def test_bernoulli_does_not_see_how_often_a_word_occurs():
    counts, _ = three_topics()
    np.testing.assert_array_equal(BernoulliMixture(3).fit(counts).labels_, BernoulliMixture(3).fit(counts > 0).labels_)


@pytest.mark.parametrize("normalised", [False, True])
def test_probabilities_are_by_the_document_or_by_the_word(normalised):
    counts, topics = three_topics()
    model = MultinomialMixture(3, init=topics, max_iter=1, normalized_likelihood=normalised).fit(counts)
    log_likelihoods = counts @ np.log(model.components_.T)
    if normalised:
        log_likelihoods /= counts.sum(axis=1, keepdims=True)
    expected = model.cluster_weights_ * np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    np.testing.assert_allclose(model.probabilities_, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)


def test_hard_assignment_is_the_same_with_normalised_likelihood():
    counts, _ = three_topics()
    plain = MultinomialMixture(3, assignment="hard").fit(counts)
    normalised = MultinomialMixture(3, assignment="hard", normalized_likelihood=True).fit(counts)
    np.testing.assert_array_equal(plain.labels_, normalised.labels_)


def test_multinomial_parameters_are_distributions():
    counts, _ = three_topics()
    np.testing.assert_allclose(MultinomialMixture(3).fit(counts).components_.sum(axis=1), 1.0)


def test_directions_have_unit_length_and_lengths_of_documents_do_not_matter():
    counts, _ = three_topics()
    model = VonMisesFisherMixture(3, assignment="hard", weighting=None).fit(counts)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    longer = counts * np.arange(1, 91)[:, np.newaxis]
    np.testing.assert_array_equal(
        VonMisesFisherMixture(3, assignment="hard", weighting=None).fit(longer).labels_, model.labels_
    )


def test_whole_counts_are_weighted_by_log_idf_and_other_vectors_are_not():
    counts, _ = three_topics()
    counts[:, 0] += 1
    weighted = VonMisesFisherMixture(3).fit(counts)
    assert weighted.log_idf_[0] == 0.0
    np.testing.assert_allclose(weighted.log_idf_, np.log(90 / (counts > 0).sum(axis=0)))
    assert VonMisesFisherMixture(3).fit(counts * 0.5).log_idf_ is None
    assert VonMisesFisherMixture(3).fit(-counts).log_idf_ is None
    assert VonMisesFisherMixture(3, weighting=None).fit(counts).log_idf_ is None
    with pytest.raises(ValueError, match="every word stands in every document"):
        VonMisesFisherMixture(3, weighting="log_idf").fit(np.tile([3, 1], (5, 1)))


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("kappa", ["scheduled", "learned", 30.0])
def test_dense_embeddings(assignment, kappa):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 64))
    truth = np.arange(200) % 4
    vectors = (centres[truth] + rng.normal(size=(200, 64))).astype(np.float32)
    model = VonMisesFisherMixture(4, assignment=assignment, kappa=kappa, n_init=5)
    if kappa != "scheduled" and assignment == "annealed":
        with pytest.raises(ValueError, match="annealing"):
            model.fit(vectors)
        return
    model.fit(vectors)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert model.cluster_word_counts_.shape == (4, 64)
    assert len(model.top_words(3)) == 4
    np.testing.assert_array_equal(model.predict(vectors), model.labels_)
    sparse = VonMisesFisherMixture(4, assignment=assignment, kappa=kappa, n_init=5).fit(scipy.sparse.csr_array(vectors))
    assert adjusted_rand_score(sparse.labels_, model.labels_) == 1.0


def test_learned_kappas_are_those_the_data_were_drawn_with():
    from scipy.stats import vonmises_fisher

    rng = np.random.default_rng(0)
    means = np.eye(3)[:2]
    vectors = np.vstack([vonmises_fisher(means[0], 8.0).rvs(3000, rng), vonmises_fisher(means[1], 60.0).rvs(2000, rng)])
    model = VonMisesFisherMixture(2, kappa="learned", max_iter=200, tol=1e-6, n_init=3).fit(vectors)
    np.testing.assert_allclose(model.kappa_, [8.0, 60.0], rtol=0.08)
    np.testing.assert_allclose(model.cluster_weights_, [0.6, 0.4], atol=0.02)
    np.testing.assert_allclose(model.components_, means, atol=0.02)


def test_learned_kappas_in_a_hundred_thousand_dimensions_stay_finite():
    rng = np.random.default_rng(0)
    counts = scipy.sparse.random_array(
        (60, 100_000), density=1e-3, rng=rng, format="csr", data_sampler=lambda size: np.ones(size)
    )
    model = VonMisesFisherMixture(3, kappa="learned", assignment="soft").fit(counts)
    assert np.isfinite(model.kappa_).all()
    assert np.isfinite(model.score_samples(counts)).all()
    assert np.isfinite(model.trace_["objective"]).all()


def test_a_cluster_of_one_document_has_the_largest_kappa_allowed():
    vectors = np.vstack([np.random.default_rng(0).normal([5, 0, 0], 0.5, (30, 3)), [[-1.0, 0.0, 0.0]]])
    model = VonMisesFisherMixture(2, kappa="learned", n_init=5).fit(vectors)
    assert model.cluster_sizes_.tolist() == [30, 1]
    assert model.kappa_[1] == pytest.approx(300.0)  # 100 times the dimension


def test_edcm_finds_bursty_words_bursty():
    rng = np.random.default_rng(0)
    spread = rng.multinomial(40, np.full(200, 1 / 200), size=40)
    bursts = np.zeros((40, 200), int)
    for row in bursts:
        for _ in range(4):
            row[rng.integers(200)] += 10
    smooth, bursty = EDCMMixture(1).fit(spread), EDCMMixture(1).fit(bursts)
    assert bursty.concentrations_[0] < smooth.concentrations_[0] / 5


@pytest.mark.parametrize("kind", CLASSES)
def test_ctrl_c_returns_what_there_is(kind, monkeypatch):
    from textmix.inference import em

    counts, _ = three_topics()
    original, calls = em.EMState.assign, []

    def interrupted(self, uniforms=None):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, uniforms)

    monkeypatch.setattr(em.EMState, "assign", interrupted)
    with pytest.warns(UserWarning, match="interrupted in sweep 3"):
        model = kind(3, assignment="soft", n_init=5, tol=0).fit(counts)
    assert model.n_iter_ == 2
    assert not model.converged_
    assert (model.labels_ >= 0).all()


def test_no_warning_where_all_clusters_hold_documents():
    counts, _ = three_topics()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultinomialMixture(3, assignment="annealed").fit(counts)


# Numbers at the ends of what floats hold


@every_assignment
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [(np.float64, 1010), (np.float64, -600), (np.float64, -1074), (np.float32, 120), (np.float32, -140)],
)
def test_directions_are_those_of_vectors_of_any_length(assignment, make, dtype, exponent):
    counts, _ = three_topics()
    model = VonMisesFisherMixture(3, assignment=assignment, weighting=None)
    expected = model.fit(make(counts.astype(dtype))).labels_
    scaled = make(np.ldexp(counts.astype(dtype), exponent))
    np.testing.assert_array_equal(model.fit(scaled).labels_, expected)
    np.testing.assert_array_equal(model.predict(scaled), expected)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_huge_numbers_can_be_weighted(make):
    counts, _ = three_topics()
    model = VonMisesFisherMixture(3, weighting="log_idf")
    expected = model.fit(make(counts.astype(float))).labels_
    np.testing.assert_array_equal(model.fit(make(np.ldexp(counts.astype(float), 1019))).labels_, expected)


@every_assignment
@pytest.mark.parametrize("count", [5e-324, 1e-310, 1e-200])
def test_edcm_takes_counts_however_small(assignment, count):
    counts = three_topics()[0] * count
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        model = EDCMMixture(3, assignment=assignment).fit(counts)
    assert (model.labels_ >= 0).all()
    np.testing.assert_allclose(model.predict_proba(counts).sum(axis=1), 1.0)
    for values in (model.outlier_scores_, model.score_samples(counts), model.components_, model.trace_["objective"]):
        assert np.isfinite(values).all()


def test_numbers_stored_twice_may_not_add_up_to_infinity():
    twice = scipy.sparse.csr_array(([1.5e308, 1.5e308, 1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    with pytest.raises(ValueError, match="add up to infinity"):
        VonMisesFisherMixture(2).fit(twice)

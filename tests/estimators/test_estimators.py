"""The scikit-learn contract and the fitted attributes of the two Gibbs mixtures."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import reference
from kernels.ladder import random_corpus
from textmix import ConsensusMixture, DirichletMultinomialMixture, DirichletProcessMixture
from textmix.corpus import Corpus

FINITE = DirichletMultinomialMixture(n_clusters=8, random_state=0)
PROCESS = DirichletProcessMixture(alpha=1.5, beta=0.1, random_state=0)
both = pytest.mark.parametrize("estimator", [FINITE, PROCESS], ids=["finite", "process"])


def reference_prior(estimator, n_documents):
    if isinstance(estimator, DirichletMultinomialMixture):
        return ("finite", estimator.n_clusters, estimator.alpha)
    return ("process", estimator._concentration(n_documents))


def two_topics(n_documents=60, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.integers(2, size=n_documents)
    words = np.vstack([np.r_[np.ones(10), np.full(10, 0.02)], np.r_[np.full(10, 0.02), np.ones(10)]])
    words /= words.sum(axis=1, keepdims=True)
    return np.array([rng.multinomial(12, words[topic]) for topic in topics]), topics


# The contract


NOT_COUNTS = {"check_clustering": "sends negative values, which are not counts"}
GUIDED = {
    "check_sample_weight_equivalence_on_dense_data": "runs draw other random numbers for other documents",
    "check_sample_weight_equivalence_on_sparse_data": "runs draw other random numbers for other documents",
    "check_estimator_sparse_array": "sends four labels, which are four known clusters here, and expects one",
    "check_estimator_sparse_matrix": "sends four labels, which are four known clusters here, and expects one",
}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (DirichletMultinomialMixture(), NOT_COUNTS),
        (DirichletProcessMixture(), NOT_COUNTS),
        (ConsensusMixture(), {**NOT_COUNTS, **GUIDED}),
    ],
    ids=["finite", "process", "consensus"],
)
def test_check_estimator(estimator, expected):
    check_estimator(estimator, expected_failed_checks=expected)


@both
def test_what_check_clustering_checks_holds_on_counts(estimator):
    """Its statements, on blobs of counts instead of blobs around zero."""
    X, topics = two_topics()
    model = clone(estimator).fit(X)
    assert model.labels_.shape == (len(X),)
    assert adjusted_rand_score(model.labels_, topics) > 0.4
    np.testing.assert_array_equal(clone(estimator).fit_predict(X), model.labels_)
    assert model.labels_.dtype in (np.dtype("int32"), np.dtype("int64"))
    labels = np.unique(model.labels_)
    np.testing.assert_array_equal(labels, np.arange(labels[-1] + 1))
    assert clone(estimator).fit(X.tolist()).labels_.tolist() == model.labels_.tolist()
    assert clone(estimator).fit(X.astype(np.float32)).labels_.tolist() == model.labels_.tolist()


@both
def test_clone_pickle_and_set_params(estimator):
    X, _ = two_topics()
    model = clone(estimator).set_params(beta=0.3).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


@both
def test_a_pipeline_after_count_vectorizer(estimator):
    texts = ["red apple", "green apple", "fast car", "slow car", "apple pie", "car race"] * 5
    labels = make_pipeline(CountVectorizer(), clone(estimator)).fit_predict(texts)
    assert len(labels) == 30


@both
def test_grid_search_chooses_a_beta(estimator):
    X, _ = two_topics()
    search = GridSearchCV(clone(estimator), {"beta": [0.01, 0.1, 1.0]}, cv=3).fit(X)
    assert search.best_params_["beta"] in (0.01, 0.1, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@both
def test_a_data_frame_gives_the_names_of_words(estimator):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[2, 0], [3, 0], [0, 4]], columns=["tea", "rain"])
    words = {scored.word for cluster in clone(estimator).fit(frame).top_words(1) for scored in cluster}
    assert words <= {"tea", "rain"}


@both
def test_the_same_seed_gives_the_same_labels_and_the_global_state_is_left_alone(estimator):
    X, _ = two_topics(200)
    np.random.seed(123)
    before = np.random.get_state()[1].copy()
    first = clone(estimator).fit(X)
    assert (np.random.get_state()[1] == before).all()
    second = clone(estimator).fit(scipy.sparse.csr_array(X))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.trace_["log_joint"], second.trace_["log_joint"])
    anew = clone(estimator).set_params(random_state=None).fit(X)
    assert (np.random.get_state()[1] == before).all()
    assert anew.labels_.shape == (200,)


@both
@pytest.mark.parametrize(
    "kind", ["csr_array", "csr_matrix", "csc", "coo", "int8", "uint16", "float16", "longdouble", "unsorted"]
)
def test_every_kind_of_matrix_gives_the_same_labels(estimator, kind):
    X, _ = two_topics()
    expected = clone(estimator).fit(X).labels_
    given = {
        "csr_array": scipy.sparse.csr_array(X),
        "csr_matrix": scipy.sparse.csr_matrix(X),
        "csc": scipy.sparse.csc_array(X),
        "coo": scipy.sparse.coo_array(X),
        "int8": X.astype(np.int8),
        "uint16": X.astype(np.uint16),
        "float16": X.astype(np.float16),
        "longdouble": X.astype(np.longdouble),
    }.get(kind)
    if kind == "unsorted":
        given = scipy.sparse.csr_array(X)
        for row in range(len(X)):
            part = slice(given.indptr[row], given.indptr[row + 1])
            given.indices[part] = given.indices[part][::-1].copy()
            given.data[part] = given.data[part][::-1].copy()
        given.has_sorted_indices = False
        given.has_canonical_format = False
    np.testing.assert_array_equal(clone(estimator).fit(given).labels_, expected)


@both
def test_the_input_is_not_changed(estimator):
    X = scipy.sparse.csr_array(two_topics()[0])
    before = X.copy()
    model = clone(estimator).fit(X)
    model.predict(X)
    _ = model.probabilities_
    assert (before != X).nnz == 0
    np.testing.assert_array_equal(X.indices, before.indices)


# Faulty input


@both
@pytest.mark.parametrize(
    ("value", "message"),
    [(-1.0, "Negative values in data passed to X.*row 1, column 2"), (np.nan, "NaN"), (np.inf, "infinity")],
)
@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
def test_faulty_counts_are_refused(estimator, value, message, make):
    X = np.ones((3, 4))
    X[1, 2] = value
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(make(X))
    model = clone(estimator).fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match=message):
        model.predict(make(X))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clusters": 0},
        {"alpha": 0},
        {"beta": -1},
        {"sampler": "fast"},
        {"inference": "magic"},
        {"n_sweeps": -1},
        {"tol": -1},
        {"init": [0, 1]},
        {"init": [0, 1, 9]},
        {"init": [0.0, 1.0, 0.0]},
    ],
)
def test_faulty_settings_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        DirichletMultinomialMixture(**{"n_clusters": 3, **settings}).fit(np.ones((3, 4)))


@pytest.mark.parametrize("alpha", ["n", "0.1", "-1n", "0n", "xn", "infn"])
def test_a_faulty_concentration_is_refused(alpha):
    with pytest.raises(ValueError, match=r'alpha must be a number above 0, a string such as "0\.1n"'):
        DirichletProcessMixture(alpha=alpha).fit(np.ones((3, 4)))


def small_counts(n_documents=60, n_words=12, seed=0):
    return np.random.default_rng(seed).poisson(0.6, (n_documents, n_words)) + np.eye(n_documents, n_words, dtype=int)


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel", "auto"])
@pytest.mark.parametrize("n_start_clusters", [1, 10, 5000])
def test_a_process_never_has_more_than_max_clusters(inference, n_start_clusters):
    X = small_counts()
    model = DirichletProcessMixture(
        50.0, max_clusters=2, n_start_clusters=n_start_clusters, inference=inference, switch=1, n_sweeps=3, n_jobs=1
    ).fit(X)
    assert 1 <= model.n_clusters_ <= 2
    assert model.trace_["n_clusters"].max() <= 2
    has_words = X.any(axis=1)
    assert (model.labels_[has_words] >= 0).all()
    assert (model.labels_[~has_words] == -1).all()
    np.testing.assert_allclose(model.probabilities_[has_words].sum(axis=1), 1.0)


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
def test_a_process_may_start_from_more_clusters_than_there_are_documents(inference):
    model = DirichletProcessMixture(
        5.0, n_start_clusters=5000, inference=inference, switch=1, n_sweeps=3, n_jobs=1
    ).fit(small_counts())
    assert model.n_clusters_ <= 60


def test_a_learned_concentration_goes_without_max_clusters():
    with pytest.raises(ValueError, match='alpha="learn" does not go with max_clusters'):
        DirichletProcessMixture("learn", max_clusters=5).fit(small_counts())


def test_a_concentration_may_follow_the_number_of_documents_with_words():
    model = DirichletProcessMixture(alpha="0.5n")
    assert model._concentration(10) == 5.0
    X = np.array([[1, 0], [0, 2], [0, 0]])
    by_text = DirichletProcessMixture(alpha="0.5n", random_state=1).fit(X)
    by_number = DirichletProcessMixture(alpha=1.0, random_state=1).fit(X)
    np.testing.assert_array_equal(by_text.labels_, by_number.labels_)


@both
def test_before_a_fit_there_is_nothing(estimator):
    model = clone(estimator)
    for attribute in ("labels_", "alpha_", "probabilities_", "outliers_", "outlier_scores_"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.predict(np.ones((1, 2)))


# What is fitted


@both
def test_labels_fall_by_size_and_documents_without_words_are_outside(estimator):
    X, _ = two_topics()
    X[[3, 7]] = 0
    model = clone(estimator).fit(X)
    assert (model.labels_[[3, 7]] == -1).all()
    assert (np.delete(model.labels_, [3, 7]) >= 0).all()
    assert (np.diff(model.cluster_sizes_) <= 0).all()
    assert model.cluster_sizes_.sum() == 58
    assert model.n_clusters_ == model.cluster_sizes_.size == model.labels_.max() + 1
    for cluster in range(model.n_clusters_):
        np.testing.assert_array_equal(
            model.cluster_word_counts_.toarray()[cluster], X[model.labels_ == cluster].sum(axis=0)
        )
    assert np.isnan(model.probabilities_[[3, 7]]).all()
    assert np.isnan(model.outlier_scores_[[3, 7]]).all()
    assert not model.outliers_[[3, 7]].any()
    assert model.predict(X)[3] == -1
    assert np.isnan(model.predict_proba(X)[3]).all()
    assert model.score_samples(X)[3] == 0.0


@both
def test_the_trace_has_an_entry_a_sweep(estimator):
    X, _ = two_topics()
    model = clone(estimator).set_params(n_sweeps=7, tol=0, polish=False).fit(X)
    assert model.n_iter_ == 7
    assert set(model.trace_) >= {"n_clusters", "n_moved", "log_joint", "seconds"}
    assert all(len(values) == 7 for values in model.trace_.values())
    prior = reference_prior(model, len(X))
    expected = reference.log_joint(X, model.labels_, model.beta, prior)
    assert model.trace_["log_joint"][-1] == pytest.approx(expected)
    assert model.log_joint_ == pytest.approx(expected)
    assert model.trace_["n_clusters"][-1] == model.n_clusters_


@both
def test_it_stops_by_itself_when_it_has_settled(estimator):
    X, _ = two_topics(200)
    settled = clone(estimator).set_params(n_sweeps=500, polish=False).fit(X)
    assert settled.converged_
    assert settled.n_iter_ < 100
    assert clone(estimator).set_params(n_sweeps=30, tol=0).fit(X).n_iter_ == 30


@both
@pytest.mark.parametrize("seed", range(8))
def test_polished_labels_are_a_fixed_point(estimator, seed):
    corpus = random_corpus(seed, 30, 12, 5, 0.1)
    model = clone(estimator).set_params(random_state=seed, n_sweeps=3).fit(corpus.counts)
    assert model.converged_
    prior = reference_prior(model, int((corpus.counts.sum(axis=1) > 0).sum()))
    expected = reference.polish(corpus.counts, model.labels_.astype(int), model.beta, prior, max_passes=1)
    lone_identical = lone_identical_documents(corpus.counts, model.labels_)
    same = reference.canonical(np.delete(expected, lone_identical))
    assert same == reference.canonical(np.delete(model.labels_, lone_identical))
    known = model.labels_ >= 0
    np.testing.assert_array_equal(model.probabilities_[known].argmax(axis=1), model.labels_[known])


def lone_identical_documents(counts, labels):
    """Documents whose cluster holds several copies of them and nothing else."""
    found = []
    for document in np.flatnonzero(labels >= 0):
        members = counts[labels == labels[document]]
        if len(members) > 1 and (members == counts[document]).all():
            found.append(document)
    return found


@both
@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_leave_one_out_conditionals(estimator, seed):
    corpus = random_corpus(seed, 20, 12, 6, 0.1)
    model = clone(estimator).set_params(random_state=seed, polish=False, n_sweeps=4).fit(corpus.counts)
    labels = model.labels_.astype(int)
    prior = reference_prior(model, int((labels >= 0).sum()))
    for document in np.flatnonzero(labels >= 0):
        expected = reference.conditional(corpus.counts, labels, document, model.beta, prior)
        row = model.probabilities_[document].copy()
        if model.cluster_sizes_[labels[document]] == 1:
            assert row[-1] == 0.0
            assert row[labels[document]] == pytest.approx(expected.pop(reference.NEW))
            row[labels[document]] = 0.0
        else:
            assert row[-1] == pytest.approx(expected.pop(reference.NEW, 0.0))
        for label, probability in expected.items():
            assert row[label] == pytest.approx(probability, abs=1e-9)
    known = labels >= 0
    np.testing.assert_allclose(model.probabilities_[known].sum(axis=1), 1.0)


@both
def test_predictions_are_the_reference_s(estimator):
    corpus = random_corpus(3, 25, 12, 6, 0.1)
    model = clone(estimator).fit(corpus.counts)
    labels = model.labels_.astype(int)
    prior = reference_prior(model, int((labels >= 0).sum()))
    fresh = random_corpus(4, 12, 12, 5, 0.1).counts
    probabilities, densities = model.predict_proba(fresh), model.score_samples(fresh)
    for index in np.flatnonzero(fresh.sum(axis=1)):
        extended = np.vstack([corpus.counts, fresh[index]])
        expected = reference.conditional(extended, np.append(labels, 0), len(labels), model.beta, prior)
        for label, probability in expected.items():
            column = -1 if label == reference.NEW else label
            assert probabilities[index, column] == pytest.approx(probability, abs=1e-9)
        # The Dirichlet process is a prior on partitions of any number of documents; the finite one is as it is.
        assert densities[index] == pytest.approx(
            reference.log_density(corpus.counts, labels, fresh[index], model.beta, prior)
        )
        assert model.predict(fresh)[index] == probabilities[index, :-1].argmax()
    assert model.score(fresh) == pytest.approx(densities.mean())


@both
@pytest.mark.parametrize("seed", range(6))
def test_identical_documents_get_identical_labels(estimator, seed):
    """Also documents of one word, which would rather be alone when α is large."""
    rng = np.random.default_rng(seed)
    kinds = np.vstack([np.eye(6, dtype=int), random_corpus(seed, 6, 6, 3, 0.1).counts])
    which = rng.integers(len(kinds), size=80)
    X = kinds[which]
    alpha = 30.0 if isinstance(estimator, DirichletProcessMixture) else 5.0
    model = clone(estimator).set_params(alpha=alpha, beta=2.0, random_state=seed).fit(X)
    for kind in range(len(kinds)):
        assert len(set(model.labels_[which == kind].tolist())) <= 1
    if model.converged_:
        known = model.labels_ >= 0
        np.testing.assert_array_equal(model.probabilities_[known].argmax(axis=1), model.labels_[known])
    np.testing.assert_allclose(model.probabilities_[model.labels_ >= 0].sum(axis=1), 1.0)


@both
def test_outliers_are_documents_in_small_clusters(estimator):
    X, _ = two_topics()
    odd = np.zeros((62, 40), int)
    odd[:60, :20] = X
    odd[60, 20:30] = 3
    odd[61, 30:40] = 3
    model = clone(estimator).set_params(alpha=1.0).fit(odd)
    assert model.outliers_[[60, 61]].all()
    assert not model.outliers_[:60].any()
    assert model.outlier_scores_[[60, 61]].min() > model.outlier_scores_[:60].max()
    everything = clone(model).set_params(outlier_size=62).fit(odd)
    assert everything.outliers_.all()
    assert not clone(model).set_params(outlier_size=0).fit(odd).outliers_.any()


@both
def test_top_words_by_probability_and_by_what_they_tell(estimator):
    X = np.array([[5, 3, 0, 9], [4, 4, 0, 9], [0, 0, 6, 9], [0, 0, 7, 9]] * 3)
    corpus = Corpus.from_counts(X, vocabulary=["tea", "cup", "rain", "the"])
    model = clone(estimator).fit(corpus)
    assert model.n_clusters_ == 2
    words = model.top_words(4)
    for cluster, scored in enumerate(words):
        total = model.cluster_word_counts_.toarray()[cluster]
        for word, score in scored:
            column = list(corpus.vocabulary).index(word)
            assert score == pytest.approx((total[column] + model.beta) / (total.sum() + 4 * model.beta))
    assert [scored[0].word for scored in words] == ["the", "the"]
    telling = [scored[0].word for scored in model.top_words(1, order="telling")]
    assert sorted(telling) == ["rain", "tea"]
    with pytest.raises(ValueError, match="order must be one of"):
        model.top_words(order="loud")
    with pytest.raises(ValueError, match="vocabulary has 2 words"):
        model.top_words(vocabulary=["a", "b"])


# Extremes


@both
@pytest.mark.parametrize("sampler", ["sparse", "dense", "auto"])
def test_extremes_give_numbers(estimator, sampler):
    """Documents of 1 word and of 100,000, counts of 1 and of 10^6, one cluster and 50,000."""
    rng = np.random.default_rng(0)
    X = np.zeros((12, 300), np.int64)
    X[0, 0] = 1
    X[1] = rng.multinomial(100_000, np.full(300, 1 / 300))
    X[2, 5] = 10**6
    X[3, :200] = 10**6
    X[4:] = rng.poisson(0.05, size=(8, 300))
    X[4:, 7] = 1
    for n_clusters in (1, 50_000):
        settings = {"n_clusters": n_clusters} if hasattr(estimator, "n_clusters") else {}
        for beta in (1e-6, 0.1, 1e6):
            model = clone(estimator).set_params(sampler=sampler, beta=beta, n_sweeps=5, **settings).fit(X)
            assert np.isfinite(model.log_joint_)
            assert np.isfinite(model.trace_["log_joint"]).all()
            np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
            assert not np.isnan(model.outlier_scores_).any()
            assert np.isfinite(model.score_samples(X)).all()


@both
def test_extreme_priors_give_numbers(estimator):
    X, _ = two_topics()
    for alpha in (1e-12, 1e12):
        model = clone(estimator).set_params(alpha=alpha, n_sweeps=5).fit(X)
        assert np.isfinite(model.log_joint_)
        np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)


@both
@pytest.mark.parametrize("X", [[[1]], [[0]], [[0, 0], [0, 0]], [[2, 1]], [[1, 0], [0, 1]]])
def test_the_smallest_corpora_work(estimator, X):
    model = clone(estimator).fit(X)
    has_words = np.sum(X, axis=1) > 0
    np.testing.assert_array_equal(model.labels_ >= 0, has_words)
    assert model.probabilities_.shape == (len(X), model.n_clusters_ + 1)
    np.testing.assert_array_equal(model.predict(X) >= 0, has_words)
    assert len(model.top_words()) == model.n_clusters_


@both
def test_fractional_counts_agree_with_whole_ones(estimator):
    """Counts that are whole but for one fraction of 1e-13 are computed by log Γ, to the same result."""
    corpus = random_corpus(5, 30, 12, 6, 0.1)
    nearly = corpus.counts.astype(float)
    nearly[tuple(np.argwhere(nearly > 0)[0])] += 1e-13
    settings = {"n_sweeps": 5, "tol": 0.0}
    whole = clone(estimator).set_params(**settings).fit(corpus.counts)
    fractional = clone(estimator).set_params(**settings).fit(nearly)
    np.testing.assert_array_equal(whole.labels_, fractional.labels_)
    np.testing.assert_allclose(whole.trace_["log_joint"], fractional.trace_["log_joint"], rtol=1e-9)
    np.testing.assert_allclose(whole.predict_proba(nearly), fractional.predict_proba(nearly), atol=1e-9)


def test_labels_to_start_from_are_kept_by_zero_sweeps():
    X, topics = two_topics()
    model = DirichletMultinomialMixture(n_clusters=2, init=topics, n_sweeps=0, polish=False).fit(X)
    assert adjusted_rand_score(model.labels_, topics) == 1.0
    assert model.n_iter_ == 0


@both
def test_an_interrupt_returns_what_there_is(estimator, monkeypatch):
    from textmix.inference import collapsed_gibbs

    X, _ = two_topics()
    whole_pass = collapsed_gibbs.GibbsState.sample
    calls = []

    def interrupted_pass(self, *arguments, **settings):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole_pass(self, *arguments, **settings)

    monkeypatch.setattr(collapsed_gibbs.GibbsState, "sample", interrupted_pass)
    with pytest.warns(UserWarning, match="interrupted in sweep 3"):
        model = clone(estimator).fit(X)
    assert model.n_iter_ == 2
    assert not model.converged_
    assert model.labels_.shape == (60,)
    assert len(model.trace_["log_joint"]) == 2


def test_blobs_are_found_as_well_as_by_k_means():
    X, topics = two_topics(300, seed=3)
    ours = adjusted_rand_score(topics, DirichletMultinomialMixture(2, random_state=0).fit_predict(X))
    theirs = adjusted_rand_score(topics, KMeans(2, n_init=5, random_state=0).fit_predict(X))
    assert ours >= theirs


# What once went wrong


@both
def test_cluster_counts_do_not_overflow_the_type_of_the_input(estimator):
    narrow = np.tile(np.array([[100, 1], [1, 100]], np.int8), (75, 1))
    wide = clone(estimator).fit(narrow.astype(np.int64))
    model = clone(estimator).fit(narrow)
    np.testing.assert_array_equal(model.cluster_word_counts_.toarray(), wide.cluster_word_counts_.toarray())
    np.testing.assert_array_equal(model.predict_proba(narrow), wide.predict_proba(narrow))
    heavy = scipy.sparse.csr_array(np.tile(np.array([[10**6, 1]], np.int32), (3000, 1)))
    model = clone(estimator).fit(heavy)
    assert model.cluster_word_counts_.sum() == 3000 * (10**6 + 1)
    np.testing.assert_allclose(model.predict_proba(heavy[:3]).sum(axis=1), 1.0)


@both
def test_new_documents_may_be_heavier_than_all_that_was_fitted(estimator):
    model = clone(estimator).fit([[0.5, 0.5], [0.5, 0.0], [0.0, 0.3]])
    probabilities = model.predict_proba([[20.0, 1.0], [2e6, 1.0]])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@both
def test_tiny_counts_count_as_words(estimator):
    model = clone(estimator).fit([[1e-20, 0.0], [1.0, 1.0], [0.5, 1.0]])
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)


@both
@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
def test_tiny_counts_count_as_words_beside_huge_ones(estimator, inference):
    X = np.array([[1e-3, 1e18, 0.0], [1e-200, 3.0, 0.0], [0.0, 0.0, 1e-200], [0.0, 0.0, 0.5]])
    model = clone(estimator).set_params(inference=inference, switch=1, n_jobs=1).fit(X)
    assert (model.labels_ >= 0).all()
    for documents in (X, X[:, ::-1].copy()):
        assert (model.predict(documents) >= 0).all()
        np.testing.assert_allclose(model.predict_proba(documents).sum(axis=1), 1.0)


def test_probabilities_of_documents_with_huge_counts_add_up_to_1():
    X = np.array([[10**15, 1], [10**15, 1], [10**15, 1]])
    model = DirichletMultinomialMixture(3, init=[0, 1, 2], n_sweeps=0, polish=False).fit(X)
    probabilities = model.predict_proba(np.array([[0, 10**12], [10**3, 10**13]]))  # all clusters fit alike, and badly
    np.testing.assert_allclose(probabilities, [[1 / 3, 1 / 3, 1 / 3, 0]] * 2, rtol=1e-12)


@both
def test_counts_and_priors_beyond_reason_are_refused(estimator):
    with pytest.raises(ValueError, match="add up to"):
        clone(estimator).fit([[5e18, 1], [1, 0]])
    for setting in ("alpha", "beta"):
        with pytest.raises(ValueError, match=f"{setting}.*must be below 1e200"):
            clone(estimator).set_params(**{setting: 1e300}).fit([[2, 1], [1, 0]])


@both
def test_settings_changed_after_a_fit_change_nothing_before_the_next(estimator):
    X, _ = two_topics()
    model = clone(estimator).fit(X)
    before = model.predict_proba(X)
    model.set_params(beta=3.0, alpha=5.0, polish=False)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_labels_of_an_earlier_fit_can_start_another():
    X, _ = two_topics()
    X[4] = 0
    earlier = DirichletMultinomialMixture(5, random_state=0).fit(X)
    again = DirichletMultinomialMixture(5, init=earlier.labels_, n_sweeps=0).fit(X)
    np.testing.assert_array_equal(again.labels_, earlier.labels_)
    assert set(again.trace_) == {"n_clusters", "n_moved", "log_joint", "seconds"}


@both
def test_an_interrupt_while_polishing_leaves_a_whole_result(estimator, monkeypatch):
    from textmix.inference import partition

    X = np.vstack([np.eye(6, dtype=int)] * 2)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(partition, "join_identical", interrupted)
    with pytest.warns(UserWarning, match="polishing interrupted"):
        model = clone(estimator).set_params(alpha=1e6).fit(X)
    assert not model.converged_
    expected = reference.log_joint(X, model.labels_, model.beta, reference_prior(model, len(X)))
    assert model.log_joint_ == pytest.approx(expected)

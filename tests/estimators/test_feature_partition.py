"""The scikit-learn contract and the fitted attributes of the mixture with feature partition (DMAFP and DMA)."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.special import digamma, logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import textmix
from textmix import Corpus, FeaturePartitionMixture
from textmix.datasets import make_partitioned
from textmix.estimators import feature_partition_mixture as module
from textmix.inference.blocked_gibbs import BlockedGibbsState, HyperparameterPriors
from textmix.inference.hyperparameters import GammaPrior
from textmix.inference.variational import VariationalState

NEGATIVE = {"check_clustering": "sends negative values, which are not counts"}
SETTINGS = {
    "dmafp": {"n_init": 2, "max_iter": 60},
    "dma": {"n_init": 2, "max_iter": 60, "partition": False},
    "gibbs": {"inference": "gibbs", "n_sweeps": 40, "n_kept": 10},
    "normalised": {"inference": "gibbs", "likelihood": "normalised", "n_sweeps": 40, "n_kept": 10, "n_init": 2},
}
HELD = {"alpha": 1.0, "omega": 0.01, "lam": 0.02, "beta": 4.0, "learn": None}  # DMAFP 6.2
VARIATIONAL = ["alpha", "omega", "lambda", "lambda_vector", "beta", "beta_vector"]
GIBBS = ["alpha", "omega", "lambda", "beta"]
VECTORS = ["alpha", "omega", "lambda_vector", "beta_vector"]
COLUMNS = {"n_clusters", "n_discriminative", "n_moved", "alpha", "omega", "lambda", "beta", "seconds"}

every_variant = pytest.mark.parametrize("variant", SETTINGS)
both_variational = pytest.mark.parametrize("variant", ["dmafp", "dma"])
both_gibbs = pytest.mark.parametrize("variant", ["gibbs", "normalised"])


def make(variant, max_clusters=6, **settings):
    return FeaturePartitionMixture(max_clusters, **{**SETTINGS[variant], **settings})


def three_topics(n_documents=60, seed=0):
    """Documents of 30 words of one of three topics, of ten words each, and of 20 words from ten that all share."""
    rng = np.random.default_rng(seed)
    topics = np.arange(n_documents) % 3
    own = np.full((3, 30), 0.1 / 30)
    for topic in range(3):
        own[topic, 10 * topic : 10 * topic + 10] += 0.09
    counts = [np.r_[rng.multinomial(30, own[topic]), rng.multinomial(20, np.full(10, 0.1))] for topic in topics]
    return np.array(counts), topics


def partitioned(seed=0):
    """The data of the paper's 6.2, made small."""
    return make_partitioned(120, 300, 20, 3, discriminative_length=200, background_length=100, random_state=seed)


def assert_same_fit(one, other):
    """Bit for bit, but for the time that it took."""
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.word_relevance_, other.word_relevance_)
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.probabilities_, other.probabilities_)
    assert one.objective_ == other.objective_
    for name in one.trace_:
        if name != "seconds":
            np.testing.assert_array_equal(one.trace_[name], other.trace_[name])


# The contract


@every_variant
def test_check_estimator(variant):
    # Its check of sparse input wants two columns of predict_proba: here one cluster, and a new one. Variational
    # inference finds one cluster in random numbers by itself.
    settings = {"max_clusters": 1} if variant in ("gibbs", "normalised") else {"tol": 1e-4, "max_iter": 500}
    check_estimator(make(variant, **{"n_init": 1, **settings}), expected_failed_checks=NEGATIVE)


@every_variant
def test_what_check_clustering_checks_holds_on_counts(variant):
    """Its statements, on topics of counts instead of blobs around zero."""
    counts, topics = three_topics()
    model = make(variant).fit(counts)
    assert model.labels_.shape == (60,)
    assert model.labels_.dtype in (np.dtype("int32"), np.dtype("int64"))
    assert adjusted_rand_score(topics, model.labels_) > 0.7
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))
    np.testing.assert_array_equal(make(variant).fit_predict(counts), model.labels_)
    assert make(variant).fit(counts.tolist(), y=topics).labels_.tolist() == model.labels_.tolist()


@pytest.mark.parametrize("variant", ["dmafp", "gibbs", "normalised"])
@pytest.mark.parametrize("seed", [0, 1])
def test_clusters_and_true_words_are_found(variant, seed):
    counts, labels, discriminative = partitioned(seed)
    model = make(variant, 8, n_init=4, **HELD).fit(counts)
    assert normalized_mutual_info_score(labels, model.labels_) > 0.95
    found = model.discriminative_words_
    assert np.count_nonzero(discriminative & ~found) <= 5  # rare ones
    assert np.count_nonzero(found & ~discriminative) <= 5


@pytest.mark.parametrize("seed", [0, 1])
def test_all_words_are_discriminative_in_dma(seed):
    counts, labels, _ = partitioned(seed)
    model = make("dma", 8, n_init=4, **HELD).fit(counts)
    assert normalized_mutual_info_score(labels, model.labels_) > 0.6
    assert model.discriminative_words_.all()
    assert (model.word_relevance_ == 1.0).all()
    gibbs = make("gibbs", 8, partition=False, **HELD).fit(counts)
    assert (gibbs.word_relevance_ == 1.0).all()
    assert (gibbs.trace_["n_discriminative"] == 300).all()


@every_variant
def test_labels_are_what_predict_says_and_probabilities_agree(variant):
    counts, _ = three_topics()
    model = make(variant).fit(counts)
    np.testing.assert_array_equal(model.predict(counts), model.labels_)
    np.testing.assert_array_equal(model.probabilities_, model.predict_proba(counts))
    assert model.probabilities_.shape == (60, model.n_clusters_ + 1)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.probabilities_[:, :-1].argmax(axis=1), model.labels_)
    assert np.isfinite(model.score_samples(counts)).all()
    assert model.score(counts) == pytest.approx(model.score_samples(counts).mean())


@both_variational
@pytest.mark.parametrize("init", ["nearly_uniform", "random"])
def test_labels_are_what_predict_says_where_clusters_are_equally_near(variant, init):
    for seed in range(12):
        counts = np.random.default_rng(seed).integers(2, size=(8, 3))
        for learn in (None, "auto"):
            model = make(variant, 3, init=init, lam=0.3, learn=learn, n_init=1, random_state=seed).fit(counts)
            np.testing.assert_array_equal(model.predict(counts), model.labels_)


@every_variant
def test_the_last_column_is_all_clusters_that_hold_no_document(variant):
    counts, _ = three_topics()
    model = make(variant, 10, alpha=50.0, lam=0.5, learn=None).fit(counts)
    assert model.n_clusters_ < 10
    strange = np.zeros((1, 40), int)
    strange[0, [0, 10, 20]] = 1
    assert model.predict_proba(strange)[0, -1] > 0.01
    assert model.predict(strange)[0] == model.predict_proba(strange)[0, :-1].argmax()
    full = make(variant, 2, lam=0.5, learn=None, init=np.arange(60) % 2).fit(counts)
    assert full.n_clusters_ == 2
    assert (full.predict_proba(strange)[:, -1] == 0.0).all()


@every_variant
def test_clusters_come_by_falling_size(variant):
    counts, _ = three_topics()
    counts = np.vstack([counts, counts[::3], counts[1:20:3]])
    model = make(variant, 8).fit(counts)
    assert model.cluster_sizes_.tolist() == sorted(model.cluster_sizes_, reverse=True)
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_sizes_)
    assert model.n_clusters_ == model.cluster_sizes_.size == model.cluster_weights_.size
    np.testing.assert_array_equal(
        model.cluster_word_counts_.toarray(),
        [counts[model.labels_ == cluster].sum(axis=0) for cluster in range(model.n_clusters_)],
    )
    assert (model.cluster_weights_ > 0).all()
    assert model.cluster_weights_.sum() <= 1.0 + 1e-12
    np.testing.assert_allclose(model.cluster_weights_, model.cluster_sizes_ / len(counts), atol=0.1)


@every_variant
def test_clone_pickle_and_set_params(variant):
    counts, _ = three_topics()
    model = clone(make(variant)).set_params(threshold=0.6, max_clusters=5).fit(counts)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(counts), model.predict_proba(counts))
    np.testing.assert_array_equal(again.outlier_scores_, model.outlier_scores_)
    assert again.top_words(3) == model.top_words(3)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).max_clusters == 5
    assert_same_fit(clone(model).fit(counts), model)


@every_variant
def test_sparse_dense_float_and_corpus_give_the_same(variant):
    counts, _ = three_topics()
    names = [f"w{i}" for i in range(40)]
    expected = make(variant).fit(counts)
    corpus = Corpus.from_counts(counts, vocabulary=names)
    for given in (
        scipy.sparse.csr_array(counts),
        scipy.sparse.csr_matrix(counts),
        scipy.sparse.csc_array(counts),
        scipy.sparse.coo_array(counts),
        counts.astype(np.float64),
        counts.astype(np.float32),
        scipy.sparse.csr_array(counts.astype(np.float32)),
        counts.astype(np.int8),
        corpus,
    ):
        model = make(variant).fit(given)
        assert_same_fit(model, expected)
        np.testing.assert_array_equal(model.predict_proba(given), expected.predict_proba(counts))
        np.testing.assert_array_equal(model.score_samples(given), expected.score_samples(counts))
    assert {word.word for cluster in make(variant).fit(corpus).top_words(10) for word in cluster} <= set(names)


@every_variant
def test_large_sums_do_not_depend_on_the_type_of_the_input(variant):
    """Adding 1 to 2^24 changes nothing in 32 bits."""
    counts = np.vstack([[[2**24, 5, 3]], np.tile([1, 4, 0], (300, 1)), np.tile([0, 1, 7], (300, 1))])
    wide, narrow = (make(variant, 4, learn=None).fit(counts.astype(kind)) for kind in (np.float64, np.float32))
    assert narrow.objective_ == pytest.approx(wide.objective_, rel=1e-12)
    np.testing.assert_allclose(narrow.background_distribution_, wide.background_distribution_, rtol=1e-12)


@every_variant
def test_a_data_frame_gives_the_names_of_words(variant):
    pandas = pytest.importorskip("pandas")
    counts, _ = three_topics()
    frame = pandas.DataFrame(counts, columns=[f"w{i}" for i in range(40)])
    model = make(variant).fit(frame)
    assert_same_fit(model, make(variant).fit(counts))
    assert {word.word for cluster in model.top_words(3) for word in cluster} <= set(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"w0": "other"}))
    model.fit(counts)
    assert all(isinstance(word.word, np.integer | int) for cluster in model.top_words(3) for word in cluster)


@every_variant
def test_a_pipeline_after_count_vectorizer_and_a_grid_search(variant):
    texts = ["apple pear fruit apple", "pear apple juice fruit", "motor car wheel car", "car wheel road motor"] * 8
    pipeline = make_pipeline(CountVectorizer(), make(variant, 4, lam=0.1))
    labels = pipeline.fit_predict(texts)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    counts, _ = three_topics()
    search = GridSearchCV(make(variant), {"max_clusters": [2, 5]}, cv=2).fit(counts)
    assert search.best_params_["max_clusters"] in (2, 5)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every_variant
def test_the_seed_decides_and_the_global_state_is_left_alone(variant):
    counts, _ = three_topics()
    np.random.seed(123)
    before = np.random.get_state()[1].copy()
    one = make(variant, random_state=7).fit(counts)
    assert_same_fit(one, make(variant, random_state=7).fit(counts))
    assert not np.array_equal(one.trace_["alpha"], make(variant, random_state=8).fit(counts).trace_["alpha"])
    for state in (None, np.random.default_rng(3), np.random.RandomState(3), np.int64(3)):
        assert make(variant, random_state=state).fit(counts).labels_.shape == (60,)
    assert_same_fit(
        make(variant, random_state=np.random.default_rng(3)).fit(counts),
        make(variant, random_state=np.random.default_rng(3)).fit(counts),
    )
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@every_variant
def test_n_jobs_changes_nothing(variant):
    """More documents and words than one block of either holds."""
    counts = make_partitioned(600, 1100, 100, 4, discriminative_length=40, background_length=40).counts
    short = {"max_iter": 12} if variant in ("dmafp", "dma") else {"n_sweeps": 12, "n_kept": 4}
    one, *others = (make(variant, n_jobs=n, **short).fit(counts) for n in (None, 2, -1))
    for other in others:
        assert_same_fit(one, other)
        np.testing.assert_array_equal(one.outlier_scores_, other.outlier_scores_)
        np.testing.assert_array_equal(one.score_samples(counts), other.score_samples(counts))


@every_variant
def test_the_input_is_not_changed(variant):
    counts = scipy.sparse.csr_array(three_topics()[0])
    before = counts.copy()
    model = make(variant).fit(counts)
    _ = model.predict(counts), model.probabilities_, model.outlier_scores_, model.top_words(), model.score(counts)
    np.testing.assert_array_equal(counts.data, before.data)
    np.testing.assert_array_equal(counts.indices, before.indices)
    start = np.arange(60) % 3
    lam = np.full(40, 0.5)
    make(variant, init=start, lam=lam).fit(counts)
    np.testing.assert_array_equal(start, np.arange(60) % 3)
    assert (lam == 0.5).all()


@every_variant
def test_a_second_fit_forgets_the_first(variant):
    counts, _ = three_topics()
    model = make(variant).fit(counts)
    _ = model.probabilities_, model.outlier_scores_, model.cluster_word_counts_
    model.fit(counts[:30, :25])
    assert_same_fit(model, make(variant).fit(counts[:30, :25]))
    assert model.outlier_scores_.shape == (30,)
    assert model.cluster_word_counts_.shape == (model.n_clusters_, 25)


# Starts


def spy_on_starts(monkeypatch, name):
    """What each start came to, as a list that grows."""
    found, original = [], getattr(module, name)

    def recorded(*arguments, **settings):
        found.append(original(*arguments, **settings))
        return found[-1]

    monkeypatch.setattr(module, name, recorded)
    return found


@pytest.mark.parametrize("choice", ["expected", "bound"])
@both_variational
def test_the_best_start_is_kept(variant, choice, monkeypatch):
    counts = make_partitioned(40, 60, 10, 3, discriminative_length=15, background_length=15, random_state=3).counts
    starts = spy_on_starts(monkeypatch, "fit_variational")
    model = make(variant, n_init=6, choice=choice, learn=None, init="random").fit(counts)
    assert len(starts) == 6
    objectives = [start.objective for start in starts]
    assert len(set(objectives)) > 1
    best = starts[int(np.argmax([start.merit for start in starts]))]
    assert model.objective_ == best.objective
    np.testing.assert_array_equal(model.labels_, best.labels)
    np.testing.assert_array_equal(model.word_relevance_, best.relevance)
    if choice == "bound":
        assert model.objective_ == max(objectives)
        assert [start.merit for start in starts] == objectives
    first = make(variant, n_init=1, choice=choice, learn=None, init="random").fit(counts)
    assert first.objective_ == objectives[0]


def test_more_starts_never_give_a_smaller_bound():
    counts = make_partitioned(40, 60, 10, 3, discriminative_length=15, background_length=15, random_state=3).counts
    bounds = [make("dmafp", n_init=n, choice="bound", init="random").fit(counts).objective_ for n in (1, 2, 4, 6)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


@pytest.mark.parametrize("choice", ["expected", "bound"])
@both_gibbs
def test_the_start_of_the_largest_mean_log_joint_is_kept(variant, choice, monkeypatch):
    counts, _ = three_topics()
    starts = spy_on_starts(monkeypatch, "fit_blocked_gibbs")
    model = make(variant, n_init=4, choice=choice).fit(counts)
    objectives = [start.objective for start in starts]
    assert len(set(objectives)) == 4
    assert model.objective_ == max(objectives)
    assert model.objective_ == pytest.approx(model.trace_["log_joint"][-10:].mean())
    assert make(variant, n_init=1).fit(counts).objective_ == objectives[0]


def test_the_number_of_starts_by_default(monkeypatch):
    counts, _ = three_topics(12)
    for settings, name, expected in [
        ({"max_iter": 2}, "fit_variational", 10),
        ({"inference": "gibbs", "n_sweeps": 2}, "fit_blocked_gibbs", 1),
        ({"inference": "gibbs", "n_sweeps": 2, "likelihood": "normalised"}, "fit_blocked_gibbs", 5),
    ]:
        starts = spy_on_starts(monkeypatch, name)
        FeaturePartitionMixture(3, **settings).fit(counts)
        assert len(starts) == expected
        monkeypatch.undo()


@every_variant
def test_later_starts_leave_the_best_one_as_it_was(variant):
    counts, _ = three_topics(30)
    for seed in range(4):
        model = make(variant, 3, n_init=4, random_state=seed).fit(counts)
        np.testing.assert_array_equal(model.predict(counts), model.labels_)


@every_variant
def test_labels_to_start_from(variant):
    counts, topics = three_topics()
    model = make(variant, 3, init=topics).fit(counts)
    assert adjusted_rand_score(topics, model.labels_) > 0.9
    assert_same_fit(make(variant, 3, init=topics.tolist()).fit(counts), model)
    for wrong in (topics[:-1], topics + 1, topics - 1, topics * 0.5):
        with pytest.raises(ValueError, match="init"):
            make(variant, 3, init=wrong).fit(counts)


@every_variant
def test_labels_of_an_earlier_fit_can_start_another(variant):
    counts, _ = three_topics()
    counts[4] = 0
    earlier = make(variant).fit(counts)
    assert earlier.labels_[4] == -1
    again = make(variant, init=earlier.labels_).fit(counts)
    assert adjusted_rand_score(earlier.labels_, again.labels_) > 0.9


def test_one_iteration_from_labels_keeps_clear_ones():
    counts, topics = three_topics()
    model = make("dmafp", 3, init=topics, max_iter=1).fit(counts)
    assert adjusted_rand_score(topics, model.labels_) == 1.0
    assert model.n_iter_ == 1


@both_gibbs
def test_a_start_with_one_word(variant):
    counts, _ = three_topics()
    settings = {"init_words": "one", "n_flips": 1, "n_sweeps": 20, "n_kept": 2}
    n_settling = 5 if variant == "normalised" else 0  # sweeps that flip no word
    model = make(variant, **settings).fit(counts)
    assert model.trace_["n_discriminative"][:n_settling].tolist() == [1] * n_settling
    assert model.trace_["n_flipped"][:n_settling].tolist() == [0] * n_settling
    assert abs(model.trace_["n_discriminative"][n_settling] - 1) <= 1
    assert model.trace_["n_discriminative"][-1] > 1
    all_words = make(variant, **{**settings, "init_words": "all"}).fit(counts)
    assert all_words.trace_["n_discriminative"][:n_settling].tolist() == [40] * n_settling
    assert all_words.trace_["n_discriminative"][n_settling] >= 39
    dma = make(variant, partition=False, **settings).fit(counts)
    assert (dma.trace_["n_discriminative"] == 40).all()


@both_gibbs
def test_few_flips_change_few_words(variant):
    counts, _ = three_topics()
    model = make(variant, n_flips=1, n_sweeps=10, n_kept=10).fit(counts)
    assert (np.abs(np.diff(model.trace_["n_discriminative"])) <= 1).all()
    assert model.trace_["n_flipped"].max() <= 1


# Input at the edges


@every_variant
def test_documents_without_words_belong_nowhere(variant):
    counts, _ = three_topics()
    with_empty = np.vstack([np.zeros((1, 40), int), counts[:25], np.zeros((2, 40), int), counts[25:]])
    used = with_empty.any(axis=1)
    model, without = make(variant).fit(with_empty), make(variant).fit(counts)
    assert (model.labels_[~used] == -1).all()
    np.testing.assert_array_equal(model.labels_[used], without.labels_)
    assert model.objective_ == without.objective_
    np.testing.assert_array_equal(model.probabilities_[used], without.probabilities_)
    np.testing.assert_allclose(model.outlier_scores_[used], without.outlier_scores_, atol=1e-9)
    assert (model.predict(with_empty)[~used] == -1).all()
    assert np.isnan(model.predict_proba(with_empty)[~used]).all()
    assert np.isnan(model.probabilities_[~used]).all()
    assert np.isnan(model.outlier_scores_[~used]).all()
    assert not model.outliers_[~used].any()
    assert model.cluster_sizes_.sum() == 60


@every_variant
def test_documents_without_words_have_no_probabilities_where_no_cluster_is_empty(variant):
    model = make(variant, 1).fit(np.array([[1, 2, 0], [0, 0, 0], [2, 1, 1]]))
    assert np.isnan(model.probabilities_[1]).all()
    np.testing.assert_allclose(model.probabilities_[[0, 2]], [[1.0, 0.0]] * 2)


@every_variant
def test_a_document_without_words_scores_zero(variant):
    counts, _ = three_topics()
    model = make(variant).fit(counts)
    assert model.score_samples(np.zeros((2, 40))).tolist() == [0.0, 0.0]
    assert model.score(np.zeros((2, 40))) == 0.0
    assert (model.score_samples(counts) < 0.0).all()


@every_variant
def test_no_document_with_words_is_an_error(variant):
    with pytest.raises(ValueError, match="no document of X has a word"):
        make(variant).fit(np.zeros((3, 2), int))


@every_variant
@pytest.mark.parametrize("X", [[[1]], [[3, 0, 1]], [[5], [1], [2]], [[0, 0], [2, 1]], [[1, 0], [0, 1]], [[0, 1]] * 3])
def test_the_smallest_collections_work(variant, X):
    has_words = np.sum(X, axis=1) > 0
    for max_clusters in (1, 2, 30):
        model = make(variant, max_clusters).fit(X)
        np.testing.assert_array_equal(model.labels_ >= 0, has_words)
        np.testing.assert_array_equal(model.predict(X) >= 0, has_words)
        assert model.probabilities_.shape == (len(X), model.n_clusters_ + 1)
        np.testing.assert_allclose(model.probabilities_[has_words].sum(axis=1), 1.0)
        assert np.isfinite(model.outlier_scores_[has_words]).all()
        assert np.isfinite(model.score_samples(X)).all()
        assert np.isfinite(model.objective_)
        assert len(model.top_words()) == model.n_clusters_
        for values in model.trace_.values():
            assert np.isfinite(values).all()


@both_variational
def test_equal_documents_are_one_cluster(variant):
    counts = np.tile([3, 1, 0, 2], (10, 1))
    model = make(variant, 5).fit(counts)
    assert model.labels_.tolist() == [0] * 10
    assert model.cluster_sizes_.tolist() == [10]
    np.testing.assert_allclose(model.predict_proba(counts).sum(axis=1), 1.0)


@both_gibbs
def test_equal_documents_get_numbers_from_sampling(variant):
    counts = np.tile([3, 1, 0, 2], (10, 1))
    model = make(variant, 5).fit(counts)
    assert model.cluster_sizes_.sum() == 10
    assert np.unique(model.predict(counts)).size == 1
    np.testing.assert_allclose(model.predict_proba(counts).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_proba(counts), np.tile(model.predict_proba(counts[:1]), (10, 1)))


@every_variant
def test_one_cluster(variant):
    counts, _ = three_topics()
    model = make(variant, 1, tol=1e-12, max_iter=500, learn=None).fit(counts)
    assert model.labels_.tolist() == [0] * 60
    assert model.probabilities_[:, 0].tolist() == [1.0] * 60
    assert (model.probabilities_[:, 1] == 0.0).all()
    np.testing.assert_allclose(model.outlier_scores_, 0.0, atol=1e-6)


@every_variant
def test_more_clusters_than_documents(variant):
    counts, _ = three_topics(9)
    model = make(variant, 40, lam=0.1, learn=None).fit(counts)
    assert model.n_clusters_ <= 9
    assert np.isfinite(model.probabilities_).all()
    assert np.isfinite(model.score_samples(counts)).all()


@every_variant
def test_huge_counts_and_short_documents_give_numbers(variant):
    counts, _ = three_topics()
    counts[0] *= 10**6
    counts[1] = 0
    counts[1, 3] = 1
    counts[2, 5] = 10**12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for learn in (None, "auto"):
            model = make(variant, learn=learn).fit(counts)
            np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
            assert np.isfinite(model.score_samples(counts)).all()
            assert np.isfinite(model.outlier_scores_).all()
            assert np.isfinite(model.objective_)
            assert np.isfinite(model.components_).all()


@every_variant
def test_counts_beyond_reason_are_refused(variant):
    with pytest.raises(ValueError, match="add up to"):
        make(variant).fit([[5e18, 1], [1, 0]])


@every_variant
def test_fractional_counts_agree_with_whole_ones(variant):
    counts, topics = three_topics()
    nearly = counts.astype(float)
    nearly[tuple(np.argwhere(nearly > 0)[0])] += 1e-13
    whole, fractional = make(variant).fit(counts), make(variant).fit(nearly)
    np.testing.assert_array_equal(whole.labels_, fractional.labels_)
    assert whole.objective_ == pytest.approx(fractional.objective_, rel=1e-6)
    half = make(variant).fit(counts * 0.5)
    assert adjusted_rand_score(topics, half.labels_) > 0.9
    assert half.cluster_word_counts_.sum() == counts.sum() * 0.5
    tiny = make(variant).fit([[1e-20, 0.0], [1.0, 1.0], [0.5, 1.0]])
    assert (tiny.labels_ >= 0).all()
    np.testing.assert_allclose(tiny.probabilities_.sum(axis=1), 1.0)


@every_variant
@pytest.mark.parametrize("learn", [None, "auto"])
def test_unknown_words_in_new_documents(variant, learn):
    counts, _ = three_topics()
    counts = np.hstack([counts, np.zeros((60, 2), int)])
    model = make(variant, learn=learn).fit(counts)
    unseen = np.zeros((2, 42), int)
    unseen[0, 40] = 5
    unseen[1, [3, 41]] = [4, 1]
    assert np.isfinite(model.score_samples(unseen)).all()
    np.testing.assert_allclose(model.predict_proba(unseen).sum(axis=1), 1.0)
    assert (model.predict(unseen) >= 0).all()
    with pytest.raises(ValueError, match="features"):
        model.predict(np.ones((1, 43)))


@every_variant
def test_faulty_counts_are_refused(variant):
    model = make(variant).fit(np.ones((3, 4)))
    for value, message in [(-1.0, "Negative"), (np.nan, "NaN"), (np.inf, "infinity")]:
        counts = np.ones((3, 4))
        counts[1, 2] = value
        for given in (counts, scipy.sparse.csr_array(counts)):
            with pytest.raises(ValueError, match=message):
                make(variant).fit(given)
            with pytest.raises(ValueError, match=message):
                model.predict(given)


# Settings


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("max_clusters", [0, -1, 2.5, "many"]),
        ("inference", ["em", None]),
        ("partition", ["yes", 2]),
        ("likelihood", ["unnormalised"]),
        ("alpha", [0, -1.0, np.nan, np.inf, "n", [1.0]]),
        ("omega", [0.0, 1.0, -0.1, np.nan, "half"]),
        ("lam", [0, -1.0, np.nan, np.inf, 1e-9, 1e9, "x", [1.0], np.ones(5), np.zeros(4), np.ones((1, 4))]),
        ("beta", [0, -1.0, np.nan, np.inf, 1e-9, 1e9, "x", [1.0], np.ones(5), np.full(4, np.nan), np.ones((2, 2))]),
        ("learn", ["nonsense", ["nonsense"], ["alpha", "gamma"], {"eta"}, ["auto"], 3, [1]]),
        ("threshold", [-0.1, 1.0, np.nan]),
        ("init", ["k-means", None, [0], [0.0, 1.0, 0.0], [0, 1, 30], [0, -1, 0], [[0], [1], [0]]]),
        ("init_words", ["two", 1]),
        ("n_init", [0, -1, 1.5, "many"]),
        ("choice", ["best", None]),
        ("max_iter", [0, 1.5]),
        ("tol", [-1e-3, np.nan, "auto"]),
        ("n_sweeps", [0, 2.5]),
        ("n_kept", [0, None]),
        ("n_flips", [0, "all"]),
        ("outlier_size", [-1, 0.5]),
        ("random_state", ["x", -1]),
        ("n_jobs", [0, 1.5]),
        ("progress", ["yes"]),
    ],
)
@pytest.mark.parametrize("inference", ["variational", "gibbs"])
def test_faulty_settings_are_named(inference, name, values):
    for value in values:
        with pytest.raises(ValueError, match="does not learn|'learn'" if name == "learn" else name):
            FeaturePartitionMixture(**{"inference": inference, "n_init": 1, name: value}).fit(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("lam", ["a"] * 4), ("beta", ["a"] * 4)],
)
def test_words_where_numbers_belong_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        FeaturePartitionMixture(n_init=1, **{name: value}).fit(np.ones((3, 4)))


@pytest.mark.parametrize("name", ["lambda_vector", "beta_vector"])
def test_vectors_are_not_drawn(name):
    with pytest.raises(ValueError, match=f"inference=\"gibbs\" does not learn '{name}'; it learns alpha, omega"):
        make("gibbs", learn=[name]).fit(np.ones((3, 4)))


def test_the_normalised_form_is_sampled_only():
    with pytest.raises(ValueError, match=r'likelihood="normalised" is for inference="gibbs" alone'):
        FeaturePartitionMixture(likelihood="normalised").fit(np.ones((3, 4)))


@pytest.mark.parametrize("alpha", [5e-324, 1e-200, 1e200, 1e307])
@every_variant
def test_an_alpha_beyond_reason_is_refused_or_gives_numbers(variant, alpha):
    counts, _ = three_topics(12)
    try:
        model = make(variant, 3, alpha=alpha, learn=None).fit(counts)
    except ValueError as error:
        assert "alpha" in str(error)  # noqa: PT017
        return
    assert np.isfinite(model.objective_)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)


@every_variant
def test_extreme_priors_of_words_give_numbers(variant):
    counts, _ = three_topics()
    for lam in (1e-8, 1e8):
        for omega in (1e-12, 1 - 1e-12):
            model = make(variant, lam=lam, beta=lam, omega=omega).fit(counts)
            assert np.isfinite(model.objective_)
            np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
            assert np.isfinite(model.score_samples(counts)).all()


@every_variant
def test_a_number_for_each_word_is_the_same_as_one_for_all(variant):
    counts, _ = three_topics()
    one = make(variant, lam=0.3, beta=2.0).fit(counts)
    assert_same_fit(make(variant, lam=np.full(40, 0.3), beta=[2.0] * 40).fit(counts), one)
    assert_same_fit(make(variant, lam=np.full(40, 0.3), beta=np.array(2.0)[()]).fit(counts), one)


def test_learn_takes_any_collection_of_names():
    counts, _ = three_topics(30)
    for inference in ("dmafp", "gibbs"):
        expected = make(inference, learn=["alpha", "omega"]).fit(counts)
        for learn in (
            ("omega", "alpha"),
            {"alpha", "omega"},
            frozenset(["alpha", "omega"]),
            np.array(["alpha", "omega"]),
        ):
            assert_same_fit(make(inference, learn=learn).fit(counts), expected)
        assert_same_fit(make(inference, learn="alpha").fit(counts), make(inference, learn=["alpha"]).fit(counts))
        assert_same_fit(make(inference, learn=[]).fit(counts), make(inference, learn=None).fit(counts))
    by_default = make("dmafp", learn=["alpha", "omega", "lambda_vector"]).fit(counts)
    assert_same_fit(make("dmafp").fit(counts), by_default)
    assert_same_fit(make("gibbs").fit(counts), make("gibbs", learn=GIBBS).fit(counts))


@pytest.mark.parametrize(
    ("variant", "alpha", "omega", "lam", "beta"),
    [
        ("dmafp", 5.0, 0.01, 3.0, 0.5),
        ("dma", 5.0, 0.01, 3.0, 0.5),
        ("gibbs", 1.0, 0.01, 0.02, 4.0),
        ("normalised", 1.0, 0.1, 1.0, 1.0),
    ],
)
def test_defaults_are_the_documented_ones(variant, alpha, omega, lam, beta):
    model = make(variant, learn=None).fit(three_topics(12)[0])
    assert (model.alpha_, model.omega_) == (alpha, omega)
    assert model.lambda_.tolist() == [lam] * 40
    assert model.beta_.tolist() == [beta] * 40


@every_variant
def test_an_unfitted_model_says_so(variant):
    for use in (
        lambda model: model.predict([[1, 2]]),
        lambda model: model.predict_proba([[1, 2]]),
        lambda model: model.score([[1, 2]]),
        lambda model: model.score_samples([[1, 2]]),
        lambda model: model.probabilities_,
        lambda model: model.components_,
        lambda model: model.cluster_word_counts_,
        lambda model: model.outliers_,
        lambda model: model.outlier_scores_,
        lambda model: model.top_words(),
    ):
        with pytest.raises(NotFittedError):
            use(make(variant))


@every_variant
def test_settings_changed_after_a_fit_change_nothing_before_the_next(variant):
    counts, _ = three_topics()
    other = np.roll(counts, 1, axis=0)

    def results(model):
        return (
            model.predict_proba(other),
            model.score_samples(other),
            model.probabilities_,
            model.outlier_scores_,
            model.discriminative_words_,
            model.components_,
            model.top_words(3),
        )

    model, untouched = make(variant).fit(counts), make(variant).fit(counts)
    model.set_params(max_clusters=2, partition=variant == "dma", alpha=9.0, omega=0.9, lam=7.0, beta=7.0, learn=None)
    model.set_params(threshold=0.0, inference="gibbs", likelihood="normalised", n_sweeps=3, init=[0])
    for one, expected in zip(results(model), results(untouched), strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("name", ["dmafp", "DMAFP", "dma"])
def test_algorithms_by_their_names(name):
    counts, topics = three_topics()
    model = textmix.algorithm(name, max_clusters=6, n_init=2)
    assert isinstance(model, FeaturePartitionMixture)
    assert model.partition is (name != "dma")
    assert adjusted_rand_score(topics, model.fit_predict(counts)) > 0.9
    gibbs = textmix.algorithm(name, inference="gibbs", n_sweeps=5, n_kept=2)
    assert gibbs.fit(counts).n_iter_ == 5
    with pytest.raises(ValueError, match="finds the number of clusters itself"):
        textmix.algorithm(name, 20)


# The trace and what is learned


@both_variational
def test_the_trace_has_one_entry_an_iteration(variant):
    counts, _ = three_topics()
    model = make(variant, n_init=3).fit(counts)
    assert set(model.trace_) == COLUMNS | {"bound"}
    assert all(len(values) == model.n_iter_ for values in model.trace_.values())
    assert model.objective_ == model.trace_["bound"][-1]
    assert model.trace_["n_clusters"][-1] == model.n_clusters_
    assert model.trace_["n_discriminative"][-1] == np.count_nonzero(model.word_relevance_ > 0.5)
    assert model.trace_["alpha"][-1] == model.alpha_
    assert model.trace_["omega"][-1] == model.omega_
    assert model.trace_["lambda"][-1] == pytest.approx(model.lambda_.mean())
    assert model.trace_["beta"][-1] == pytest.approx(model.beta_.mean())
    assert (model.trace_["seconds"] >= 0).all()
    for name in ("n_clusters", "n_discriminative", "n_moved"):
        assert model.trace_[name].dtype.kind == "i"


@both_gibbs
def test_the_trace_has_one_entry_a_sweep(variant):
    counts, _ = three_topics()
    model = make(variant).fit(counts)
    assert set(model.trace_) == COLUMNS | {"log_joint", "n_flipped"}
    assert all(len(values) == 40 for values in model.trace_.values())
    assert model.n_iter_ == 40
    assert model.converged_
    assert model.objective_ == pytest.approx(model.trace_["log_joint"][-10:].mean())
    assert model.trace_["alpha"][-1] == model.alpha_
    assert model.trace_["omega"][-1] == model.omega_
    assert model.trace_["lambda"][-1] == pytest.approx(model.lambda_.mean())
    assert model.trace_["beta"][-1] == pytest.approx(model.beta_.mean())
    all_kept = make(variant, n_sweeps=6, n_kept=100).fit(counts)
    assert all_kept.objective_ == pytest.approx(all_kept.trace_["log_joint"].mean())


def test_converged_means_that_the_bound_has_settled():
    counts, _ = three_topics()
    settled = make("dmafp", learn=None, max_iter=500).fit(counts)
    assert settled.converged_
    assert settled.n_iter_ < 500
    last, bound = settled.trace_["bound"][-2:]
    assert abs(bound - last) < 1e-7 * abs(bound)
    never = make("dmafp", learn=None, max_iter=50, tol=0).fit(counts)
    assert not never.converged_
    assert never.n_iter_ == 50
    assert not make("dmafp", max_iter=3).fit(counts).converged_


def assert_never_falls(bounds):
    assert np.isfinite(bounds).all()
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()


@both_variational
@pytest.mark.parametrize("learn", [None, *([name] for name in VARIATIONAL), GIBBS, VECTORS, "auto"], ids=str)
@pytest.mark.parametrize("init", ["nearly_uniform", "random"])
def test_the_bound_never_falls(variant, learn, init, monkeypatch):
    monkeypatch.setattr(module, "LEARN_AFTER", 2)
    for counts in (three_topics()[0], partitioned().counts, np.random.default_rng(0).poisson(0.3, (30, 20))):
        model = make(variant, n_init=1, init=init, learn=learn, tol=0, max_iter=40).fit(counts)
        assert model.n_iter_ == 40
        assert_never_falls(model.trace_["bound"])


@pytest.mark.parametrize(("name", "parameter"), [("lambda", "lam"), ("beta", "beta")])
def test_one_number_for_all_words_and_one_for_each_are_not_learned_together(name, parameter):
    with pytest.raises(ValueError, match=f'learn has both "{name}" and "{name}_vector"; choose one'):
        make("dmafp", learn=[name, f"{name}_vector"]).fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match=f'to learn "{name}", the same for all words, {parameter} must be one number'):
        make("dmafp", learn=[name], **{parameter: [1.0, 2.0, 1.0, 1.0]}).fit(np.ones((3, 4)))


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_never_falls_on_random_counts(seed, monkeypatch):
    monkeypatch.setattr(module, "LEARN_AFTER", 1)
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 2.0, 12), (15, 12))
    counts[0, 0] += 1
    hyperparameters = {
        "alpha": rng.gamma(1.0),
        "omega": rng.uniform(0.01, 0.99),
        "lam": rng.gamma(1.0, size=12) + 0.01,
        "beta": rng.gamma(1.0, size=12) + 0.01,
    }
    for learn in (None, "auto", ["lambda_vector", "beta_vector"]):
        model = make("dmafp", 5, n_init=1, learn=learn, tol=0, random_state=seed, **hyperparameters)
        assert_never_falls(model.fit(counts).trace_["bound"])


ATTRIBUTES = {
    "alpha": "alpha_",
    "omega": "omega_",
    "lambda": "lambda_",
    "lambda_vector": "lambda_",
    "beta": "beta_",
    "beta_vector": "beta_",
}


@pytest.mark.parametrize(
    ("variant", "learned"),
    [("dmafp", name) for name in VARIATIONAL]
    + [(variant, name) for variant in ("gibbs", "normalised") for name in GIBBS],
)
def test_what_is_learned_changes_and_what_is_held_stays(variant, learned):
    counts = partitioned().counts
    held = make(variant, learn=None).fit(counts)
    for name, attribute in ATTRIBUTES.items():
        if not name.endswith("_vector"):
            assert np.unique(held.trace_[name]).size == 1
            assert np.mean(getattr(held, attribute)) == pytest.approx(held.trace_[name][0])
    model = make(variant, learn=[learned]).fit(counts)
    for attribute in ("alpha_", "omega_", "lambda_", "beta_"):
        same = np.array_equal(getattr(model, attribute), getattr(held, attribute))
        assert same is (attribute != ATTRIBUTES[learned])
    if learned in ("lambda", "beta"):
        assert np.unique(getattr(model, ATTRIBUTES[learned])).size == 1
    if learned.endswith("_vector"):
        assert np.unique(getattr(model, ATTRIBUTES[learned])).size > 1
    assert model.lambda_.shape == model.beta_.shape == (300,)


@pytest.mark.parametrize("inference", ["variational", "gibbs"])
def test_without_a_background_its_parameters_stay(inference):
    """DMA has neither ω nor β."""
    counts, _ = three_topics()
    variant = "dma" if inference == "variational" else "gibbs"
    model = make(variant, partition=False, learn=GIBBS, omega=0.2, beta=3.0).fit(counts)
    assert model.omega_ == 0.2
    assert model.beta_.tolist() == [3.0] * 40
    assert model.alpha_ != make(variant, partition=False, learn=None).fit(counts).alpha_


@pytest.mark.parametrize("variant", ["dmafp", "gibbs", "normalised"])
def test_learning_begins_after_five_iterations_or_a_quarter_of_all_sweeps(variant):
    counts, _ = three_topics()
    length = {"max_iter": 30, "tol": 0} if variant == "dmafp" else {"n_sweeps": 20}
    alphas = make(variant, n_init=1, learn=["alpha"], **length).fit(counts).trace_["alpha"]
    assert np.unique(alphas[:5]).size == 1
    assert alphas[5] != alphas[4]


def test_learned_beta_vector_grows_at_every_step():
    counts = partitioned().counts
    model = make("dmafp", learn=["beta_vector"], max_iter=30, tol=0).fit(counts)
    assert (np.diff(model.trace_["beta"][5:]) > 0).all()


@pytest.mark.parametrize("variant", ["dmafp", "gibbs"])
def test_a_strong_prior_pulls_what_it_is_the_prior_of(variant, monkeypatch):
    counts, _ = three_topics()
    for name, prior in (("word", "lambda"), ("background", "beta"), ("alpha", "alpha")):
        if variant == "dmafp" and prior != "beta":
            continue
        priors = HyperparameterPriors(**{name: GammaPrior(1e6, 2e5)})
        monkeypatch.setattr("textmix.estimators.feature_partition_mixture.HyperparameterPriors", lambda own=priors: own)
        strong = make(variant, learn=[prior]).fit(counts)
        assert strong.trace_[prior][-1] == pytest.approx(5.0, rel=0.05)


# What is fitted


@every_variant
def test_relevance_words_and_distributions(variant):
    counts = partitioned().counts
    for threshold in (0.0, 0.5, 0.7):
        model = make(variant, threshold=threshold).fit(counts)
        assert model.word_relevance_.shape == model.background_distribution_.shape == (300,)
        assert ((model.word_relevance_ >= 0) & (model.word_relevance_ <= 1)).all()
        assert model.discriminative_words_.dtype == bool
        np.testing.assert_array_equal(model.discriminative_words_, model.word_relevance_ > threshold)
    assert model.components_.shape == (model.n_clusters_, 300)
    assert (model.components_ > 0).all()
    assert (model.background_distribution_ > 0).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert model.background_distribution_.sum() == pytest.approx(1.0)


@both_gibbs
def test_relevance_is_a_share_of_the_samples_kept(variant):
    model = make(variant).fit(partitioned().counts)
    np.testing.assert_allclose(model.word_relevance_ * 10, np.round(model.word_relevance_ * 10), atol=1e-9)


@pytest.mark.parametrize("variant", ["dmafp", "gibbs", "normalised"])
@pytest.mark.parametrize("order", ["probable", "telling"])
def test_top_words_are_never_of_the_background(variant, order):
    counts, labels, _ = partitioned()
    names = np.array([f"w{i}" for i in range(300)])
    settings = {"init": labels, "n_init": 1, **HELD}
    model = make(variant, 3, **settings).fit(counts)
    assert model.n_clusters_ == 3
    by_number = model.top_words(300, order=order)
    allowed = set(np.flatnonzero(model.discriminative_words_))
    assert 0 < len(allowed) < 300
    assert len(by_number) == 3
    for cluster in by_number:
        assert cluster
        assert {word.word for word in cluster} <= allowed
        scores = [word.score for word in cluster]
        assert scores == sorted(scores, reverse=True)
        assert np.isfinite(scores).all()
    assert model.top_words(4, order=order) == [cluster[:4] for cluster in by_number]
    by_name = [[(names[word.word], word.score) for word in cluster] for cluster in by_number]
    assert model.top_words(300, order=order, vocabulary=names) == by_name
    corpus = Corpus.from_counts(counts, vocabulary=names.tolist())
    assert make(variant, 3, **settings).fit(corpus).top_words(300, order=order) == by_name
    assert model.top_words(0, order=order) == [[]] * 3


@every_variant
def test_telling_words_are_those_of_the_topic(variant):
    counts, topics = three_topics()
    model = make(variant, 3, init=topics, **HELD).fit(counts)
    found = [{word.word // 10 for word in cluster} for cluster in model.top_words(5, order="telling")]
    assert sorted(found, key=min) == [{0}, {1}, {2}]


@every_variant
def test_top_words_say_what_is_wrong(variant):
    model = make(variant).fit(three_topics()[0])
    with pytest.raises(ValueError, match="order must be one of"):
        model.top_words(3, order="best")
    with pytest.raises(ValueError, match="vocabulary has 2 words"):
        model.top_words(3, vocabulary=["a", "b"])


def test_probable_words_have_the_scores_of_components():
    counts, _ = three_topics()
    model = make("dmafp", **HELD).fit(counts)
    for cluster, words in enumerate(model.top_words(5)):
        for word, score in words:
            assert score == model.components_[cluster, word]


def test_top_words_of_a_collection_without_discriminative_words():
    counts = np.tile([3, 1, 2], (10, 1))
    model = make("normalised", 2, omega=1e-9, learn=None).fit(counts)
    assert not model.discriminative_words_.any()
    assert model.top_words() == [[]] * model.n_clusters_
    assert np.isfinite(model.score_samples(counts)).all()


@every_variant
def test_outliers(variant):
    counts, topics = three_topics()
    odd = np.zeros((62, 60), int)
    odd[:60, :40] = counts
    odd[60, 40:50] = 8
    odd[61, 50:60] = 8
    model = make(variant, 5, init=np.r_[topics, 3, 4], **HELD).fit(odd)
    assert model.outliers_.dtype == bool
    np.testing.assert_array_equal(model.outliers_, np.bincount(model.labels_)[model.labels_] == 1)
    assert model.outliers_[[60, 61]].all()
    assert not model.outliers_[:60].any()
    assert clone(model).set_params(outlier_size=62).fit(odd).outliers_.all()
    assert not clone(model).set_params(outlier_size=0).fit(odd).outliers_.any()


@every_variant
def test_documents_of_all_topics_at_once_score_as_outliers(variant):
    counts, topics = three_topics()
    between = (counts[:30:3] + counts[1:31:3] + counts[2:32:3]) // 3
    model = make(variant, 3, init=np.r_[topics, np.arange(10) % 3], **HELD).fit(np.vstack([counts, between]))
    scores = model.outlier_scores_
    assert scores.shape == (70,)
    assert np.isfinite(scores).all()
    assert np.median(scores[60:]) > np.median(scores[:60])
    assert (scores[:60] < 0).mean() > 0.9


def expected_logs(parameters):
    return digamma(parameters) - digamma(parameters.sum(axis=-1, keepdims=True))


def test_new_documents_are_assigned_by_the_equations_of_the_paper():
    """Eq. 24 with the distributions of eq. 19 to 21, at the fixed point."""
    counts, topics = three_topics()
    model = make("dmafp", 3, n_init=1, init=topics, learn=None, max_iter=500, tol=0, omega=0.3, lam=0.5).fit(counts)
    posteriors, relevance = model.probabilities_[:, :3], model.word_relevance_
    word_parameters = 0.5 + relevance * (posteriors.T @ counts)
    background_parameters = 0.5 + (1 - relevance) * counts.sum(axis=0)
    weight_parameters = 5.0 / 3 + posteriors.sum(axis=0)
    np.testing.assert_allclose(model.components_, word_parameters / word_parameters.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.background_distribution_, background_parameters / background_parameters.sum())
    np.testing.assert_allclose(model.cluster_weights_, weight_parameters / weight_parameters.sum())
    fresh = three_topics(30, seed=5)[0]
    logs = expected_logs(weight_parameters) + fresh @ (relevance * expected_logs(word_parameters)).T
    np.testing.assert_allclose(model.predict_proba(fresh)[:, :3], np.exp(logs - logsumexp(logs, axis=1)[:, None]))
    shared = fresh @ ((1 - relevance) * expected_logs(background_parameters))
    np.testing.assert_allclose(model.score_samples(fresh), logsumexp(logs, axis=1) + shared)


@pytest.mark.parametrize("learn", [None, "auto"])
def test_new_documents_are_assigned_by_labels_and_relevance_of_the_samples(learn):
    """As in eq. 24, with labels for φ; N clusters, those without documents included."""
    counts, _ = three_topics()
    model = make("gibbs", learn=learn).fit(counts)
    members = np.eye(6)[model.labels_]
    word_parameters = model.lambda_ + model.word_relevance_ * (members.T @ counts)
    background_parameters = model.beta_ + (1 - model.word_relevance_) * counts.sum(axis=0)
    weight_parameters = model.alpha_ / 6 + members.sum(axis=0)
    fresh = three_topics(30, seed=5)[0]
    logs = expected_logs(weight_parameters) + fresh @ (model.word_relevance_ * expected_logs(word_parameters)).T
    expected = np.exp(logs - logsumexp(logs, axis=1)[:, None])
    k = model.n_clusters_
    np.testing.assert_allclose(model.predict_proba(fresh)[:, :k], expected[:, :k], atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(fresh)[:, k], expected[:, k:].sum(axis=1), atol=1e-12)
    shared = fresh @ ((1 - model.word_relevance_) * expected_logs(background_parameters))
    np.testing.assert_allclose(model.score_samples(fresh), logsumexp(logs, axis=1) + shared)
    means = word_parameters[:k] / word_parameters[:k].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, means)


@pytest.mark.parametrize("variant", ["dma", "normalised"])
def test_probabilities_of_all_documents_of_one_word_add_up_to_at_most_one(variant):
    """These two forms are probability distributions; eq. 10 is not."""
    model = make(variant).fit(partitioned().counts)
    assert np.exp(model.score_samples(np.eye(300))).sum() <= 1.0 + 1e-9


# Ctrl-C


def interrupt_at(monkeypatch, kind, name, call):
    original, calls = getattr(kind, name), []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(kind, name, interrupted)


@both_variational
@pytest.mark.parametrize("name", ["update_documents", "update_clusters"])
@pytest.mark.parametrize("sweep", [1, 3, 9])
def test_ctrl_c_returns_what_there_is(variant, name, sweep, monkeypatch):
    counts, _ = three_topics()
    whole = make(variant, n_init=5, tol=0).fit(counts)
    interrupt_at(monkeypatch, VariationalState, name, sweep)
    with pytest.warns(UserWarning, match=rf"start 1 of 5 interrupted in sweep {sweep} of 60"):
        model = make(variant, n_init=5, tol=0).fit(counts)
    assert model.n_iter_ == sweep - 1
    assert not model.converged_
    assert (model.labels_ >= 0).all()
    assert all(len(values) == sweep - 1 for values in model.trace_.values())
    assert set(model.trace_) == set(whole.trace_)
    np.testing.assert_array_equal(model.predict(counts), model.labels_)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    if sweep > 1:
        assert model.objective_ >= model.trace_["bound"][-1] - 1e-9 * abs(model.objective_)


@both_gibbs
@pytest.mark.parametrize("sweep", [1, 3, 35])
def test_ctrl_c_returns_what_was_sampled(variant, sweep, monkeypatch):
    counts, _ = three_topics()
    whole = make(variant, n_init=1).fit(counts)
    interrupt_at(monkeypatch, BlockedGibbsState, "draw_labels", sweep)
    with pytest.warns(UserWarning, match=rf"interrupted in sweep {sweep} of 40"):
        model = make(variant, n_init=1).fit(counts)
    assert model.n_iter_ == sweep - 1
    assert not model.converged_
    assert (model.labels_ >= 0).all()
    assert set(model.trace_) == set(whole.trace_)
    for column in COLUMNS - {"seconds"}:
        np.testing.assert_array_equal(model.trace_[column], whole.trace_[column][: sweep - 1])
    assert np.isfinite(model.objective_)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1.0)
    if sweep == 35:  # 30 … 33 were kept
        assert model.objective_ == pytest.approx(whole.trace_["log_joint"][30:34].mean())


def test_ctrl_c_in_a_later_start_keeps_the_better_one(monkeypatch):
    counts, _ = three_topics()
    first = make("gibbs", n_init=1).fit(counts)
    interrupt_at(monkeypatch, BlockedGibbsState, "draw_labels", 42)
    with pytest.warns(UserWarning, match=r"start 2 of 3 interrupted in sweep 2 of 40"):
        model = make("gibbs", n_init=3).fit(counts)
    assert_same_fit(model, first)


def test_ctrl_c_between_labels_and_their_counts_leaves_one_state(monkeypatch):
    counts, _ = three_topics()
    settings = {"learn": None, "n_kept": 1, "n_init": 1}
    expected = make("gibbs", n_sweeps=2, **settings).fit(counts)
    interrupt_at(monkeypatch, BlockedGibbsState, "count", 3)  # once at the start, then once a sweep
    with pytest.warns(UserWarning, match="interrupted in sweep 2"):
        model = make("gibbs", n_sweeps=40, **settings).fit(counts)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.word_relevance_, expected.word_relevance_)
    assert model.objective_ == pytest.approx(expected.objective_)


def test_no_warning_where_nothing_is_wrong():
    counts, _ = three_topics()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for variant in SETTINGS:
            model = make(variant).fit(counts)
            _ = model.probabilities_, model.outlier_scores_, model.top_words(3, order="telling"), model.score(counts)


def test_new_documents_that_fit_no_cluster_get_the_nearest_and_are_called_new():
    # Log scores so far apart that the probabilities of all known clusters are 0.
    counts, _ = three_topics(60)
    model = make("dmafp", 8, learn=None, lam=5.0, beta=1.0).fit(counts)
    near = counts[model.labels_ == model.n_clusters_ - 1].sum(axis=0)
    strange = near * 10 + np.roll(near, 7) * 10_000
    probabilities = model.predict_proba(strange[np.newaxis])[0]
    mixture = model._fitted.mixture
    scores = [float(strange @ mixture.components.weights[:, i] + mixture.log_weights[i]) for i in model._fitted.order]
    assert model.predict(strange[np.newaxis])[0] == np.argmax(scores)
    assert probabilities.sum() == pytest.approx(1.0)


def test_large_counts_are_sampled_without_end():
    counts = partitioned().counts * 10**11
    model = make("gibbs", learn="auto", n_sweeps=12, n_kept=4).fit(counts)
    assert np.isfinite(model.objective_)

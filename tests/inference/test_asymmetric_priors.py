"""A pseudo-count for each cluster, one for each word: estimators; tests/kernels has the samplers."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest

import reference
import textmix
from kernels.ladder import TINY, build_state, enumerated_posterior, labels_in_prior, uneven
from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.kernels.state import Prior
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.priors.finite_dirichlet import finite_dirichlet, of_occupied, with_idle_cluster

INTERPRETED = bool(numba.config.DISABLE_JIT)
N_WORDS = 20
ALPHAS = (0.1, 2.0, 0.3, 0.7, 0.05)
PRIOR = ("finite", 5, ALPHAS)
BETAS = uneven(N_WORDS, 3)


def topics(n_documents: int = 45) -> np.ndarray:
    rng = np.random.default_rng(2)
    words = rng.dirichlet(np.full(N_WORDS, 0.1), 3)
    return np.array([rng.multinomial(1 + d % 12, words[d % 3]) for d in range(n_documents)])


def in_columns(options: dict, labels: np.ndarray, n_clusters: int, known: np.ndarray) -> np.ndarray:
    """Probabilities by label as columns of clusters; those of all other labels together in the last one."""
    row = np.zeros(n_clusters + 1)
    columns = dict(zip(labels[labels >= 0].tolist(), known[labels >= 0].tolist(), strict=True))
    for label, probability in options.items():
        row[columns.get(label, n_clusters)] += probability
    return row


@pytest.fixture(scope="module", params=["gibbs", "metropolis", "parallel"])
def fitted(request) -> DirichletMultinomialMixture:
    model = DirichletMultinomialMixture(5, ALPHAS, BETAS, inference=request.param, n_sweeps=12, n_jobs=1)
    return model.fit(topics())


def test_the_log_joint_is_the_reference_s(fitted):
    labels = labels_in_prior(fitted, PRIOR)
    assert fitted.log_joint_ == pytest.approx(reference.log_joint(topics(), labels, BETAS, PRIOR), rel=1e-9)
    np.testing.assert_array_equal(fitted.alpha_, ALPHAS)
    np.testing.assert_array_equal(fitted.beta_, BETAS)


def test_probabilities_of_new_documents_are_the_reference_s(fitted):
    counts, labels = topics(), labels_in_prior(fitted, PRIOR)
    new = np.vstack([topics(4), np.full((1, N_WORDS), 3), np.eye(N_WORDS, dtype=int)[:2]])
    found = fitted.predict_proba(new)
    densities = fitted.score_samples(new)
    for index, words in enumerate(new):
        extended, everyone = np.vstack([counts, words]), np.append(labels, -1)
        options = reference.conditional(extended, everyone, len(counts), BETAS, PRIOR)
        expected = in_columns(options, labels, fitted.n_clusters_, fitted.labels_)
        np.testing.assert_allclose(found[index], expected, rtol=0, atol=1e-9)
        density = reference.log_density(counts, labels, words, BETAS, PRIOR)
        assert densities[index] == pytest.approx(density, rel=1e-9)
    np.testing.assert_array_equal(fitted.predict(new), found[:, :-1].argmax(axis=1))


def test_probabilities_of_training_documents_are_the_reference_s(fitted):
    counts, labels = topics(), labels_in_prior(fitted, PRIOR)
    for document in range(0, len(counts), 4):
        options = reference.conditional(counts, labels, document, BETAS, PRIOR)
        expected = in_columns(options, labels, fitted.n_clusters_, fitted.labels_)
        if fitted.cluster_sizes_[fitted.labels_[document]] == 1:  # a new cluster means staying
            expected[fitted.labels_[document]] += expected[-1]
            expected[-1] = 0.0
        np.testing.assert_allclose(fitted.probabilities_[document], expected, rtol=0, atol=2e-9)


def test_polishing_ends_where_no_document_would_move():
    model = DirichletMultinomialMixture(5, ALPHAS, BETAS, n_sweeps=12).fit(topics())
    labels = labels_in_prior(model, PRIOR)
    assert model.converged_
    assert reference.polish(topics(), labels, BETAS, PRIOR).tolist() == labels.tolist()


def test_top_words_are_those_of_the_posterior_means(fitted):
    counts = topics()
    for cluster, words in enumerate(fitted.top_words(3)):
        sums = counts[fitted.labels_ == cluster].sum(axis=0)
        means = (sums + BETAS) / (sums.sum() + BETAS.sum())
        for word, score in words:
            assert score == pytest.approx(means[word], rel=1e-12)


# Vectors of equal numbers


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
@pytest.mark.parametrize("estimator", [DirichletMultinomialMixture(8), DirichletProcessMixture(1.0)], ids=["K", "DP"])
def test_equal_betas_are_one_beta(estimator, inference):
    counts = topics()
    settings = {**estimator.get_params(), "inference": inference, "n_sweeps": 15, "n_jobs": 1}
    one = estimator.__class__(**{**settings, "beta": 0.2}).fit(counts)
    many = estimator.__class__(**{**settings, "beta": [0.2] * N_WORDS}).fit(counts)
    np.testing.assert_array_equal(one.labels_, many.labels_)
    assert one.log_joint_ == pytest.approx(many.log_joint_, rel=1e-9)
    np.testing.assert_allclose(one.predict_proba(counts), many.predict_proba(counts), rtol=0, atol=1e-9)
    assert one.perplexity() == pytest.approx(many.perplexity(), rel=1e-9)


def test_equal_alphas_give_the_distribution_of_one_alpha():
    state = build_state(TINY["short"], np.zeros(5, int), ("finite", 3, (0.3, 0.3, 0.3)), "auto", "plain")
    rng, seen, n_draws = np.random.default_rng(3), Counter(), 200 if INTERPRETED else 3000
    assert state.prior.labelled
    for _ in range(n_draws):
        for _ in range(5):
            state.sample(rng, lambda _: None)
        seen[reference.canonical(state.labels)] += 1
    expected = enumerated_posterior("short", ("finite", 3, 0.3))
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


def test_equal_alphas_say_the_same_of_a_partition():
    counts, labels = topics(), np.arange(45) % 3
    settings = {"init": labels, "n_sweeps": 0, "polish": False}
    one = DirichletMultinomialMixture(5, 0.3, BETAS, **settings).fit(counts)
    many = DirichletMultinomialMixture(5, [0.3] * 5, BETAS, **settings).fit(counts)
    np.testing.assert_array_equal(one.labels_, many.labels_)
    assert one.log_joint_ == pytest.approx(many.log_joint_, rel=1e-12)
    np.testing.assert_allclose(one.probabilities_, many.probabilities_, rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(counts), many.predict_proba(counts), rtol=1e-9)
    np.testing.assert_allclose(one.outlier_scores_, many.outlier_scores_, rtol=1e-9, atol=1e-9)
    assert one.perplexity() == pytest.approx(many.perplexity(), rel=1e-12)


# What vectors are for


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
def test_a_cluster_with_a_large_pseudo_count_is_the_large_one(inference):
    alphas = [1e-3, 1e-3, 1e4, 1e-3]
    model = DirichletMultinomialMixture(4, alphas, 5.0, inference=inference, n_jobs=1, random_state=1).fit(topics())
    assert model.mixture_.prior.pseudo_counts[0] == 1e4
    assert model.cluster_sizes_[0] > 40


@pytest.mark.parametrize("estimator", [DirichletMultinomialMixture(10), DirichletProcessMixture(1.0)], ids=["K", "DP"])
@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
def test_word_frequencies_can_be_beta(estimator, inference):
    counts = topics(90)
    frequencies = counts.sum(axis=0) + 1.0
    beta = 2.0 * frequencies / frequencies.sum()
    model = estimator.__class__(**{**estimator.get_params(), "beta": beta, "inference": inference, "n_jobs": 1})
    model.fit(counts)
    assert 3 <= model.n_clusters_ <= 10
    assert len({tuple(model.labels_[d : d + 3]) for d in range(60, 90, 3)}) <= 4  # mostly the three topics


def test_one_cluster_and_one_word_have_vectors_too():
    model = DirichletMultinomialMixture(1, [0.7], [0.3]).fit(np.array([[1], [2], [0]]))
    assert model.labels_.tolist() == [0, 0, -1]
    expected = reference.log_joint(np.array([[1], [2]]), np.array([0, 0]), 0.3, ("finite", 1, 0.7))
    assert model.log_joint_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("inference", ["gibbs", "metropolis", "parallel"])
def test_documents_without_words_are_no_obstacle(inference):
    counts = np.vstack([topics(), np.zeros((2, N_WORDS), int)])
    model = DirichletMultinomialMixture(5, ALPHAS, BETAS, inference=inference, n_jobs=1).fit(counts)
    assert (model.labels_[-2:] == -1).all()
    nothing = DirichletMultinomialMixture(5, ALPHAS, BETAS, inference=inference, n_jobs=1).fit(counts[-2:])
    assert nothing.n_clusters_ == 0
    np.testing.assert_allclose(nothing.predict_proba(counts[:3]), 1.0)


# Learned together with a vector


def test_beta_is_learned_beside_a_vector_of_alphas():
    model = DirichletMultinomialMixture(5, ALPHAS, "learn", n_sweeps=20).fit(topics())
    assert np.unique(model.trace_["beta"]).size > 1
    labels = labels_in_prior(model, PRIOR)
    assert model.log_joint_ == pytest.approx(reference.log_joint(topics(), labels, model.beta_, PRIOR), rel=1e-9)


@pytest.mark.parametrize(
    "model", [DirichletMultinomialMixture(5, "learn", BETAS), DirichletProcessMixture("learn", BETAS)], ids=["K", "DP"]
)
def test_alpha_is_learned_beside_a_vector_of_betas(model):
    model = model.__class__(**model.get_params()).fit(topics())
    assert np.unique(model.trace_["alpha"]).size > 1


# What is refused


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", [0.1] * 4),
        ("alpha", [[0.1] * 5]),
        ("alpha", [0.1, 0.1, 0.0, 0.1, 0.1]),
        ("alpha", [0.1, 0.1, -1.0, 0.1, 0.1]),
        ("alpha", [0.1, 0.1, np.nan, 0.1, 0.1]),
        ("alpha", [0.1, 0.1, np.inf, 0.1, 0.1]),
        ("alpha", [1e200] * 5),
        ("alpha", []),
        ("beta", [0.1] * (N_WORDS - 1)),
        ("beta", np.full((N_WORDS, 1), 0.1)),
        ("beta", [0.0] + [0.1] * (N_WORDS - 1)),
        ("beta", [np.nan] + [0.1] * (N_WORDS - 1)),
        ("beta", [1e200] * N_WORDS),
    ],
    ids=str,
)
def test_faulty_vectors_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        DirichletMultinomialMixture(5, **{name: value}).fit(topics())


def test_a_process_has_one_alpha():
    with pytest.raises(ValueError, match="alpha"):
        DirichletProcessMixture([0.1, 0.2]).fit(topics())


def test_vectors_of_words_are_refused():
    with pytest.raises(ValueError, match="float"):
        DirichletMultinomialMixture(2, ["a", "b"]).fit(topics())


# Saved


@pytest.mark.parametrize("inference", ["gibbs", "parallel"])
def test_a_saved_clustering_says_the_same(tmp_path, inference):
    texts = [" ".join(f"word{w}" for w in np.repeat(np.arange(N_WORDS), row)) for row in topics()]
    n_words = textmix.cluster(texts, n_clusters=2, n_sweeps=1).corpus.counts.shape[1]
    model = DirichletMultinomialMixture(5, ALPHAS, uneven(n_words), inference=inference, n_jobs=1)
    clustering = textmix.cluster(texts, model=model)
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.labels, clustering.labels)
    np.testing.assert_allclose(loaded.probabilities, clustering.probabilities, rtol=1e-12)
    np.testing.assert_allclose(loaded.outlier_scores, clustering.outlier_scores, rtol=1e-12)
    new = ["word1 word2 word3", "word4", "unheard of"]
    for found, expected in zip(loaded.assign(new), clustering.assign(new), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert loaded.estimator.perplexity() == pytest.approx(clustering.estimator.perplexity(), rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [DirichletMultinomialMixture(5, ALPHAS), DirichletProcessMixture(1.5, inference="parallel", n_jobs=1)],
    ids=["clusters differ", "parallel process"],
)
def test_a_loaded_model_has_the_alpha_that_it_had(tmp_path, model):
    clustering = textmix.cluster(["one two", "two three", "four five", "five six"] * 3, model=model)
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run").estimator
    assert np.allclose(loaded.alpha_, clustering.estimator.alpha_)


# The priors themselves


def test_the_mass_is_what_all_clusters_weigh():
    assert finite_dirichlet(4, 0.3).mass == pytest.approx(1.2)
    assert finite_dirichlet(5, np.array(ALPHAS)).mass == pytest.approx(sum(ALPHAS))
    assert dirichlet_process(0.8, 10).mass == 0.8
    labelled = finite_dirichlet(5, np.array(ALPHAS))
    for slots in ([], [3], [4, 0, 2], [0, 1, 2, 3, 4]):
        occupied = of_occupied(labelled, np.array(slots, np.int64))
        assert occupied.mass == pytest.approx(sum(ALPHAS))
        assert occupied.concentration == pytest.approx(sum(np.delete(ALPHAS, slots)))
        assert occupied.pseudo_counts[: len(slots)].tolist() == [ALPHAS[slot] for slot in slots]
    assert with_idle_cluster(labelled).mass == pytest.approx(sum(ALPHAS))
    assert of_occupied(finite_dirichlet(4, 0.3), np.array([1])) == finite_dirichlet(4, 0.3)
    assert not Prior(np.array([0.3]), 0.0, 4, False).labelled

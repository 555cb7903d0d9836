"""Variational inference against its slow twin: special functions, updates, the bound, learned hyperparameters."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, gammaln, polygamma

import reference
from textmix import FeaturePartitionMixture
from textmix.engines.threads import Threads, threads
from textmix.inference.hyperparameters import (
    LARGEST,
    SMALLEST,
    GammaPrior,
    inverse_digamma,
    maximise_dirichlet,
    maximise_symmetric,
    trigamma,
)
from textmix.inference.variational import CountedDocuments, VariationalState
from textmix.kernels import word_split as kernels
from textmix.models.word_split import Hyperparameters

SERIAL = Threads(None)


def random_counts(seed: int, n_documents: int = 7, n_words: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.8, (n_documents, n_words)).astype(float)
    counts[np.arange(n_documents), rng.integers(n_words, size=n_documents)] += 1
    return counts


def random_hyperparameters(seed: int, n_words: int) -> Hyperparameters:
    rng = np.random.default_rng(seed + 1000)
    lam, beta = rng.gamma(2.0, 0.3, n_words) + 0.01, rng.gamma(2.0, 0.5, n_words) + 0.01
    return Hyperparameters(float(rng.gamma(2.0)) + 0.1, float(rng.uniform(0.05, 0.6)), lam, beta)


def random_state(seed: int, partition: bool = True, n_clusters: int = 3, engine: Threads = SERIAL, **shape: int):
    counts = random_counts(seed, **shape)
    rng = np.random.default_rng(seed + 2000)
    posteriors = rng.dirichlet(np.ones(n_clusters), counts.shape[0])
    relevance = rng.random(counts.shape[1]) if partition else np.ones(counts.shape[1])
    theta = random_hyperparameters(seed, counts.shape[1])
    documents = CountedDocuments(scipy.sparse.csr_array(counts))
    return counts, VariationalState(documents, theta, posteriors, relevance, partition, engine)


# Special functions


@settings(max_examples=50)
@given(values=st.lists(st.floats(-30, 15), min_size=1, max_size=20))
def test_digamma_and_log_gamma_are_right_to_the_last_digits(values):
    x = 10.0 ** np.array(values)
    digammas, log_gammas, work = np.empty(x.size), np.zeros(x.size), np.empty(4 * x.size)
    kernels.digammas_and_log_gammas(x, digammas, log_gammas, work, work.view(np.int64))
    for value, ours, ours_too in zip(x, digammas, log_gammas, strict=True):
        assert ours == pytest.approx(float(mpmath.digamma(float(value))), rel=1e-13, abs=1e-14)
        assert ours_too == pytest.approx(float(mpmath.loggamma(float(value))), rel=1e-13, abs=2e-14)


@given(value=st.floats(1e-290, 1e290))
def test_logarithms_are_right_to_the_last_digits(value):
    values, exponents = np.array([value]), np.empty(1)
    kernels.take_logs(values, values.view(np.int64), exponents, exponents.view(np.int64))
    assert values[0] == pytest.approx(float(np.log(value)), rel=1e-15, abs=1e-16)


def test_trigamma_and_the_inverse_of_digamma():
    x = 10.0 ** np.linspace(-8, 8, 200)
    np.testing.assert_allclose(trigamma(x), polygamma(1, x), rtol=1e-13)
    np.testing.assert_allclose(inverse_digamma(digamma(x)), x, rtol=1e-9)


# Updates and the bound


def update_arguments(seed: int):
    """Arguments of update_words: seven clusters, nine words of which the fourth to eighth are updated."""
    rng = np.random.default_rng(seed)
    work = np.empty(42)
    return (
        rng.random((9, 7)),
        np.array([1.0, 1, 1, 4, 1, 1, 2]),
        rng.normal(2, 1, 7),
        rng.random(9) + 0.1,
        rng.normal(0, 2, 9),
        False,
        rng.random(9),
        np.zeros(9),
        np.zeros(7),
        work,
        work.view(np.int64),
        3,
        8,
    )


def test_the_compiled_update_does_what_python_does():
    compiled, interpreted = update_arguments(5), update_arguments(5)
    function = kernels.update_words
    expected = function(*compiled)
    assert expected == pytest.approx(getattr(function, "py_func", function)(*interpreted), rel=1e-13)
    for ours, theirs in zip(compiled[:9], interpreted[:9], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_the_update_of_words_is_equations_21_23_and_25():
    sums, copies, totals_digamma, word_prior, background, _, relevance, *_ = update_arguments(6)
    parameters = word_prior[:, np.newaxis] + relevance[:, np.newaxis] * sums / copies
    logs = digamma(parameters) - totals_digamma
    arguments = update_arguments(6)
    expected = kernels.update_words(*arguments)
    block, rest = slice(3, 8), [0, 1, 2, 8]
    new_relevance = 1.0 / (1.0 + np.exp(-(background + (sums * logs).sum(axis=1))))
    np.testing.assert_allclose(arguments[6][block], new_relevance[block], rtol=1e-12)
    np.testing.assert_allclose(arguments[0][block], (new_relevance[:, np.newaxis] * logs)[block], rtol=1e-12)
    np.testing.assert_allclose(arguments[7][block], (logs @ copies)[block], rtol=1e-12)
    np.testing.assert_allclose(arguments[8], gammaln(parameters[block]).sum(axis=0), rtol=1e-12)
    divergent = ((parameters - word_prior[:, np.newaxis]) * logs * copies)[block].sum()
    assert expected == pytest.approx(divergent, rel=1e-12)
    np.testing.assert_array_equal(arguments[6][rest], relevance[rest])
    np.testing.assert_array_equal(arguments[0][rest], sums[rest])


@pytest.mark.parametrize("partition", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_an_iteration_is_equations_19_to_25_and_the_bound_is_17_and_18(seed, partition):
    counts, state = random_state(seed, partition)
    theta = state.hyperparameters
    for _ in range(3):
        before = counts, state.posteriors.copy(), state.relevance.copy()
        sigma, tau_0, tau, relevance, posteriors = reference.variational_iteration(*before, *theta, partition)
        state.update_clusters()
        state.update_documents()
        np.testing.assert_allclose(state.weight_parameters, sigma, rtol=1e-12)
        np.testing.assert_allclose(state.background_parameters, tau_0, rtol=1e-12)
        np.testing.assert_allclose(state.relevance, relevance, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(state.posteriors, posteriors, rtol=1e-9)
        np.testing.assert_array_equal(state.labels, np.argmax(posteriors, axis=1))
        expected, log_q = reference.variational_bound(
            counts, sigma, tau_0, tau, relevance, posteriors, *theta, partition
        )
        assert state.bound == pytest.approx(expected - log_q, rel=1e-11)
        assert state.expected_log_joint() == pytest.approx(expected, rel=1e-11)


LEARNABLE = ("alpha", "omega", "lambda", "lambda_vector", "beta", "beta_vector")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    partition=st.booleans(),
    n_clusters=st.integers(1, 6),
    n_documents=st.integers(1, 12),
    n_words=st.integers(1, 9),
    learned=st.frozensets(st.sampled_from(LEARNABLE)),
    scale=st.sampled_from((1.0, 0.37, 1e6)),
)
def test_the_bound_never_falls(seed, partition, n_clusters, n_documents, n_words, learned, scale):
    counts, state = random_state(seed, partition, n_clusters, n_documents=n_documents, n_words=n_words)
    state.documents = CountedDocuments(scipy.sparse.csr_array(scale * counts))
    theta = state.hyperparameters
    for name in {"lambda", "beta"} & learned:
        learned -= {f"{name}_vector"}
    if "lambda" in learned:
        theta = theta._replace(word_prior=np.full(n_words, theta.word_prior[0]))
    if "beta" in learned:
        theta = theta._replace(background_prior=np.full(n_words, theta.background_prior[0]))
        state.beta_prior = GammaPrior(1.0, 1.0)
    state.hyperparameters = theta
    bounds = []
    for iteration in range(12):
        if iteration > 2:
            state.learn(learned)
        state.join_empty()
        state.update_clusters()
        state.update_documents()
        bounds.append(state.bound)
    rises = np.diff(bounds)
    assert (rises >= -1e-10 * (1.0 + np.abs(bounds[1:]))).all()


@pytest.mark.parametrize("partition", [True, False])
def test_empty_clusters_that_share_a_column_change_nothing(partition):
    _, apart = random_state(5, partition, 8, n_documents=30, n_words=10)
    _, joined = random_state(5, partition, 8, n_documents=30, n_words=10)
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(10, 0.2), 2)
    counts = np.array([rng.multinomial(300, topics[d % 2]) for d in range(30)])
    for state in (apart, joined):
        state.documents = CountedDocuments(scipy.sparse.csr_array(counts))
    learned = frozenset(("alpha", "omega", "lambda_vector"))
    for iteration in range(15):
        joined.join_empty()
        for state in (apart, joined):
            if iteration > 3:
                state.learn(learned)
            state.update_clusters()
            state.update_documents()
        assert joined.bound == pytest.approx(apart.bound, rel=1e-11)
        assert joined.expected_log_joint() == pytest.approx(apart.expected_log_joint(), rel=1e-10)
        assert joined.hyperparameters.alpha == pytest.approx(apart.hyperparameters.alpha, rel=1e-8)
        np.testing.assert_allclose(joined.relevance, apart.relevance, rtol=1e-6, atol=1e-200)
    assert joined.copies.size < 8
    assert joined.copies.sum() == 8
    used = joined.copies == 1
    np.testing.assert_allclose(
        np.sort(joined.posteriors[:, used].sum(axis=0))[::-1],
        np.sort(apart.posteriors.sum(axis=0))[::-1][: used.sum()],
        rtol=1e-6,
    )


def test_the_bound_is_below_the_probability_of_the_documents():
    # Every labelling and every γ of eq. 11, added up.
    counts, state = random_state(3, n_clusters=2, n_documents=3, n_words=4)
    theta = state.hyperparameters
    log_p = -np.inf
    for labels in np.ndindex(2, 2, 2):
        for chosen in np.ndindex(2, 2, 2, 2):
            joint = reference.feature_partition_log_joint(counts, labels, chosen, 2, *theta)
            log_p = np.logaddexp(log_p, joint + state.documents.log_coefficients)
    for _ in range(50):
        state.update_clusters()
        state.update_documents()
        assert state.bound < log_p
    assert state.bound > log_p - 6.0


def test_results_do_not_depend_on_the_number_of_threads():
    with threads(2) as engine:
        states = [random_state(1, engine=e, n_documents=700, n_words=1500)[1] for e in (SERIAL, engine)]
        for state in states:
            for _ in range(3):
                state.update_clusters()
                state.update_documents()
                state.learn(frozenset(("alpha", "omega", "lambda_vector", "beta")))
    assert states[0].bound == states[1].bound
    np.testing.assert_array_equal(states[0].posteriors, states[1].posteriors)
    np.testing.assert_array_equal(states[0].relevance, states[1].relevance)


# Equations 31 to 34


@pytest.mark.parametrize("prior", [GammaPrior(1.0, 0.0), GammaPrior(3.0, 2.0)])
def test_a_symmetric_parameter_is_where_the_derivative_is_zero(prior):
    logs = np.log(np.random.default_rng(0).dirichlet(np.full(8, 0.7), 5))

    def value(a: float) -> float:
        return 5 * (gammaln(8 * a) - 8 * gammaln(a)) + a * logs.sum() + prior.log_density(a)

    a = maximise_symmetric(8, 5, float(logs.sum()), prior)
    assert value(a) > max(value(a * 1.001), value(a / 1.001))


def test_a_symmetric_parameter_stays_within_limits():
    assert maximise_symmetric(4, 1, 4 * np.log(0.25) * 0.999999999999) == LARGEST
    assert maximise_symmetric(4, 1, -1e30) == SMALLEST


@pytest.mark.parametrize("seed", range(4))
def test_a_parameter_for_each_word_solves_equation_33(seed):
    rng = np.random.default_rng(seed)
    truth = rng.gamma(1.0, 1.0, 30) + 0.05
    mean_logs = digamma(truth) - digamma(truth.sum())
    a = np.full(30, 3.0)
    for _ in range(10):
        a = maximise_dirichlet(mean_logs, a)
    np.testing.assert_allclose(a, truth, rtol=1e-6)


def test_learned_values_are_those_of_the_equations():
    _, state = random_state(4)
    state.update_clusters()
    state.update_documents()
    log_weights = state.mixture.log_weights
    state.learn(frozenset(LEARNABLE))
    theta, n_clusters = state.hyperparameters, log_weights.size
    assert theta.omega == pytest.approx(state.relevance.mean())  # eq. 31
    left = digamma(theta.alpha) - digamma(theta.alpha / n_clusters)
    assert left == pytest.approx(-log_weights.mean(), rel=1e-8)  # eq. 32
    np.testing.assert_array_equal(theta.background_prior, state.background_parameters)  # solves eq. 34


def test_the_estimator_runs_these_updates():
    counts = random_counts(2, 40, 12)
    model = FeaturePartitionMixture(4, alpha=1.0, omega=0.2, lam=0.3, beta=0.8, learn=None, n_init=1, max_iter=6, tol=0)
    model.fit(counts)
    assert model.n_iter_ == 6
    assert (np.diff(model.trace_["bound"]) >= -1e-9).all()
    assert model.objective_ == model.trace_["bound"][-1]

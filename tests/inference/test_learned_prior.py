"""Learned α and β of the Dirichlet-multinomial mixtures: each draw by itself, and all together with the data."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
import scipy.sparse
from scipy import integrate, stats

import reference
from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.hyperparameters import CountProfile, GammaPrior, LearnedPrior, draw_concentration, slice_step
from textmix.inference.layout import prepare_documents
from textmix.kernels.statistics import gather_counts
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.dirichlet_process import dirichlet_process
from textmix.priors.finite_dirichlet import finite_dirichlet

INTERPRETED = bool(numba.config.DISABLE_JIT)
ALPHA, BETA = GammaPrior(2.0, 1.5), GammaPrior(2.0, 3.0)


def make_state(counts, labels, beta, prior, sampler="auto") -> GibbsState:
    matrix = scipy.sparse.csr_array(counts)
    whole = bool((counts == np.round(counts)).all())
    prepared = prepare_documents(matrix, beta, whole)
    labels = np.where(prepared.documents.lengths > 0, labels, -1).astype(np.int32)
    model = dirichlet_multinomial(beta, counts.shape[1], prepared.unit, prepared.max_word_total)
    return GibbsState(prepared, labels, model, prior, sampler)


# One by one


def test_slice_steps_leave_a_distribution_as_it_is():
    rng, x, draws = np.random.default_rng(0), 0.0, []
    for _ in range(20_000):
        x = slice_step(lambda v: -0.5 * v * v if v < 1.0 else -np.inf, x, rng)
        draws.append(x)
    truth = stats.truncnorm(-np.inf, 1.0)
    assert stats.kstest(draws[::10], truth.cdf).pvalue > 1e-3


def test_a_slice_step_ends_where_rounding_swallows_the_slice():
    rng = np.random.default_rng(0)
    assert slice_step(lambda v: 1e300 - abs(v) * 1e280, 0.25, rng) == pytest.approx(0.25, abs=1.0)
    assert slice_step(lambda v: math.nan, 0.25, rng) == 0.25


@pytest.mark.parametrize(("n_clusters", "n_documents"), [(1, 1), (3, 20), (40, 60)])
def test_the_concentration_is_drawn_from_its_posterior(n_clusters, n_documents):
    def log_posterior(a: float) -> float:
        rising = math.lgamma(a + n_documents) - math.lgamma(a)
        return n_clusters * math.log(a) - rising + ALPHA.log_density(a)

    rng, value, draws = np.random.default_rng(1), 1.0, []
    for _ in range(20_000):
        value = draw_concentration(value, n_clusters, n_documents, ALPHA, rng)
        draws.append(value)
    assert_moments(draws, log_posterior)


def test_a_symmetric_parameter_is_drawn_from_its_posterior():
    counts = np.array([[3, 0, 1, 0], [0, 2, 2, 5]])
    profile = CountProfile.of(counts, counts.sum(axis=1), 4)

    def log_posterior(a: float) -> float:
        rows = sum(reference.log_rising(a, int(n)) for n in counts.ravel())
        rows -= sum(reference.log_rising(4 * a, int(n)) for n in counts.sum(axis=1))
        return rows + BETA.log_density(a)

    assert profile.log_evidence(0.7) == pytest.approx(log_posterior(0.7) - BETA.log_density(0.7), rel=1e-12)
    rng, value, draws = np.random.default_rng(2), 1.0, []
    for _ in range(10_000):
        value = profile.draw(value, BETA, rng)
        draws.append(value)
    assert_moments(draws, log_posterior)


def assert_moments(draws, log_posterior) -> None:
    """Mean and mean square of the logarithm are those of the posterior, by numbers of standard errors."""
    peak = max(log_posterior(a) for a in np.exp(np.linspace(-6, 5, 200)))

    def moment(power: int) -> float:
        # over x = log a, whose density has a factor of a
        return integrate.quad(
            lambda x: x**power * math.exp(log_posterior(math.exp(x)) - peak + x), -16, 6, limit=500, points=[-3, 0, 2]
        )[0]

    logs = np.log(draws)
    for power in (1, 2):
        batches = np.array([batch.mean() for batch in np.array_split(logs**power, 40)])
        error = batches.std(ddof=1) / math.sqrt(40)
        assert abs(batches.mean() - moment(power) / moment(0)) < 4.0 * error


@pytest.mark.parametrize("values", [np.array([1, 5, 5, 2, 0]), np.array([0.5, 0.5, 2.0, 0.0]), np.array([10**9, 1])])
def test_a_profile_counts_equal_values_once(values):
    profile = CountProfile.of(values, np.array([values.sum(), 0]), 7)
    rebuilt = np.repeat(profile.values, profile.frequencies)
    np.testing.assert_array_equal(rebuilt, np.sort(values[values > 0]))
    np.testing.assert_array_equal(profile.totals, [values.sum()])


@pytest.mark.parametrize("sampler", ["sparse", "dense", "auto"])
def test_all_counts_of_words_in_clusters_are_gathered(sampler):
    rng = np.random.default_rng(3)
    counts, labels = rng.poisson(0.8, (30, 12)), rng.integers(4, size=30)
    counts[:, 0] += 1
    state = make_state(counts, labels, 0.3, finite_dirichlet(4, 0.5), sampler)
    gathered = np.empty(500, np.int32)
    found = np.sort(gathered[: gather_counts(state.clusters, gathered)])
    kept = np.count_nonzero(counts, axis=0) > 1  # others are left out
    sums = np.array([counts[labels == z][:, kept].sum(axis=0) for z in range(4)])
    np.testing.assert_array_equal(found, np.sort(sums[sums > 0]))
    again = np.empty(500, np.int32)
    python = getattr(gather_counts, "py_func", gather_counts)
    np.testing.assert_array_equal(np.sort(again[: python(state.clusters, again)]), found)


@pytest.mark.parametrize("process", [True, False])
@pytest.mark.parametrize("step", [1.0, 0.25])
def test_after_a_draw_the_state_is_that_of_the_new_parameters(process, step):
    rng = np.random.default_rng(4)
    counts, labels = rng.poisson(0.6, (40, 30)) * step, rng.integers(5, size=40)
    prior = dirichlet_process(2.0, 40) if process else finite_dirichlet(6, 0.7)
    state = make_state(counts, labels, 0.3, prior)
    learned = LearnedPrior(state, scipy.sparse.csr_array(counts), ALPHA, BETA)
    drawn = learned.draw(rng)
    assert drawn == {"alpha": state.prior.alpha, "beta": state.model.beta}
    assert state.model.beta != 0.3
    assert state.prior.alpha != prior.alpha
    used = counts.any(axis=1)
    judge = ("process", state.prior.alpha) if process else ("finite", 6, state.prior.alpha)
    expected = reference.log_joint(counts[used], state.labels[used], state.model.beta, judge)
    assert state.log_joint() == pytest.approx(expected, rel=1e-9)
    fresh = make_state(counts, state.labels, state.model.beta, state.prior)
    for kept, built in zip(state.table, fresh.table, strict=True):
        np.testing.assert_allclose(kept, built, rtol=1e-12)
    state.sample(rng, lambda _: None)
    expected = reference.log_joint(counts[used], state.labels[used], state.model.beta, judge)
    assert state.log_joint() == pytest.approx(expected, rel=1e-9)


# Together with the data (Geweke 2004)

N_DOCUMENTS, N_WORDS, LENGTH, N_CLUSTERS = 5, 4, 4, 3


def draw_labels(rng, process: bool, alpha: float) -> np.ndarray:
    if not process:
        return rng.choice(N_CLUSTERS, N_DOCUMENTS, p=rng.dirichlet(np.full(N_CLUSTERS, alpha)))
    labels: list[int] = []
    for d in range(N_DOCUMENTS):
        sizes = np.bincount(labels, minlength=0).astype(float) if labels else np.empty(0)
        labels.append(int(rng.choice(sizes.size + 1, p=np.append(sizes, alpha) / (d + alpha))))
    return np.array(labels)


def draw_documents(rng, labels, beta: float) -> np.ndarray:
    words = {z: rng.dirichlet(np.full(N_WORDS, beta)) for z in np.unique(labels)}
    return np.array([rng.multinomial(LENGTH, words[z]) for z in labels])


def summary(alpha, beta, labels, counts) -> list[float]:
    sizes = np.bincount(labels)
    return [
        math.log(alpha),
        math.log(alpha) ** 2,
        math.log(beta),
        math.log(beta) ** 2,
        float(np.count_nonzero(sizes)),
        float((sizes**2).sum()),
        float((counts**2).sum()),
        float((counts.sum(axis=0) ** 2).sum()),
    ]


@pytest.mark.parametrize("learned", ["alpha", "beta", "both"])
@pytest.mark.parametrize("process", [True, False], ids=["process", "finite"])
def test_learned_parameters_pass_a_joint_distribution_test(process, learned):
    n_draws = 500 if INTERPRETED else 1500
    rng = np.random.default_rng(8)
    alpha_prior = ALPHA if learned != "beta" else None
    beta_prior = BETA if learned != "alpha" else None

    def from_prior(prior: GammaPrior | None) -> float:
        return 0.8 if prior is None else float(rng.gamma(prior.shape) / prior.rate)

    def everything():
        alpha, beta = from_prior(alpha_prior), from_prior(beta_prior)
        labels = draw_labels(rng, process, alpha)
        return alpha, beta, labels, draw_documents(rng, labels, beta)

    direct = [summary(*everything()) for _ in range(n_draws)]
    alpha, beta, labels, counts = everything()
    chain = []
    for _ in range(n_draws):
        prior = dirichlet_process(alpha, N_DOCUMENTS) if process else finite_dirichlet(N_CLUSTERS, alpha)
        state = make_state(counts, labels, beta, prior)
        state.sample(rng, lambda _: None)
        LearnedPrior(state, scipy.sparse.csr_array(counts), alpha_prior, beta_prior).draw(rng)
        alpha, beta, labels = state.prior.alpha, state.model.beta, state.labels.copy()
        counts = draw_documents(rng, labels, beta)
        chain.append(summary(alpha, beta, labels, counts))
    direct_values, chain_values = np.array(direct), np.array(chain)
    varying = direct_values.std(axis=0) > 1e-12
    scores = reference.joint_distribution_scores(direct_values[:, varying], chain_values[:, varying])
    assert np.abs(scores).max() < 4.0


# The estimators


def topics(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(40, 0.1), 4)
    return np.array([rng.multinomial(12, words[d % 4]) for d in range(120)])


@pytest.mark.parametrize(
    "model",
    [
        DirichletProcessMixture(alpha="learn", beta="learn"),
        DirichletMultinomialMixture(20, alpha="learn", beta="learn"),
        DirichletProcessMixture(alpha="learn"),
        DirichletMultinomialMixture(20, beta="learn"),
    ],
    ids=str,
)
def test_estimators_learn_what_they_are_told_to(model):
    counts = topics()
    model.fit(counts)
    for name in ("alpha", "beta"):
        if getattr(model, name) == "learn":
            assert model.trace_[name].size == model.n_iter_
            assert model.trace_[name][-1] == getattr(model, f"{name}_")
            assert np.unique(model.trace_[name]).size > 1
        else:
            assert name not in model.trace_
    assert 4 <= model.n_clusters_ <= 8
    judge = ("process", model.alpha_) if isinstance(model, DirichletProcessMixture) else ("finite", 20, model.alpha_)
    assert model.log_joint_ == pytest.approx(reference.log_joint(counts, model.labels_, model.beta_, judge), rel=1e-9)
    again = model.__class__(**model.get_params()).fit(counts)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert (model.alpha_, model.beta_) == (again.alpha_, again.beta_)


def test_what_is_held_is_told_too():
    model = DirichletProcessMixture(alpha="0.5n", beta=0.3, n_sweeps=1).fit(topics())
    assert (model.alpha_, model.beta_) == (60.0, 0.3)


def test_documents_without_words_are_no_obstacle():
    counts = np.vstack([topics(), np.zeros((2, 40), int)])
    model = DirichletProcessMixture(alpha="learn", beta="learn").fit(counts)
    assert (model.labels_[-2:] == -1).all()
    assert model.alpha_ > 0.0
    nothing = DirichletMultinomialMixture(3, alpha="learn", beta="learn").fit(np.zeros((2, 3), int))
    assert nothing.n_clusters_ == 0

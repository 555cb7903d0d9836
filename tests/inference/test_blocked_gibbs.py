"""Blocked Gibbs sampling with feature partition: flips, draws and the whole sampler against enumeration."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest
import scipy.sparse
from scipy import stats
from scipy.special import logit

import reference
from textmix.engines.threads import Threads
from textmix.inference.blocked_gibbs import (
    BlockedGibbsSettings,
    BlockedGibbsState,
    HyperparameterPriors,
    log_gamma_variates,
)
from textmix.inference.hyperparameters import GammaPrior
from textmix.inference.variational import CountedDocuments
from textmix.kernels import word_split as kernels
from textmix.models.word_split import Hyperparameters

SERIAL = Threads(None)
INTERPRETED = bool(numba.config.DISABLE_JIT)
PRIORS = HyperparameterPriors(GammaPrior(2.0, 1.0), GammaPrior(2.0, 2.0), GammaPrior(2.0, 2.0))

CHOSEN = {"some": None, "all": np.ones(6, bool), "none": np.zeros(6, bool)}
every_form = pytest.mark.parametrize("normalised", [False, True], ids=["paper", "normalised"])


def make_settings(n_clusters=3, normalised=False, learned=(), partition=True, n_flips=5) -> BlockedGibbsSettings:
    return BlockedGibbsSettings(
        n_clusters=n_clusters,
        splits_words=partition,
        normalised=normalised,
        learned=frozenset(learned),
        learn_after=0,
        priors=PRIORS,
        starting_words="all",
        n_settling=0,
        n_flips=n_flips,
        n_sweeps=1,
        n_kept=1,
    )


def make_state(counts, theta, settings, seed=0, chosen=None) -> BlockedGibbsState:
    rng = np.random.default_rng(seed)
    labels = rng.integers(settings.n_clusters, size=counts.shape[0], dtype=np.int32)
    if chosen is None:
        chosen = rng.random(counts.shape[1]) < 0.5
    documents = CountedDocuments(scipy.sparse.csr_array(counts))
    return BlockedGibbsState(documents, theta, labels, np.array(chosen), settings, SERIAL)


def random_problem(seed: int, n_documents: int = 8, n_words: int = 6):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (n_documents, n_words)).astype(float)
    counts[np.arange(n_documents), rng.integers(n_words, size=n_documents)] += 1.5 if seed % 2 else 1
    theta = Hyperparameters(1.3, 0.3, rng.gamma(2.0, 0.3, n_words) + 0.01, rng.gamma(2.0, 0.5, n_words) + 0.01)
    return counts, theta


@every_form
@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("seed", range(4))
def test_the_log_joint_is_equation_11(seed, chosen, normalised):
    counts, theta = random_problem(seed)
    state = make_state(counts, theta, make_settings(normalised=normalised), seed, CHOSEN[chosen])
    expected = reference.feature_partition_log_joint(counts, state.labels, state.chosen, 3, *theta, normalised)
    assert state.log_joint() == pytest.approx(expected + state.documents.log_coefficients, rel=1e-12)


@every_form
@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("seed", range(4))
def test_a_flip_is_the_ratio_of_joints(seed, chosen, normalised):
    counts, theta = random_problem(seed)
    state = make_state(counts, theta, make_settings(normalised=normalised), seed, CHOSEN[chosen])
    for word in range(counts.shape[1]):
        before = state.log_joint()
        totals, sums = state.sums_of_words()
        sign = -1.0 if state.chosen[word] else 1.0
        change = sign * logit(theta.omega) + kernels.log_ratio_of_flip(
            state.counts[word],
            counts[:, word].sum(),
            totals,
            sums,
            counts.shape[1],
            theta.word_prior[word],
            theta.background_prior[word],
            normalised,
            sign,
        )
        state.chosen[word] = not state.chosen[word]
        assert change == pytest.approx(state.log_joint() - before, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_groups_that_become_empty_leave_no_rest_of_fractional_counts(seed):
    """With all words in, or none, the sums over the other group are exactly nothing, not what rounding left."""
    rng = np.random.default_rng(seed)
    counts, theta = random_problem(seed, 10, 4)
    counts = counts * rng.uniform(0.5, 1.5, 4)
    state = make_state(counts, theta, make_settings(normalised=True), seed, np.ones(4, bool))
    totals, sums = state.sums_of_words()
    for word in (*range(4), *range(4), *range(4)):
        sign = -1.0 if state.chosen[word] else 1.0
        row, total = state.counts[word], state.documents.word_totals[word]
        prior, shared_prior = theta.word_prior[word], theta.background_prior[word]
        before = state.log_joint()
        change = kernels.log_ratio_of_flip(row, total, totals, sums, 4, prior, shared_prior, True, sign)
        # a flip that is sure to be accepted, through the kernel that keeps the sums
        arguments = (state.counts, state.documents.word_totals, theta.word_prior, theta.background_prior, 0.0, True)
        assert kernels.flip_words(np.array([word]), np.array([-1e300]), *arguments, state.chosen, totals, sums) == 1
        ratio = state.log_joint() - before - sign * logit(theta.omega)
        assert change == pytest.approx(ratio, rel=1e-9, abs=1e-9)


def flip_arguments(seed: int, normalised: bool):
    counts, theta = random_problem(seed, 30, 12)
    state = make_state(counts, theta, make_settings(normalised=normalised), seed)
    rng = np.random.default_rng(seed)
    return state, (
        rng.integers(12, size=200),
        np.log(1 - rng.random(200)),
        state.counts,
        state.documents.word_totals,
        theta.word_prior,
        theta.background_prior,
        0.3,
        normalised,
        state.chosen,
        *state.sums_of_words(),
    )


@every_form
def test_compiled_flips_are_python_s_and_sums_equal_a_recount(normalised):
    (state, compiled), (_, interpreted) = flip_arguments(1, normalised), flip_arguments(1, normalised)
    n_flipped = kernels.flip_words(*compiled)
    assert n_flipped == getattr(kernels.flip_words, "py_func", kernels.flip_words)(*interpreted)
    assert 20 < n_flipped < 190
    np.testing.assert_array_equal(compiled[8], interpreted[8])
    np.testing.assert_array_equal(compiled[9], interpreted[9])
    for kept, counted in zip(compiled[9:], state.sums_of_words(), strict=True):
        np.testing.assert_allclose(kept, counted, atol=1e-9)


@every_form
def test_flips_alone_match_the_posterior_of_words_given_labels(normalised):
    counts, theta = random_problem(2, 5, 4)
    state = make_state(counts, theta, make_settings(normalised=normalised), 3)
    log_joints = {
        chosen: reference.feature_partition_log_joint(counts, state.labels, chosen, 3, *theta, normalised)
        for chosen in map(tuple, np.array(list(np.ndindex(2, 2, 2, 2)), dtype=bool).tolist())
    }
    top = max(log_joints.values())
    total = sum(np.exp(v - top) for v in log_joints.values())
    expected = {chosen: float(np.exp(v - top) / total) for chosen, v in log_joints.items()}
    rng, seen = np.random.default_rng(0), Counter()
    n_draws = 500 if INTERPRETED else 4000
    for _ in range(n_draws):
        state.flip(12, rng)
        seen[tuple(state.chosen.tolist())] += 1
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


@every_form
def test_draws_match_the_enumerated_posterior_over_partitions_and_words(normalised):
    counts = np.array([[2.0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 2, 1], [0, 1, 1, 1]])
    theta = Hyperparameters(1.5, 0.4, np.array([0.5, 0.8, 0.4, 0.6]), np.array([0.7, 0.5, 0.9, 0.3]))
    expected = reference.feature_partition_posterior(counts, 3, *theta, normalised)
    state = make_state(counts, theta, make_settings(normalised=normalised), 1)
    rng, seen = np.random.default_rng(5), Counter()
    n_draws, thin = (800, 3) if INTERPRETED else (3000, 6)
    for _ in range(n_draws):
        for _ in range(thin):
            state.flip(5, rng)
            state.draw_labels(rng)
        seen[reference.canonical(state.labels), tuple(state.chosen.tolist())] += 1
    assert set(seen) <= set(expected)
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


def test_logarithms_of_gamma_variates_have_the_right_distribution_however_small_the_shape():
    rng = np.random.default_rng(0)
    for shape in (0.3, 2.0):
        draws = np.exp(log_gamma_variates(np.full(20_000, shape), rng))
        assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 1e-3
    tiny = log_gamma_variates(np.full(1000, 1e-4), rng)
    assert np.isfinite(tiny).all()
    assert tiny.mean() == pytest.approx(-1e4, rel=0.15)


def test_without_partition_all_words_count_and_labels_match_the_posterior():
    counts = np.array([[2.0, 0, 1], [1, 1, 0], [0, 0, 2], [0, 1, 1]])
    theta = Hyperparameters(1.5, 0.4, np.array([0.5, 0.8, 0.4]), np.ones(3))
    everything = reference.feature_partition_posterior(counts, 2, *theta)
    words = (True, True, True)
    total = sum(p for (_, chosen), p in everything.items() if chosen == words)
    expected = {labels: p / total for (labels, chosen), p in everything.items() if chosen == words}
    state = make_state(counts, theta, make_settings(2, partition=False), 0, np.ones(3, bool))
    rng, seen = np.random.default_rng(1), Counter()
    n_draws = 500 if INTERPRETED else 4000
    for _ in range(n_draws):
        for _ in range(4):
            state.draw_labels(rng)
        seen[reference.canonical(state.labels)] += 1
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


# The normalised form is a distribution: its sampler can be tested jointly with the data, hyperparameters and all.


def draw_everything(rng, n_documents, n_words, n_clusters, length):
    """Hyperparameters, γ, labels and documents from the prior of the normalised form."""
    alpha, lam, beta = (float(rng.gamma(p.shape) / p.rate) for p in (PRIORS.alpha, PRIORS.word, PRIORS.background))
    omega = rng.random()
    chosen = rng.random(n_words) < omega
    labels = rng.choice(n_clusters, n_documents, p=rng.dirichlet(np.full(n_clusters, alpha / n_clusters)))
    theta = Hyperparameters(alpha, omega, np.full(n_words, lam), np.full(n_words, beta))
    return theta, chosen, labels.astype(np.int32), draw_documents(rng, theta, chosen, labels, n_clusters, length)


def draw_documents(rng, theta, chosen, labels, n_clusters, length):
    """Documents given all else; the share of discriminative words, 1 or 0 where a group is empty, is drawn anew."""
    share = rng.random() if 0 < chosen.sum() < chosen.size else float(chosen.all())
    counts = np.zeros((labels.size, chosen.size))
    own = [rng.dirichlet(theta.word_prior[chosen]) if chosen.any() else None for _ in range(n_clusters)]
    background = rng.dirichlet(theta.background_prior[~chosen]) if not chosen.all() else None
    for document, label in enumerate(labels):
        n_own = rng.binomial(length, share)
        if n_own:
            counts[document, chosen] = rng.multinomial(n_own, own[label])
        if n_own < length:
            counts[document, ~chosen] = rng.multinomial(length - n_own, background)
    return counts


def summary(theta, chosen, labels, counts) -> list[float]:
    return [
        np.log(theta.alpha),
        theta.omega,
        np.log(theta.word_prior[0]),
        np.log(theta.background_prior[0]),
        float(chosen.sum()),
        float(np.unique(labels).size),
        float((counts[:, chosen].sum(axis=0) ** 2).sum()),
        float((counts.sum(axis=0) ** 2).sum()),
    ]


def test_the_normalised_form_and_its_learned_hyperparameters_pass_a_joint_distribution_test():
    n_documents, n_words, n_clusters, length = 4, 4, 3, 5
    n_draws = 400 if INTERPRETED else 3000
    settings = make_settings(n_clusters, True, ("alpha", "omega", "lambda", "beta"), n_flips=4)
    rng = np.random.default_rng(11)
    direct = [summary(*draw_everything(rng, n_documents, n_words, n_clusters, length)) for _ in range(n_draws)]
    theta, chosen, labels, counts = draw_everything(rng, n_documents, n_words, n_clusters, length)
    chain = []
    for _ in range(n_draws):
        documents = CountedDocuments(scipy.sparse.csr_array(counts))
        state = BlockedGibbsState(documents, theta, labels, chosen, settings, SERIAL)
        state.flip(settings.n_flips, rng)
        state.draw_labels(rng)
        state.draw_hyperparameters(rng)
        theta, chosen, labels = state.hyperparameters, state.chosen, state.labels
        counts = draw_documents(rng, theta, chosen, labels, n_clusters, length)
        chain.append(summary(theta, chosen, labels, counts))
    scores = reference.joint_distribution_scores(np.array(direct), np.array(chain))
    assert np.abs(scores).max() < 4.0

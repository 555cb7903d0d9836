"""The correctness ladder of the collapsed Gibbs samplers: see ladder.py."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import pkgutil
from collections import Counter

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import textmix.kernels
from kernels.ladder import (
    ARITHMETICS,
    CORPORA,
    PRIORS,
    SAMPLERS,
    STEPS,
    TINY,
    Corpus,
    assert_statistics_equal_a_recount,
    build_state,
    enumerated_posterior,
    force_log_space,
    random_corpus,
    random_labels,
    uneven,
)
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import build_length_table, build_pair_room, lay_out_clusters
from textmix.kernels.gamma import log_rising
from textmix.kernels.jit import kernel
from textmix.kernels.state import N_SLOTS
from textmix.kernels.statistics import compact_labels
from textmix.kernels.weights import weigh

# Without compilation the same ladder runs in Python, on fewer draws: that is how broken copies are tried.
INTERPRETED = bool(numba.config.DISABLE_JIT)
NO_TWINS = np.empty(0, np.int32)
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)
every_arithmetic = pytest.mark.parametrize("arithmetic", ARITHMETICS)


@kernel(allocates=False)
def sampled_weights(documents, clusters, model, prior, table, scratch, document, weights):
    """Spread what `weigh` leaves in scratch over all slots and a last entry for a new cluster."""
    sparse, row, n_weights, total, rest, fresh = weigh(documents, clusters, model, prior, table, scratch, document)
    n_slots = clusters.counters[N_SLOTS]
    for slot in range(n_slots):
        weights[slot] = table.bases[row, slot] if sparse else scratch.weights[slot]
    if sparse:
        for index in range(n_weights):
            weights[scratch.touched[index]] = scratch.weights[index]
    weights[n_slots] = fresh
    return total + rest + fresh


def sampled_conditional(state: GibbsState, document: int) -> dict:
    """What the sampler draws a document's label from, in the reference's form."""
    n_slots = int(state.clusters.counters[N_SLOTS])
    weights = np.empty(n_slots + 1)
    total = sampled_weights(
        *state.for_kernels,
        document,
        weights,
    )
    assert weights.sum() == pytest.approx(total, rel=1e-10)
    probabilities = weights / total
    found = {slot: probabilities[slot] for slot in range(n_slots) if probabilities[slot] > 0}
    if probabilities[n_slots] > 0:
        found[reference.NEW] = probabilities[n_slots]
    return found


# Step 1: the conditional


@functools.cache  # the same for every sampler and arithmetic
def expected_conditional(name: str, labels: tuple[int, ...], document: int, prior: tuple) -> dict:
    corpus = CORPORA[name]
    return reference.conditional(corpus.counts, np.array(labels), document, corpus.beta, prior)


@every_prior
@every_sampler
@every_arithmetic
@pytest.mark.parametrize("name", CORPORA)
def test_the_conditional_is_the_ratio_of_joints(name, prior, sampler, arithmetic):
    corpus = CORPORA[name]
    for seed in range(3):
        state = build_state(corpus, random_labels(corpus, prior, seed), prior, sampler, arithmetic)
        labels = tuple(state.labels.tolist())
        for document in np.flatnonzero(state.labels >= 0):
            expected = expected_conditional(name, labels, document, prior)
            found = sampled_conditional(state, document)
            # A weight of 10^7 nats is rounded to 10^−9.
            rounding = 1e-15 * float(corpus.counts[document].sum())
            for option in expected.keys() | found.keys():
                assert found.get(option, 0.0) == pytest.approx(expected.get(option, 0.0), abs=1e-9 + rounding)


@every_prior
@every_sampler
def test_the_conditional_is_right_after_many_moves(prior, sampler):
    """Sums that are kept up to date instead of computed anew do not drift."""
    corpus = CORPORA["short"]
    state = build_state(corpus, random_labels(corpus, prior, 0), prior, sampler, "plain")
    rng = np.random.default_rng(0)
    for _ in range(3 if INTERPRETED else 200):
        state.sample(rng, lambda _: None)
    labels = state.labels.astype(int)
    for document in np.flatnonzero(labels >= 0):
        expected = expected_conditional("short", tuple(labels.tolist()), document, prior)
        found = sampled_conditional(state, document)
        for option in expected.keys() | found.keys():
            assert found.get(option, 0.0) == pytest.approx(expected.get(option, 0.0), abs=1e-9)


# Step 2: twins


@kernel
def log_rising_of(x, n):
    """log_rising, called from Python."""
    return log_rising(x, n)


@pytest.mark.parametrize("x", [1e-10, 0.02, 1.0, 63.9, 64.0, 70.5, 1e3, 1e6, 1e10])
@pytest.mark.parametrize("n", [0.0, 1.0, 0.37, 30.0, 1e4, 1e6])
def test_log_rising_is_the_reference_s(x, n):
    expected = mpmath.loggamma(mpmath.mpf(x) + mpmath.mpf(n)) - mpmath.loggamma(mpmath.mpf(x))
    assert log_rising_of(x, n) == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@every_prior
@every_sampler
@pytest.mark.parametrize("name", CORPORA)
def test_the_log_joint_is_the_reference_s(name, prior, sampler):
    corpus = CORPORA[name]
    state = build_state(corpus, random_labels(corpus, prior, 0), prior, sampler, "plain")
    expected = reference.log_joint(corpus.counts, state.labels, corpus.beta, prior)
    # Terms of 10^7 nats that cancel leave their own rounding behind.
    rounding = 1e-14 * float(corpus.counts.sum())
    assert state.log_joint() == pytest.approx(float(expected), rel=1e-9, abs=1e-9 + rounding)


@functools.cache  # the same for every sampler and arithmetic
def expected_end(name: str, labels: tuple[int, ...], prior: tuple) -> tuple[int, ...]:
    corpus = CORPORA[name]
    return reference.outcome(reference.polish(corpus.counts, np.array(labels), corpus.beta, prior), prior)


@every_prior
@every_sampler
@every_arithmetic
@pytest.mark.parametrize("name", ["short", "long", "fractional", "large β"])
def test_greedy_passes_are_the_reference_s(name, prior, sampler, arithmetic):
    corpus = CORPORA[name]
    start = random_labels(corpus, prior, 1)
    state = build_state(corpus, start, prior, sampler, arithmetic)
    expected = expected_end(name, tuple(state.labels.tolist()), prior)
    for _ in range(100):
        moved = state.improve(NO_TWINS, lambda _: None)
        if arithmetic == "log":
            force_log_space(state)
        if moved == 0:
            break
    assert reference.outcome(state.labels, prior) == expected


@every_sampler
@every_arithmetic
def test_ties_stay(sampler, arithmetic):
    """A document that two clusters suit equally well keeps its own."""
    corpus = Corpus(np.array([[3, 0]] * 3 + [[0, 3]] * 3 + [[1, 1]]), 0.1)
    for own in (0, 1):
        labels = np.array([0, 0, 0, 1, 1, 1, own])
        state = build_state(corpus, labels, ("finite", 2, 0.3), sampler, arithmetic)
        assert state.improve(NO_TWINS, lambda _: None) == 0
        assert state.labels.tolist() == labels.tolist()


# Step 3: recount


@settings(max_examples=10 if INTERPRETED else 60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    n_documents=st.integers(1, 25),
    n_words=st.integers(1, 12),
    mean_length=st.sampled_from([0.7, 3, 20]),
    beta=st.sampled_from([1e-3, 0.1, 3.0]),
    prior=st.sampled_from(list(PRIORS.values())),
    sampler=st.sampled_from(SAMPLERS),
    passes=st.lists(st.booleans(), min_size=1, max_size=6),
    words_differ=st.booleans(),
)
def test_statistics_equal_a_recount_after_any_moves(
    seed, n_documents, n_words, mean_length, beta, prior, sampler, passes, words_differ
):
    beta = beta * uneven(n_words) if words_differ and n_words > 1 else beta
    corpus = random_corpus(seed, n_documents, n_words, mean_length, beta)
    state = build_state(corpus, random_labels(corpus, prior, seed), prior, sampler, "plain")
    rng = np.random.default_rng(seed)
    moves = {False: lambda: state.sample(rng, lambda _: None), True: lambda: state.improve(NO_TWINS, lambda _: None)}
    for greedy in passes:
        moves[greedy]()
        assert_statistics_equal_a_recount(state)


def test_labels_are_compacted_in_the_order_of_their_slots():
    labels = np.array([5, -1, 2, 5, 9, 2], np.int32)
    assert compact_labels(labels, 10) == 3
    assert labels.tolist() == [1, -1, 0, 1, 2, 0]


def test_rows_and_lists_hold_the_same_counts():
    corpus = CORPORA["short"]
    state = build_state(corpus, random_labels(corpus, PRIORS["process"], 0), PRIORS["process"], "sparse", "plain")
    n_clusters = state.n_clusters
    for sampler in SAMPLERS:
        room = build_pair_room(state.prepared.documents)
        state.clusters = lay_out_clusters(state.prepared, state.labels, n_clusters, n_clusters + 3, sampler, room)
        state.table = build_length_table(state.prepared, state.clusters, state.model, state.prior)
        assert_statistics_equal_a_recount(state)


# Step 4: the posterior

# Every prior on one corpus, and the β of words.
TINY_CASES = [
    *itertools.product(["short"], PRIORS),
    *itertools.product(["wordless"], ["finite, room left", "finite, few clusters", "process"]),
    ("words differ", "clusters differ"),
]


@every_sampler
@every_arithmetic
@pytest.mark.parametrize(("name", "prior_name"), TINY_CASES)
def test_draws_match_the_enumerated_posterior(name, prior_name, sampler, arithmetic):
    corpus, prior = TINY[name], PRIORS[prior_name]
    state = build_state(corpus, np.zeros(len(corpus.counts), int), prior, sampler, arithmetic)
    rng = np.random.default_rng(7)
    n_draws = 300 if INTERPRETED else 1000
    # Correlations of draws that lie so many sweeps apart are below 0.06 (measured over 40,000 sweeps).
    thin = 5 if reference.is_labelled(prior) and not INTERPRETED else 2
    has_words = state.labels >= 0
    seen: Counter = Counter()
    for _ in range(n_draws):
        for _ in range(thin):
            state.sample(rng, lambda _: None)
            if arithmetic == "log":
                force_log_space(state)
        seen[reference.outcome(state.labels[has_words], prior)] += 1
    expected = enumerated_posterior(name, prior)
    assert set(seen) <= set(expected)
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4


# The table itself


@pytest.mark.skipif(INTERPRETED, reason="without compilation kernels look like any other function")
def test_every_kernel_is_judged():
    found = set()
    for module in pkgutil.iter_modules(textmix.kernels.__path__):
        loaded = importlib.import_module(f"textmix.kernels.{module.name}")
        for name, value in vars(loaded).items():
            is_compiled = hasattr(value, "py_func") and value.__module__ == loaded.__name__
            if is_compiled and value.targetoptions.get("inline") != "always":
                found.add(f"{module.name}.{name}")
    # Those of the tokenizer are judged in tests/corpus.
    assert {name for name in found if not name.startswith("tokenize.")} == set(STEPS)


def test_interpreted_runs_say_so():
    assert os.environ.get("NUMBA_DISABLE_JIT", "0") == str(int(INTERPRETED))

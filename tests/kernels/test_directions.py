"""The ladder of the sampler of unit vectors and words (kernels/directions.py): see ladder.py."""

from __future__ import annotations

import functools
from collections import Counter

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from kernels.direction_sets import (
    GREEDY,
    SETS,
    TINY,
    Directions,
    DirectionState,
    random_directions,
    random_labels,
    to_unit_length,
)
from textmix.kernels.directions import TOLERANCE, log_weigh_slots
from textmix.models.collapsed_directions import sum_directions, sum_words

INTERPRETED = bool(numba.config.DISABLE_JIT)
HALF_UNIT = 2.0**-24  # the relative rounding error of a number of four bytes
every_set = pytest.mark.parametrize("name", SETS)
every_precision = pytest.mark.parametrize("precision", [np.float64, np.float32])


def met_conditional(
    directions: Directions, start: int, uniforms: np.ndarray, reading: str, seed: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """What the last document of a block is drawn from, after those before it in the block were drawn.

    Return the probabilities, the labels (the document's own label makes no difference to the expected conditional) and
    how many documents moved before it.
    """
    state = DirectionState(directions, random_labels(directions, seed))
    before = state.labels.copy()
    numbers = np.append(uniforms[:-1], GREEDY if reading == "log weights" else uniforms[-1])
    state.visit(start, numbers)
    weights = state.log_weights.copy()
    if reading == "log weights":
        weights = np.exp(weights - weights.max())
    last = start + uniforms.size - 1
    return weights / weights.sum(), state.labels, int((state.labels != before)[:last].sum())


@functools.cache  # the same for both readings
def expected_conditional(name: str, labels: tuple[int, ...], document: int) -> list[float]:
    directions = SETS[name]
    found = reference.direction_conditional(directions.vectors, np.array(labels), document, *directions.model)
    return list(found.values())


# Step 1: the conditional


@every_set
@pytest.mark.parametrize("reading", ["log weights", "weights of a draw"])
def test_the_conditional_is_the_ratio_of_joints(name, reading):
    directions = SETS[name]
    n_documents, n_moved = len(directions.vectors), 0
    for seed in range(3):
        uniforms = np.random.default_rng(seed).random(n_documents)
        for document in range(n_documents):
            for start in {0, document // 2, document}:  # documents before it in the block: all, some, none
                block = uniforms[start : document + 1]
                found, labels, moved = met_conditional(directions, start, block, reading, seed)
                expected = expected_conditional(name, tuple(labels.tolist()), document)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
                n_moved += moved
    assert n_moved > 0 or name in ("one cluster", "one document")


def test_the_conditional_is_right_after_many_moves():
    """Sums that are kept up to date instead of computed anew do not drift."""
    directions = SETS["few dimensions"]
    state = DirectionState(directions, random_labels(directions, 0))
    rng = np.random.default_rng(0)
    for _ in range(10 if INTERPRETED else 1000):
        state.sweep(rng.random(12), 5)
    for document in range(12):
        state.visit(document, np.array([GREEDY]))
        weights = np.exp(state.log_weights - state.log_weights.max())
        expected = expected_conditional("few dimensions", tuple(state.labels.tolist()), document)
        np.testing.assert_allclose(weights / weights.sum(), expected, rtol=0, atol=1e-9)


@every_set
def test_a_document_in_no_cluster_has_the_weights_of_the_ratio_of_joints(name):
    directions = SETS[name]
    labels = random_labels(directions, 0)
    state = DirectionState(directions.without_first(), labels[1:])
    products, documents = state.clusters.sums @ directions.vectors[0], DirectionState(directions, labels).documents
    largest = log_weigh_slots(
        *(state.clusters, state.words, state.model, documents, 0, -1, products, state.log_weights, state.scratch)
    )
    assert largest == state.log_weights.max()
    weights = np.exp(state.log_weights - largest)
    expected = expected_conditional(name, tuple(labels.tolist()), 0)
    np.testing.assert_allclose(weights / weights.sum(), expected, rtol=0, atol=1e-9)


@every_set
def test_the_conditional_of_single_precision_is_right_to_few_roundings_times_kappa(name):
    """Probabilities are off by at most 2 κ 2⁻²⁴ (measured: 0.6 κ 2⁻²⁴, interpreted 0.8) and some roundings of 1."""
    directions = SETS[name].in_single_precision()
    exact = directions._replace(vectors=directions.vectors.astype(float))
    n_documents = len(directions.vectors)
    for seed in range(3):
        uniforms = np.random.default_rng(seed).random(n_documents)
        for document in range(n_documents):
            found, labels, _ = met_conditional(directions, 0, uniforms[: document + 1], "log weights", seed)
            expected = reference.direction_conditional(exact.vectors, labels, document, *exact.model)
            tolerance = (2 * directions.kappa + 2) * HALF_UNIT
            np.testing.assert_allclose(found, list(expected.values()), rtol=0, atol=tolerance)


# Step 2: twins, beside those of twin_scenario.py


def test_labels_do_not_depend_on_the_size_of_blocks():
    directions = random_directions(21, 30 if INTERPRETED else 100, 12, 8.0, 0.5, 6, noise=1.5, beta=5.0)
    n_documents, found = len(directions.vectors), []
    for block_size in (1, 7, n_documents):
        state, rng = DirectionState(directions, random_labels(directions, 0)), np.random.default_rng(1)
        moved = [state.sweep(rng.random(n_documents), block_size) for _ in range(5)]
        assert min(moved) > 0
        found.append((moved, state.labels.tolist()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("uniform", [0.0, 1e-12, 0.3, 0.7, 1.0 - 2.0**-53])
def test_a_number_draws_the_slot_whose_share_it_falls_into(uniform):
    directions = SETS["few dimensions"]
    labels = random_labels(directions, 0)
    bounds = np.cumsum(expected_conditional("few dimensions", tuple(labels.tolist()), 3))
    state = DirectionState(directions, labels)
    state.visit(3, np.array([uniform]))
    assert state.labels[3] == np.searchsorted(bounds[:-1], uniform, side="right")


def log_joint(directions: Directions, state: DirectionState) -> float:
    return reference.direction_log_joint(directions.vectors.astype(float), state.labels, *directions.model)


@every_set
@every_precision
def test_greedy_passes_end_where_no_document_has_a_more_probable_slot(name, precision):
    directions = SETS[name]._replace(vectors=SETS[name].vectors.astype(precision))
    n_documents, tolerance = len(directions.vectors), 2 * TOLERANCE * directions.kappa
    for seed in range(3):
        state, joints = DirectionState(directions, random_labels(directions, seed)), []
        for _ in range(20):
            joints.append(log_joint(directions, state))
            if state.sweep(np.full(n_documents, GREEDY), 4) == 0:
                break
        assert len(joints) < 20
        assert (np.diff(joints) > 0).all()
        for document in range(n_documents):
            expected = reference.direction_conditional(
                directions.vectors.astype(float), state.labels, document, *directions.model
            )
            assert np.log(expected[state.labels[document]] / max(expected.values())) > -tolerance


@every_precision
@pytest.mark.parametrize("kappa", [5.0, 300.0, 4000.0])
def test_ties_stay(precision, kappa):
    """A document that two clusters suit equally well keeps its own."""
    rows = to_unit_length(np.array([[1.0, 0, 0, 0]] * 3 + [[0, 1.0, 0, 0]] * 3 + [[1.0, 1, 0, 0]]))
    directions = Directions(rows.astype(precision), kappa, 0.3, 2, np.ones((7, 2), int), 0.3)
    for own in (0, 1):
        state = DirectionState(directions, np.array([0, 0, 0, 1, 1, 1, own]))
        assert state.visit(6, np.array([GREEDY])) == 0


@every_precision
@pytest.mark.parametrize("kappa", [5.0, 300.0, 4000.0])
def test_a_document_alone_does_not_go_from_one_slot_to_another(precision, kappa):
    directions = Directions(
        np.eye(20, 24), kappa, 1e3, 40, np.eye(20, 24, dtype=int), 0.3
    )  # no two vectors are similar, and empty slots weigh much
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(24, 24)))[0]
    directions = directions._replace(vectors=(directions.vectors @ rotation).astype(precision))
    state = DirectionState(directions, np.arange(20) // 2)
    first, *others = [state.sweep(np.full(20, GREEDY), 20) for _ in range(3)]
    assert first > 0
    assert others == [0, 0]


# Step 3: recount


def assert_statistics_equal_a_recount(state: DirectionState) -> None:
    clusters, model = state.clusters, state.model
    recount = sum_directions(state.vectors, state.labels, model, clusters.sizes.size)
    np.testing.assert_array_equal(clusters.sizes, recount.sizes)
    np.testing.assert_allclose(clusters.log_sizes, recount.log_sizes, rtol=1e-14, atol=1e-14)
    rounding = 4 * state.labels.size * float(np.finfo(state.vectors.dtype).eps)
    np.testing.assert_allclose(clusters.sums, recount.sums, rtol=0, atol=rounding)
    np.testing.assert_allclose(clusters.roots, recount.roots, rtol=0, atol=rounding * (model.kappa + model.b))
    assert (clusters.sums[clusters.sizes == 0] == 0).all()
    words = sum_words(state.counts, state.labels, state.words.beta, clusters.sizes.size)
    np.testing.assert_array_equal(state.words.counts, words.counts)
    np.testing.assert_array_equal(state.words.totals, words.totals)


@settings(max_examples=10 if INTERPRETED else 60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    n_documents=st.integers(1, 25),
    n_dimensions=st.sampled_from([2, 5, 32]),
    kappa=st.sampled_from([0.5, 20.0, 800.0]),
    alpha=st.sampled_from([1e-3, 0.5, 20.0]),
    n_clusters=st.integers(1, 7),
    precision=st.sampled_from([np.float64, np.float32]),
    passes=st.lists(st.tuples(st.booleans(), st.integers(1, 10)), min_size=1, max_size=6),
)
def test_statistics_equal_a_recount_after_any_moves(
    seed, n_documents, n_dimensions, kappa, alpha, n_clusters, precision, passes
):
    directions = random_directions(seed, n_documents, n_dimensions, kappa, alpha, n_clusters)
    directions = directions._replace(vectors=directions.vectors.astype(precision))
    state, rng = DirectionState(directions, random_labels(directions, seed)), np.random.default_rng(seed)
    for greedy, block_size in passes:
        before = state.labels.copy()
        uniforms = np.full(n_documents, GREEDY) if greedy else rng.random(n_documents)
        assert state.sweep(uniforms, block_size) == (state.labels != before).sum()
        assert_statistics_equal_a_recount(state)


# Step 4: the posterior


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("block_size", [2, 5])
def test_draws_match_the_enumerated_posterior(name, block_size):
    directions = TINY[name]
    n_documents = len(directions.vectors)
    state, rng = DirectionState(directions, np.zeros(n_documents, int)), np.random.default_rng(7)
    n_draws = 300 if INTERPRETED else 1000
    seen: Counter = Counter()
    for _ in range(n_draws):
        for _ in range(5):
            state.sweep(rng.random(n_documents), block_size)
        seen[tuple(state.labels.tolist())] += 1
    expected = reference.direction_posterior(directions.vectors, *directions.model)
    assert reference.chi_square_p_value(seen, expected, n_draws) > 1e-4

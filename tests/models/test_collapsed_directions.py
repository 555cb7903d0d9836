"""Unit vectors whose directions are integrated out: g against the integral, statistics against loops."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import reference
from textmix.models.collapsed_directions import collapsed_directions, log_marginal, sum_directions

DIMENSIONS = [4, 5, 8, 16, 64, 129, 384, 512]
# κ r, in units of d: the largest relative error is close to 1.
SCALES = [1e-2, 0.1, 0.5, 0.8, 1.0, 1.1, 1.3, 2.0, 5.0, 20.0, 200.0]


def log_integral(x: float, n_dimensions: int) -> float:
    """log of I_ν(x) / x^ν, over its value at 0."""
    with mpmath.workdps(40):
        order = mpmath.mpf(n_dimensions) / 2 - 1
        log_ratio = mpmath.log(mpmath.besseli(order, mpmath.mpf(x), maxterms=10**6)) - order * mpmath.log(x)
        return float(log_ratio + order * mpmath.log(2) + mpmath.loggamma(order + 1))


def log_approximation(kappa: float, lengths: np.ndarray, n_dimensions: int) -> np.ndarray:
    """g(r) − g(0)."""
    model = collapsed_directions(kappa, n_dimensions, 1.0)
    return log_marginal(model, lengths) - log_marginal(model, np.zeros(1))


@pytest.mark.parametrize("n_dimensions", DIMENSIONS)
@pytest.mark.parametrize("kappa", [1.0, 350.0])
def test_g_is_below_the_integral_by_less_than_8_over_d_per_cent_and_0_2_nats(n_dimensions, kappa):
    lengths = np.array(SCALES) * n_dimensions / kappa
    exact = np.array([log_integral(kappa * length, n_dimensions) for length in lengths])
    missing = exact - log_approximation(kappa, lengths, n_dimensions)
    assert (missing > -1e-9).all()
    assert (missing < 0.08 / n_dimensions * exact + 1e-9).all()
    assert missing.max() < 0.2
    # Joining a cluster: the error grows with r, so that of a gain is no larger either.
    assert (np.diff(missing) > -1e-9).all()


@pytest.mark.parametrize(("n_dimensions", "per_cent"), [(4, 1.94), (8, 0.98), (512, 0.015)])
def test_the_largest_relative_error_is_the_one_documented(n_dimensions, per_cent):
    x = n_dimensions * np.linspace(0.9, 1.4, 26)
    exact = np.array([log_integral(value, n_dimensions) for value in x])
    largest = (1 - log_approximation(1.0, x, n_dimensions) / exact).max()
    assert 100 * largest == pytest.approx(per_cent, rel=0.02)


@pytest.mark.parametrize("n_dimensions", [2, 5, 384])
def test_g_is_the_reference_s(n_dimensions):
    lengths = np.array([0.0, 0.3, 1.0, 40.0, 1e4])
    found = log_marginal(collapsed_directions(25.0, n_dimensions, 1.0), lengths)
    expected = [reference.log_direction_weight(length, n_dimensions, 25.0) for length in lengths]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("n_documents", [0, 1, 30])
def test_statistics_are_those_of_loops(precision, n_documents):
    rng = np.random.default_rng(n_documents)
    rows = rng.normal(size=(n_documents, 6))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(precision)
    labels = rng.choice([0, 2, 3], n_documents).astype(np.int32)  # slots 1 and 4 are empty
    model = collapsed_directions(7.0, 6, 0.4)
    clusters = sum_directions(vectors, labels, model, 5)
    assert clusters.sums.dtype == precision
    for slot in range(5):
        members = [vector for vector, label in zip(vectors.tolist(), labels, strict=True) if label == slot]
        total = [math.fsum(column) for column in zip(*members, strict=True)] or [0.0] * 6
        root = math.sqrt(7.0**2 * math.fsum(value**2 for value in total) + model.b**2)
        np.testing.assert_allclose(clusters.sums[slot], total, rtol=0, atol=60 * np.finfo(precision).eps)
        assert clusters.roots[slot] == pytest.approx(root, rel=60 * float(np.finfo(precision).eps))
        assert clusters.sizes[slot] == len(members)
        assert clusters.log_sizes[slot] == pytest.approx(math.log(len(members) + 0.4), rel=1e-14)

"""Bessel functions and concentrations of von Mises-Fisher distributions, against forty digits."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest

from textmix.models.von_mises_fisher import bessel_ratio, estimate_kappa, log_iv, log_normaliser

ORDERS = [0.0, 0.5, 1.0, 4.0, 29.5, 30.0, 31.0, 191.0, 4999.0, 50_000.0]
ARGUMENTS = [1e-8, 1e-3, 0.7, 12.0, 300.0, 2.5e4, 1e5]


@cache
def exact_iv(order: float, x: float) -> mpmath.mpf:
    """I_order(x); for large orders by the series, which mpmath takes many times longer for."""
    if order < 1000:
        return mpmath.besseli(mpmath.mpf(order), mpmath.mpf(x), maxterms=10**6)
    half = mpmath.mpf(x) / 2
    term = total = half**order / mpmath.gamma(mpmath.mpf(order) + 1)
    k = 0
    while term > total * mpmath.eps / 10**6:  # none is below 0, and they fall ever faster behind the largest
        k += 1
        term *= half**2 / (k * (order + k))
        total += term
    return total


@pytest.mark.parametrize("x", [1e-8, 300.0, 2.5e4])
def test_the_series_is_mpmath_s(x):
    with mpmath.workdps(60):
        expected = mpmath.besseli(4999, mpmath.mpf(x), maxterms=10**6)
        assert abs(exact_iv(4999.0, x) / expected - 1) < 1e-55


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("x", ARGUMENTS)
def test_log_iv(order, x):
    with mpmath.workdps(60):
        expected = mpmath.log(exact_iv(order, x))
    assert float(log_iv(order, x)) == pytest.approx(float(expected), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("x", ARGUMENTS)
def test_bessel_ratio(order, x):
    with mpmath.workdps(60):
        expected = exact_iv(order + 1, x) / exact_iv(order, x)
    assert float(bessel_ratio(order, x)) == pytest.approx(float(expected), rel=1e-8, abs=1e-13)


def test_the_normaliser_on_the_sphere_is_the_known_one():
    kappa = np.array([0.1, 1.0, 10.0])
    expected = np.log(kappa / (4 * np.pi * np.sinh(kappa)))
    np.testing.assert_allclose(log_normaliser(kappa, 3), expected, rtol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 50, 768, 20_000, 100_000])
@pytest.mark.parametrize("resultant", [0.01, 0.2, 0.7, 0.97])
def test_kappa_has_the_mean_resultant_length_that_was_given(dimension, resultant):
    kappa = estimate_kappa(resultant, dimension, max_kappa=1e9)
    assert float(bessel_ratio(dimension / 2 - 1, kappa)) == pytest.approx(resultant, rel=1e-8)


def test_kappa_is_capped_and_never_zero():
    kappa = estimate_kappa([0.0, 1.0, 0.5], 100, max_kappa=5000.0)
    assert kappa[1] == 5000.0
    assert 0 < kappa[0] < 1e-5
    assert np.isfinite(kappa).all()


@pytest.mark.parametrize("order", [0.0, 1.5, 20.0])
def test_log_iv_of_huge_arguments(order):
    x = np.array([2e5, 1e8, 5e9, 1e12])
    expected = [float(mpmath.log(mpmath.besseli(order, v)) - mpmath.mpf(v)) for v in x]
    for found, value, argument in zip(log_iv(order, x) - x, expected, x, strict=True):
        assert found == pytest.approx(value, abs=1e-15 * argument + 1e-10)

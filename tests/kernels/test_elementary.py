"""Exponentials and logarithms of rows (kernels/elementary.py), against 40 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from textmix.kernels.elementary import LEAST, add_log_ratios, largest_of, make_scratch, sum_of, to_exponentials

ROUNDING = 2.0**-53
rows = pytest.mark.parametrize("n", [1, 3, 4, 5, 250])


def differences(n: int) -> np.ndarray:
    """Numbers from 0 down to where they no longer count, those between two powers of 2 among them."""
    some = -(np.random.default_rng(0).random(n) ** 3) * 700.0
    some[: n // 3] = -np.arange(n // 3) * np.log(2.0) / 2.0
    return np.sort(some)[::-1]


@rows
def test_exponentials_are_right_to_three_roundings(n):
    row = differences(n)
    exact = [mpmath.exp(one) for one in row.tolist()]
    to_exponentials(row, 0.0, make_scratch(n))
    errors = [abs(found / one - 1) for found, one in zip(row.tolist(), exact, strict=True)]
    assert max(errors) < 3 * ROUNDING


def test_what_is_far_below_the_largest_counts_for_next_to_nothing():
    row = np.array([3.0, LEAST - 1e6, -np.inf])
    to_exponentials(row, 3.0, make_scratch(3))
    assert row[0] == 1.0
    assert (row[1:] < 1e-300).all()


@rows
def test_logarithms_are_right_to_three_roundings(n):
    rng = np.random.default_rng(1)
    scratch, row = make_scratch(n), rng.normal(size=n)
    x, y = np.exp(rng.normal(size=n) * 150.0), np.exp(rng.normal(size=n) * 150.0)
    x[: n // 3] = y[: n // 3] * (1.0 + rng.normal(size=n // 3) * 1e-3)  # ratios near 1
    scratch.numbers[0], scratch.numbers[1] = x, y
    before = row.copy()
    add_log_ratios(row, scratch)
    for found, start, one in zip(row.tolist(), before.tolist(), (x / y).tolist(), strict=True):
        exact = mpmath.log(mpmath.mpf(one))
        assert abs(found - (start + exact)) < 3 * ROUNDING * (abs(exact) + abs(start))


@rows
def test_sums_and_largest_entries(n):
    row = np.random.default_rng(2).normal(size=n)
    for _ in range(n if n < 10 else 3):
        row = np.roll(row, 1)
        assert largest_of(row) == row.max()
        assert abs(sum_of(row) - row.sum()) < 1e-13

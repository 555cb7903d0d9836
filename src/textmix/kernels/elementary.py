"""Exponentials and logarithms of a whole row, by additions, multiplications and divisions alone.

A compiler makes loops over these that work on several numbers at once, which it cannot do with calls of the platform's
functions: two to three times as fast. Results are within three roundings of the true ones, and the same everywhere.

Exponents of numbers are taken from and put into their bits. A `Scratch` therefore holds rows of numbers, and the same
memory as whole numbers; a loop writes to a row by one of the two names and the next reads it by the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inline

LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # products of the first are exact
PER_LOG_2 = 1.4426950408889634
ROUNDER = 1.5 * 2.0**52  # added to a number, its last bits are the nearest whole number
LEAST = -700.0  # what has a lower logarithm counts as exp of this, 1e-304
MANTISSA, MANTISSA_BITS = (1 << 52) - 1, 52
ONE_EXPONENT = 1023 << MANTISSA_BITS
ROOT_OF_HALF = 0x3FE6A09E667F3BCD  # its bits
LIFT = 1024 << MANTISSA_BITS  # keeps exponents above 0
WHOLE, WHOLE_BITS = 2.0**52 + 1024.0, 0x4330000000000000  # 2^52, whose last bits are whole numbers


class Scratch(NamedTuple):
    """Three rows of numbers, and their bits."""

    numbers: NDArray[np.float64]
    bits: NDArray[np.int64]


def make_scratch(size: int) -> Scratch:
    """For rows of so many numbers."""
    numbers = np.zeros((3, size))
    return Scratch(numbers, numbers.view(np.int64))


@inline
def largest_of(row):
    """The largest entry; four at a time, since each comparison waits for the one before."""
    a = b = c = d = -np.inf
    whole = row.size - row.size % 4
    for i in range(0, whole, 4):
        a = max(a, row[i])
        b = max(b, row[i + 1])
        c = max(c, row[i + 2])
        d = max(d, row[i + 3])
    for i in range(whole, row.size):
        a = max(a, row[i])
    return max(max(a, b), max(c, d))


@inline
def sum_of(row):
    """The sum of the entries; four at a time, as above."""
    a = b = c = d = 0.0
    whole = row.size - row.size % 4
    for i in range(0, whole, 4):
        a += row[i]
        b += row[i + 1]
        c += row[i + 2]
        d += row[i + 3]
    for i in range(whole, row.size):
        a += row[i]
    return (a + b) + (c + d)


@inline
def to_exponentials(row, largest, scratch):
    """Put exp(x − largest) in place of each x of a row, none of which is larger."""
    x, rounded, power = scratch.numbers[0], scratch.numbers[1], scratch.numbers[2]
    for i in range(row.size):
        difference = row[i] - largest
        difference = difference if difference > LEAST else LEAST
        x[i] = difference
        rounded[i] = difference * PER_LOG_2 + ROUNDER
    rounded_bits, power_bits = scratch.bits[1], scratch.bits[2]
    for i in range(row.size):
        power_bits[i] = (rounded_bits[i] << MANTISSA_BITS) + ONE_EXPONENT
    for i in range(row.size):
        n = rounded[i] - ROUNDER
        r = (x[i] - n * LOG_2_HIGH) - n * LOG_2_LOW  # x = n log 2 + r
        tail = 1.0 / 39916800.0 + r * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
        tail = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * tail))
        tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * tail)))
        row[i] = (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail)))) * power[i]


@inline
def add_log_ratios(row, scratch):
    """Add to each entry of a row log(x / y): x, y and their ratio, in the scratch's first rows, are above 1e-307."""
    x, y = scratch.numbers[0], scratch.numbers[1]
    for i in range(row.size):
        x[i] /= y[i]
    bits, exponent_bits, mantissa_bits = scratch.bits[0], scratch.bits[1], scratch.bits[2]
    for i in range(row.size):
        above = bits[i] - ROOT_OF_HALF
        exponent_bits[i] = ((above + LIFT) >> MANTISSA_BITS) | WHOLE_BITS
        mantissa_bits[i] = (above & MANTISSA) + ROOT_OF_HALF
    exponent, mantissa = scratch.numbers[1], scratch.numbers[2]
    for i in range(row.size):
        n = exponent[i] - WHOLE
        f = (mantissa[i] - 1.0) / (mantissa[i] + 1.0)  # log of the mantissa = 2 artanh f, |f| < 0.172
        s = f * f
        tail = 1.0 / 13.0 + s * (1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0 + s * (1.0 / 21.0))))
        tail = 1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s * tail)))
        row[i] += n * LOG_2_HIGH + (2.0 * (f + f * s * (1.0 / 3.0 + s * tail)) + n * LOG_2_LOW)

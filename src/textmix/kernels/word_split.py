"""Kernels of the mixture with a word split: the variational update of words, and the flips of blocked Gibbs sampling.

Digamma and log Γ of whole rows are vector loops. Both functions come from Stirling's series at x + 8 and are brought
back by the product of x, x + 1, …, x + 7, whose factors pair up: with y = x (x + 7) they are y, y + 6, y + 10 and
y + 12. Logarithms are computed here, from the bits of a number and a series, because a call of the C library cannot be
part of a vector loop.
"""

from __future__ import annotations

import math

import numpy as np

from .gamma import log_rising
from .jit import kernel

MANTISSA = np.int64(0x000FFFFFFFFFFFFF)
HALF_ROOT_BITS = np.int64(0x3FE6A09E00000000)  # of a number just below √½
ONE_MINUS_HALF_ROOT = np.int64(0x3FF0000000000000) - HALF_ROOT_BITS
TWO_TO_52_BITS = np.int64(0x4330000000000000)  # with k in its last bits this is the number 2^52 + k
EXPONENT_OFFSET = 2.0**52 + 1023.0
LOG_2 = math.log(2.0)
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)

# What `sums` of flip_words holds: Σλ_j and Σβ_j, of all words or, in the normalised form, of those of each group; all
# occurrences of discriminative and of background words; the number of discriminative words.
OWN, SHARED, INSIDE, OUTSIDE, N_CHOSEN, N_SUMS = 0, 1, 2, 3, 4, 5


@kernel(allocates=False)
def take_logs(values, bits, exponents, exponent_bits):
    """Replace positive, normal numbers by their logarithms.

    `bits` and `exponent_bits` are the same memory as `values` and `exponents`, seen as integers. With x = 2^k m and m
    in [√½, √2), log x = k log 2 + 2 artanh((m − 1)/(m + 1)).
    """
    for i in range(values.size):
        shifted = bits[i] + ONE_MINUS_HALF_ROOT
        exponent_bits[i] = (shifted >> 52) | TWO_TO_52_BITS
        bits[i] = (shifted & MANTISSA) + HALF_ROOT_BITS
    for i in range(values.size):
        m = values[i]
        f = (m - 1.0) / (m + 1.0)
        s = f * f
        tail = 1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0 + s * (1.0 / 21.0)))
        tail = 1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s * (1.0 / 13.0 + s * tail)))
        series = s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * tail))
        values[i] = (exponents[i] - EXPONENT_OFFSET) * LOG_2 + (2.0 * f + 2.0 * f * series)


@kernel(allocates=False)
def digammas_and_log_gammas(arguments, digammas, log_gammas, work, work_bits):
    """Write ψ of each argument (1e-30 to 1e30) and add its log Γ to log_gammas.

    `work` has room for four numbers an argument; `work_bits` is the same memory seen as integers.
    """
    n = arguments.size
    shifted, products, exponents = work[:n], work[n : 2 * n], work[2 * n :]
    for i in range(n):
        x = arguments[i]
        y = x * (x + 7.0)
        outer, inner = y * (y + 6.0), (y + 10.0) * (y + 12.0)
        shifted[i] = x + 8.0
        products[i] = outer * inner
        # Σ 1/(x + k), the derivative of the logarithm of the product
        digammas[i] = (2.0 * x + 7.0) * ((2.0 * y + 6.0) * inner + (2.0 * y + 22.0) * outer) / (outer * inner)
    take_logs(work[: 2 * n], work_bits[: 2 * n], exponents, work_bits[2 * n :])
    for i in range(n):
        x = arguments[i] + 8.0
        r = 1.0 / x
        s = r * r
        # Bernoulli numbers: B_2k / 2k for ψ, B_2k / (2k (2k − 1)) for log Γ.
        slope = 1.0 / 240.0 - s * (1.0 / 132.0 - s * (691.0 / 32760.0 - s * (1.0 / 12.0)))
        slope = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * slope)))
        value = 1.0 / 1680.0 - s * (1.0 / 1188.0 - s * (691.0 / 360360.0 - s * (1.0 / 156.0)))
        value = r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * value)))
        digammas[i] = shifted[i] - 0.5 * r - slope - digammas[i]
        log_gammas[i] += (x - 0.5) * shifted[i] - x + HALF_LOG_2_PI + value - products[i]


@kernel(allocates=False)
def update_words(
    sums,
    copies,
    totals_digamma,
    word_prior,
    background,
    fixed,
    relevance,
    log_sums,
    log_gammas,
    work,
    work_bits,
    first,
    last,
):
    """Eq. 23 and 25 for words first … last − 1, and the weights by which documents are scored (DMAFP, eq. 24).

    sums            Σ_d φ_di x_dj (words × columns); replaced by ω_j (ψ(τ_ij) − ψ(Σ_j τ_ij))
    copies          how many equal clusters a column stands for, which share its sums evenly
    totals_digamma  ψ(Σ_j τ_ij)
    word_prior      λ_j
    background      log ω − log(1 − ω) − Σ_d x_dj (ψ(τ_0j) − ψ(Σ_j τ_0j))
    fixed           whether ω_j stays as it is
    relevance       ω_j, of which τ_ij = λ_j + ω_j sums_ji / copies_i is made; replaced by its update
    log_sums        written: Σ_i (ψ(τ_ij) − ψ(Σ_j τ_ij)) over all clusters
    log_gammas      Σ_j log Γ(τ_ij) is added, once a column
    work            room for six numbers a column; work_bits is the same memory seen as integers

    Returns Σ_ij (τ_ij − λ_j) (ψ(τ_ij) − ψ(Σ_j τ_ij)) over all clusters. Cost: words × columns digammas.
    """
    n = totals_digamma.size
    parameters, digammas = work[:n], work[n : 2 * n]
    expected = 0.0
    for word in range(first, last):
        row, prior, share = sums[word], word_prior[word], relevance[word]
        for i in range(n):
            parameters[i] = prior + share * (row[i] / copies[i])
        digammas_and_log_gammas(parameters, digammas, log_gammas, work[2 * n :], work_bits[2 * n :])
        explained, logs = 0.0, 0.0
        for i in range(n):
            digammas[i] -= totals_digamma[i]
            explained += row[i] * digammas[i]
            logs += copies[i] * digammas[i]
        expected += share * explained
        log_sums[word] = logs
        if not fixed:
            log_odds = background[word] + explained
            share = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0
            relevance[word] = share
        for i in range(n):
            row[i] = share * digammas[i]
    return expected


@kernel(allocates=False)
def log_rising_or_zero(x, n):
    """log Γ(x + n) − log Γ(x); 0 where n is 0, also for x = 0."""
    return log_rising(x, n) if n > 0.0 else 0.0


@kernel(allocates=False)
def log_share(inside, outside, n_chosen, n_words):
    """log ∫ ρ^inside (1 − ρ)^outside dρ; 0 where one group has no words, so that ρ can only be 0 or 1."""
    if n_chosen == 0.0 or n_chosen == n_words:
        return 0.0
    return math.lgamma(1.0 + inside) + math.lgamma(1.0 + outside) - math.lgamma(2.0 + inside + outside)


@kernel(allocates=False)
def log_ratio_of_flip(counts, word_total, totals, sums, n_words, prior, shared_prior, normalised, sign):
    """log f(words | labels, γ) after a word has gone in (sign 1) or out (−1), minus before (DMAFP, eq. 11 to 14).

    counts  of the word in each cluster; word_total is their sum
    totals  of all discriminative words in each cluster

    Cost: clusters that hold the word; if normalised, all clusters that hold any.
    """
    own, shared = sums[OWN], sums[SHARED]
    new_own = own + sign * prior if normalised else own
    new_shared = shared - sign * shared_prior if normalised else shared
    n_chosen = sums[N_CHOSEN]
    # A group without words has no occurrences, whatever rounding has left of their sum.
    some_inside, some_inside_then = min(n_chosen, 1.0), min(n_chosen + sign, 1.0)
    some_outside, some_outside_then = min(n_words - n_chosen, 1.0), min(n_words - n_chosen - sign, 1.0)
    change = -sign * log_rising_or_zero(shared_prior, word_total)
    for i in range(counts.size):
        if counts[i] > 0.0:
            change += sign * log_rising(prior, counts[i])
        if normalised:
            change += log_rising_or_zero(own, some_inside * totals[i])
            change -= log_rising_or_zero(new_own, some_inside_then * (totals[i] + sign * counts[i]))
        elif counts[i] > 0.0:
            change -= sign * log_rising(own + max(min(totals[i], totals[i] + sign * counts[i]), 0.0), counts[i])
    inside, outside = some_inside * sums[INSIDE], some_outside * sums[OUTSIDE]
    new_inside = some_inside_then * (sums[INSIDE] + sign * word_total)
    new_outside = some_outside_then * (sums[OUTSIDE] - sign * word_total)
    change += log_rising_or_zero(shared, outside) - log_rising_or_zero(new_shared, new_outside)
    if normalised:
        change += log_share(new_inside, new_outside, n_chosen + sign, n_words)
        change -= log_share(inside, outside, n_chosen, n_words)
    return change


@kernel(allocates=False)
def flip_words(
    words, log_uniforms, counts, word_totals, word_prior, background_prior, log_odds, normalised, chosen, totals, sums
):
    """Propose to flip each of `words` in turn and do so by Metropolis' rule (DMAFP, eq. 26); return how many were.

    counts: words × clusters; log_odds: log ω − log(1 − ω). `chosen` (γ), `totals` and `sums` are kept up to date.
    """
    n_flipped = 0
    for step in range(words.size):
        word = words[step]
        sign = -1.0 if chosen[word] else 1.0
        row = counts[word]
        change = sign * log_odds + log_ratio_of_flip(
            row,
            word_totals[word],
            totals,
            sums,
            chosen.size,
            word_prior[word],
            background_prior[word],
            normalised,
            sign,
        )
        if log_uniforms[step] < change:
            n_flipped += 1
            chosen[word] = not chosen[word]
            for i in range(totals.size):
                totals[i] += sign * row[i]
            sums[INSIDE] += sign * word_totals[word]
            sums[OUTSIDE] -= sign * word_totals[word]
            sums[N_CHOSEN] += sign
            if normalised:
                sums[OWN] += sign * word_prior[word]
                sums[SHARED] -= sign * background_prior[word]
    return n_flipped

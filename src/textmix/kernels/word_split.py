"""Kernel of the blocked Gibbs sampler with a word split: flips of words between discriminative and background."""

from __future__ import annotations

import math

from .gamma import log_rising
from .jit import kernel

# What `sums` of flip_words holds: Σλ_j and Σβ_j, of all words or, in the normalised form, of those of each group; all
# occurrences of discriminative and of background words; the number of discriminative words.
OWN, SHARED, INSIDE, OUTSIDE, N_CHOSEN, N_SUMS = 0, 1, 2, 3, 4, 5


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

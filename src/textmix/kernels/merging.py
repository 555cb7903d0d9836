"""Greedy merging of clusters by the information that is lost."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inline, kernel


class WordWeights(NamedTuple):
    """Weights of words by cluster: the entries starts[z] … ends[z] − 1 are those of cluster z, words rising."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    values: NDArray[np.float64]
    terms: NDArray[np.float64]  # x log x of each value


@inline
def x_log_x(x):
    """Continued to 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@kernel(allocates=False)
def fill_terms(values, terms):
    """x log x of each value."""
    for entry in range(values.size):
        terms[entry] = x_log_x(values[entry])


@kernel(allocates=False)
def costs_of_merging(rows, totals, cluster, clusters, own, own_terms, costs):
    """What merging a cluster with each of others costs: (n_a + n_b) H(a ∪ b) − n_a H(a) − n_b H(b), in nats.

    H is the entropy of a cluster's words. Only words of both count beside the totals: `own`, a place for each word, is
    0 and is left so; `own_terms` has as many.
    """
    for entry in range(rows.starts[cluster], rows.ends[cluster]):
        own[rows.words[entry]], own_terms[rows.words[entry]] = rows.values[entry], rows.terms[entry]
    for i in range(clusters.size):
        other = clusters[i]
        shared = 0.0
        for entry in range(rows.starts[other], rows.ends[other]):
            value = own[rows.words[entry]]
            if value > 0.0:
                shared += x_log_x(value + rows.values[entry]) - own_terms[rows.words[entry]] - rows.terms[entry]
        both = x_log_x(totals[cluster] + totals[other]) - x_log_x(totals[cluster]) - x_log_x(totals[other])
        costs[i] = max(both - shared, 0.0)
    for entry in range(rows.starts[cluster], rows.ends[cluster]):
        own[rows.words[entry]] = 0.0


@kernel(allocates=False)
def add_rows(rows, one, other, free):
    """Write the sum of two clusters' words from a free place on; return the place after it."""
    words, values, terms = rows.words, rows.values, rows.terms
    i, j = rows.starts[one], rows.starts[other]
    while i < rows.ends[one] or j < rows.ends[other]:
        if j == rows.ends[other] or (i < rows.ends[one] and words[i] < words[j]):
            words[free], values[free], terms[free] = words[i], values[i], terms[i]
            i += 1
        elif i == rows.ends[one] or words[j] < words[i]:
            words[free], values[free], terms[free] = words[j], values[j], terms[j]
            j += 1
        else:
            words[free], values[free] = words[i], values[i] + values[j]
            terms[free] = x_log_x(values[free])
            i += 1
            j += 1
        free += 1
    return free

"""Greedy merging of clusters by the information that is lost."""

from __future__ import annotations

import math

from .jit import inline, kernel


@inline
def x_log_x(x):
    """Continued to 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@kernel
def costs_of_merging(cluster, clusters, row, totals, starts, ends, words, values, costs):
    """What merging a cluster with each of others costs: (n_a + n_b) H(a ∪ b) − n_a H(a) − n_b H(b), in nats.

    H is the entropy of a cluster's words. Only words of both count beside the totals: `row`, a place for each word, is
    0 and is left so.
    """
    for entry in range(starts[cluster], ends[cluster]):
        row[words[entry]] = values[entry]
    for i in range(clusters.size):
        other = clusters[i]
        shared = 0.0
        for entry in range(starts[other], ends[other]):
            value = row[words[entry]]
            if value > 0.0:
                shared += x_log_x(value + values[entry]) - x_log_x(value) - x_log_x(values[entry])
        both = x_log_x(totals[cluster] + totals[other]) - x_log_x(totals[cluster]) - x_log_x(totals[other])
        costs[i] = max(both - shared, 0.0)
    for entry in range(starts[cluster], ends[cluster]):
        row[words[entry]] = 0.0


@kernel
def add_rows(one, other, starts, ends, words, values, free):
    """Write the sum of two clusters' words, which are in order, from a free place on; return the place after it."""
    i, j = starts[one], starts[other]
    while i < ends[one] or j < ends[other]:
        if j == ends[other] or (i < ends[one] and words[i] < words[j]):
            words[free], values[free] = words[i], values[i]
            i += 1
        elif i == ends[one] or words[j] < words[i]:
            words[free], values[free] = words[j], values[j]
            j += 1
        else:
            words[free], values[free] = words[i], values[i] + values[j]
            i += 1
            j += 1
        free += 1
    return free

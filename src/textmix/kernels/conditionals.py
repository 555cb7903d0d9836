"""Kernels for finished partitions: what each document weighs in every cluster, as probabilities."""

from __future__ import annotations

import math

import numpy as np

from .gibbs import TOLERANCE
from .jit import kernel
from .state import N_SLOTS
from .weights import add_log_gains, new_weight, write_log_bases

LARGE_LOG = 1e6  # beyond, logarithms have so few digits after the point that probabilities must be made to add up to 1


@kernel(allocates=False)
def conditional_probabilities(
    documents, clusters, model, prior, order, log_bases, probabilities, log_existing, log_new
):
    """The probability of every cluster for each document and, in the last column, of a new cluster.

    A document with a label is taken out of its cluster first. If it is alone there, a new cluster means staying and
    that mass stands in its own column. log_existing and log_new get the log of the summed weights of the clusters and
    that of a new one, relative to an empty cluster of weight 1. For documents without words all is NaN. `order` has the
    documents by length, so that log_bases, room for a number a cluster, is written once for each length.
    """
    n_slots = clusters.counters[N_SLOTS]
    length = 0
    for document in order:
        row = probabilities[document]
        if documents.lengths[document] == 0:
            row[:] = np.nan
            log_existing[document] = np.nan
            log_new[document] = np.nan
            continue
        own = np.int64(clusters.labels[document])
        alone = own >= 0 and clusters.sizes[own] == 1
        if documents.lengths[document] != length:
            length = documents.lengths[document]
            write_log_bases(clusters, model, prior, length, log_bases)
        for slot in range(n_slots):
            row[slot] = log_bases[slot]
        add_log_gains(documents, clusters, model, prior, row, document)
        fresh = new_weight(clusters, prior, own)
        log_new[document] = math.log(fresh) if fresh > 0.0 else -np.inf
        highest = -np.inf
        for slot in range(n_slots):
            highest = max(highest, row[slot])
        total = 0.0
        if highest > -np.inf:
            for slot in range(n_slots):
                row[slot] = math.exp(row[slot] - highest)
                total += row[slot]
        else:
            row[:n_slots] = 0.0
        log_existing[document] = highest + math.log(total) if total > 0.0 else -np.inf
        log_total = np.logaddexp(log_existing[document], log_new[document])
        scale = math.exp(highest - log_total)
        for slot in range(n_slots):
            row[slot] *= scale
        row[n_slots] = math.exp(log_new[document] - log_total)
        if abs(highest) > LARGE_LOG:
            row /= row.sum()
        if alone:
            row[own] = row[n_slots]
            row[n_slots] = 0.0


@kernel
def settle_ties(probabilities, labels, sizes, n_identical):
    """Make the argmax of each row its label where it is one of the best within TOLERANCE, as polishing left it.

    The own column is raised to just above the best. A document that shares its cluster with nothing but identical ones
    and would rather be alone has the new cluster's mass in its own column, as one that is alone has.
    """
    new = probabilities.shape[1] - 1
    for document in range(labels.size):
        own = labels[document]
        if own < 0:
            continue
        row = probabilities[document]
        if n_identical.size > 0 and sizes[own] == n_identical[document] and row[new] > row[own]:
            row[own] += row[new]
            row[new] = 0.0
        best = np.argmax(row)
        if best != own and row[best] <= row[own] * (1.0 + 2.0 * TOLERANCE):
            row[own] = np.nextafter(row[best], 2.0)

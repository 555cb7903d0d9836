"""Collapsed Gibbs sampling: sweeps that draw each document's cluster anew, or take the most probable one."""

from __future__ import annotations

import numpy as np

from .jit import inline, kernel
from .state import N_SLOTS
from .statistics import add_document, has_room, move_document, take_slot
from .weights import n_partial_sums, partial_sums, refresh_bases, weigh

NEW = -1  # the choice "a new cluster"
TOLERANCE = 1e-9  # polishing: how much more probable another option must be


@inline
def pick(values, n, sums, target):
    """The first index at which the running sum, taken in the order of the partial sums, exceeds the target.

    Where rounding leaves a target behind the last value, the value before it that is above 0.
    """
    step = n_partial_sums(n)
    index = 0
    while index < step - 1 and target >= sums[index]:
        target -= sums[index]
        index += 1
    while index + step < n and target >= values[index]:
        target -= values[index]
        index += step
    while values[index] <= 0.0 and index >= step:
        index -= step
    return index


@inline
def pick_untouched(clusters, table, scratch, row, n_touched, target):
    """Draw among the clusters that share no word with the document."""
    gains, weights, n_slots = scratch.gains, scratch.weights, clusters.counters[N_SLOTS]
    for index in range(n_touched):
        gains[scratch.touched[index]] = 0.0
    for slot in range(n_slots):
        weights[slot] = table.bases[row, slot] * gains[slot]
    for index in range(n_touched):
        gains[scratch.touched[index]] = 1.0
    partial_sums(weights, n_slots, scratch.sums)
    return pick(weights, n_slots, scratch.sums, target)


@inline
def draw(clusters, table, scratch, weighed, own, uniform):
    """The slot, or NEW, that a uniform number from [0, 1) falls on when each takes room in proportion to its weight."""
    touched_only, row, n_weights, total, rest, fresh = weighed
    target = uniform * (total + rest + fresh) - fresh
    if target < 0.0:
        return np.int64(NEW)
    if target >= total and rest > 0.0:
        touched_only = False
        index = pick_untouched(clusters, table, scratch, row, n_weights, target - total)
    else:
        index = pick(scratch.weights, n_weights, scratch.sums, target)
    if scratch.weights[index] <= 0.0:
        return own  # rounding left a target where there is nothing
    return np.int64(scratch.touched[index]) if touched_only else np.int64(index)


@inline
def most_probable(clusters, table, scratch, weighed, own, only_identical):
    """The slot of largest weight, NEW for a new cluster; the own one unless another exceeds it by TOLERANCE.

    A document alone in its cluster is in a new cluster already. So is one that has only identical documents
    beside it and would rather be alone: identical documents are to stay together.
    """
    touched_only, row, n_weights, _, _, fresh = weighed
    current = scratch.weights[0 if touched_only else own]
    if clusters.sizes[own] == 1 or (only_identical and fresh > current):
        current += fresh
    best = 0
    for index in range(1, n_weights):
        if scratch.weights[index] > scratch.weights[best]:
            best = index
    slot, weight = np.int64(scratch.touched[best]) if touched_only else np.int64(best), scratch.weights[best]
    if touched_only:
        for other in range(clusters.counters[N_SLOTS]):
            if table.bases[row, other] > weight and other != own:
                slot, weight = np.int64(other), table.bases[row, other]
    if fresh > weight:
        slot, weight = np.int64(NEW), fresh
    return slot if weight > current * (1.0 + TOLERANCE) else own


@inline
def go_to(documents, clusters, model, prior, table, document, option):
    """Move a document to a slot, or with NEW to a cluster of its own, unless it is there already."""
    own = np.int64(clusters.labels[document])
    slot = option
    if option == NEW:
        slot = own if clusters.sizes[own] == 1 else take_slot(clusters)
    if slot != own:
        move_document(documents, clusters, document, slot)
        for changed in (own, slot):
            refresh_bases(clusters, model, prior, table, changed)


@kernel(allocates=False)
def place(documents, clusters, model, prior, table, scratch, order, first, last, uniforms):
    """Give the documents order[first] … order[last − 1], which have no label yet, one: each from its conditional given
    those that have one. Returns where it stopped for want of a slot.

    A document comes as one that is alone in a cluster of its own; where clusters differ that is the last slot's, which
    has no weight.
    """
    for index in range(first, last):
        document = order[index]
        if documents.lengths[document] == 0:
            continue
        if not prior.labelled and not has_room(clusters):
            return index
        slot = clusters.sizes.size - 1 if prior.labelled else take_slot(clusters)
        add_document(documents, clusters, document, slot)
        refresh_bases(clusters, model, prior, table, slot)
        option = np.int64(slot)
        for drawn in (True, False):  # one call of weigh: every copy of it takes long to compile
            if option == slot:  # the second time by rounding: its own slot has no weight
                weighed = weigh(documents, clusters, model, prior, table, scratch, document)
                if drawn:
                    option = draw(clusters, table, scratch, weighed, slot, uniforms[uniforms.size - last + index])
                else:
                    option = most_probable(clusters, table, scratch, weighed, slot, False)
        go_to(documents, clusters, model, prior, table, document, option)
    return last


@kernel(allocates=False)
def sweep(documents, clusters, model, prior, table, scratch, first, last, uniforms, n_identical):
    """Choose a cluster anew for each of the documents first … last − 1; return where it stopped for want of a slot.

    With uniform random numbers, the last of which is for document last − 1: draws from the exact conditional. Without
    any: the most probable cluster; `n_identical` then says how many documents are identical to each, itself counted.
    """
    for document in range(first, last):
        if documents.lengths[document] == 0:
            continue
        if not has_room(clusters) and clusters.sizes.size < prior.max_clusters:
            return document
        own = np.int64(clusters.labels[document])
        weighed = weigh(documents, clusters, model, prior, table, scratch, document)
        if uniforms.size == 0:
            only_identical = n_identical.size > 0 and clusters.sizes[own] == n_identical[document]
            slot = most_probable(clusters, table, scratch, weighed, own, only_identical)
        else:
            slot = draw(clusters, table, scratch, weighed, own, uniforms[uniforms.size - last + document])
        go_to(documents, clusters, model, prior, table, document, slot)
    return last

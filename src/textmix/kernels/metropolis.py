"""Metropolis-Hastings sampling of labels with an old conditional of each document as its proposal (X-DMM).

When a document is refreshed it is drawn from its exact conditional q, as in Gibbs sampling, and candidates for the
proposals to come are drawn from the same q, by an alias table, and kept with their log q. Draws of the label that the
document has then (most of them, near convergence) are counted instead of kept. A proposal c is accepted with
probability min(1, p(c) q(own) / (p(own) q(c))), p being the conditional of today: the document's words are looked up
in two clusters, and in none when it proposes where it is.

Every cluster has a slot of its own, empty or not (`Prior.labelled`), so that it keeps its name, and with it its q.
"""

from __future__ import annotations

import math

import numpy as np

from .counts import scramble
from .gibbs import go_to
from .jit import inline, kernel
from .state import N_ACCEPTED, N_PROPOSED, N_REFRESHED, N_SLOTS
from .weights import log_weight_in, weigh

NONE_LEFT = -2  # in place of a candidate


@inline
def uniform_at(key, position):
    """A uniform number from [0, 1), the one at this position of the sequence that belongs to a key (SplitMix64)."""
    bits = scramble(key + np.uint64(position) * np.uint64(0x9E3779B97F4A7C15))
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel(allocates=False)
def build_alias(n, alias):
    """Make a table of the first n of alias.weights to draw from in constant time (Walker 1977, in Vose's way)."""
    weights, shares, others, queue = alias.weights, alias.shares, alias.others, alias.queue
    total = 0.0
    for item in range(n):
        total += weights[item]
    n_small, first_large = 0, n  # items below their share from the left, above it from the right
    for item in range(n):
        shares[item] = weights[item] * (n / total)
        others[item] = item
        if shares[item] < 1.0:
            queue[n_small] = item
            n_small += 1
        else:
            first_large -= 1
            queue[first_large] = item
    while n_small > 0 and first_large < n:
        n_small -= 1
        small, large = queue[n_small], queue[first_large]
        others[small] = large
        shares[large] -= 1.0 - shares[small]
        if shares[large] < 1.0:
            first_large += 1
            queue[n_small] = large
            n_small += 1
    # What rounding leaves over has its full share.
    for index in range(n_small):
        shares[queue[index]] = 1.0
    for index in range(first_large, n):
        shares[queue[index]] = 1.0


@inline
def draw_alias(alias, n, uniform):
    """The item that a uniform number falls on."""
    scaled = uniform * n
    item = min(np.int64(scaled), n - 1)
    return item if scaled - item < alias.shares[item] else np.int64(alias.others[item])


@inline
def untouched_at(clusters, table, scratch, row, n_touched, target):
    """The cluster without a shared word that a target falls on, and its weight."""
    for index in range(n_touched):
        scratch.gains[scratch.touched[index]] = 0.0
    slot, weight = np.int64(-1), 1.0
    for other in range(clusters.counters[N_SLOTS]):
        base = table.bases[row, other] * scratch.gains[other]
        if base > 0.0 and (slot < 0 or target >= 0.0):
            slot, weight = np.int64(other), base
            target -= base
    for index in range(n_touched):
        scratch.gains[scratch.touched[index]] = 1.0
    return slot, weight


@inline
def draw_slot(clusters, table, scratch, alias, weighed, key, number):
    """A slot for the document whose weights are in scratch and the log of its weight: the number-th draw of a key."""
    touched_only, row, n_weights, _, rest, _ = weighed
    item = draw_alias(alias, n_weights + 1, uniform_at(key, 2 * number))
    if item == n_weights:
        slot, weight = untouched_at(clusters, table, scratch, row, n_weights, uniform_at(key, 2 * number + 1) * rest)
        if slot >= 0:
            return slot, math.log(weight)
        item = 0  # all clusters are touched, and what rounding left was drawn
    slot = np.int64(scratch.touched[item]) if touched_only else np.int64(item)
    return slot, math.log(scratch.weights[item])


@kernel(allocates=False)
def refresh(documents, clusters, model, prior, table, scratch, proposals, alias, document, n_draws, key):
    """Draw a document's label from its conditional, and from the same candidates for n_draws proposals."""
    weighed = weigh(documents, clusters, model, prior, table, scratch, document)
    _, _, n_weights, total, rest, _ = weighed
    # One item more: all clusters that share no word with the document.
    for index in range(n_weights):
        alias.weights[index] = scratch.weights[index]
    alias.weights[n_weights] = rest
    build_alias(n_weights + 1, alias)
    log_total = math.log(total + rest)
    own_key = scramble(key ^ np.uint64(document))
    held, log_weight = draw_slot(clusters, table, scratch, alias, weighed, own_key, 0)
    log_q_held = log_weight - log_total
    n_kept, gap = 0, 0
    for number in range(1, n_draws + 1):
        slot, log_weight = draw_slot(clusters, table, scratch, alias, weighed, own_key, number)
        if slot == held:
            gap += 1
            continue
        if n_kept == proposals.slots.shape[1]:
            break
        proposals.gaps[document, n_kept] = gap
        proposals.slots[document, n_kept] = slot
        proposals.log_q[document, n_kept] = log_weight - log_total
        n_kept += 1
        gap = 0
    proposals.gaps[document, n_kept] = gap
    proposals.n_kept[document] = n_kept
    proposals.next_kept[document] = 0
    proposals.held[document] = held
    proposals.log_q_held[document] = log_q_held
    proposals.log_q_own[document] = log_q_held
    go_to(documents, clusters, model, prior, table, document, held)


@inline
def next_candidate(proposals, document):
    """The next candidate and its log q; NONE_LEFT if there is none."""
    index = proposals.next_kept[document]
    if proposals.gaps[document, index] > 0:
        proposals.gaps[document, index] -= 1
        return np.int64(proposals.held[document]), proposals.log_q_held[document]
    if index == proposals.n_kept[document]:
        return np.int64(NONE_LEFT), 0.0
    proposals.next_kept[document] = index + 1
    return np.int64(proposals.slots[document, index]), proposals.log_q[document, index]


@kernel(allocates=False)
def metropolis_sweep(
    documents,
    clusters,
    model,
    prior,
    table,
    scratch,
    proposals,
    alias,
    first,
    last,
    n_steps,
    turn,
    period,
    key,
    uniforms,
):
    """Propose n_steps labels to each of the documents first … last − 1.

    Documents whose number leaves `turn` when divided by `period`, and those without candidates, are refreshed instead;
    with period 0 none is, and a document without candidates keeps its label. `uniforms` has n_steps numbers a document,
    those of document last − 1 at the end. proposals.counters: see there.
    """
    for document in range(first, last):
        if documents.lengths[document] == 0:
            continue
        stale = period > 0 and document % period == turn
        place = uniforms.size - (last - document) * n_steps
        for step in range(n_steps):
            if stale:
                break
            slot, log_q = next_candidate(proposals, document)
            if slot == NONE_LEFT:
                stale = period > 0
                break
            own = np.int64(clusters.labels[document])
            if slot == own:
                continue
            proposals.counters[N_PROPOSED] += 1
            log_p = log_weight_in(documents, clusters, model, prior, document, slot)
            log_p_own = log_weight_in(documents, clusters, model, prior, document, own)
            log_q_own = proposals.log_q_own[document]
            if uniforms[place + step] < math.exp(min(log_p - log_p_own + log_q_own - log_q, 0.0)):
                proposals.log_q_own[document] = log_q
                go_to(documents, clusters, model, prior, table, document, slot)
                proposals.counters[N_ACCEPTED] += 1
        if stale:
            refresh(
                documents, clusters, model, prior, table, scratch, proposals, alias, document, period * n_steps, key
            )
            proposals.counters[N_REFRESHED] += 1

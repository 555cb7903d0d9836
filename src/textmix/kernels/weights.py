"""What a document weighs in each cluster without it.

Three forms of the same weights, all exact:

- `weigh_touched`: only clusters that share a word with the document are visited; all others together are one number.
- `weigh_all`: every cluster, products in plain numbers, for documents that hold widespread words.
- `weigh_all_log`: every cluster in log space, for lengths without a row in the length table, fractional counts, and
  wherever plain numbers would overflow or lose digits.

Weights are relative to an empty cluster of weight 1: w_z = (m_z + a) ∏_{i<N} (Vβ + i)/(n_z + Vβ + i) ∏_w gain(n_z^w),
gain = ∏_{j<c} (n_z^w + β + j)/(β + j), with the document taken out (GSDPMM, eq. IV.28, IV.29 and IV.44).
"""

from __future__ import annotations

import math

import numpy as np

from .gamma import log_rising_from
from .jit import inline, kernel
from .state import N_SLOTS
from .statistics import find_pair, n_active

NEGLIGIBLE = -45.0  # exp of it is below the rounding of a sum of weights
BLOCK = 32  # base weights that are summed together
TILE = 512  # weights that are worked on together
SUMMED_TOGETHER, FEWEST_SUMS = 64, 16  # weights of a partial sum, when there are many; partial sums at least
ROUNDING = 2.3e-16  # of one addition, relative
LOST_LIMIT = 1e-11  # share of the total that rounding of the running sums may amount to
PLAIN_MIN, PLAIN_MAX = 1e-250, 1e250  # totals outside are computed in log space


@inline
def new_weight(clusters, prior, own):
    """What all empty clusters weigh together; a document alone in its cluster `own` leaves one more behind."""
    if prior.labelled:
        return 0.0
    fresh = prior.concentration + prior.pseudo_counts[-1] * (prior.max_clusters - n_active(clusters))
    if own >= 0 and clusters.sizes[own] == 1:
        fresh += pseudo_count(prior, own)
    return fresh


@inline
def pseudo_count(prior, slot):
    """The pseudo-count of the cluster in a slot."""
    return prior.pseudo_counts[min(slot, prior.pseudo_counts.size - 1)]


@inline
def occupied_weight(prior, slot, size):
    """m + a for the cluster in a slot; 0 for an empty one, unless clusters differ."""
    return size + pseudo_count(prior, slot) if size > 0 or prior.labelled else 0.0


@inline
def beta_of(model, word):
    """The pseudo-count of a word."""
    return model.betas[min(word, model.betas.size - 1)]


@inline
def base_weight(model, weight, total, length):
    """(m + a) ∏_{i<N} (Vβ + i)/(n + Vβ + i) for a whole length N, m + a being `weight`."""
    start = total + model.vocabulary_beta
    for i in range(length):
        weight *= (model.vocabulary_beta + i * model.rise) / (start + i * model.rise)
    return weight


@inline
def gain(model, beta, count, added):
    """∏_{j<c} (n + β + j)/(β + j)."""
    product = (count + beta) * (1.0 / beta)
    for j in range(1, added):
        product *= (count + beta + j * model.rise) / (beta + j * model.rise)
    return product


@inline
def log_product(model, table, base, n, added):
    """log ∏_{j<added} (base + n + j) for counts in units, from the table where it reaches."""
    if model.rise == 1.0:
        return log_rising_from(table, base, model.unit, n, added)
    return added * model.unit * (table[n] if 0 <= n < table.size else math.log(base + n * model.unit))


@inline
def refresh_bases(clusters, model, prior, table, slot):
    """Write a cluster's column of the length table anew and correct the sums."""
    size = clusters.sizes[slot]
    start = clusters.totals[slot] + model.vocabulary_beta
    weight = occupied_weight(prior, slot, size)
    reached = 0
    for row in range(table.lengths.size):
        length = table.lengths[row]
        for i in range(reached, length):
            weight *= (model.vocabulary_beta + i * model.rise) / (start + i * model.rise)
        reached = length
        table.sums[row] += weight - table.bases[row, slot]
        table.bases[row, slot] = weight
        table.peaks[row] = max(table.peaks[row], table.sums[row])
    table.n_updates[0] += 1


@kernel(allocates=False)
def sum_bases(clusters, table):
    """Compute the sums of the length table anew."""
    for row in range(table.lengths.size):
        total = 0.0
        for first in range(0, clusters.counters[N_SLOTS], BLOCK):
            part = 0.0
            for slot in range(first, min(first + BLOCK, clusters.counters[N_SLOTS])):
                part += table.bases[row, slot]
            total += part
        table.sums[row] = total
        table.peaks[row] = total
    table.n_updates[0] = 0


@kernel(allocates=False)
def fill_bases(clusters, model, prior, table):
    """Compute the whole length table."""
    table.bases[:] = 0.0
    for slot in range(clusters.counters[N_SLOTS]):
        refresh_bases(clusters, model, prior, table, slot)
    sum_bases(clusters, table)


@inline
def weigh_touched(documents, clusters, model, prior, table, scratch, document, row):
    """Leave in scratch the clusters touched and their weights; return their number, their sum and that of the rest.

    touched[0] is the document's own cluster. The loop over pairs has no branch: a gain that is still 1 marks a cluster
    not yet touched, and the own cluster's gain runs with a minus sign, so that it never looks like one.
    """
    own = np.uint32(clusters.labels[document])
    gains, touched, weights = scratch.gains, scratch.touched, scratch.weights
    pair_slots, pair_counts = clusters.pair_slots, clusters.pair_counts
    gains[own] = -1.0
    touched[0] = own
    n_touched = np.uint32(1)
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        word = documents.words[entry]
        count = documents.counts[entry]
        beta = beta_of(model, word)
        start = clusters.list_starts[word]
        stop = start + clusters.list_lengths[word]
        for pair in range(start, stop):
            slot = pair_slots[pair]
            present = pair_counts[pair] - np.int32(slot == own) * count
            before = gains[slot]
            touched[n_touched] = slot
            n_touched += np.uint32(before == 1.0)
            gains[slot] = before * gain(model, beta, present, count)
    bases = table.bases[row]
    weights[0] = own_base(documents, clusters, model, prior, document, own) * -gains[own]
    covered, covered_too = bases[own], 0.0  # two sums, so that one addition need not wait for the other
    gains[own] = 1.0
    for index in range(1, n_touched):
        slot = touched[index]
        covered, covered_too = covered_too, covered + bases[slot]
        weights[index] = bases[slot] * gains[slot]
        gains[slot] = 1.0
    total = partial_sums(weights, np.int64(n_touched), scratch.sums)
    return np.int64(n_touched), total, max(table.sums[row] - (covered + covered_too), 0.0)


@inline
def own_base(documents, clusters, model, prior, document, own):
    """The base weight of the document's own cluster without it; 0 if nothing is left of it."""
    length = documents.lengths[document]
    weight = occupied_weight(prior, own, clusters.sizes[own] - 1)
    return base_weight(model, weight, clusters.totals[own] - length, length)


@inline
def weigh_all(documents, clusters, model, prior, table, scratch, document, row):
    """Leave every slot's weight in scratch.weights; return their sum.

    First come base weights and rows, a tile of slots at a time that stays in the nearest cache and two factors
    (count + shift) / shift a pass; then lists. The own cluster's entry runs along with the others and is replaced at
    the end.
    """
    own = np.uint32(clusters.labels[document])
    n_slots = clusters.counters[N_SLOTS]
    weights, bases, rows = scratch.weights, table.bases, clusters.rows
    pair_slots, pair_counts = clusters.pair_slots, clusters.pair_counts
    start, stop = documents.starts[document], documents.starts[document + 1]
    own_weight = own_base(documents, clusters, model, prior, document, own)
    n_factors, first_list = list_factors(documents, clusters, model, scratch, start, stop)
    for entry in range(start, first_list):
        word, count = documents.words[entry], documents.counts[entry]
        own_weight *= gain(model, beta_of(model, word), np.int64(rows[word, own]) - count, count)
    for first in range(0, n_slots, TILE):
        # Views that are indexed from 0: Numba would check any other start for negative values at every access.
        last = min(first + TILE, n_slots)
        tile, tile_bases = weights[first:last], bases[row, first:last]
        if n_factors % 2 == 1:
            shift, scale, counts = factor(scratch, rows, n_factors - 1, first, last)
            for slot in range(tile.size):
                tile[slot] = tile_bases[slot] * ((counts[slot] + shift) * scale)
        else:
            for slot in range(tile.size):
                tile[slot] = tile_bases[slot]
        for pair in range(1, n_factors, 2):
            shift, scale, counts = factor(scratch, rows, pair - 1, first, last)
            more_shift, more_scale, more_counts = factor(scratch, rows, pair, first, last)
            for slot in range(tile.size):
                tile[slot] *= ((counts[slot] + shift) * scale) * ((more_counts[slot] + more_shift) * more_scale)
    for entry in range(first_list, stop):
        word, count = documents.words[entry], documents.counts[entry]
        beta = beta_of(model, word)
        first = clusters.list_starts[word]
        present_in_own = count
        for pair in range(first, first + clusters.list_lengths[word]):
            slot, present = pair_slots[pair], pair_counts[pair]
            present_in_own = present if slot == own else present_in_own
            weights[slot] *= gain(model, beta, present, count)
        own_weight *= gain(model, beta, present_in_own - count, count)
    weights[own] = own_weight
    return partial_sums(weights, n_slots, scratch.sums)


@inline
def list_factors(documents, clusters, model, scratch, start, stop):
    """Leave in scratch the factors of the words that have a row; return their number and the first entry without."""
    n_factors, entry = 0, start
    while entry < stop and documents.words[entry] < clusters.rows.shape[0]:
        for j in range(documents.counts[entry]):
            scratch.factor_words[n_factors] = documents.words[entry]
            scratch.factor_shifts[n_factors] = beta_of(model, documents.words[entry]) + j * model.rise
            n_factors += 1
        entry += 1
    return n_factors, entry


@inline
def factor(scratch, rows, index, first, last):
    """A factor's shift, 1 / shift, and the counts it applies to in slots first … last − 1."""
    shift = scratch.factor_shifts[index]
    return shift, 1.0 / shift, rows[scratch.factor_words[index], first:last]


@inline
def n_partial_sums(n):
    """Into how many sums n weights are added up: few enough to search them, many enough for vector loops."""
    return min(n // SUMMED_TOGETHER + FEWEST_SUMS, n)


@kernel(allocates=False)
def partial_sums(values, n, sums):
    """Add the first n values up into few sums, of which sums[i] holds values i, i + step, i + 2 step, …; return all.

    The order of additions is fixed, and yet they are vector loops.
    """
    step = n_partial_sums(n)
    part = sums[:step]
    for i in range(step):
        part[i] = values[i]
    done = step
    while done + 3 * step <= n:
        one, two, three = values[done : done + step], values[done + step : done + 2 * step], values[done + 2 * step : n]
        for i in range(step):
            part[i] += one[i] + two[i] + three[i]
        done += 3 * step
    while done < n:
        rest = values[done : min(done + step, n)]
        for i in range(rest.size):
            part[i] += rest[i]
        done += step
    total = 0.0
    for i in range(step):
        total += part[i]
    return total


@kernel(allocates=False)
def log_weight_in(documents, clusters, model, prior, document, slot):
    """log of what a document weighs in one cluster without it, relative to an empty cluster of weight 1."""
    own = np.int64(clusters.labels[document])
    length = documents.lengths[document]
    size, total = clusters.sizes[slot], clusters.totals[slot]
    if slot == own:
        size, total = size - 1, total - length
    weight = occupied_weight(prior, slot, size)
    if weight <= 0.0:
        return -np.inf
    lengths, words = model.log_rising_length, model.log_rising_word
    log_weight = math.log(weight) + (
        log_product(model, lengths, model.vocabulary_beta, 0, length)
        - log_product(model, lengths, model.vocabulary_beta, total, length)
    )
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        word, count = documents.words[entry], documents.counts[entry]
        present = np.int64(0)
        if word < clusters.rows.shape[0]:
            present = np.int64(clusters.rows[word, slot])
        else:
            pair = find_pair(clusters, word, slot)
            if pair >= 0:
                present = np.int64(clusters.pair_counts[pair])
        if slot == own:
            present -= count
        if present > 0:
            beta = beta_of(model, word)
            log_weight += log_product(model, words, beta, present, count) - log_product(model, words, beta, 0, count)
    return log_weight


@kernel(allocates=False)
def log_weigh_all(documents, clusters, model, prior, log_weights, document):
    """Write every slot's log weight (−inf for empty slots)."""
    write_log_bases(clusters, model, prior, documents.lengths[document], log_weights)
    add_log_gains(documents, clusters, model, prior, log_weights, document)


@inline
def write_log_bases(clusters, model, prior, length, log_bases):
    """Write every slot's log weight for the length of a document, its words aside (−inf for empty slots)."""
    log_empty = log_product(model, model.log_rising_length, model.vocabulary_beta, 0, length)
    for slot in range(clusters.counters[N_SLOTS]):
        weight = occupied_weight(prior, slot, clusters.sizes[slot])
        if weight > 0.0:
            rising = log_product(model, model.log_rising_length, model.vocabulary_beta, clusters.totals[slot], length)
            log_bases[slot] = math.log(weight) + log_empty - rising
        else:
            log_bases[slot] = -np.inf


@inline
def add_log_gains(documents, clusters, model, prior, log_weights, document):
    """Add what a document's words weigh in every slot; its own cluster's entry is written anew, without it."""
    n_slots = clusters.counters[N_SLOTS]
    table = model.log_rising_word
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        word = documents.words[entry]
        count = documents.counts[entry]
        beta = beta_of(model, word)
        fresh = log_product(model, table, beta, 0, count)
        if word < clusters.rows.shape[0]:
            counts = clusters.rows[word]
            for slot in range(n_slots):
                log_weights[slot] += log_product(model, table, beta, counts[slot], count) - fresh
        else:
            start = clusters.list_starts[word]
            for pair in range(start, start + clusters.list_lengths[word]):
                present = clusters.pair_counts[pair]
                log_weights[clusters.pair_slots[pair]] += log_product(model, table, beta, present, count) - fresh
    own = np.int64(clusters.labels[document])
    if own >= 0:
        log_weights[own] = log_weight_in(documents, clusters, model, prior, document, own)


@inline
def weigh_all_log(documents, clusters, model, prior, scratch, document, fresh):
    """Leave every slot's weight in scratch.weights relative to the largest; return their sum and the new cluster's."""
    n_slots = clusters.counters[N_SLOTS]
    weights = scratch.weights
    log_weigh_all(documents, clusters, model, prior, weights, document)
    log_new = math.log(fresh) if fresh > 0.0 else -np.inf
    highest = log_new
    for slot in range(n_slots):
        highest = max(highest, weights[slot])
    for slot in range(n_slots):
        difference = weights[slot] - highest
        weights[slot] = math.exp(difference) if difference > NEGLIGIBLE else 0.0
    return partial_sums(weights, n_slots, scratch.sums), math.exp(log_new - highest)


@inline
def touches_few(documents, clusters, document):
    """Whether no word of a document has a row, and its lists together are shorter than the list of clusters."""
    n_pairs = 0
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        word = documents.words[entry]
        if word < clusters.rows.shape[0]:
            return False
        n_pairs += clusters.list_lengths[word]
    return n_pairs <= clusters.counters[N_SLOTS]


@inline
def table_row(documents, table, document):
    """The row of a document's length in the length table; −1 if it has none."""
    length = documents.lengths[document]
    return np.int64(table.row_of_length[length]) if length < table.row_of_length.size else np.int64(-1)


@inline
def weigh_plainly(documents, clusters, model, prior, table, scratch, document, row, fresh):
    """Weigh a document whose length has a row, in plain numbers. Returns (exact, touched_only, n_weights, total, rest).

    exact: nothing over- or underflowed, and the running sums of the table are right to 1e-11 of the whole.
    """
    n_weights, rest, lost = clusters.counters[N_SLOTS], 0.0, 0.0
    touched_only = touches_few(documents, clusters, document)
    if touched_only:
        n_additions = table.n_updates[0] + n_weights // BLOCK + BLOCK
        n_weights, total, rest = weigh_touched(documents, clusters, model, prior, table, scratch, document, row)
        lost = ROUNDING * (n_additions + n_weights) * table.peaks[row]
    else:
        total = weigh_all(documents, clusters, model, prior, table, scratch, document, row)
    everything = total + rest + fresh
    exact = lost <= LOST_LIMIT * everything and PLAIN_MIN < everything < PLAIN_MAX
    if lost > LOST_LIMIT * everything and table.n_updates[0] > 0:
        sum_bases(clusters, table)
    return exact, touched_only, n_weights, total, rest


@inline
def weigh(documents, clusters, model, prior, table, scratch, document):
    """Leave a document's weights in scratch by whichever form suits it, and say how to read them.

    Returns (touched_only, row, n_weights, total, rest, fresh): the first n_weights of scratch.weights sum to total and
    belong to the slots scratch.touched (touched_only) or 0, 1, … (not so); all other clusters together weigh rest, each
    of them table.bases[row]; a new cluster weighs fresh.
    """
    n_slots = clusters.counters[N_SLOTS]
    fresh = new_weight(clusters, prior, np.int64(clusters.labels[document]))
    row = table_row(documents, table, document)
    exact, touched_only, n_weights, total, rest = False, False, n_slots, 0.0, 0.0
    if row >= 0:
        exact, touched_only, n_weights, total, rest = weigh_plainly(
            documents, clusters, model, prior, table, scratch, document, row, fresh
        )
    if not exact:
        touched_only, n_weights, rest = False, n_slots, 0.0
        total, fresh = weigh_all_log(documents, clusters, model, prior, scratch, document, fresh)
    return touched_only, row, n_weights, total, rest, fresh

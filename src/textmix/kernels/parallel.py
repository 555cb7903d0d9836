"""Sweeps over documents that are independent given the clusters (X-DMM, Algorithm 3), and what they change.

A document's weight in a cluster is (m + a) ∏_w φ̂_w^(N_w), relative to an empty cluster of weight 1. Short documents
are weighed in plain numbers as collapsed Gibbs does it, with a model of step 0; all others by logarithms that are
looked up, four words of a document in one vector loop.
"""

from __future__ import annotations

import math

import numpy as np

from .gibbs import draw, most_probable
from .jit import inline, kernel
from .state import N_SLOTS
from .weights import NEGLIGIBLE, log_weigh_all, log_weight_in, new_weight, partial_sums, table_row, weigh_plainly

USUAL_COUNTS = 1 << 12  # of a word in a cluster: larger ones are too rare to be worth a table of logarithms
SCORE, DRAW, BEST = 0, 1, 2  # what to do with a document's weights: nothing, draw a label, take the best one


@inline
def log_weigh(documents, clusters, logs, weights, document):
    """Write every cluster's log weight for a document, which is taken out of none."""
    n_slots, n_rows = clusters.counters[N_SLOTS], logs.rows.shape[0]
    length = documents.lengths[document]
    words, counts = documents.words, documents.counts
    entry, stop = documents.starts[document], documents.starts[document + 1]
    scores = weights[:n_slots]
    for slot in range(n_slots):
        scores[slot] = logs.weights[slot] + length * logs.lengths[slot]
    while entry + 4 <= stop and words[entry + 3] < n_rows:
        one, two = logs.rows[words[entry]], logs.rows[words[entry + 1]]
        three, four = logs.rows[words[entry + 2]], logs.rows[words[entry + 3]]
        c_one, c_two = np.float64(counts[entry]), np.float64(counts[entry + 1])
        c_three, c_four = np.float64(counts[entry + 2]), np.float64(counts[entry + 3])
        for slot in range(n_slots):
            scores[slot] += (c_one * one[slot] + c_two * two[slot]) + (c_three * three[slot] + c_four * four[slot])
        entry += 4
    while entry < stop and words[entry] < n_rows:
        one, c_one = logs.rows[words[entry]], np.float64(counts[entry])
        for slot in range(n_slots):
            scores[slot] += c_one * one[slot]
        entry += 1
    while entry < stop:
        count, first = np.float64(counts[entry]), clusters.list_starts[words[entry]]
        for pair in range(first, first + clusters.list_lengths[words[entry]]):
            scores[clusters.pair_slots[pair]] += count * logs.pairs[pair]
        entry += 1


@inline
def weigh_by_logs(documents, clusters, model, prior, logs, scratch, document, taken_out):
    """Leave every cluster's weight in scratch, as `weigh` does; also the log of what they are relative to."""
    n_slots, weights = clusters.counters[N_SLOTS], scratch.weights
    own = np.int64(clusters.labels[document])
    if logs.rows.shape[1] == 0:
        log_weigh_all(documents, clusters, model, prior, weights, document)
    else:
        log_weigh(documents, clusters, logs, weights, document)
        if own >= 0 and taken_out:
            weights[own] = log_weight_in(documents, clusters, model, prior, document, own)
    fresh = new_weight(clusters, prior, own if taken_out else np.int64(-1))
    log_new = math.log(fresh) if fresh > 0.0 else -np.inf
    highest = log_new
    for slot in range(n_slots):
        highest = max(highest, weights[slot])
    for slot in range(n_slots):
        difference = weights[slot] - highest
        weights[slot] = math.exp(difference) if difference > NEGLIGIBLE else 0.0
    total = partial_sums(weights, n_slots, scratch.sums)
    return (False, np.int64(-1), n_slots, total, 0.0, math.exp(log_new - highest)), highest


@kernel(allocates=False)
def sweep_independently(documents, clusters, model, prior, table, logs, scratch, taken_out, mode, uniforms, chosen):
    """Choose a cluster for every document given the clusters, which stay as they are; NEW: an empty one.

    Returns Σ log of the documents' total weights. taken_out: each document is left out of its own cluster. Documents
    without a label are in none; those without words get −2.
    """
    log_totals = 0.0
    n_slots = clusters.counters[N_SLOTS]
    for document in range(chosen.size):
        length = documents.lengths[document]
        own = np.int64(clusters.labels[document])
        if length == 0:
            chosen[document] = -2
            continue
        row = table_row(documents, table, document)
        weighed, log_unit = (False, row, n_slots, 0.0, 0.0, 0.0), 0.0
        exact = False
        if row >= 0 and taken_out and own >= 0:
            fresh = new_weight(clusters, prior, own)
            exact, sparse, n_weights, total, rest = weigh_plainly(
                documents, clusters, model, prior, table, scratch, document, row, fresh
            )
            weighed = (sparse, row, n_weights, total, rest, fresh)
        if not exact:
            weighed, log_unit = weigh_by_logs(documents, clusters, model, prior, logs, scratch, document, taken_out)
        log_totals += math.log(weighed[3] + weighed[4] + weighed[5]) + log_unit
        if mode == DRAW:
            chosen[document] = draw(clusters, table, scratch, weighed, own, uniforms[document])
        elif mode == BEST:
            chosen[document] = most_probable(clusters, table, scratch, weighed, own, False)
    return log_totals


@kernel
def list_changes(documents, before, after, sizes, totals):
    """What documents that changed their label change in the clusters: (words, labels, counts), by document.

    Adds to sizes and totals, of documents and of words by label, what changes in them.
    """
    n_changes = 0
    for document in range(before.size):
        if before[document] != after[document]:
            n_words = documents.starts[document + 1] - documents.starts[document]
            n_changes += n_words * (np.int64(before[document] >= 0) + np.int64(after[document] >= 0))
            if before[document] >= 0:
                sizes[before[document]] -= 1
                totals[before[document]] -= documents.lengths[document]
            if after[document] >= 0:
                sizes[after[document]] += 1
                totals[after[document]] += documents.lengths[document]
    words = np.empty(n_changes, np.uint32)
    labels = np.empty(n_changes, np.int32)
    counts = np.empty(n_changes, documents.counts.dtype)
    n = 0
    for document in range(before.size):
        if before[document] != after[document]:
            for entry in range(documents.starts[document], documents.starts[document + 1]):
                if before[document] >= 0:
                    words[n], labels[n], counts[n] = documents.words[entry], before[document], -documents.counts[entry]
                    n += 1
                if after[document] >= 0:
                    words[n], labels[n], counts[n] = documents.words[entry], after[document], documents.counts[entry]
                    n += 1
    return words, labels, counts


@inline
def sort_by(values, n_values, order):
    """The numbers in `order` by their values, equals as they were, and where each value's begin: a counting sort."""
    starts = np.zeros(n_values + 1, np.int64)
    for value in values:
        starts[value + 1] += 1
    for value in range(n_values):
        starts[value + 1] += starts[value]
    position = starts[:-1].copy()
    ordered = np.empty_like(order)
    for number in order:
        value = values[number]
        ordered[position[value]] = number
        position[value] += 1
    return ordered, starts


@kernel
def add_changes(starts, labels, counts, changed_words, changed_labels, changed_counts):
    """Add changes to the counts of clusters by word (labels rise within a word), as far as these have the pair.

    Returns the changes that are left: (words, labels, counts). Counts may become 0.
    """
    left = np.empty(changed_words.size, np.uint32)
    n_left = 0
    for change in range(changed_words.size):
        word, label = changed_words[change], changed_labels[change]
        first, stop = starts[word], starts[word + 1]
        last = min(first + label, stop)  # of labels that rise from 0 on, the label is there or before
        if last == stop or labels[last] != label:
            while first < last:
                middle = (first + last) // 2
                if labels[middle] < label:
                    first = middle + 1
                else:
                    last = middle
        if last < stop and labels[last] == label:
            counts[last] += changed_counts[change]
        else:
            left[n_left] = change
            n_left += 1
    return changed_words[left[:n_left]], changed_labels[left[:n_left]], changed_counts[left[:n_left]]


@kernel
def merge_changes(starts, labels, counts, changed_words, changed_labels, changed_counts, n_labels):
    """The counts of clusters by word after changes: labels rise within a word, no count is 0."""
    n_words = starts.size - 1
    everything = np.arange(changed_words.size).astype(np.uint32)  # merged long before there are more than 2³²
    order, _ = sort_by(changed_labels, n_labels, everything)
    order, change_starts = sort_by(changed_words, n_words, order)
    room = 0
    for word in range(n_words):
        n_changes = change_starts[word + 1] - change_starts[word]
        room += min(starts[word + 1] - starts[word] + n_changes, n_labels)
    new_starts = np.zeros_like(starts)
    new_labels = np.empty(room, np.int32)
    new_counts = np.empty(room, counts.dtype)
    n = 0
    for word in range(n_words):
        pair, last_pair = starts[word], starts[word + 1]
        change, last_change = change_starts[word], change_starts[word + 1]
        while pair < last_pair or change < last_change:
            label = np.int64(n_labels)
            if pair < last_pair:
                label = np.int64(labels[pair])
            if change < last_change:
                label = min(label, np.int64(changed_labels[order[change]]))
            count = np.int64(0)
            if pair < last_pair and labels[pair] == label:
                count, pair = np.int64(counts[pair]), pair + 1
            while change < last_change and changed_labels[order[change]] == label:
                count, change = count + changed_counts[order[change]], change + 1
            if count != 0:
                new_labels[n], new_counts[n] = label, count
                n += 1
        new_starts[word + 1] = n
    return new_starts, new_labels[:n].copy(), new_counts[:n].copy()


@kernel
def spread_rows(starts, slots, counts, rows):
    """Write the counts of the first words into rows."""
    for word in range(rows.shape[0]):
        rows[word, :] = 0
        for pair in range(starts[word], starts[word + 1]):
            rows[word, slots[pair]] = counts[pair]


@inline
def log_ratio(count, scale, unit, usual):
    """unit × log(1 + n/β) of a count, looked up if it is one of the usual ones."""
    if count < usual.size:
        return usual[count]
    return unit * math.log1p(count * scale) if count > 0 else 0.0


@kernel
def take_log_ratios(starts, lengths, counts, rows, betas, unit, log_rows, log_pairs):
    """Write log(1 + n/β), for a unit of a word, for rows and for pairs in lists of these lengths."""
    usual = np.empty(USUAL_COUNTS if betas.size == 1 else 0)  # of the one β that all words have
    for count in range(usual.size):
        usual[count] = unit * math.log1p(count * (unit / betas[0]))
    for word in range(rows.shape[0]):
        scale = unit / betas[min(word, betas.size - 1)]
        for slot in range(rows.shape[1]):
            log_rows[word, slot] = log_ratio(rows[word, slot], scale, unit, usual)
    for word in range(rows.shape[0], lengths.size):
        scale = unit / betas[min(word, betas.size - 1)]
        for pair in range(starts[word], starts[word] + lengths[word]):
            log_pairs[pair] = log_ratio(counts[pair], scale, unit, usual)

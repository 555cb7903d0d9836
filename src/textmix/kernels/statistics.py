"""Kernels that keep the statistics of a partition: laying them out, adding and removing documents, the log joint."""

from __future__ import annotations

import math

import numpy as np

from .gamma import log_rising, log_rising_from
from .jit import inline, kernel
from .state import N_FREE, N_MOVED, N_SLOTS


@kernel
def compact_labels(labels, n_slots):
    """Renumber the clusters that hold documents 0, 1, … in place, in the order of their slots; return how many."""
    sizes = np.zeros(n_slots, np.int64)
    for label in labels:
        if label >= 0:
            sizes[label] += 1
    new_slots = np.full(n_slots, -1, np.int32)
    n_clusters = 0
    for slot in range(n_slots):
        if sizes[slot] > 0:
            new_slots[slot] = n_clusters
            n_clusters += 1
    for document in range(labels.size):
        if labels[document] >= 0:
            labels[document] = new_slots[labels[document]]
    return n_clusters


@kernel
def count_pairs(documents, clusters):
    """Fill sizes, totals and every word's list of pairs from the labels."""
    list_starts, list_lengths = clusters.list_starts, clusters.list_lengths
    pair_slots, pair_counts = clusters.pair_slots, clusters.pair_counts
    labels, sizes, totals = clusters.labels, clusters.sizes, clusters.totals
    for document in range(labels.size):
        if labels[document] >= 0:
            sizes[labels[document]] += 1
            totals[labels[document]] += documents.lengths[document]
    position = np.zeros(sizes.size + 1, np.int64)
    for slot in range(sizes.size):
        position[slot + 1] = position[slot] + sizes[slot]
    by_cluster = np.empty(position[-1], np.int32)
    for document in range(labels.size):
        if labels[document] >= 0:
            by_cluster[position[labels[document]]] = document
            position[labels[document]] += 1
    for document in by_cluster:
        slot = labels[document]
        for entry in range(documents.starts[document], documents.starts[document + 1]):
            word = documents.words[entry]
            end = list_starts[word] + list_lengths[word]
            # Documents come cluster by cluster, so a pair of this cluster can only be the last one.
            if list_lengths[word] > 0 and pair_slots[end - 1] == slot:
                pair_counts[end - 1] += documents.counts[entry]
            else:
                pair_slots[end] = slot
                pair_counts[end] = documents.counts[entry]
                list_lengths[word] += 1


@kernel(allocates=False)
def move_lists_to_rows(clusters):
    """Write the lists of the words that have a row into their rows."""
    for word in range(clusters.rows.shape[0]):
        start = clusters.list_starts[word]
        for pair in range(start, start + clusters.list_lengths[word]):
            clusters.rows[word, clusters.pair_slots[pair]] = clusters.pair_counts[pair]
        clusters.list_lengths[word] = 0


@inline
def find_pair(clusters, word, slot):
    """Where the pair (word, slot) stands, or −1. Runs over the whole list, so that it is one vector loop."""
    start = clusters.list_starts[word]
    found = np.int32(-1)
    for offset in range(clusters.list_lengths[word]):
        if clusters.pair_slots[start + offset] == slot:
            found = np.int32(offset)
    return start + found if found >= 0 else np.int64(-1)


@inline
def remove_words(documents, clusters, document, slot):
    """Take a document's words out of a cluster."""
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        word = documents.words[entry]
        count = documents.counts[entry]
        if word < clusters.rows.shape[0]:
            clusters.rows[word, slot] -= count
            continue
        pair = find_pair(clusters, word, slot)
        if clusters.pair_counts[pair] > count:
            clusters.pair_counts[pair] -= count
        else:
            clusters.list_lengths[word] -= 1
            last = clusters.list_starts[word] + clusters.list_lengths[word]
            clusters.pair_slots[pair] = clusters.pair_slots[last]
            clusters.pair_counts[pair] = clusters.pair_counts[last]


@inline
def add_words(documents, clusters, document, slot):
    """Put a document's words into a cluster."""
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        word = documents.words[entry]
        count = documents.counts[entry]
        if word < clusters.rows.shape[0]:
            clusters.rows[word, slot] += count
            continue
        pair = find_pair(clusters, word, slot)
        if pair >= 0:
            clusters.pair_counts[pair] += count
        else:
            last = clusters.list_starts[word] + clusters.list_lengths[word]
            clusters.pair_slots[last] = slot
            clusters.pair_counts[last] = count
            clusters.list_lengths[word] += 1


@inline
def n_active(clusters):
    """How many clusters hold documents."""
    return clusters.counters[N_SLOTS] - clusters.counters[N_FREE]


@inline
def has_room(clusters):
    """Whether one more cluster has a slot."""
    return clusters.counters[N_FREE] > 0 or clusters.counters[N_SLOTS] < clusters.sizes.size


@inline
def take_slot(clusters):
    """A slot for a new cluster."""
    if clusters.counters[N_FREE] > 0:
        clusters.counters[N_FREE] -= 1
        return np.int64(clusters.free_slots[clusters.counters[N_FREE]])
    clusters.counters[N_SLOTS] += 1
    return clusters.counters[N_SLOTS] - 1


@inline
def add_document(documents, clusters, document, slot):
    """Put a document that is in no cluster into one."""
    clusters.labels[document] = slot
    clusters.sizes[slot] += 1
    clusters.totals[slot] += documents.lengths[document]
    add_words(documents, clusters, document, slot)
    clusters.counters[N_MOVED] += 1


@inline
def remove_document(documents, clusters, document):
    """Take a document out of its cluster; one left empty frees its slot."""
    slot = clusters.labels[document]
    clusters.labels[document] = -1
    clusters.sizes[slot] -= 1
    clusters.totals[slot] -= documents.lengths[document]
    remove_words(documents, clusters, document, slot)
    if clusters.sizes[slot] == 0 and clusters.free_slots.size > 0:
        clusters.free_slots[clusters.counters[N_FREE]] = slot
        clusters.counters[N_FREE] += 1


@kernel(allocates=False)
def move_document(documents, clusters, document, slot):
    """Give a document another cluster; a cluster left empty frees its slot."""
    remove_document(documents, clusters, document)
    add_document(documents, clusters, document, slot)


@kernel(allocates=False)
def gather_counts(clusters, gathered):
    """Write all n_z^w > 0, in any order, and return how many there are; `gathered` has room for all."""
    n = 0
    for word in range(clusters.list_lengths.size):
        start = clusters.list_starts[word]
        for pair in range(start, start + clusters.list_lengths[word]):
            gathered[n] = clusters.pair_counts[pair]
            n += 1
    for word in range(clusters.rows.shape[0]):
        for slot in range(clusters.counters[N_SLOTS]):
            if clusters.rows[word, slot] > 0:
                gathered[n] = clusters.rows[word, slot]
                n += 1
    return n


@kernel(allocates=False)
def log_likelihood(clusters, model):
    """Σ_z [Σ_w (log Γ(n_z^w + β) − log Γ(β)) − log Γ(n_z + Vβ) + log Γ(Vβ)], without the words left out."""
    table = model.log_rising_word
    total = 0.0
    for word in range(clusters.list_lengths.size):
        start, beta = clusters.list_starts[word], model.betas[min(word, model.betas.size - 1)]
        for pair in range(start, start + clusters.list_lengths[word]):
            total += log_rising_from(table, beta, model.unit, 0, clusters.pair_counts[pair])
    n_slots = clusters.counters[N_SLOTS]
    for word in range(clusters.rows.shape[0]):
        beta = model.betas[min(word, model.betas.size - 1)]
        for slot in range(n_slots):
            if clusters.rows[word, slot] > 0:
                total += log_rising_from(table, beta, model.unit, 0, clusters.rows[word, slot])
    for slot in range(n_slots):
        total -= log_rising_from(model.log_rising_length, model.vocabulary_beta, model.unit, 0, clusters.totals[slot])
    return total


@kernel(allocates=False)
def log_prior(clusters, prior, mass):
    """log of the probability of the partition's labels: finite Dirichlet (GSDPMM, eq. IV.12) or Dirichlet process.

    `mass` is what all clusters weigh without documents.
    """
    n_documents, n_clusters, total = 0, 0, 0.0
    for slot in range(clusters.counters[N_SLOTS]):
        size = clusters.sizes[slot]
        if size > 0:
            n_documents += size
            n_clusters += 1
            if prior.concentration > 0.0:
                total += math.lgamma(size)
            else:
                total += log_rising(prior.pseudo_counts[min(slot, prior.pseudo_counts.size - 1)], size)
    if prior.concentration > 0.0:
        total += n_clusters * math.log(prior.concentration)
    return total - log_rising(mass, n_documents)

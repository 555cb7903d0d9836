"""Kernels for documents that come and go: room for the words of new ones, taking old ones out, clusters that belong
together.

The documents kept are one CSR to which rows are added at the end; a row that was taken out has the label −1.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel
from .state import N_FREE, N_SLOTS
from .statistics import find_pair, remove_document
from .weights import beta_of, log_product, refresh_bases, weigh


@kernel(allocates=False)
def make_room(clusters, rooms, needed, words, tail):
    """Give the lists of these words room for one pair more for each time that a word is named; False if there is none.

    `rooms` has the room of each word's list. A list that is too short moves to the end of the pairs, to twice the room;
    tail[0] is where the free ones begin. `needed`, a number a word, is 0 before and after.
    """
    enough = True
    for word in words:
        needed[word] += 1
    for word in words:
        if needed[word] > 0:
            wanted = clusters.list_lengths[word] + needed[word]
            needed[word] = 0
            if wanted > rooms[word] and enough:
                room = 2 * wanted
                start = tail[0]
                enough = start + room <= clusters.pair_slots.size
                if enough:
                    for offset in range(clusters.list_lengths[word]):
                        clusters.pair_slots[start + offset] = clusters.pair_slots[clusters.list_starts[word] + offset]
                        clusters.pair_counts[start + offset] = clusters.pair_counts[clusters.list_starts[word] + offset]
                    clusters.list_starts[word] = start
                    rooms[word] = room
                    tail[0] = start + room
    return enough


@kernel(allocates=False)
def take_out(documents, clusters, model, prior, table, rows):
    """Take documents out of their clusters for good."""
    for document in rows:
        slot = clusters.labels[document]
        if slot >= 0:
            remove_document(documents, clusters, document)
            refresh_bases(clusters, model, prior, table, slot)


@kernel(allocates=False)
def count_words_of(documents, rows, word_counts, words):
    """Add the counts of some documents to word_counts, and list their words; returns how many there are."""
    n_words = 0
    for document in rows:
        for entry in range(documents.starts[document], documents.starts[document + 1]):
            word = documents.words[entry]
            if word_counts[word] == 0:
                words[n_words] = word
                n_words += 1
            word_counts[word] += documents.counts[entry]
    return n_words


@kernel(allocates=False)
def gains_of_merging(clusters, model, prior, slot, words, word_counts, gains):
    """Write for every other cluster by how much the log joint rises when it and the one in `slot` become one.

    With z and y as one, counts n and sizes m add up (Dirichlet process, eq. IV.29 and IV.44 multiplied up):

        Σ_w [g(n_z^w + n_y^w) − g(n_z^w) − g(n_y^w)] − [G(n_z + n_y) − G(n_z) − G(n_y)]
        + log Γ(m_z + m_y) − log Γ(m_z) − log Γ(m_y) − log α,   g(n) = log Γ(β + n) − log Γ(β), G the same with Vβ

    −inf for the cluster itself and for empty slots. `words` and `word_counts` are those of the cluster in `slot`.
    """
    n_slots = clusters.counters[N_SLOTS]
    size, total = clusters.sizes[slot], clusters.totals[slot]
    table, lengths = model.log_rising_word, model.log_rising_length
    length_alone = log_product(model, lengths, model.vocabulary_beta, 0, total)
    for other in range(n_slots):
        if other == slot or clusters.sizes[other] == 0:
            gains[other] = -np.inf
            continue
        together = log_product(model, lengths, model.vocabulary_beta, clusters.totals[other], total)
        sizes = math.lgamma(size + clusters.sizes[other]) - math.lgamma(size) - math.lgamma(clusters.sizes[other])
        gains[other] = length_alone - together + sizes - math.log(prior.concentration)
    for word in words:
        count, beta = word_counts[word], beta_of(model, word)
        alone = log_product(model, table, beta, 0, count)
        start = clusters.list_starts[word]
        for pair in range(start, start + clusters.list_lengths[word]):
            gains[clusters.pair_slots[pair]] += (
                log_product(model, table, beta, clusters.pair_counts[pair], count) - alone
            )


@kernel(allocates=False)
def join_clusters(clusters, model, prior, table, rows, words, gone, kept):
    """Put the cluster in slot `gone`, its documents `rows` and its `words`, into the one in slot `kept`.

    Pairs are joined or renamed, so that no list gets longer.
    """
    for word in words:
        pair, other = find_pair(clusters, word, gone), find_pair(clusters, word, kept)
        if other >= 0:
            clusters.pair_counts[other] += clusters.pair_counts[pair]
            clusters.list_lengths[word] -= 1
            last = clusters.list_starts[word] + clusters.list_lengths[word]
            clusters.pair_slots[pair] = clusters.pair_slots[last]
            clusters.pair_counts[pair] = clusters.pair_counts[last]
        else:
            clusters.pair_slots[pair] = kept
    for document in rows:
        clusters.labels[document] = kept
    clusters.sizes[kept] += clusters.sizes[gone]
    clusters.totals[kept] += clusters.totals[gone]
    clusters.sizes[gone] = 0
    clusters.totals[gone] = 0
    clusters.free_slots[clusters.counters[N_FREE]] = gone
    clusters.counters[N_FREE] += 1
    refresh_bases(clusters, model, prior, table, gone)
    refresh_bases(clusters, model, prior, table, kept)


@kernel(allocates=False)
def describe_documents(documents, clusters, model, prior, table, scratch, first, last, probabilities, log_odds):
    """Of documents first … last − 1 write the probability of their clusters and the log odds of a new one.

    Each is left out of its cluster. Of one that is alone a new cluster means staying. Odds that the sum of the weights
    does not show are infinite; nothing is written for documents without words.
    """
    for document in range(first, last):
        if documents.lengths[document] == 0:
            continue
        own = np.int64(clusters.labels[document])
        touched_only, _, _, total, rest, fresh = weigh(documents, clusters, model, prior, table, scratch, document)
        existing = total + rest
        staying = fresh if clusters.sizes[own] == 1 else scratch.weights[0 if touched_only else own]
        probabilities[document - first] = staying / (existing + fresh)
        log_odds[document - first] = np.log(fresh) - np.log(existing)

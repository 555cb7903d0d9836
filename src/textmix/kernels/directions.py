"""Collapsed Gibbs sampling of documents that are unit vectors and words: a cluster is a direction and a distribution.

The log weight of a document with vector x and N words, word w N_w times, in cluster z of m documents is

    log(m + α) + g(|S + x|) − g(|S|) + Σ_w Σ_{j<N_w} log(n_w + β + j) − Σ_{i<N} log(n + Vβ + i)

with the document taken out: S is the sum of the cluster's vectors (g: models/collapsed_directions.py), n_w counts its
words and n all of them (the Dirichlet-multinomial).

|S + x|² = |S|² + 2 S·x + 1, so all that is needed of the vectors are products S·x. Those of a block of documents with
all clusters are one matrix product; a document that moves corrects the products of those after it in its block by x·y,
from the block's own products. So draws are the same as with products made one by one. Counts of words are a matrix with
a row for each word: a document multiplies as many rows as it has words, and takes one logarithm for each cluster.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .elementary import add_log_ratios, largest_of, sum_of, to_exponentials
from .jit import inline, kernel

TOLERANCE = 2e-6  # times κ, in nats: log weights from vectors of four bytes per number are off by up to 0.8e-6 κ
TOGETHER = (
    20  # words whose shares have one logarithm: products of so many are numbers, in clusters of up to 10^9 words ...
)
LEAST_BETA, MOST_BETA = 1e-6, 1e6  # ... with a pseudo-count between these


class DirectionModel(NamedTuple):
    """g(r) = √(κ²r² + b²) − a log(a + √(κ²r² + b²)), and the pseudo-count of each cluster."""

    kappa: float
    a: float
    b: float
    alpha: float


class DocumentWords(NamedTuple):
    """Words of documents, from starts[document] to starts[document + 1]; whole counts."""

    starts: NDArray[np.integer]
    words: NDArray[np.integer]
    counts: NDArray[np.integer]


class WordClusters(NamedTuple):
    """Words of clusters, one slot each, and the pseudo-counts of a word and of all of them."""

    counts: NDArray[np.float32]  # (word, slot), whole numbers below 2^24
    totals: NDArray[np.float64]  # of the slots
    beta: float
    vocabulary_beta: float  # Vβ


class DirectionClusters(NamedTuple):
    """Sizes and vectors of clusters, one slot each."""

    sums: NDArray[np.floating]  # (slot, dimension)
    roots: NDArray[np.float64]  # √(κ²|S|² + b²)
    sizes: NDArray[np.int64]
    log_sizes: NDArray[np.float64]  # log(m + α)


@inline
def gain_of_joining(model, root, product):
    """g(|S + x|) − g(|S|) from the root of S and the product S·x, without cancellation."""
    step = model.kappa * model.kappa * (2.0 * product + 1.0)
    joined = math.sqrt(max(root * root + step, model.b * model.b))
    rise = step / (joined + root)
    return rise - model.a * math.log1p(rise / (model.a + root))


@inline
def add_gains(clusters, model, products, log_weights):
    """log(m + α) + g(|S + x|) − g(|S|) for every slot.

    Up to κ = (a + b)/2, which is half of the dimensions, the argument r of the logarithm, 1 plus the rise divided by
    a + root, lies between 1/2 and 3/2, and log r = 4 artanh((√r − 1)/(√r + 1)) is a short series: one vector loop.
    """
    if model.kappa > 0.5 * (model.a + model.b):
        for slot in range(products.size):
            gain = gain_of_joining(model, clusters.roots[slot], products[slot])
            log_weights[slot] = clusters.log_sizes[slot] + gain
        return
    least = model.b * model.b
    for slot in range(products.size):
        root = clusters.roots[slot]
        step = model.kappa * model.kappa * (2.0 * products[slot] + 1.0)
        square = root * root + step
        joined = math.sqrt(square if square > least else least)
        rise = step / (joined + root)
        half = math.sqrt(1.0 + rise / (model.a + root))
        f = (half - 1.0) / (half + 1.0)
        s = f * f
        tail = 1.0 / 13.0 + s * (1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0)))
        tail = 1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s * tail)))
        logarithm = 4.0 * (f + f * s * (1.0 / 3.0 + s * tail))
        log_weights[slot] = clusters.log_sizes[slot] + (rise - model.a * logarithm)


@inline
def add_word_gains(clusters, documents, document, log_weights, scratch):
    """Add to the log weights what the words of a document say of every slot; the document is in none."""
    tops, bottoms, n_slots, n_factors = scratch.numbers[0], scratch.numbers[1], log_weights.size, 0
    together = TOGETHER if LEAST_BETA < clusters.beta < MOST_BETA else 1
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        row = clusters.counts[documents.words[entry]]
        for time in range(documents.counts[entry]):
            pseudo_count, pseudo_total = clusters.beta + time, clusters.vocabulary_beta + n_factors
            if n_factors % together == 0:
                if n_factors > 0:
                    add_log_ratios(log_weights, scratch)
                for slot in range(n_slots):
                    tops[slot] = float(row[slot]) + pseudo_count
                    bottoms[slot] = clusters.totals[slot] + pseudo_total
            else:
                for slot in range(n_slots):
                    tops[slot] *= float(row[slot]) + pseudo_count
                    bottoms[slot] *= clusters.totals[slot] + pseudo_total
            n_factors += 1
    if n_factors > 0:
        add_log_ratios(log_weights, scratch)


@inline
def word_gain(clusters, documents, document, own):
    """What the words of a document say of the slot that it is in, the document taken out."""
    total = clusters.totals[own]
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        total -= documents.counts[entry]
    gain, n_factors = 0.0, 0
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        others = float(clusters.counts[documents.words[entry], own]) - documents.counts[entry]
        for time in range(documents.counts[entry]):
            gain += math.log((others + (clusters.beta + time)) / (total + (clusters.vocabulary_beta + n_factors)))
            n_factors += 1
    return gain


@inline
def add_words(clusters, documents, document, slot, sign):
    """Count the words of a document in a slot (sign 1) or no longer (−1)."""
    for entry in range(documents.starts[document], documents.starts[document + 1]):
        clusters.counts[documents.words[entry], slot] += sign * documents.counts[entry]
        clusters.totals[slot] += sign * documents.counts[entry]


@inline
def log_weigh_slots(clusters, words, model, documents, document, own, products, log_weights, scratch):
    """The log weight of a document in every slot, from its products and words; return the largest.

    `own` is the slot that the document is in and is taken out of first, or −1.
    """
    add_gains(clusters, model, products, log_weights)
    add_word_gains(words, documents, document, log_weights, scratch)
    if own >= 0:
        root, product, without = clusters.roots[own], 0.0, model.b  # alone: as in an empty slot, whatever the rounding
        if clusters.sizes[own] > 1:
            product = products[own] - 1.0
            step = model.kappa * model.kappa * (2.0 * product + 1.0)
            without = math.sqrt(max(root * root - step, model.b * model.b))
        log_weight = math.log(clusters.sizes[own] - 1 + model.alpha) + gain_of_joining(model, without, product)
        log_weight += word_gain(words, documents, document, own)
        log_weights[own] = log_weight
    return largest_of(log_weights)


@inline
def choose_slot(log_weights, largest, own, uniform, tolerance, scratch):
    """A draw by the weights; with a negative number the most probable slot, its own where that is as probable.

    Slots are as probable whose log weights differ by no more than `tolerance`: otherwise documents could go to and fro
    between two of them for ever.
    """
    if uniform < 0.0:
        return own if log_weights[own] >= largest - tolerance else np.argmax(log_weights)
    to_exponentials(log_weights, largest, scratch)
    point, chosen = uniform * sum_of(log_weights), own
    for slot in range(log_weights.size):
        point -= log_weights[slot]
        if point < 0.0:
            chosen = slot
            break
    return chosen


@inline
def add_vector(clusters, model, vector, slot, sign):
    """Put a document into a slot (sign 1) or take it out (−1)."""
    clusters.sizes[slot] += sign
    square = 0.0
    for dimension in range(vector.size):
        total = clusters.sums[slot, dimension] + sign * vector[dimension]
        if clusters.sizes[slot] == 0:
            total = 0.0 * total  # what rounding has left
        clusters.sums[slot, dimension] = total
        square += total * total
    clusters.roots[slot] = math.sqrt(model.kappa * model.kappa * square + model.b * model.b)
    clusters.log_sizes[slot] = math.log(clusters.sizes[slot] + model.alpha)


@kernel(allocates=False)
def sweep_block(vectors, documents, labels, products, among, clusters, words, model, uniforms, log_weights, scratch):
    """Visit a block of documents in order and return how many have moved.

    `documents` are their words; `products` those of their vectors with the sums of all slots, `among` with each other.
    A negative number in `uniforms` puts a document into its most probable slot, others draw. `log_weights`
    has a number for each slot, and so has each row of `scratch`.
    """
    n_moved = 0
    for document in range(labels.size):
        own = labels[document]
        largest = log_weigh_slots(
            clusters, words, model, documents, document, own, products[document], log_weights, scratch
        )
        chosen = choose_slot(log_weights, largest, own, uniforms[document], TOLERANCE * model.kappa, scratch)
        if chosen == own:
            continue
        n_moved += 1
        add_vector(clusters, model, vectors[document], own, -1)
        add_vector(clusters, model, vectors[document], chosen, 1)
        add_words(words, documents, document, own, -1)
        add_words(words, documents, document, chosen, 1)
        labels[document] = chosen
        for later in range(document + 1, labels.size):
            products[later, own] -= among[document, later]
            products[later, chosen] += among[document, later]
    return n_moved

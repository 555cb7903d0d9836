"""Collapsed Gibbs sampling of unit vectors: clusters are directions of meaning (models/collapsed_directions.py).

The log weight of document x in cluster z of m documents whose vectors sum to S is

    log(m + α) + g(|S + x|) − g(|S|)

with the document taken out. |S + x|² = |S|² + 2 S·x + 1, so all that is needed of the vectors are products S·x. Those
of a block of documents with all clusters are one matrix product; a document that moves corrects the products of those
after it in its block by x·y, from the block's own products. So draws are the same as with products made one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import inline, kernel

NEGLIGIBLE = 30.0  # nats below the largest weight: not worth an exponential
TOLERANCE = 2e-6  # times κ, in nats: log weights from vectors of four bytes per number are off by up to 0.8e-6 κ


class DirectionModel(NamedTuple):
    """g(r) = √(κ²r² + b²) − a log(a + √(κ²r² + b²)), and the pseudo-count of each cluster."""

    kappa: float
    a: float
    b: float
    alpha: float


class DirectionClusters(NamedTuple):
    """Statistics of clusters, one slot each."""

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
def log_weigh_slots(clusters, model, own, products, log_weights):
    """The log weight of a document in every slot, from its products; return the largest.

    `own` is the slot that the document is in and is taken out of first, or −1.
    """
    add_gains(clusters, model, products, log_weights)
    largest = -np.inf
    for slot in range(products.size):
        if slot != own:
            largest = max(largest, log_weights[slot])
    if own >= 0:
        root, product, without = clusters.roots[own], 0.0, model.b  # alone: as in an empty slot, whatever the rounding
        if clusters.sizes[own] > 1:
            product = products[own] - 1.0
            step = model.kappa * model.kappa * (2.0 * product + 1.0)
            without = math.sqrt(max(root * root - step, model.b * model.b))
        log_weight = math.log(clusters.sizes[own] - 1 + model.alpha) + gain_of_joining(model, without, product)
        log_weights[own] = log_weight
        largest = max(largest, log_weight)
    return largest


@inline
def choose_slot(log_weights, largest, own, uniform, tolerance):
    """A draw by the weights; with a negative number the most probable slot, its own where that is as probable.

    Slots are as probable whose log weights differ by no more than `tolerance`: otherwise documents could go to and fro
    between two of them for ever.
    """
    if uniform < 0.0:
        return own if log_weights[own] >= largest - tolerance else np.argmax(log_weights)
    total = 0.0
    for slot in range(log_weights.size):
        weight = 0.0
        if log_weights[slot] > largest - NEGLIGIBLE:
            weight = math.exp(log_weights[slot] - largest)
        log_weights[slot] = weight
        total += weight
    point, chosen = uniform * total, own
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
def sweep_block(vectors, labels, products, among, clusters, model, uniforms, log_weights):
    """Visit a block of documents in order and return how many have moved.

    `products` are those of its documents with the sums of all slots, `among` with each other. A negative number in
    `uniforms` puts a document into its most probable slot, others draw.
    """
    n_moved = 0
    for document in range(labels.size):
        own = labels[document]
        largest = log_weigh_slots(clusters, model, own, products[document], log_weights)
        chosen = choose_slot(log_weights, largest, own, uniforms[document], TOLERANCE * model.kappa)
        if chosen == own:
            continue
        n_moved += 1
        add_vector(clusters, model, vectors[document], own, -1)
        add_vector(clusters, model, vectors[document], chosen, 1)
        labels[document] = chosen
        for later in range(document + 1, labels.size):
            products[later, own] -= among[document, later]
            products[later, chosen] += among[document, later]
    return n_moved

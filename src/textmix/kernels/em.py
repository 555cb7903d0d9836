"""Kernels of EM: sparse times dense with clusters contiguous in memory, and assigning documents by their scores."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel


@kernel(allocates=False)
def multiply(starts, columns, values, dense, product, row_sums, first, last):
    """Write rows first … last − 1 of sparse × dense into the first rows of product.

    Sums are formed in row_sums, as long as a row of dense, in 8 bytes a number whatever product and dense have.
    Cost: stored entries × columns of dense.
    """
    n_columns = row_sums.size
    for row in range(first, last):
        for k in range(n_columns):
            row_sums[k] = 0.0
        start, stop = starts[row], starts[row + 1]
        whole = start + (stop - start) // 4 * 4
        for entry in range(start, whole, 4):  # four at a time: fewer passes over row_sums
            a, b, c, d = values[entry], values[entry + 1], values[entry + 2], values[entry + 3]
            row_a, row_b = dense[columns[entry]], dense[columns[entry + 1]]
            row_c, row_d = dense[columns[entry + 2]], dense[columns[entry + 3]]
            for k in range(n_columns):
                row_sums[k] += (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
        for entry in range(whole, stop):
            a, row_a = values[entry], dense[columns[entry]]
            for k in range(n_columns):
                row_sums[k] += a * row_a[k]
        out = product[row - first]
        for k in range(n_columns):
            out[k] = row_sums[k]


@kernel(allocates=False)
def sum_by_label(starts, rows, values, labels, sums, row_sums, first, last):
    """sums[w, y] = Σ values of the entries of column w in rows labelled y, for columns first … last − 1 (CSC)."""
    for column in range(first, last):
        for k in range(row_sums.size):
            row_sums[k] = 0.0
        for entry in range(starts[column], starts[column + 1]):
            label = labels[rows[entry]]
            if label >= 0:
                row_sums[label] += values[entry]
        out = sums[column]
        for k in range(row_sums.size):
            out[k] = row_sums[k]


@kernel(allocates=False)
def split_entries(starts, columns, values, new_ids, kept_starts, kept_columns, kept_values, rows, places):
    """Copy the entries of columns whose new id is not negative; of all others write down row and place (CSR)."""
    n_kept, n_others = 0, 0
    for row in range(starts.size - 1):
        for entry in range(starts[row], starts[row + 1]):
            column = new_ids[columns[entry]]
            if column >= 0:
                kept_columns[n_kept] = column
                kept_values[n_kept] = values[entry]
                n_kept += 1
            else:
                rows[n_others] = row
                places[n_others] = entry
                n_others += 1
        kept_starts[row + 1] = n_kept


@kernel(allocates=False)
def sum_of_squares(dense, totals):
    """Add the squares of each column to totals."""
    for row in range(dense.shape[0]):
        values = dense[row]
        for k in range(totals.size):
            totals[k] += np.float64(values[k]) * np.float64(values[k])


@kernel(allocates=False)
def choose_best(scores, labels, best):
    """The cluster of the highest score in each row, the first among equals, and that score."""
    for row in range(scores.shape[0]):
        highest = 0
        for k in range(1, scores.shape[1]):
            if scores[row, k] > scores[row, highest]:
                highest = k
        labels[row] = highest
        best[row] = scores[row, highest]


@kernel(allocates=False)
def to_posteriors(scores, log_weights, sharpness, labels, log_sums):
    """Turn each row of scores into P(y | x) ∝ exp(log_weights[y] + sharpness · score); write label and log of the sum.

    The label is the most probable cluster, the first among equals.
    """
    n_clusters = scores.shape[1]
    for row in range(scores.shape[0]):
        values = scores[row]
        label = 0
        for k in range(n_clusters):
            values[k] = log_weights[k] + sharpness * values[k]
            if values[k] > values[label]:
                label = k
        highest = values[label]
        total = 0.0
        for k in range(n_clusters):
            values[k] = math.exp(values[k] - highest)
            total += values[k]
        for k in range(n_clusters):
            values[k] /= total
        labels[row] = label
        log_sums[row] = highest + math.log(total)


@kernel(allocates=False)
def draw_labels(posteriors, uniforms, labels):
    """Draw a cluster for each row by its probabilities with one uniform number from [0, 1)."""
    n_clusters = posteriors.shape[1]
    for row in range(posteriors.shape[0]):
        left = uniforms[row]
        label = 0
        while label < n_clusters - 1 and left >= posteriors[row, label]:
            left -= posteriors[row, label]
            label += 1
        labels[row] = label

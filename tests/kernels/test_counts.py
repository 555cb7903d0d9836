"""Kernels on raw counts, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from textmix.kernels.counts import leave_out_words


@pytest.mark.parametrize("n_kept", [0, 1, 4, 7])
def test_words_from_a_number_on_are_left_out_but_count_in_lengths(n_kept):
    rng = np.random.default_rng(n_kept)
    dense = rng.poisson(0.6, (20, 7))
    dense[[0, 5, 19]] = 0
    counts = scipy.sparse.csr_array(dense)
    starts, words, values = counts.indptr.astype(np.int64), counts.indices.astype(np.uint32), counts.data.copy()
    lengths = np.empty(20, np.int32)
    leave_out_words(n_kept, starts, words, values, lengths)
    kept = scipy.sparse.csr_array(dense[:, :n_kept])
    np.testing.assert_array_equal(starts, kept.indptr)
    np.testing.assert_array_equal(words[: starts[-1]], kept.indices)
    np.testing.assert_array_equal(values[: starts[-1]], kept.data)
    np.testing.assert_array_equal(lengths, dense.sum(axis=1))

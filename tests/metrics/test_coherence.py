"""Coherence of words by normalised mutual information over documents."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import reference
from textmix.metrics import npmi_coherence


def counts_of(rows):
    return scipy.sparse.csr_array(np.array(rows))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_the_slow_twin_has(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.4, (40, 12))
    counts[:5] = 0  # documents without words do not count
    lists = [rng.choice(12, size=size, replace=False).tolist() for size in (2, 3, 6, 12)]
    expected = [reference.npmi_coherence(counts, own) for own in lists]
    np.testing.assert_allclose(npmi_coherence(counts_of(counts), lists), expected, rtol=1e-9)


def test_always_together_never_and_independent():
    counts = counts_of([[2, 1, 0, 1], [1, 3, 0, 0], [0, 0, 1, 1], [0, 0, 4, 0]])
    found = npmi_coherence(counts, [[0, 1], [0, 2], [0, 3]])
    np.testing.assert_allclose(found, [1.0, -1.0, 0.0], atol=1e-12)
    assert npmi_coherence(counts_of([[1, 1], [2, 1]]), [[0, 1]]).tolist() == [1.0]  # in every document


def test_fewer_than_two_words_have_none():
    assert np.isnan(npmi_coherence(counts_of([[1, 1]]), [[0], []])).all()
    assert npmi_coherence(counts_of([[1, 1]]), []).size == 0

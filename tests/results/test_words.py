"""The words that stand for a cluster."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from textmix.results.words import ClusterWords

COUNTS = np.array([[3, 1, 1, 1, 0, 2], [0, 1, 1, 1, 4, 0]])
WORDS = ["pear", "fig", "date", "apple", "kiwi", "plum"]


@pytest.mark.parametrize("order", ["probable", "telling"])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 10])
def test_words_do_not_depend_on_the_order_of_the_columns(order, n):
    columns = np.random.default_rng(0).permutation(6)
    one, other = (
        ClusterWords(scipy.sparse.csr_array(COUNTS[:, chosen]), 0.1, [WORDS[i] for i in chosen]).top(n, order)
        for chosen in (np.arange(6), columns)
    )
    assert one == other
    assert [len(words) for words in one] == [min(n, 5), min(n, 4)]


def test_equals_come_by_the_alphabet():
    (first, _) = ClusterWords(scipy.sparse.csr_array(COUNTS), 0.1, WORDS).top(4, "probable")
    assert [word.word for word in first] == ["pear", "plum", "apple", "date"]

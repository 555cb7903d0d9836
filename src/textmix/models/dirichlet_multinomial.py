"""The Dirichlet-multinomial component model: a cluster is a multinomial over words with a symmetric Dirichlet prior.

With the word probabilities integrated out, a document d with counts N_d^w and length N_d has in a cluster with counts
n_z^w and total n_z the probability

    p(d | z) = ∏_w Γ(n_z^w + β + N_d^w) / Γ(n_z^w + β)  ·  Γ(n_z + Vβ) / Γ(n_z + Vβ + N_d)      (GSDPMM, eq. IV.26)

without the multinomial coefficient, which is the same in every cluster. With a β for each word, Vβ is their sum
(X-DMM, eq. 1). At the mean of the word probabilities, instead of with them integrated out, it is (X-DMM, Algorithm 3)

    p(d | z) = ∏_w ((n_z^w + β) / (n_z + Vβ))^(N_d^w)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmix.kernels.state import Model

# Entries of a table. Beyond, a series is as exact as a table would be, whose entries grow and lose digits.
TABLE_LIMIT = 1 << 12


def dirichlet_multinomial(
    beta: float | NDArray[np.float64], n_words: int, unit: float, max_word_total: int, *, at_mean: bool = False
) -> Model:
    """The model for a vocabulary of n_words (V), with tables for whole counts (unit 1) where all words have one β.

    A β for each word comes in the order of the words' numbers in the sampler, for words beyond (those of a single
    document) in any; at_mean: word probabilities at their mean, as X-DMM's parallel sampler has them.
    """
    betas = np.atleast_1d(np.asarray(beta, dtype=np.float64))
    vocabulary_beta = float(betas[0] * n_words if betas.size == 1 else betas.sum())
    table = _log_table if at_mean else _log_rising_table
    n_entries = min(max_word_total + 1, TABLE_LIMIT) if unit == 1.0 and betas.size == 1 else 0
    return Model(
        betas=betas,
        vocabulary_beta=vocabulary_beta,
        rise=0.0 if at_mean else 1.0,
        unit=float(unit),
        log_rising_word=table(betas[0], n_entries),
        log_rising_length=table(vocabulary_beta, TABLE_LIMIT if unit == 1.0 else 0),
    )


def _log_table(start: float, n_entries: int) -> NDArray[np.float64]:
    """log(start + n) for n = 0 … n_entries − 1."""
    return np.asarray(np.log(start + np.arange(n_entries)))


def _log_rising_table(start: float, n_entries: int) -> NDArray[np.float64]:
    """log Γ(start + n) − log Γ(start) for n = 0 … n_entries − 1, as a sum of logarithms: log Γ would lose digits."""
    table = np.zeros(n_entries, dtype=np.longdouble)
    np.cumsum(np.log(np.longdouble(start) + np.arange(n_entries - 1)), out=table[1:])
    return table.astype(np.float64)

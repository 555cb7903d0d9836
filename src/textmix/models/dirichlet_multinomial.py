"""The Dirichlet-multinomial component model: a cluster is a multinomial over words with a symmetric Dirichlet prior.

With the word probabilities integrated out, a document d with counts N_d^w and length N_d has in a cluster with counts
n_z^w and total n_z the probability

    p(d | z) = ∏_w Γ(n_z^w + β + N_d^w) / Γ(n_z^w + β)  ·  Γ(n_z + Vβ) / Γ(n_z + Vβ + N_d)      (GSDPMM, eq. IV.26)

without the multinomial coefficient, which is the same in every cluster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textmix.kernels.state import Model

# Entries of a table. Beyond, a series is as exact as a table would be, whose entries grow and lose digits.
TABLE_LIMIT = 1 << 12


def dirichlet_multinomial(beta: float, n_words: int, unit: float, max_word_total: int) -> Model:
    """The model for a vocabulary of n_words (V), with tables of log Γ for whole counts (unit 1)."""
    whole = unit == 1.0
    return Model(
        beta=float(beta),
        vocabulary_beta=float(beta * n_words),
        unit=float(unit),
        log_rising_word=_log_rising_table(beta, min(max_word_total + 1, TABLE_LIMIT) if whole else 0),
        log_rising_length=_log_rising_table(beta * n_words, TABLE_LIMIT if whole else 0),
    )


def _log_rising_table(start: float, n_entries: int) -> NDArray[np.float64]:
    """log Γ(start + n) − log Γ(start) for n = 0 … n_entries − 1, as a sum of logarithms: log Γ would lose digits."""
    table = np.zeros(n_entries, dtype=np.longdouble)
    np.cumsum(np.log(np.longdouble(start) + np.arange(n_entries - 1)), out=table[1:])
    return table.astype(np.float64)

"""How well clusters predict documents: p(w_d) = Σ_k θ̂_k ∏_w φ̂_kw^N_dw at the posterior means (X-DMM, eq. 3).

Without the multinomial coefficient. Documents that were clustered are left out of their own cluster.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.inference.layout import build_scratch, plain_length_limit, tabulate_lengths
from textmix.kernels.counts import count_lengths
from textmix.kernels.parallel import SCORE, sweep_independently, take_log_ratios
from textmix.kernels.state import ClusterStatistics, Documents, Logs, Model, Prior

FEWEST_WORDS = 1e-12  # of a document; fractional counts may be as small as that
LARGEST_LOG = math.log(sys.float_info.max)


def log_predictive(documents: Documents, clusters: ClusterStatistics, model: Model, prior: Prior) -> float:
    """Σ log p(w_d) over documents that have words, relative to an empty cluster of weight 1; see `perplexity`.

    clusters.labels: the documents' own clusters, −1 for documents that are in none. The model is one at the mean.
    """
    lengths = documents.lengths
    if clusters.sizes.size == 0:
        return float(np.count_nonzero(lengths) * np.log(prior.mass))
    max_count = max(int(clusters.rows.max(initial=0)), int(clusters.pair_counts.max(initial=0)))
    limit = plain_length_limit(int(clusters.totals.sum()), max_count, model)
    frequencies = count_lengths(lengths, min(limit, int(lengths.max(initial=0))))
    table = tabulate_lengths(frequencies, documents.words.size // 2, clusters, model, prior)
    return float(
        sweep_independently(
            documents,
            clusters,
            model,
            prior,
            table,
            make_logs(clusters, model, prior),
            build_scratch(clusters, table),
            True,
            SCORE,
            np.empty(0),
            np.empty(lengths.size, np.int32),
        )
    )


def make_logs(clusters: ClusterStatistics, model: Model, prior: Prior) -> Logs:
    """Logarithms for clusters as they lie in a sampler's memory."""
    sizes = clusters.sizes
    alphas = prior.pseudo_counts[np.minimum(np.arange(sizes.size), prior.pseudo_counts.size - 1)]
    weights = np.full(sizes.size, -np.inf)
    np.log(sizes + alphas, out=weights, where=((sizes > 0) | prior.labelled) & (sizes + alphas > 0))
    logs = Logs(
        weights=weights,
        lengths=-model.unit * np.log1p(clusters.totals * (model.unit / model.vocabulary_beta)),
        rows=np.empty(clusters.rows.shape),
        pairs=np.empty(clusters.pair_counts.size),
    )
    take_log_ratios(
        clusters.list_starts,
        clusters.list_lengths,
        clusters.pair_counts,
        clusters.rows,
        model.betas,
        model.unit,
        logs.rows,
        logs.pairs,
    )
    return logs


def perplexity(
    log_p: float, n_with_words: int, n_others: int, n_tokens: float, log_betas: float, model: Model, prior: Prior
) -> float:
    """exp(−Σ log p / Σ N) from what `log_predictive` returns; NaN without words, ∞ where no float holds it.

    NaN also where documents have fewer than FEWEST_WORDS on average: rounding alone would decide.

    n_others: documents in the clusters, beside the one that is predicted; log_betas: Σ log β over all words.
    """
    if n_tokens <= FEWEST_WORDS * n_with_words:
        return math.nan
    total = log_p - n_with_words * math.log(n_others + prior.mass)
    log_perplexity = -(total + log_betas - n_tokens * math.log(model.vocabulary_beta)) / n_tokens
    return math.exp(log_perplexity) if log_perplexity < LARGEST_LOG else math.inf


def sum_log_betas(columns: NDArray[Any], counts: NDArray[Any], beta: float | NDArray[np.float64]) -> float:
    """Σ c log β over entries of a counts matrix."""
    if isinstance(beta, float):
        return float(counts.sum(dtype=np.float64)) * math.log(beta)
    return float(counts.astype(np.float64) @ np.log(beta)[columns])

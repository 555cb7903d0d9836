"""Multinomial with a word split (feature partition in DMAFP): words that tell clusters apart, and a background for all.

A word j is discriminative (γ_j = 1, with prior probability ω) or background. A document of cluster i has

    f(x | γ, η) = |x|! / ∏_j x_j! ∏_j η_ij^(x_j γ_j) η_0j^(x_j (1 − γ_j))                         (eq. 10)

with η_i ~ Dirichlet(λ) for each cluster and η_0 ~ Dirichlet(β), both over all words. Eq. 10 is not normalised: the two
groups of words have a probability mass of 1 each, whatever words are in them. The paper takes it for an approximation.

The normalised form, ours: a share ρ ~ Beta(1, 1) of all occurrences is of discriminative words (ρ is 0 or 1 where there
are none, or only such), and η_i and η_0 are distributions over the words of their group alone,

    f(x | γ, η, ρ) = |x|! / ∏_j x_j! ∏_j (ρ η_ij)^(x_j γ_j) ((1 − ρ) η_0j)^(x_j (1 − γ_j)).

With η (and ρ) integrated out both are products of ratios of gamma functions (eq. 11 to 14), see `log_evidence`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln


class Hyperparameters(NamedTuple):
    """θ of the paper: α, ω, λ, β."""

    alpha: float  # of the clusters' weights, which are Dirichlet(α/N, …, α/N)
    omega: float  # prior probability that a word is discriminative
    word_prior: NDArray[np.float64]  # λ_j
    background_prior: NDArray[np.float64]  # β_j


HYPERPARAMETERS = ("alpha", "omega", "lambda", "beta")


def describe(hyperparameters: Hyperparameters) -> dict[str, float]:
    """Their values by name; of those that each word has, the mean."""
    alpha, omega, word_prior, background_prior = hyperparameters
    values = alpha, omega, float(word_prior.mean()), float(background_prior.mean())
    return dict(zip(HYPERPARAMETERS, values, strict=True))


def log_evidence(
    counts: NDArray[np.float64],
    word_totals: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    hyperparameters: Hyperparameters,
    normalised: bool,
) -> float:
    """log f(words | labels, γ) without the multinomial coefficients (eq. 11), from counts: words × clusters."""
    word_prior, background_prior = hyperparameters.word_prior, hyperparameters.background_prior
    inside, outside = counts[chosen], word_totals[~chosen]
    own, shared = word_prior[chosen, np.newaxis], background_prior[~chosen]
    all_own = own.sum() if normalised else word_prior.sum()
    all_shared = shared.sum() if normalised else background_prior.sum()
    log_p = _log_rising(own, inside).sum() - _log_rising(all_own, inside.sum(axis=0)).sum()
    log_p += _log_rising(shared, outside).sum() - _log_rising(all_shared, outside.sum())
    if normalised and 0 < inside.shape[0] < chosen.size:  # else ρ is 0 or 1
        log_p += betaln(1.0 + inside.sum(), 1.0 + outside.sum())
    return float(log_p)


def _log_rising(x: Any, n: Any) -> Any:
    """log Γ(x + n) − log Γ(x), 0 where n is 0."""
    return np.where(n > 0, gammaln(x + n) - gammaln(np.where(n > 0, x, 1.0)), 0.0)


def expected_logs(parameters: NDArray[np.float64], copies: NDArray[np.float64] | float = 1.0) -> NDArray[np.float64]:
    """E[log p_k] of a Dirichlet distribution: ψ(a_k) − ψ(Σa); `copies` says how often each parameter stands there."""
    return np.asarray(digamma(parameters) - digamma((copies * parameters).sum()))


def dirichlet_divergence(
    parameters: NDArray[np.float64],
    prior: NDArray[np.float64],
    logs: NDArray[np.float64],
    copies: NDArray[np.float64] | float = 1.0,
) -> float:
    """KL(Dirichlet(parameters) ‖ Dirichlet(prior)); logs: the expected logs of the first."""
    return log_beta(prior, copies) - log_beta(parameters, copies) + float((copies * (parameters - prior)) @ logs)


def dirichlet_entropy(
    parameters: NDArray[np.float64], logs: NDArray[np.float64], copies: NDArray[np.float64] | float = 1.0
) -> float:
    """The differential entropy; logs: the expected logs."""
    return log_beta(parameters, copies) - float((copies * (parameters - 1.0)) @ logs)


def log_beta(parameters: NDArray[np.float64], copies: NDArray[np.float64] | float = 1.0) -> float:
    """log of the normaliser."""
    return float((copies * gammaln(parameters)).sum() - gammaln((copies * parameters).sum()))

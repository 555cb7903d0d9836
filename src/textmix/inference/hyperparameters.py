"""Learning the parameters of priors: by maximising a bound (variational), or by drawing them (Gibbs).

Maximised (DMAFP 5.3): eq. 32 to 34 say where E[log p(rows | Dirichlet)] has its maximum, of a symmetric Dirichlet
distribution or of one with a parameter for each word. Drawn, and exact: the concentration of a Dirichlet process after
Escobar and West (1995, 6); all others, given the counts that a symmetric Dirichlet distribution stands behind, by a
step of slice sampling (Neal 2003) on the logarithm of the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from textmix.inference.collapsed_gibbs import GibbsState
from textmix.kernels.counts import document_frequencies
from textmix.kernels.state import N_SLOTS
from textmix.kernels.statistics import gather_counts
from textmix.models.dirichlet_multinomial import dirichlet_multinomial

SMALLEST, LARGEST = 1e-8, 1e8  # of a learned parameter
LOG_SMALLEST, LOG_LARGEST = math.log(SMALLEST), math.log(LARGEST)
NEWTON_STEPS = 10
NEWTON_TOLERANCE = 1e-4
SLICE_WIDTH = 1.0  # of the first interval, in log of the parameter
SLICE_STEPS = 50  # at most so many widths to each side
NARROWEST_SLICE = 1e-12


class GammaPrior(NamedTuple):
    """Gamma(shape, rate) on a parameter."""

    shape: float
    rate: float

    def log_density(self, value: float) -> float:
        """Without its constant."""
        return (self.shape - 1.0) * math.log(value) - self.rate * value


FLAT = GammaPrior(1.0, 0.0)
ALPHA_PRIOR = GammaPrior(1.0, 0.01)  # of what estimators learn; vague
BETA_PRIOR = GammaPrior(1.0, 1.0)


def maximise_symmetric(size: int, n_rows: int, log_total: float, prior: GammaPrior = FLAT) -> float:
    """The a at which Σ_rows E[log Dirichlet(row | a, …, a)] + log prior is largest (eq. 32; 33 and 34 in their sum).

    log_total is Σ_rows Σ_k E[log row_k]. The derivative falls with a (with a prior: of a shape from 1 on), so that
    there is one solution; it is kept within SMALLEST … LARGEST.
    """

    def slope(log_a: float) -> float:
        a = math.exp(log_a)
        likelihood = n_rows * size * float(digamma(size * a) - digamma(a)) + log_total
        return likelihood + (prior.shape - 1.0) / a - prior.rate

    if slope(LOG_SMALLEST) <= 0.0:
        return SMALLEST
    if slope(LOG_LARGEST) >= 0.0:
        return LARGEST
    return math.exp(brentq(slope, LOG_SMALLEST, LOG_LARGEST, xtol=1e-12))


def maximise_dirichlet(mean_logs: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """A parameter a for each word that raises log Γ(Σa) − Σ log Γ(a) + Σ a mean_logs (eq. 33), by Newton's steps.

    Minka's (2000) solution of Newton's equations, whose cost is that of the words. Where Newton does not raise it, his
    fixed point does.
    """

    def value(a: NDArray[np.float64]) -> float:
        return float(gammaln(a.sum()) - gammaln(a).sum() + a @ mean_logs)

    if start.size == 1:  # a single word has all the probability, whatever a is
        return start
    a = start
    for _ in range(NEWTON_STEPS):
        gradient = digamma(a.sum()) - digamma(a) + mean_logs
        diagonal = -trigamma(a)
        shared = (gradient / diagonal).sum() / (1.0 / trigamma(a.sum()) + (1.0 / diagonal).sum())
        new = a - (gradient - shared) / diagonal
        new = np.clip(np.where(new > 0.0, new, 0.5 * a), SMALLEST, LARGEST)
        change = float(np.max(np.abs(new - a) / a))
        a = new
        if change < NEWTON_TOLERANCE:
            break
    if value(a) >= value(start):
        return a
    return np.clip(inverse_digamma(digamma(start.sum()) + mean_logs), SMALLEST, LARGEST)


def trigamma(x: Any) -> Any:
    """ψ'(x) for x > 0: its series at x + 8, and eight steps of the recurrence. SciPy's costs ten times that."""
    shifted = x + 8.0
    s = 1.0 / (shifted * shifted)
    series = s * (1.0 / 30.0 - s * (5.0 / 66.0 - s * (691.0 / 2730.0 - s * (7.0 / 6.0))))
    series = s * (1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - series)))
    total = 1.0 / shifted + 0.5 * s + series / shifted
    for k in range(8):
        total = total + 1.0 / (x + k) ** 2
    return total


def inverse_digamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """x with ψ(x) = value, by five Newton steps from Minka's (2000) start."""
    x = np.where(values >= -2.22, np.exp(values) + 0.5, -1.0 / (values - digamma(1.0)))
    for _ in range(5):
        x = x - (digamma(x) - values) / trigamma(x)
    return np.asarray(x)


class CountProfile(NamedTuple):
    """Counts in rows of `size` cells, as far as a symmetric Dirichlet prior of their rows sees them."""

    values: NDArray[np.float64]  # the distinct counts above 0
    frequencies: NDArray[np.int64]  # how many cells hold each
    totals: NDArray[np.float64]  # of each row that is not empty
    size: int

    @classmethod
    def of(cls, counts: NDArray[Any], totals: NDArray[Any], size: int) -> Self:
        """The profile of all counts, in any order, zeros or not, and of the sums of their rows."""
        present = counts[counts > 0]
        if present.dtype.kind in "iu" and present.size and present.max() < 10 * present.size:
            histogram = np.bincount(present)  # without sorting
            values = np.flatnonzero(histogram)
            frequencies = histogram[values]
        else:
            values, frequencies = np.unique(present, return_counts=True)
        return cls(values.astype(np.float64), frequencies, np.asarray(totals[totals > 0], np.float64), size)

    def log_evidence(self, a: float) -> float:
        """log of the probability of the rows as sequences, with a Dirichlet(a, …, a) for each row."""
        cells = self.frequencies @ (gammaln(a + self.values) - gammaln(a))
        rows = gammaln(self.size * a + self.totals) - gammaln(self.size * a)
        return float(cells - rows.sum())

    def draw(self, a: float, prior: GammaPrior, rng: np.random.Generator) -> float:
        """Another a, by a slice step on log a under the prior, which is cut off at SMALLEST and LARGEST."""

        def log_posterior(log_a: float) -> float:
            if not LOG_SMALLEST <= log_a <= LOG_LARGEST:
                return -math.inf
            new = math.exp(log_a)
            # + log_a: the density of log a
            return self.log_evidence(new) + prior.log_density(new) + log_a

        start = min(max(math.log(a), LOG_SMALLEST), LOG_LARGEST)
        return math.exp(slice_step(log_posterior, start, rng))


def slice_step(log_density: Callable[[float], float], x: float, rng: np.random.Generator) -> float:
    """One step of slice sampling: stepping out by SLICE_WIDTH, then shrinking (Neal 2003, 4).

    Where the density is so large that rounding swallows the slice, x stays.
    """
    level = log_density(x) - rng.standard_exponential()
    left = x - SLICE_WIDTH * rng.random()
    right = left + SLICE_WIDTH
    n_left = int(rng.integers(SLICE_STEPS))
    for _ in range(n_left):
        if log_density(left) <= level:
            break
        left -= SLICE_WIDTH
    for _ in range(SLICE_STEPS - 1 - n_left):
        if log_density(right) <= level:
            break
        right += SLICE_WIDTH
    while True:
        candidate = left + (right - left) * rng.random()
        if log_density(candidate) >= level:
            return candidate
        if right - left < NARROWEST_SLICE:
            return x
        if candidate < x:
            left = candidate
        else:
            right = candidate


def draw_concentration(
    concentration: float, n_clusters: int, n_documents: int, prior: GammaPrior, rng: np.random.Generator
) -> float:
    """Another concentration of a Dirichlet process given how many clusters there are (Escobar and West, eq. 13, 14)."""
    log_helper = math.log(rng.beta(concentration + 1.0, n_documents))
    rate = prior.rate - log_helper
    odds = (prior.shape + n_clusters - 1.0) / (n_documents * rate)
    shape = prior.shape + n_clusters - (1.0 if rng.random() * (1.0 + odds) >= odds else 0.0)
    return float(rng.gamma(shape) / rate)


class LearnedPrior:
    """Draws α and β of a Dirichlet-multinomial mixture between the sweeps of its collapsed sampler; None: held.

    Exact: given the partition, the concentration of a Dirichlet process is drawn after Escobar and West, the
    pseudo-count of a finite prior's clusters and β by a slice step on their logarithm.
    """

    def __init__(
        self,
        state: GibbsState,
        counts: scipy.sparse.csr_array,
        alpha_prior: GammaPrior | None,
        beta_prior: GammaPrior | None,
    ) -> None:
        self.state = state
        self.alpha_prior = alpha_prior
        self.beta_prior = beta_prior
        self._n_words = counts.shape[1]
        self._gathered = np.empty_like(state.prepared.documents.counts)
        frequencies = document_frequencies(counts.indices, counts.data, self._n_words)
        lone = counts.data[(frequencies[counts.indices] == 1) & (counts.data > 0)]
        self._lone = np.unique(lone.astype(np.float64), return_counts=True)  # in every partition the same

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Draw anew; returns the values by name."""
        state, drawn = self.state, {}
        prior, model, log_lone_words = state.prior, state.model, state.prepared.log_lone_words
        if self.alpha_prior is not None:
            if prior.concentration > 0.0:
                alpha = draw_concentration(
                    prior.concentration, state.n_clusters, state.n_documents, self.alpha_prior, rng
                )
                prior = prior._replace(concentration=alpha)
            else:
                sizes = state.clusters.sizes
                profile = CountProfile.of(sizes, np.array([sizes.sum()]), prior.max_clusters)
                alpha = profile.draw(prior.alpha, self.alpha_prior, rng)
                prior = prior._replace(pseudo_counts=np.array([alpha]))
            drawn["alpha"] = alpha
        if self.beta_prior is not None:
            beta = drawn["beta"] = self._profile().draw(model.beta, self.beta_prior, rng)
            values, frequencies = self._lone
            log_lone_words = float(frequencies @ (gammaln(beta + values) - gammaln(beta)))
            model = dirichlet_multinomial(beta, self._n_words, model.unit, state.prepared.max_word_total)
        state.change_parameters(model, prior, log_lone_words)
        return drawn

    def _profile(self) -> CountProfile:
        """The counts of all words in all clusters."""
        clusters, unit = self.state.clusters, self.state.model.unit
        shared = CountProfile.of(
            self._gathered[: gather_counts(clusters, self._gathered)],
            clusters.totals[: clusters.counters[N_SLOTS]] * unit,
            self._n_words,
        )
        values, frequencies = self._lone
        return shared._replace(
            values=np.concatenate([shared.values * unit, values]),
            frequencies=np.concatenate([shared.frequencies, frequencies]),
        )

"""Drawing α and β of a Dirichlet-multinomial mixture between the sweeps of its collapsed Gibbs sampler.

Exact: given the partition, the concentration of a Dirichlet process is drawn after Escobar and West, the pseudo-count
of a finite prior's clusters and β by a slice step on their logarithm.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.special import gammaln

from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.hyperparameters import CountProfile, GammaPrior, draw_concentration
from textmix.kernels.counts import document_frequencies
from textmix.kernels.state import N_SLOTS
from textmix.kernels.statistics import gather_counts
from textmix.models.dirichlet_multinomial import dirichlet_multinomial


class LearnedPrior:
    """Draws what is to be learned of a state's model and prior; None: held."""

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

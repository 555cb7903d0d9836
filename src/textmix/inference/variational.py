"""Mean-field variational inference for the mixture with a word split (DMAFP 5.1), and without it (DMA).

The posterior is approximated by independent distributions (eq. 15): a Dirichlet for the clusters' weights (σ), for each
cluster's words (τ_i) and for the background (τ_0), a probability ω_j for each word to be discriminative, and
probabilities φ_d of each document's clusters. One iteration is eq. 19 to 21, then 23, then 22: each maximises the bound
(eq. 17, 18) given the others, so that it never falls; nor does it when hyperparameters are learned (eq. 31 to 34),
where the log prior of β is part of it if β is learned under one.

    log p(documents) ≥ Σ_d log Σ_i exp(M_di) + Σ_j x_j (1 − ω_j) E[log η_0j]
                       − KL(P) − KL(η_0) − Σ_i KL(η_i) − Σ_j KL(γ_j) + multinomial coefficients

where KL is the divergence of each variational distribution from its prior, and M is that of eq. 24 without its −1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logit, xlogy

from textmix.engines.threads import Threads
from textmix.inference.em import DocumentVectors, score, to_assignments
from textmix.inference.hyperparameters import FLAT, GammaPrior, maximise_dirichlet, maximise_symmetric
from textmix.inference.loop import Tick, run_moves
from textmix.inference.ordering import order_by_size, slots_in_order
from textmix.inference.progress import Progress
from textmix.inference.seeds import START, generator
from textmix.inference.starts import FittedComponents
from textmix.inference.vectors import SparseVectors
from textmix.kernels.word_split import update_words
from textmix.models.components import Components, Mixture
from textmix.models.word_split import (
    HYPERPARAMETERS,
    Hyperparameters,
    describe,
    dirichlet_divergence,
    dirichlet_entropy,
    expected_logs,
    log_beta,
)

DOCUMENTS = 256  # scored at a time, or a BLOCKS-th of all
WORDS = 512  # updated at a time, likewise
BLOCKS = 16  # so many keep several threads busy; more would cost more than they gain
NEGLIGIBLE = 1e-16  # a probability φ_di below it, which is lost in rounding beside 1, is 0
MORE_LIKELY_THAN_NOT = 0.5  # relevance of the words that the trace counts
NEARLY_UNIFORM = 0.1  # how far from uniform the first posteriors are at most
TRACE = ("bound", "n_clusters", "n_discriminative", "n_moved", *HYPERPARAMETERS, "seconds")
LEAST_OMEGA = 1e-10  # a learned ω is at least so far from 0 and from 1, which it could never leave


def block_size(n: int, least: int) -> int:
    """How much of n is done at a time. It depends on n alone, so that results do not depend on the threads."""
    return max(least, -(-n // BLOCKS))


class CountedDocuments:
    """Documents, all of which have words, and what inference needs to know of them."""

    def __init__(self, counts: scipy.sparse.csr_array) -> None:
        counts = counts.astype(np.float64, copy=False)  # or sums of 4-byte numbers would be such too
        self.vectors = SparseVectors(counts)
        self.n_documents, self.n_words = counts.shape
        self.word_totals: NDArray[np.float64] = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        self.log_coefficients = float(gammaln(lengths + 1.0).sum() - gammaln(counts.data + 1.0).sum())


class VariationalState:
    """The variational distributions, φ and ω_j foremost: all others follow from these two."""

    def __init__(
        self,
        documents: CountedDocuments,
        hyperparameters: Hyperparameters,
        posteriors: NDArray[np.float64],
        relevance: NDArray[np.float64],
        splits_words: bool,
        threads: Threads,
    ) -> None:
        self.documents = documents
        self.hyperparameters = hyperparameters
        self.posteriors = posteriors  # φ: documents × columns
        # How many clusters a column stands for: one, or all those that no document belongs to, which are equal.
        self.copies = np.ones(posteriors.shape[1])
        self.relevance = relevance  # ω_j
        self.splits_words = splits_words  # False: ω_j stays as it is, and there is no background (DMA)
        self.threads = threads
        self.labels = np.argmax(posteriors, axis=1).astype(np.int32)
        self.beta_prior: GammaPrior = FLAT  # its density is part of the bound

    def update_clusters(self) -> None:
        """Eq. 19 to 21, then eq. 23: the clusters and the background from φ and ω_j, then ω_j."""
        theta, copies, n_columns = self.hyperparameters, self.copies, self.copies.size
        n_clusters = float(copies.sum())
        n_words, word_totals = self.documents.n_words, self.documents.word_totals
        sums = self.documents.vectors.sum_posteriors(self.posteriors, np.float64, self.threads)
        weight_parameters = theta.alpha / n_clusters + self.posteriors.sum(axis=0) / copies
        totals = theta.word_prior.sum() + self.relevance @ sums / copies
        background_parameters = theta.background_prior + (1.0 - self.relevance) * word_totals
        log_weights = expected_logs(weight_parameters, copies)
        background_logs = expected_logs(background_parameters)
        log_odds = logit(theta.omega) - word_totals * background_logs if self.splits_words else np.zeros(n_words)
        relevance, log_sums, log_normalisers, expected = self._update_words(sums, totals, log_odds)
        log_prior_normaliser = log_beta(theta.word_prior)
        divergence = n_clusters * log_prior_normaliser - log_normalisers + expected
        entropy = log_normalisers - expected - (theta.word_prior - 1.0) @ log_sums
        weights_prior = np.full(n_columns, theta.alpha / n_clusters)
        divergence += dirichlet_divergence(weight_parameters, weights_prior, log_weights, copies)
        entropy += dirichlet_entropy(weight_parameters, log_weights, copies)
        shared = 0.0
        if self.splits_words:
            divergence += dirichlet_divergence(background_parameters, theta.background_prior, background_logs)
            entropy += dirichlet_entropy(background_parameters, background_logs)
            word_entropy = -float((xlogy(relevance, relevance) + xlogy(1.0 - relevance, 1.0 - relevance)).sum())
            prior = xlogy(relevance, theta.omega).sum() + xlogy(1.0 - relevance, 1.0 - theta.omega).sum()
            divergence -= word_entropy + prior
            entropy += word_entropy
            shared = float((word_totals * (1.0 - relevance)) @ background_logs)
            shared += self.beta_prior.log_density(float(theta.background_prior.mean()))
        components = Components(
            weights=sums,
            scales=np.ones(n_columns),
            offsets=np.zeros((1, n_columns)),
            log_prior=float(shared - divergence + self.documents.log_coefficients),
        )
        # Together, and last: Ctrl-C may come at any moment before.
        self.relevance, self.mixture = relevance, Mixture(components, log_weights + np.log(copies), 1.0)
        self._entropy, self._log_sums = float(entropy), log_sums
        self._total_log_weight = float(copies @ log_weights)
        self.weight_parameters = weight_parameters
        self.background_parameters, self._background_logs = background_parameters, background_logs

    def _update_words(
        self, sums: NDArray[Any], totals: NDArray[np.float64], log_odds: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
        """See the kernel. Returns ω_j, Σ_i E[log η_ij], Σ_i log B(τ_i), and Σ_ij (τ_ij − λ_j) E[log η_ij]."""
        copies, n_columns, n_words = self.copies, self.copies.size, self.documents.n_words
        relevance, log_sums, totals_digamma = self.relevance.copy(), np.empty(n_words), digamma(totals)

        def update_block(first: int, last: int) -> tuple[float, NDArray[np.float64]]:
            log_gammas, work = np.zeros(n_columns), np.empty(6 * n_columns)
            expected = update_words(
                sums,
                copies,
                totals_digamma,
                self.hyperparameters.word_prior,
                log_odds,
                not self.splits_words,
                relevance,
                log_sums,
                log_gammas,
                work,
                work.view(np.int64),
                first,
                last,
            )
            return expected, log_gammas

        blocks = list(self.threads.map_blocks(update_block, n_words, block_size(n_words, WORDS)))
        log_normalisers = sum(block[1] for block in blocks) - gammaln(totals)
        return relevance, log_sums, float(copies @ log_normalisers), sum(block[0] for block in blocks)

    def update_documents(self) -> int:
        """Eq. 22, and the bound. Returns how many documents have another most probable cluster than before."""

        def assign_block(first: int, last: int) -> tuple[float, int]:
            scores = score(DocumentVectors(self.documents.vectors), self.mixture.components, first, last)
            labels = np.empty(last - first, np.int32)
            value = to_assignments(scores, self.mixture, labels, np.empty(last - first))
            scores[scores < NEGLIGIBLE] = 0.0
            self.posteriors[first:last] = scores
            n_moved = int(np.count_nonzero(labels != self.labels[first:last]))
            self.labels[first:last] = labels
            return value, n_moved

        parts = list(self.threads.map_blocks(assign_block, self.labels.size, block_size(self.labels.size, DOCUMENTS)))
        self.bound = sum(part[0] for part in parts) + self.mixture.components.log_prior
        return sum(part[1] for part in parts)

    def join_empty(self) -> None:
        """Let one column stand for all clusters that no document belongs to. Nothing else changes: they are equal."""
        empty = np.flatnonzero(self.posteriors.sum(axis=0) == 0.0)
        if empty.size < 2:
            return
        kept = np.delete(np.arange(self.copies.size), empty[1:])
        copies = self.copies.copy()
        copies[empty[0]] = copies[empty].sum()
        posteriors, labels = np.ascontiguousarray(self.posteriors[:, kept]), np.searchsorted(kept, self.labels)
        self.copies, self.posteriors, self.labels = copies[kept], posteriors, labels.astype(np.int32)

    def learn(self, learned: frozenset[str]) -> None:
        """Eq. 31 to 34: the hyperparameters that raise the bound most, of those named."""
        theta, n_clusters, n_words = self.hyperparameters, int(self.copies.sum()), self.documents.n_words
        if "alpha" in learned and n_clusters > 1:
            a = maximise_symmetric(n_clusters, 1, self._total_log_weight)
            theta = theta._replace(alpha=n_clusters * a)
        if "omega" in learned and self.splits_words:
            omega = float(np.clip(self.relevance.mean(), LEAST_OMEGA, 1.0 - LEAST_OMEGA))
            theta = theta._replace(omega=omega)
        if "lambda_vector" in learned:
            theta = theta._replace(word_prior=maximise_dirichlet(self._log_sums / n_clusters, theta.word_prior))
        elif "lambda" in learned and n_words > 1:
            a = maximise_symmetric(n_words, n_clusters, float(self._log_sums.sum()))
            theta = theta._replace(word_prior=np.full(n_words, a))
        if "beta_vector" in learned:
            theta = theta._replace(background_prior=self.background_parameters)  # solves eq. 34
        elif "beta" in learned:
            a = maximise_symmetric(n_words, 1, float(self._background_logs.sum()), self.beta_prior)
            theta = theta._replace(background_prior=np.full(n_words, a))
        self.hyperparameters = theta

    def expected_log_joint(self) -> float:
        """E_q[log f(everything)]: the bound without the entropy of q."""
        return self.bound - self._entropy + float(xlogy(self.posteriors, self.posteriors / self.copies).sum())


@dataclass(frozen=True)
class VariationalSettings:
    """How to start and how long to go on."""

    n_clusters: int
    splits_words: bool
    learned: frozenset[str]
    learn_after: int  # iterations
    beta_prior: GammaPrior
    choice: str  # "expected" or "bound": what starts are compared by
    max_iter: int
    tol: float


@dataclass(frozen=True)
class FittedWordSplit(FittedComponents):
    """The same with the words; `order` has the clusters that hold documents, `objective` is the bound, or a mean."""

    word_prior: NDArray[np.float64]  # λ as the mixture has it: in the normalised form, times the relevance
    word_means: NDArray[np.float64]  # E[η_i] of the clusters that hold documents, in that order: clusters × words
    relevance: NDArray[np.float64]
    background_parameters: NDArray[np.float64]  # τ_0
    hyperparameters: Hyperparameters


def fit_variational(
    documents: CountedDocuments,
    start: NDArray[np.int32] | str,
    hyperparameters: Hyperparameters,
    settings: VariationalSettings,
    seed: int,
    restart: int,
    threads: Threads,
    progress: Progress,
    name: str,
) -> FittedWordSplit:
    """Iterate from one start until the bound changes by less than tol of itself."""
    rng = generator(seed, START, restart)
    posteriors = starting_posteriors(documents.n_documents, settings.n_clusters, start, rng)
    state = VariationalState(
        documents, hyperparameters, posteriors, np.ones(documents.n_words), settings.splits_words, threads
    )
    if "beta" in settings.learned:
        state.beta_prior = settings.beta_prior
    bounds: list[float] = []
    first_learned = settings.learn_after if settings.learned else settings.max_iter

    def barely_changes() -> bool:
        return len(bounds) > 1 and abs(bounds[-1] - bounds[-2]) < settings.tol * abs(bounds[-1])

    def move(iteration: int, tick: Tick) -> Mapping[str, float]:
        nonlocal first_learned
        if settings.learned and iteration > 0:
            if barely_changes():
                first_learned = min(first_learned, iteration)
            if iteration >= first_learned:
                state.learn(settings.learned)
        state.join_empty()
        state.update_clusters()
        n_moved = state.update_documents()
        bounds.append(state.bound)
        tick(documents.n_documents)
        return {
            "bound": state.bound,
            "n_clusters": int(np.unique(state.labels).size),
            "n_discriminative": int(np.count_nonzero(state.relevance > MORE_LIKELY_THAN_NOT)),
            "n_moved": n_moved,
            **describe(state.hyperparameters),
        }

    outcome = run_moves(
        [move],
        n_sweeps=settings.max_iter,
        n_documents=documents.n_documents,
        settled=lambda trace: barely_changes() and (not settings.learned or len(bounds) > first_learned + 1),
        progress=progress,
        name=name,
        columns=TRACE,
    )
    if outcome.interrupted:  # perhaps between two states
        state.update_clusters()
        state.update_documents()
    return finish(
        state,
        state.hyperparameters,
        state.bound,
        state.expected_log_joint() if settings.choice == "expected" else state.bound,
        outcome.trace.arrays(),
        outcome.n_sweeps,
        outcome.stopped_by_itself,
        outcome.interrupted,
    )


def finish(
    state: VariationalState,
    hyperparameters: Hyperparameters,
    objective: float,
    merit: float,
    trace: dict[str, NDArray[np.float64]],
    n_sweeps: int,
    converged: bool,
    interrupted: bool,
) -> FittedWordSplit:
    """A state as a result, with the hyperparameters that led to it."""
    labels = order_by_size(state.labels)
    order = slots_in_order(state.labels, labels)
    components = state.mixture.components
    # A copy: sums are formed in memory that the next start uses again.
    mixture = state.mixture._replace(components=components._replace(weights=components.weights.copy()))
    sums = state.documents.vectors.sum_posteriors(state.posteriors, np.float64, state.threads)[:, order]
    word_means = state.hyperparameters.word_prior + state.relevance * sums.T
    return FittedWordSplit(
        labels=labels,
        order=order,
        mixture=mixture,
        word_prior=state.hyperparameters.word_prior,
        word_means=word_means / word_means.sum(axis=1, keepdims=True),
        relevance=state.relevance,
        background_parameters=state.background_parameters,
        cluster_weights=state.weight_parameters[order] / (state.copies @ state.weight_parameters),
        hyperparameters=hyperparameters,
        objective=objective,
        merit=merit,
        trace=trace,
        n_sweeps=n_sweeps,
        converged=converged,
        interrupted=interrupted,
    )


def starting_posteriors(
    n_documents: int, n_clusters: int, start: NDArray[np.int32] | str, rng: np.random.Generator
) -> NDArray[np.float64]:
    """φ to start from: nearly uniform, random as in the paper, or given labels."""
    if not isinstance(start, str):
        return certain_posteriors(start, n_clusters)
    posteriors = rng.random((n_documents, n_clusters))
    if start == "nearly_uniform":
        posteriors = 1.0 + NEARLY_UNIFORM * posteriors
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    return posteriors


def certain_posteriors(labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
    """φ of documents that belong to these clusters without doubt."""
    posteriors = np.zeros((labels.size, n_clusters))
    posteriors[np.arange(labels.size), labels] = 1.0
    return posteriors

"""Blocked Gibbs sampling of the mixture with a word split (DMAFP 5.2, eq. 26 to 30), and without it (DMA).

One sweep draws, in this order, γ (Metropolis flips given the labels, the clusters' distributions integrated out), the
distributions η_i and the weights P given labels and γ, and all labels given these. Labels depend on η_0 not at all and
γ is drawn without it, so that it is not drawn. Of η_i only the discriminative words are drawn, and the sum of all
others as one number, which is what they add up to. Sampling is exact for eq. 11; it is so too when hyperparameters are
drawn.

A start with random labels and few words in sticks; with all words in (the default) it seldom does. The first
`n_settling` sweeps leave γ as it is, the first `learn_after` the hyperparameters: drawn from the first sweep on, they
adapt to clusters that mean nothing yet, and the chain stays there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, xlogy

from textmix.engines.threads import Threads
from textmix.inference.hyperparameters import ALPHA_PRIOR, BETA_PRIOR, CountProfile, GammaPrior
from textmix.inference.loop import Tick, run_moves
from textmix.inference.progress import Progress
from textmix.inference.seeds import START, generator
from textmix.inference.variational import (
    DOCUMENTS,
    CountedDocuments,
    FittedWordSplit,
    VariationalState,
    block_size,
    certain_posteriors,
    finish,
)
from textmix.kernels.em import draw_labels, multiply, split_entries, to_posteriors
from textmix.kernels.word_split import INSIDE, N_CHOSEN, N_SUMS, OUTSIDE, OWN, SHARED, flip_words
from textmix.models.word_split import HYPERPARAMETERS, Hyperparameters, describe, log_evidence

TRACE = ("log_joint", "n_clusters", "n_discriminative", "n_flipped", "n_moved", *HYPERPARAMETERS, "seconds")
LEAST_RELEVANCE = 1e-9  # of a word in the normalised form, so that its prior stays above 0


@dataclass(frozen=True)
class HyperparameterPriors:
    """Gamma priors of the hyperparameters that are drawn; that of ω is uniform."""

    alpha: GammaPrior = ALPHA_PRIOR
    word: GammaPrior = BETA_PRIOR
    background: GammaPrior = BETA_PRIOR


@dataclass(frozen=True)
class BlockedGibbsSettings:
    """What to sample and how long."""

    n_clusters: int
    splits_words: bool
    normalised: bool
    learned: frozenset[str]
    learn_after: int  # sweeps
    priors: HyperparameterPriors
    starting_words: str  # "all", "one"
    n_settling: int
    n_flips: int  # R
    n_sweeps: int
    n_kept: int  # H


class BlockedGibbsState:
    """Labels, indicators of words, and the counts that go with them."""

    def __init__(
        self,
        documents: CountedDocuments,
        hyperparameters: Hyperparameters,
        labels: NDArray[np.int32],
        chosen: NDArray[np.bool_],
        settings: BlockedGibbsSettings,
        threads: Threads,
    ) -> None:
        self.documents = documents
        self.hyperparameters = hyperparameters
        self.labels = labels
        self.chosen = chosen  # γ
        self.settings = settings
        self.threads = threads
        starts, words, values = documents.vectors.rows
        self._kept = np.zeros_like(starts), np.empty_like(words), np.empty_like(values)  # discriminative words only
        self._left_out = np.empty(words.size, np.int64), np.empty(words.size, np.int64)
        self.count()

    def count(self) -> None:
        """Count the words of each cluster: words × clusters."""
        n_clusters = self.settings.n_clusters
        self.counts: NDArray[np.float64] = self.documents.vectors.sum_labels(
            self.labels, n_clusters, np.float64, self.threads
        ).astype(np.float64, copy=False)
        self.sizes = np.bincount(self.labels, minlength=n_clusters)

    def flip(self, n_flips: int, rng: np.random.Generator) -> int:
        """Propose so many flips of words (eq. 26); return how many were accepted."""
        theta = self.hyperparameters
        return int(
            flip_words(
                rng.integers(self.chosen.size, size=n_flips),
                np.log(1.0 - rng.random(n_flips)),
                self.counts,
                self.documents.word_totals,
                theta.word_prior,
                theta.background_prior,
                float(logit(theta.omega)),
                self.settings.normalised,
                self.chosen,
                *self.sums_of_words(),
            )
        )

    def sums_of_words(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What flips keep up to date: discriminative words in each cluster, and sums over both groups of words."""
        theta, normalised, totals = self.hyperparameters, self.settings.normalised, self.counts[self.chosen].sum(axis=0)
        sums = np.empty(N_SUMS)
        sums[OWN] = (theta.word_prior[self.chosen] if normalised else theta.word_prior).sum()
        sums[SHARED] = (theta.background_prior[~self.chosen] if normalised else theta.background_prior).sum()
        sums[INSIDE], sums[N_CHOSEN] = totals.sum(), np.count_nonzero(self.chosen)
        sums[OUTSIDE] = self.documents.word_totals[~self.chosen].sum()
        return totals, sums

    def draw_labels(self, rng: np.random.Generator) -> int:
        """Draw η and P (eq. 27, 29) and then every label (eq. 30); return how many changed."""
        theta, n_clusters = self.hyperparameters, self.settings.n_clusters
        words = np.flatnonzero(self.chosen)
        log_words = log_gamma_variates(theta.word_prior[words][:, np.newaxis] + self.counts[words], rng)
        parts = [log_words]
        if words.size < self.chosen.size and not self.settings.normalised:
            others = np.full((1, n_clusters), theta.word_prior[~self.chosen].sum())
            parts.append(log_gamma_variates(others, rng))
        if words.size:
            log_words -= np.logaddexp.reduce(np.concatenate(parts), axis=0)
        log_weights = log_gamma_variates(theta.alpha / n_clusters + self.sizes, rng)
        uniforms = rng.random(self.labels.size)
        new_ids = np.full(self.chosen.size, -1, np.int32)
        new_ids[words] = np.arange(words.size, dtype=np.int32)
        split_entries(*self.documents.vectors.rows, new_ids, *self._kept, *self._left_out)
        log_words = np.ascontiguousarray(log_words)

        def draw_block(first: int, last: int) -> int:
            scores, labels = np.empty((last - first, n_clusters)), np.empty(last - first, np.int32)
            multiply(*self._kept, log_words, scores, np.empty(n_clusters), first, last)
            to_posteriors(scores, log_weights, 1.0, labels, np.empty(last - first))
            draw_labels(scores, uniforms[first:last], labels)
            n_moved = int(np.count_nonzero(labels != self.labels[first:last]))
            self.labels[first:last] = labels
            return n_moved

        n_moved = sum(self.threads.map_blocks(draw_block, self.labels.size, block_size(self.labels.size, DOCUMENTS)))
        self.count()
        return n_moved

    def draw_hyperparameters(self, rng: np.random.Generator) -> None:
        """Draw those that are learned given labels and words."""
        theta, learned, priors = self.hyperparameters, self.settings.learned, self.settings.priors
        n_words, n_inside = self.chosen.size, int(np.count_nonzero(self.chosen))
        normalised = self.settings.normalised
        if "alpha" in learned:
            n_clusters = self.settings.n_clusters
            profile = CountProfile.of(self.sizes, np.array([self.sizes.sum()]), n_clusters)
            # α is the sum over all clusters: the prior of α/N has N times the rate.
            each = GammaPrior(priors.alpha.shape, priors.alpha.rate * n_clusters)
            theta = theta._replace(alpha=n_clusters * profile.draw(theta.alpha / n_clusters, each, rng))
        if "omega" in learned:
            theta = theta._replace(omega=float(rng.beta(1 + n_inside, 1 + n_words - n_inside)))
        if "lambda" in learned:
            inside = self.counts[self.chosen]
            profile = CountProfile.of(inside, inside.sum(axis=0), n_inside if normalised else n_words)
            a = profile.draw(float(theta.word_prior[0]), priors.word, rng)
            theta = theta._replace(word_prior=np.full(n_words, a))
        if "beta" in learned:
            outside = self.documents.word_totals[~self.chosen]
            size = n_words - n_inside if normalised else n_words
            profile = CountProfile.of(outside, np.array([outside.sum()]), size)
            a = profile.draw(float(theta.background_prior[0]), priors.background, rng)
            theta = theta._replace(background_prior=np.full(n_words, a))
        self.hyperparameters = theta

    def log_joint(self) -> float:
        """log f(words | labels, γ) p(labels) p(γ), eq. 11 with its priors, and those of what is learned."""
        theta = self.hyperparameters
        total = self.documents.log_coefficients
        total += log_evidence(self.counts, self.documents.word_totals, self.chosen, theta, self.settings.normalised)
        n_clusters, n_documents = self.settings.n_clusters, self.labels.size
        total += CountProfile.of(self.sizes, np.array([n_documents]), n_clusters).log_evidence(theta.alpha / n_clusters)
        if self.settings.splits_words:
            n_inside = np.count_nonzero(self.chosen)
            total += float(xlogy(n_inside, theta.omega) + xlogy(self.chosen.size - n_inside, 1.0 - theta.omega))
        priors = self.settings.priors
        drawn = {
            "alpha": (priors.alpha, theta.alpha),
            "lambda": (priors.word, float(theta.word_prior[0])),
            "beta": (priors.background, float(theta.background_prior[0])),
        }
        return total + sum(drawn[name][0].log_density(drawn[name][1]) for name in self.settings.learned & set(drawn))


def log_gamma_variates(shapes: NDArray[np.floating[Any]], rng: np.random.Generator) -> NDArray[np.float64]:
    """Logarithms of gamma variates: those of shapes far below 1 are too small to be written down themselves."""
    # A Gamma(a) is a Gamma(a + 1) times the a-th root of a uniform number.
    return np.asarray(np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(shapes.shape) / shapes)


def fit_blocked_gibbs(
    documents: CountedDocuments,
    start: NDArray[np.int32] | str,
    hyperparameters: Hyperparameters,
    settings: BlockedGibbsSettings,
    seed: int,
    restart: int,
    threads: Threads,
    progress: Progress,
    name: str,
) -> FittedWordSplit:
    """Sample; labels and words are what most of the last samples say."""
    rng = generator(seed, START, restart)
    n_documents, n_words, n_clusters = documents.n_documents, documents.n_words, settings.n_clusters
    labels = rng.integers(n_clusters, size=n_documents, dtype=np.int32) if isinstance(start, str) else start.copy()
    chosen = np.ones(n_words, bool)
    if settings.splits_words and settings.starting_words == "one":
        chosen[:] = False
        chosen[rng.integers(n_words)] = True
    state = BlockedGibbsState(documents, hyperparameters, labels, chosen, settings, threads)
    label_frequencies = np.zeros((n_documents, n_clusters), np.int32)
    word_frequencies, log_joints = np.zeros(n_words), list[float]()

    def move(sweep: int, tick: Tick) -> Mapping[str, float]:
        rng = generator(seed, sweep, restart)
        flips = settings.splits_words and sweep >= settings.n_settling
        n_flipped = state.flip(settings.n_flips, rng) if flips else 0
        n_moved = state.draw_labels(rng)
        if sweep >= settings.learn_after:
            state.draw_hyperparameters(rng)
        log_joint = state.log_joint()
        if sweep >= settings.n_sweeps - settings.n_kept:
            label_frequencies[np.arange(n_documents), state.labels] += 1
            word_frequencies[state.chosen] += 1
            log_joints.append(log_joint)
        tick(n_documents)
        return {
            "log_joint": log_joint,
            "n_clusters": int(np.count_nonzero(state.sizes)),
            "n_discriminative": int(np.count_nonzero(state.chosen)),
            "n_flipped": n_flipped,
            "n_moved": n_moved,
            **describe(state.hyperparameters),
        }

    outcome = run_moves(
        [move],
        n_sweeps=settings.n_sweeps,
        n_documents=n_documents,
        settled=lambda trace: False,
        progress=progress,
        name=name,
        columns=TRACE,
    )
    if log_joints:
        labels = np.argmax(label_frequencies, axis=1).astype(np.int32)
        relevance = np.minimum(word_frequencies / len(log_joints), 1.0)  # above 1 if interrupted at the wrong moment
        objective = float(np.mean(log_joints))
    else:
        state.count()  # interrupted, perhaps between labels and counts
        labels, relevance, objective = state.labels, state.chosen.astype(np.float64), state.log_joint()
    summary = summarise(state, labels, relevance)
    return finish(
        summary,
        state.hyperparameters,
        objective,
        objective,
        outcome.trace.arrays(),
        outcome.n_sweeps,
        not outcome.interrupted,
        outcome.interrupted,
    )


def summarise(state: BlockedGibbsState, labels: NDArray[np.int32], relevance: NDArray[np.float64]) -> VariationalState:
    """The distributions that new documents are assigned by, given labels and the share of samples a word was in."""
    theta = state.hyperparameters
    if state.settings.normalised:
        theta = theta._replace(
            word_prior=theta.word_prior * np.maximum(relevance, LEAST_RELEVANCE),
            background_prior=theta.background_prior * np.maximum(1.0 - relevance, LEAST_RELEVANCE),
        )
    posteriors = certain_posteriors(labels, state.settings.n_clusters)
    summary = VariationalState(state.documents, theta, posteriors, relevance, False, state.threads)
    summary.update_clusters()
    return summary

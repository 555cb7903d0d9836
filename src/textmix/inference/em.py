"""One loop for all: estimate the clusters' models, assign the documents; a component model × a way of assigning.

    hard        each document to its most likely cluster: raises Σ_x log p(x | y(x))    (Zhong and Ghosh, eq. 1)
    soft        EM: raises Σ_x log Σ_y α_y p(x | y)                                     (eq. 2 to 5)
    stochastic  each document to a cluster drawn from P(y | x): a sampled EM, nothing is promised to rise
    annealed    P(y | x) ∝ α_y p(x | y)^(1/T), T falling: at each T raises eq. 6        (eq. 6, 7)

With the sharpness b = 1/T the objective of the last three is (1/b) Σ_x log Σ_y α_y p(x | y)^b, of which eq. 2 is the
case b = 1; the log prior of the models is added in all of them. Hard assignment is b = ∞.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.engines.threads import Threads
from textmix.inference.annealing import Constant, Course, Rising, Schedule
from textmix.inference.loop import Tick, run_moves
from textmix.inference.ordering import order_by_size, slots_in_order
from textmix.inference.progress import Progress
from textmix.inference.seeds import START, generator
from textmix.inference.starts import FittedComponents, best_of_starts
from textmix.inference.vectors import LoneWords, Vectors
from textmix.kernels.em import choose_best, draw_labels, to_posteriors
from textmix.models.components import ComponentModel, Components, Mixture, SufficientStatistics

BLOCK = 1024  # documents scored at a time
SHAKE = 0.1

ASSIGNMENTS = ("hard", "stochastic", "soft", "annealed")


class DocumentVectors(NamedTuple):
    """Vectors of documents, and the row of the models' offsets that each needs (None: there is one row)."""

    vectors: Vectors
    offset_rows: NDArray[np.int64] | None = None
    n_offset_rows: int = 1
    lone_words: LoneWords | None = None  # only where every document belongs to one cluster (hard, stochastic)


@dataclass(frozen=True)
class EMSettings:
    """How to assign and how long."""

    n_clusters: int
    assignment: str
    schedule: Schedule
    learn_weights: bool
    max_iter: int
    tol: float


class EMState:
    """Documents, where they belong at present, and the models estimated from that."""

    def __init__(
        self,
        documents: DocumentVectors,
        model: ComponentModel,
        labels: NDArray[np.int32],
        settings: EMSettings,
        threads: Threads,
    ) -> None:
        self.documents = documents
        self.model = model
        self.settings = settings
        self.threads = threads
        self.labels = labels
        keeps_posteriors = settings.assignment in ("soft", "annealed")
        shape = (documents.vectors.n_documents, settings.n_clusters)
        self.posteriors = np.empty(shape) if keeps_posteriors else None
        self._starting = True  # labels say all; posteriors are not there yet
        self.estimated_from = labels  # the labels that the models were estimated from
        self.mixture: Mixture | None = None

    def estimate(self, sharpness: float) -> None:
        """The M-step: models, and the clusters' weights if these are learned, from where documents belong."""
        statistics = self._statistics()
        masses = statistics.cluster_masses
        if self.settings.learn_weights:
            with np.errstate(divide="ignore"):
                log_weights = np.log(masses / masses.sum())
        else:
            log_weights = np.full(masses.size, -np.log(masses.size))
        components = self.model.estimate(statistics)
        # Together, and last: Ctrl-C may come at any moment before.
        self.estimated_from, self.mixture = self.labels.copy(), Mixture(components, log_weights, sharpness)

    def assign(self, uniforms: NDArray[np.float64] | None = None) -> tuple[float, int]:
        """The E-step: where documents belong given the models. Returns the objective and the number of moves.

        With a uniform random number for each document clusters are drawn, else the label is the most probable one.
        """
        mixture = self.mixture
        assert mixture is not None

        def assign_block(first: int, last: int) -> tuple[float, int]:
            scores = score(self.documents, mixture.components, first, last, self.estimated_from)
            labels = np.empty(last - first, np.int32)
            value = to_assignments(scores, mixture, labels, np.empty(last - first))
            if uniforms is not None:
                draw_labels(scores, uniforms[first:last], labels)
            if self.posteriors is not None:
                self.posteriors[first:last] = scores
            n_moved = int(np.count_nonzero(labels != self.labels[first:last]))
            self.labels[first:last] = labels
            return value, n_moved

        parts = list(self.threads.map_blocks(assign_block, self.labels.size, BLOCK))
        self._starting = False
        return sum(part[0] for part in parts) + mixture.components.log_prior, sum(part[1] for part in parts)

    def sum_of_best(self) -> float:
        """Σ_x of the highest score, whatever the sharpness."""
        mixture = self.mixture
        assert mixture is not None

        def best_of_block(first: int, last: int) -> float:
            best = np.empty(last - first)
            scores = score(self.documents, mixture.components, first, last, self.estimated_from)
            choose_best(scores, np.empty(last - first, np.int32), best)
            return float(best.sum())

        return sum(self.threads.map_blocks(best_of_block, self.labels.size, BLOCK))

    def reseed(self, rng: np.random.Generator) -> int:
        """Give each cluster without documents a random one of the largest cluster; return how many were empty."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.settings.n_clusters)
        empty = np.flatnonzero(sizes == 0)
        for cluster in empty:
            largest = int(np.argmax(sizes))
            if sizes[largest] < 2:
                break
            chosen = rng.choice(np.flatnonzero(self.labels == largest))
            self.labels[chosen] = cluster
            sizes[largest] -= 1
            sizes[cluster] += 1
        return int(empty.size)

    def shake(self, rng: np.random.Generator) -> None:
        """Change where documents belong by up to SHAKE of it.

        At a high temperature clusters come to lie on each other, to the last digit if given time, and clusters that are
        equal never part again.
        """
        if self.posteriors is not None and not self._starting:
            self.posteriors *= rng.uniform(1.0 - SHAKE, 1.0 + SHAKE, self.posteriors.shape)
            self.posteriors /= self.posteriors.sum(axis=1, keepdims=True)

    def _statistics(self) -> SufficientStatistics:
        vectors, n_clusters = self.documents.vectors, self.settings.n_clusters
        rows, n_rows = self.documents.offset_rows, self.documents.n_offset_rows
        if self.posteriors is None or self._starting:
            used = self.labels >= 0
            cells = self.labels[used] if rows is None else rows[used] * n_clusters + self.labels[used]
            sizes = np.bincount(cells, minlength=n_rows * n_clusters).reshape(n_rows, n_clusters)
            sums = vectors.sum_labels(self.labels, n_clusters, self.model.sums_type, self.threads)
            lone = self.documents.lone_words
            if lone is None:
                return SufficientStatistics(sums, sizes.astype(np.float64))
            squares = np.bincount(self.labels[used], lone.squares[used], n_clusters).astype(np.float64)
            return SufficientStatistics(sums, sizes.astype(np.float64), squares)
        if rows is None:
            masses = self.posteriors.sum(axis=0, keepdims=True)
        else:
            by_row = scipy.sparse.csr_array(
                (np.ones(rows.size), (rows, np.arange(rows.size))), shape=(n_rows, rows.size)
            )
            masses = np.asarray(by_row @ self.posteriors)
        return SufficientStatistics(vectors.sum_posteriors(self.posteriors, self.model.sums_type, self.threads), masses)


class Assigned(NamedTuple):
    """Documents assigned by a finished mixture."""

    labels: NDArray[np.int32]
    posteriors: NDArray[np.float64]
    log_sums: NDArray[np.float64]  # log Σ_y α_y p(x | y)^sharpness


def assign_documents(documents: DocumentVectors, mixture: Mixture, threads: Threads) -> Assigned:
    """Where documents belong, old or new: eq. 3, eq. 7 at a sharpness other than 1, the likeliest cluster at ∞."""
    n_documents, n_clusters = documents.vectors.n_documents, mixture.log_weights.size
    assigned = Assigned(np.empty(n_documents, np.int32), np.empty((n_documents, n_clusters)), np.empty(n_documents))

    def assign_block(first: int, last: int) -> None:
        block = slice(first, last)
        assigned.posteriors[block] = score(documents, mixture.components, first, last)
        to_assignments(assigned.posteriors[block], mixture, assigned.labels[block], assigned.log_sums[block])

    threads.run_blocks(assign_block, n_documents, BLOCK)
    return assigned


def estimate_one_cluster(documents: DocumentVectors, model: ComponentModel, threads: Threads) -> Mixture:
    """A mixture of one cluster that holds all documents."""
    settings = EMSettings(1, "hard", Constant(), learn_weights=False, max_iter=1, tol=0.0)
    state = EMState(documents, model, np.zeros(documents.vectors.n_documents, np.int32), settings, threads)
    state.estimate(1.0)
    assert state.mixture is not None
    return state.mixture


def to_assignments(
    scores: NDArray[np.float64], mixture: Mixture, labels: NDArray[np.int32], log_sums: NDArray[np.float64]
) -> float:
    """Turn scores into P(y | x), and write labels and log sums; return what these documents add to the objective.

    At a sharpness of ∞ scores stay what they are, and log sums are the highest scores.
    """
    if np.isinf(mixture.sharpness):
        choose_best(scores, labels, log_sums)
        return float(log_sums.sum())
    to_posteriors(scores, mixture.log_weights, mixture.sharpness, labels, log_sums)
    return float(log_sums.sum() / mixture.sharpness)


def score(
    documents: DocumentVectors,
    components: Components,
    first: int,
    last: int,
    estimated_from: NDArray[np.int32] | None = None,
) -> NDArray[np.float64]:
    """log p(x | y) of documents first … last − 1 in all clusters.

    Where lone words are kept apart, the labels that the models were estimated from say where these count.
    """
    scores = documents.vectors.scores(components.weights, first, last)
    if documents.lone_words is not None and estimated_from is not None:
        summed = np.flatnonzero(estimated_from[first:last] >= 0)
        scores[summed, estimated_from[first + summed]] += documents.lone_words.products[first + summed]
    rows = documents.offset_rows
    scores *= components.scales
    scores += components.offsets[0] if rows is None else components.offsets[rows[first:last]]
    return scores


def fit_mixture(
    documents: DocumentVectors,
    model: ComponentModel,
    start: NDArray[np.int32] | str,
    settings: EMSettings,
    n_init: int,
    seed: int,
    threads: Threads,
    progress: Progress,
) -> FittedComponents:
    """Run EM from n_init starts and keep the one with the best objective."""

    def fit(restart: int, name: str) -> FittedComponents:
        labels = _starting_labels(documents.vectors.n_documents, start, settings.n_clusters, seed, restart)
        return _fit_once(documents, model, labels, settings, seed, restart, threads, progress, name)

    best = best_of_starts(n_init, fit)
    if best.n_clusters < settings.n_clusters:
        warnings.warn(
            f"{best.n_clusters} clusters found, n_clusters is {settings.n_clusters}: the others hold no document",
            stacklevel=2,
        )
    return best


def _starting_labels(
    n_documents: int, start: NDArray[np.int32] | str, n_clusters: int, seed: int, restart: int
) -> NDArray[np.int32]:
    """Labels to estimate the first models from; −1: the document takes no part in that."""
    if not isinstance(start, str):
        return start.copy()
    rng = generator(seed, START, restart)
    if start == "random":
        return rng.integers(n_clusters, size=n_documents, dtype=np.int32)
    labels = np.full(n_documents, -1, np.int32)
    labels[rng.choice(n_documents, n_clusters, replace=False)] = np.arange(n_clusters)
    return labels


def _fit_once(
    documents: DocumentVectors,
    model: ComponentModel,
    labels: NDArray[np.int32],
    settings: EMSettings,
    seed: int,
    restart: int,
    threads: Threads,
    progress: Progress,
    name: str,
) -> FittedComponents:
    state = EMState(documents, model, labels, settings, threads)
    course = Course(settings.schedule, settings.max_iter, settings.tol)

    def move(iteration: int, tick: Tick) -> Mapping[str, float]:
        rng = generator(seed, iteration, restart)
        n_reseeded = state.reseed(rng) if state.posteriors is None and iteration > 0 else 0
        sharpness = course.sharpness
        if course.at_new_level:
            state.shake(rng)
        state.estimate(sharpness)
        objective, n_moved = state.assign(rng.random(labels.size) if settings.assignment == "stochastic" else None)
        tick(labels.size)
        course.advance(objective)
        return {
            "objective": objective,
            "n_clusters": np.unique(state.labels).size,
            "n_moved": n_moved,
            "n_reseeded": n_reseeded,
            "sharpness": sharpness,
        }

    outcome = run_moves(
        [move],
        n_sweeps=course.max_iterations,
        n_documents=labels.size,
        settled=lambda trace: course.done,
        progress=progress,
        name=name,
        columns=("objective", "n_clusters", "n_moved", "n_reseeded", "sharpness", "seconds"),
    )
    if state.mixture is None:
        state.estimate(course.sharpness)
    # Stochastic assignment ends with the most probable clusters; an interrupted run may be between two states.
    if settings.assignment == "stochastic" or outcome.n_sweeps == 0 or outcome.interrupted:
        objective, _ = state.assign()
    else:
        objective = outcome.trace.columns["objective"][-1]
    mixture, lone = state.mixture, documents.lone_words
    assert mixture is not None
    weights = mixture.components.weights
    # A copy in any case: sums are formed in memory that the next start uses again.
    weights = weights.copy() if lone is None else lone.put_back(weights, state.estimated_from)
    mixture = mixture._replace(components=mixture.components._replace(weights=weights))
    labels = order_by_size(state.labels)
    order = slots_in_order(state.labels, labels)
    order = np.append(order, np.setdiff1d(np.arange(settings.n_clusters), order))
    return FittedComponents(
        labels=labels,
        mixture=mixture,
        order=order,
        cluster_weights=np.exp(mixture.log_weights[order]),
        objective=objective,
        # Rising schedules end at different sharpnesses, at which objectives cannot be compared; at ∞ they can.
        merit=state.sum_of_best() if isinstance(settings.schedule, Rising) else objective,
        trace=outcome.trace.arrays(),
        n_sweeps=outcome.n_sweeps,
        converged=course.converged,
        interrupted=outcome.interrupted,
    )

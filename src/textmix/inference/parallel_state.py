"""The state of a run whose sweeps go over shards: the labels of each shard and the statistics of all clusters.

Both are small beside the texts and stay with whoever drives the run, so that no loss of a worker can take them.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.shards import deal_out, put_together
from textmix.engines.engine import Engine
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import betas_of_words, make_clusters, plain_length_limit
from textmix.inference.loop import Tick
from textmix.inference.parallel import (
    MEANS,
    Merger,
    SweepStatistics,
    SweepTask,
    forget_working,
    improve_shard,
    no_statistics,
    recount,
    sweep_shard,
)
from textmix.inference.perplexity import perplexity
from textmix.inference.seeds import START, generator
from textmix.inference.sharded import ShardedDocuments, join
from textmix.kernels.parallel import BEST, DRAW, SCORE
from textmix.kernels.state import Prior
from textmix.kernels.statistics import log_likelihood, log_prior
from textmix.models.dirichlet_multinomial import dirichlet_multinomial

SAMPLE_ENTRIES = 1 << 22  # counts of the documents that collapsed sweeps are made over, to start from
SAMPLE_SWEEPS = 2
FIRST_GREEDY = 2**31  # greedy passes are numbered from here on, that their random numbers be others than the sweeps'
MOST_GREEDY_PASSES = 64  # over fewer and fewer documents


class SweepOutcome(NamedTuple):
    """What a sweep did, and the perplexity of the documents given the clusters that it began with."""

    n_moved: int
    perplexity: float


class ParallelState:
    """A partition of documents that are worked through by an engine."""

    def __init__(
        self,
        source: ShardedDocuments,
        engine: Engine,
        labels: Sequence[NDArray[np.int32]],
        beta: float | NDArray[np.float64],
        prior: Prior,
        seed: int,
        form: str = MEANS,
        leave_out: bool = True,
    ) -> None:
        self.source = source
        self.engine = engine
        self.prior = prior
        self.labels = list(labels)
        betas = betas_of_words(beta, source.words)
        self._collapsed = dirichlet_multinomial(betas, source.n_columns, source.unit, source.max_word_total)
        model = dirichlet_multinomial(betas, source.n_columns, source.unit, source.max_word_total, at_mean=True)
        limit = plain_length_limit(source.n_tokens, source.max_word_total, model)
        count_type = source.count_type
        self._task = SweepTask(
            run=secrets.randbits(63),
            seed=seed,
            sweep=0,
            form=form,
            taken_out=leave_out and form == MEANS,
            mode=DRAW,
            statistics=no_statistics(prior.max_clusters, source.words.size, count_type),
            model=model,
            prior=prior,
            n_with_words=source.n_with_words,
            length_frequencies=source.length_frequencies[: limit + 1],
        )
        engine.hold(source.loaders)
        merger = Merger(self._task.statistics)
        for outcome in engine.map(recount, self._task, [(part,) for part in self.labels]):
            merger.add(outcome)
        self._task = self._task._replace(statistics=merger.finish())

    @property
    def statistics(self) -> SweepStatistics:
        """Of the labels as they are."""
        return self._task.statistics

    @property
    def n_clusters(self) -> int:
        """How many clusters hold documents."""
        return int(np.count_nonzero(self.statistics.sizes))

    @property
    def n_unlabelled(self) -> int:
        """How many documents with words have no label yet."""
        return self.source.n_with_words - int(self.statistics.sizes.sum())

    def sample(self, sweep: int, tick: Tick) -> SweepOutcome:
        """Draw a label for every document, and count what that changes."""
        task = self._task._replace(sweep=sweep, mode=DRAW)
        outcome = self._map(task, tick)
        if task.form == MEANS and task.taken_out:
            return outcome
        return outcome._replace(perplexity=self.perplexity())

    def improve(self, number: int, tick: Tick) -> int:
        """A greedy pass over all documents, then more over those that would go elsewhere until none of them would.

        Returns how many would have gone elsewhere in the first of these passes.
        """
        rows: list[NDArray[np.int64] | None] = [None] * len(self.labels)
        n_discontent: list[int] = []
        while len(n_discontent) < MOST_GREEDY_PASSES and (not n_discontent or n_discontent[-1] > 0):
            sweep = FIRST_GREEDY + number * MOST_GREEDY_PASSES + len(n_discontent)
            task = self._task._replace(sweep=sweep, mode=BEST, form=MEANS, taken_out=True)
            arguments = [(part, index, rows[index]) for index, part in enumerate(self.labels)]
            labels, merger = [], Merger(task.statistics)
            rows = []
            for outcome, discontent in self.engine.map(improve_shard, task, arguments):
                labels.append(outcome.labels)
                rows.append(discontent)
                merger.add(outcome)
                tick(outcome.labels.size if not n_discontent else 0)
            after = self._task._replace(statistics=merger.finish())
            self.labels, self._task = labels, after
            n_discontent.append(sum(part.size for part in rows if part is not None))
        return n_discontent[0]

    def perplexity(self) -> float:
        """Of the documents, each left out of its own cluster, given the clusters as they are."""
        task = self._task._replace(mode=SCORE, form=MEANS, taken_out=True, run=secrets.randbits(63))
        return self._map(task, lambda _: None).perplexity

    def _map(self, task: SweepTask, tick: Tick) -> SweepOutcome:
        arguments = [(part, number) for number, part in enumerate(self.labels)]
        labels, n_moved, log_totals = [], 0, []
        merger = Merger(task.statistics) if task.mode != SCORE else None
        for outcome in self.engine.map(sweep_shard, task, arguments):
            labels.append(outcome.labels)
            log_totals.append(outcome.log_totals)
            n_moved += outcome.n_moved
            if merger is not None:
                merger.add(outcome)
            tick(outcome.labels.size)
        if merger is not None:
            # Made first, then both replaced: an interruption leaves the state of the sweep before.
            after = self._task._replace(statistics=merger.finish())
            self.labels, self._task = labels, after
        return SweepOutcome(
            n_moved,
            perplexity(
                math.fsum(log_totals),
                self.source.n_with_words,
                max(int(task.statistics.sizes.sum()) - 1, 0),
                self.source.n_tokens * self.source.unit,
                self.source.log_betas,
                task.model,
                task.prior,
            ),
        )

    def log_joint(self) -> float:
        """log p(labels, words), as for collapsed sampling."""
        sizes, totals, starts, _, counts = self.statistics
        clusters = make_clusters(sizes, totals, starts, counts)
        likelihood = log_likelihood(clusters, self._collapsed)
        return float(likelihood + log_prior(clusters, self.prior, self.prior.mass) + self.source.log_lone_words)

    def labels_in_order(self) -> NDArray[np.int32]:
        """The labels in the order of the documents."""
        return put_together(self.labels)

    def close(self) -> None:
        """Let go what was only kept for speed."""
        forget_working()


def start_from_sample(
    source: ShardedDocuments,
    start: int | str,
    beta: float | NDArray[np.float64],
    prior: Prior,
    seed: int,
    n_sweeps: int,
    tick: Tick,
) -> list[NDArray[np.int32]]:
    """Labels after some collapsed sweeps over the first shards; documents of all others have none yet (−1).

    Clusters that exist are found again at once by all others, while many sweeps would be needed from a random start.
    """
    n_sampled = max(min(source.n_shards * SAMPLE_ENTRIES // max(source.n_entries, 1), source.n_shards), 1)
    parts = [loader() for loader in source.loaders[:n_sampled]]
    bounds = np.cumsum([part.lengths.size for part in parts])[:-1]
    prepared = join(parts, source)
    del parts  # which takes a third of the memory of the start
    has_words = prepared.documents.lengths > 0
    rng = generator(seed, START)
    labels = np.full(has_words.size, -1, np.int32)
    if isinstance(start, int):
        n_start = min(start, prior.max_clusters)
        labels[has_words] = rng.integers(n_start, size=np.count_nonzero(has_words), dtype=np.int32)
    betas = betas_of_words(beta, source.words)
    model = dirichlet_multinomial(betas, source.n_columns, source.unit, source.max_word_total)
    state = GibbsState(prepared, labels, model, prior)
    if isinstance(start, str):
        state.place_all(rng, tick)
    for sweep in range(n_sweeps):
        state.sample(generator(seed, START, sweep + 1), tick)
    sampled = [part.copy() for part in np.split(state.labels, bounds)]
    rest = deal_out(np.full(source.n_documents, -1, np.int32), source.n_shards)[n_sampled:]
    return sampled + rest

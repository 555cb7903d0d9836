"""Run the kernels on fixed small corpora and print what comes out, exactly.

Run as a program with NUMBA_DISABLE_JIT=1 it gives what Python makes of the same code; test_twins.py compares the two.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

if TYPE_CHECKING:
    from kernels.ladder import Corpus
    from textmix.inference.collapsed_gibbs import GibbsState


def _drawn(counts: scipy.sparse.csr_array) -> list[float]:
    from textmix.kernels.counts import draw_words

    whole, kept = np.rint(counts.data), np.empty(counts.nnz)
    draw_words(counts.indptr, whole, 2, np.random.default_rng(0).random(2 * counts.shape[0]), kept)
    return kept.tolist()


def _costs(counts: scipy.sparse.csr_array) -> list[float]:
    from textmix.inference.merging import merge_clusters

    return merge_clusters(counts).costs.tolist()


def outcomes() -> dict[str, dict[str, list]]:
    """For each case the labels and the numbers (as hexadecimal floats) after sampling and polishing."""
    from kernels.ladder import ARITHMETICS, CORPORA, PRIORS, SAMPLERS, build_state, force_log_space, random_labels
    from textmix.inference.identical import count_identical
    from textmix.inference.scoring import PartitionScorer
    from textmix.kernels.conditionals import settle_ties
    from textmix.kernels.counts import classify_counts, hash_rows, leave_out_words

    found: dict[str, dict[str, list]] = {}
    for name in ("short", "fractional", "large β", "words differ"):
        corpus = CORPORA[name]
        counts = scipy.sparse.csr_array(corpus.counts)
        found[name] = {
            "labels": [list(map(int, classify_counts(counts.data)))],
            "exact": hash_rows(
                counts.indptr, counts.indices, counts.data, 1.0 if name != "fractional" else 2.0**40
            ).tolist(),
            "numbers": [],
        }
        rows = (counts.indptr.copy(), counts.indices.copy(), np.rint(counts.data), np.empty(counts.shape[0]))
        leave_out_words(counts.shape[1] // 2, *rows)
        found[name]["exact"] += [values.tolist() for values in rows]
        found[name]["exact"].append(_drawn(counts))
        found[name]["numbers"] += _costs(counts)
        for prior_name, prior in PRIORS.items():
            for sampler in SAMPLERS:
                for arithmetic in ARITHMETICS:
                    state = build_state(corpus, random_labels(corpus, prior, 0), prior, sampler, arithmetic)
                    rng = np.random.default_rng(3)
                    result: dict[str, list] = {"labels": [], "exact": [], "numbers": []}
                    for greedy in (False, False, False, True):
                        if greedy:
                            state.improve(count_identical(counts, state.prepared.unit), lambda _: None)
                        else:
                            state.sample(rng, lambda _: None)
                        result["labels"].append(state.labels.tolist())
                        result["exact"].append([value.hex() for value in state.table.bases.ravel().tolist()])
                        result["numbers"].append(state.log_joint())
                        if arithmetic == "log":
                            force_log_space(state)
                    labels = np.unique(state.labels, return_inverse=True)[1].astype(np.int32)
                    labels -= int((state.labels < 0).any())
                    sizes = np.bincount(labels[labels >= 0])
                    by_cluster = scipy.sparse.csr_array(
                        np.array([corpus.counts[labels == cluster].sum(axis=0) for cluster in range(sizes.size)])
                    )
                    scorer = PartitionScorer.from_statistics(
                        sizes, by_cluster, corpus.beta, state.prior, state.prepared.unit
                    )
                    block = next(iter(scorer.blocks(counts, labels)))
                    settle_ties(block.probabilities, labels, sizes, count_identical(counts, state.prepared.unit))
                    result["numbers"] += np.nan_to_num(block.probabilities).ravel().tolist()
                    found[f"{name}, {prior_name}, {sampler}, {arithmetic}"] = result
                start_online(build_state(corpus, np.full(len(labels), -1), prior, sampler, "plain"), result)
                if prior[0] == "finite":
                    propose(build_state(corpus, random_labels(corpus, prior, 1), prior, sampler, "plain"), result)
            if prior[0] == "finite":
                found[f"{name}, {prior_name}, in parallel"] = sweep_in_parallel(corpus, prior)
    found["stream"] = stream_of_documents()
    for precision in ("float64", "float32"):
        found[f"directions, {precision}"] = sample_directions(precision)
    return found


def stream_of_documents() -> dict[str, list]:
    """Documents that come and go, and clusters that become one."""
    from stream.stream_helpers import make_texts
    from textmix.stream.clusterer import StreamClusterer

    result: dict[str, list] = {"labels": [], "exact": [], "numbers": []}
    stream = StreamClusterer(alpha=3.0, beta=0.1, n_sweeps=2, random_state=1)
    for batch in range(3):
        stream.partial_fit(make_texts(12, seed=batch), ids=[f"{batch}-{i}" for i in range(12)])
        stream.remove([f"{batch}-{i}" for i in range(0, 12, 5)])
        result["labels"].append(stream.labels_.tolist())
        result["exact"].append([value.hex() for value in stream._statistics.table.bases.ravel().tolist()])
        result["numbers"] += [*stream.probabilities_.tolist(), *stream.outlier_scores_.tolist()]
        gains = stream._moves._gains_of(int(stream._statistics.slots()[0]))
        result["numbers"] += gains[np.isfinite(gains)].tolist()
    return result


def sample_directions(precision: str) -> dict[str, list]:
    """Unit vectors and words: draws in blocks of three documents, then a greedy pass."""
    from kernels.direction_sets import GREEDY, SETS, DirectionState, random_labels

    result: dict[str, list] = {"labels": [], "exact": [], "numbers": []}
    for directions in SETS.values():
        directions = directions._replace(vectors=directions.vectors.astype(precision))
        state, rng = DirectionState(directions, random_labels(directions, 0)), np.random.default_rng(4)
        n_documents = state.labels.size
        for uniforms in (*rng.random((3, n_documents)), np.full(n_documents, GREEDY)):
            moved = state.sweep(uniforms, 3)
            result["labels"].append([moved, *state.labels.tolist(), *state.clusters.sizes.tolist()])
            result["exact"].append([value.hex() for value in state.clusters.sums.ravel().tolist()])
            result["numbers"] += [*state.clusters.log_sizes.tolist(), *state.words.totals.tolist()]
            # Python adds up squares of four bytes in four bytes, compiled code in eight.
            result["numbers"] += state.clusters.roots.tolist() if precision == "float64" else []
    return result


def start_online(state: GibbsState, result: dict[str, list]) -> None:
    """Documents that come one by one."""
    state.place_all(np.random.default_rng(5), lambda _: None)
    result["labels"].append(state.labels.tolist())
    result["exact"].append([value.hex() for value in state.table.bases.ravel().tolist()])


def propose(state: GibbsState, result: dict[str, list]) -> None:
    """Metropolis-Hastings sweeps, the last one frozen, and what they propose from."""
    from textmix.inference.metropolis import MetropolisSweeps

    sweeps, rng = MetropolisSweeps(state, 3, 2), np.random.default_rng(6)
    for sweep in range(5):
        result["labels"].append([*sweeps.sample(sweep, rng, lambda _: None, frozen=sweep == 4), *state.labels.tolist()])
    used = state.labels >= 0
    for values in (sweeps.proposals.slots, sweeps.proposals.gaps, sweeps.proposals.held, sweeps.proposals.n_kept):
        result["labels"].append(values[used].tolist())
    for values in (sweeps.proposals.log_q, sweeps.proposals.log_q_held, sweeps.proposals.log_q_own):
        result["numbers"] += np.nan_to_num(values[used]).ravel().tolist()


def sweep_in_parallel(corpus: Corpus, prior: tuple) -> dict[str, list]:
    """Sweeps of every form, one after the other, a greedy one at the end; statistics follow."""
    from kernels.ladder import kernel_prior, random_labels
    from textmix.engines.engine import SerialEngine
    from textmix.inference.parallel import MEANS, SAMPLED, UNCOLLAPSED
    from textmix.inference.parallel_state import ParallelState
    from textmix.inference.sharded import deal_out_counts

    result: dict[str, list] = {"labels": [], "exact": [], "numbers": []}
    counts = scipy.sparse.csr_array(corpus.counts)
    whole = bool((corpus.counts == np.floor(corpus.counts)).all())
    source = deal_out_counts(counts, corpus.beta, whole, keep_lone_words=True)
    labels = np.where(corpus.counts.any(axis=1), random_labels(corpus, prior, 2), -1).astype(np.int32)
    for form, leave_out in ((MEANS, True), (MEANS, False), (SAMPLED, False), (UNCOLLAPSED, False)):
        state = ParallelState(
            source, SerialEngine(), [labels], corpus.beta, kernel_prior(prior, len(labels)), 9, form, leave_out
        )
        for sweep in range(2):
            outcome = state.sample(sweep, lambda _: None)
            result["labels"].append([outcome.n_moved, *state.labels[0].tolist()])
            result["numbers"] += [outcome.perplexity, state.log_joint()]
        result["labels"].append([state.improve(0, lambda _: None), *state.labels[0].tolist()])
        result["exact"].append([values.tolist() for values in state.statistics])
    return result


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    warnings.simplefilter("ignore")  # Python warns of the overflow that hashing relies on
    print(json.dumps(outcomes()))

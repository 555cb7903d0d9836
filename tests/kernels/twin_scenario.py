"""Run the kernels on fixed small corpora and print what comes out, exactly.

Run as a program with NUMBA_DISABLE_JIT=1 it gives what Python makes of the same code; test_twins.py compares the two.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse


def outcomes() -> dict[str, dict[str, list]]:
    """For each case the labels and the numbers (as hexadecimal floats) after sampling and polishing."""
    from kernels.ladder import ARITHMETICS, CORPORA, PRIORS, SAMPLERS, build_state, force_log_space, random_labels
    from textmix.inference.identical import count_twins
    from textmix.inference.scoring import PartitionScorer
    from textmix.kernels.conditionals import settle_ties
    from textmix.kernels.counts import classify_counts, hash_rows

    found: dict[str, dict[str, list]] = {}
    for name in ("short", "fractional", "large β"):
        corpus = CORPORA[name]
        counts = scipy.sparse.csr_array(corpus.counts)
        found[name] = {
            "labels": [list(map(int, classify_counts(counts.data)))],
            "exact": hash_rows(
                counts.indptr, counts.indices, counts.data, 1.0 if name != "fractional" else 2.0**40
            ).tolist(),
            "numbers": [],
        }
        for prior_name, prior in PRIORS.items():
            for sampler in SAMPLERS:
                for arithmetic in ARITHMETICS:
                    state = build_state(corpus, random_labels(corpus, prior, 0), prior, sampler, arithmetic)
                    rng = np.random.default_rng(3)
                    result: dict[str, list] = {"labels": [], "exact": [], "numbers": []}
                    for greedy in (False, False, False, True):
                        if greedy:
                            state.improve(count_twins(counts, state.prepared.unit), lambda _: None)
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
                    settle_ties(block.probabilities, labels, sizes, count_twins(counts, state.prepared.unit))
                    result["numbers"] += np.nan_to_num(block.probabilities).ravel().tolist()
                    found[f"{name}, {prior_name}, {sampler}, {arithmetic}"] = result
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    warnings.simplefilter("ignore")  # Python warns of the overflow that hashing relies on
    print(json.dumps(outcomes()))

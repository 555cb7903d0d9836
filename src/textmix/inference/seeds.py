"""Random numbers keyed by (seed, step, part): the same whatever runs where, and when."""

from __future__ import annotations

import numpy as np

START = 2**32 - 1  # the step before the first sweep: the random start


def seed_from(random_state: int | np.integer | np.random.Generator | np.random.RandomState | None) -> int:
    """A seed from what scikit-learn calls random_state; None takes fresh entropy, never NumPy's global state."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(random_state)


def generator(seed: int, step: int, part: int = 0) -> np.random.Generator:
    """The random numbers of one step of a run, and of one part of that step.

    step: the number of a sweep, or a constant that names another purpose, such as START.
    part: the number of a shard, a restart or a short run.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step, part)))

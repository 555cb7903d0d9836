"""Random numbers keyed by (seed, sweep, partition): the same whatever runs where, and when."""

from __future__ import annotations

import numpy as np

START = 2**32 - 1  # in place of a sweep's number: the random start


def seed_from(random_state: int | np.integer | np.random.Generator | np.random.RandomState | None) -> int:
    """A seed from what scikit-learn calls random_state; None takes fresh entropy, never NumPy's global state."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(random_state)


def generator(seed: int, sweep: int, partition: int = 0) -> np.random.Generator:
    """The random numbers of one sweep over one partition."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(sweep, partition)))

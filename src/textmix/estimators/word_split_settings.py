"""Defaults and checks of the settings of FeaturePartitionMixture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.inference.hyperparameters import LARGEST, SMALLEST
from textmix.models.word_split import Hyperparameters

LEARNED = {
    "variational": ("alpha", "omega", "lambda", "lambda_vector", "beta", "beta_vector"),
    "gibbs": ("alpha", "omega", "lambda", "beta"),
}
LEARNED_BY_DEFAULT = {
    "variational": ("alpha", "omega", "lambda_vector"),
    "gibbs": ("alpha", "omega", "lambda", "beta"),
}
LEARN_AFTER = 5  # iterations


class Defaults(NamedTuple):
    """What is taken where a setting is "auto"."""

    alpha: float
    omega: float
    lam: float
    beta: float
    n_init: int


DEFAULTS = {
    ("variational", "paper"): Defaults(alpha=5.0, omega=0.01, lam=3.0, beta=0.5, n_init=10),  # 6.3.2
    ("gibbs", "paper"): Defaults(alpha=1.0, omega=0.01, lam=0.02, beta=4.0, n_init=1),  # 6.2.2
    ("gibbs", "normalised"): Defaults(alpha=1.0, omega=0.1, lam=1.0, beta=1.0, n_init=5),
}


def check_word_parameters(value: Any, name: str, n_words: int) -> NDArray[np.float64]:
    """A number for each word, from one for all or one for each."""
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of numbers, not {value!r}") from None
    if values.ndim > 1 or (values.ndim == 1 and values.size != n_words):
        raise ValueError(f"{name} must be a number or an array of {n_words} numbers, one a word")
    values = np.broadcast_to(values, n_words).copy()
    if not (values.min(initial=1.0) >= SMALLEST and values.max(initial=1.0) <= LARGEST):
        raise ValueError(f"{name} must be between {SMALLEST:g} and {LARGEST:g}")
    return values


def check_alpha(value: Any) -> float:
    """α, if it is of a size that can be computed with."""
    if not 1e-100 <= value <= 1e100:
        raise ValueError(f"alpha must be between 1e-100 and 1e100, not {value!r}")
    return float(value)


def check_learned(learn: Any, inference: str, start: Hyperparameters) -> frozenset[str]:
    """The names of the hyperparameters to learn, from these values."""
    if isinstance(learn, str):
        names = LEARNED_BY_DEFAULT[inference] if learn == "auto" else (learn,)
    else:
        names = () if learn is None else tuple(learn)
    for name in names:
        if name not in LEARNED[inference]:
            raise ValueError(
                f'inference="{inference}" does not learn {name!r}; it learns {", ".join(LEARNED[inference])}'
            )
    for name, parameter, values in (("lambda", "lam", start.word_prior), ("beta", "beta", start.background_prior)):
        if name in names and f"{name}_vector" in names:
            raise ValueError(f'learn has both "{name}" and "{name}_vector"; choose one')
        if name in names and np.ptp(values) > 0.0:
            raise ValueError(f'to learn "{name}", the same for all words, {parameter} must be one number')
    return frozenset(names)

"""Algorithms by the names that the papers give them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from sklearn.base import BaseEstimator

from textmix.estimators import (
    BernoulliMixture,
    DirichletMultinomialMixture,
    DirichletProcessMixture,
    EDCMMixture,
    FeaturePartitionMixture,
    MultinomialMixture,
    VonMisesFisherMixture,
)

# The first twelve: Zhong and Ghosh 4.3.
ALGORITHMS: dict[str, tuple[type[BaseEstimator], dict[str, Any]]] = {
    "kberns": (BernoulliMixture, {"assignment": "hard"}),
    "skberns": (BernoulliMixture, {"assignment": "stochastic"}),
    "mixberns": (BernoulliMixture, {"assignment": "soft"}),
    "daberns": (BernoulliMixture, {"assignment": "annealed"}),
    "kmnls": (MultinomialMixture, {"assignment": "hard"}),
    "skmnls": (MultinomialMixture, {"assignment": "stochastic"}),
    "mixmnls": (MultinomialMixture, {"assignment": "soft"}),
    "damnls": (MultinomialMixture, {"assignment": "annealed"}),
    "kvmfs": (VonMisesFisherMixture, {"assignment": "hard"}),
    "skvmfs": (VonMisesFisherMixture, {"assignment": "stochastic"}),
    "softvmfs": (VonMisesFisherMixture, {"assignment": "soft"}),
    "davmfs": (VonMisesFisherMixture, {"assignment": "annealed"}),
    "movmf": (VonMisesFisherMixture, {"assignment": "soft", "kappa": "learned"}),  # Banerjee et al. 2003
    "em-mn": (MultinomialMixture, {"assignment": "soft"}),  # Nigam et al. 2000, compared with by DMAFP
    "edcm": (EDCMMixture, {"assignment": "annealed"}),  # Elkan 2006
    "gsdmm": (DirichletMultinomialMixture, {}),  # Yin and Wang 2014
    "gsdpmm": (DirichletProcessMixture, {}),  # Yin and Wang 2016
    "fgsdmm+": (DirichletMultinomialMixture, {"init": "online"}),  # Yin and others 2016
    "x-dmm": (DirichletMultinomialMixture, {"inference": "metropolis"}),  # Li and others 2019
    "x-dmm-parallel": (DirichletMultinomialMixture, {"inference": "parallel"}),
    "dmafp": (FeaturePartitionMixture, {}),  # Huang et al. 2013
    "dma": (FeaturePartitionMixture, {"partition": False}),
}


def algorithm(name: str, n_clusters: int | None = None, **settings: Any) -> Any:
    """The estimator for an algorithm by its name in the papers, such as "damnls"; settings override its own.

    Without n_clusters it is the estimator's default. Case does not matter in names.
    """
    key = str(name).lower()
    if key not in ALGORITHMS:
        raise ValueError(f"there is no algorithm {name!r}{_hint(key, ALGORITHMS)}; there are {', '.join(ALGORITHMS)}")
    kind, own = ALGORITHMS[key]
    known = kind._get_param_names()
    if n_clusters is not None:
        if "n_clusters" not in known:
            raise ValueError(f"{key} finds the number of clusters itself; leave n_clusters out")
        settings["n_clusters"] = n_clusters
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ValueError(f"{key} has no setting {unknown[0]!r}{_hint(unknown[0], known)}; it has {', '.join(known)}")
    return kind(**{**own, **settings})


def _hint(given: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(given, list(known), n=1)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""

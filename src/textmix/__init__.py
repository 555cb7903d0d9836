"""textmix groups texts: how many groups there are, what each is about, what fits nowhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textmix import datasets, metrics
    from textmix.algorithms import algorithm
    from textmix.clustering import Clustering, TextClusterer, cluster, load
    from textmix.corpus import Corpus, Tokenizer
    from textmix.corpus.selection import FrequencySelector, LogIdfWeighting, VarianceSelector
    from textmix.estimators import (
        BernoulliMixture,
        ConsensusMixture,
        DirichletMultinomialMixture,
        DirichletProcessMixture,
        EDCMMixture,
        FeaturePartitionMixture,
        MultinomialMixture,
        VonMisesFisherMixture,
    )
    from textmix.stream.clusterer import StreamClusterer

    __version__: str

__all__ = [
    "BernoulliMixture",
    "Clustering",
    "ConsensusMixture",
    "Corpus",
    "DirichletMultinomialMixture",
    "DirichletProcessMixture",
    "EDCMMixture",
    "FeaturePartitionMixture",
    "FrequencySelector",
    "LogIdfWeighting",
    "MultinomialMixture",
    "StreamClusterer",
    "TextClusterer",
    "Tokenizer",
    "VarianceSelector",
    "VonMisesFisherMixture",
    "__version__",
    "algorithm",
    "cluster",
    "datasets",
    "load",
    "metrics",
]

# Imported when first used: numba and scikit-learn take seconds, `textmix --help` needs neither.
_HOMES = {
    "Clustering": "textmix.clustering",
    "StreamClusterer": "textmix.stream.clusterer",
    "TextClusterer": "textmix.clustering",
    "cluster": "textmix.clustering",
    "load": "textmix.clustering",
    "Corpus": "textmix.corpus",
    "Tokenizer": "textmix.corpus",
    "FrequencySelector": "textmix.corpus.selection",
    "LogIdfWeighting": "textmix.corpus.selection",
    "VarianceSelector": "textmix.corpus.selection",
    "BernoulliMixture": "textmix.estimators",
    "ConsensusMixture": "textmix.estimators",
    "DirichletMultinomialMixture": "textmix.estimators",
    "DirichletProcessMixture": "textmix.estimators",
    "EDCMMixture": "textmix.estimators",
    "FeaturePartitionMixture": "textmix.estimators",
    "MultinomialMixture": "textmix.estimators",
    "VonMisesFisherMixture": "textmix.estimators",
    "algorithm": "textmix.algorithms",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _installed_version()
    elif name in ("datasets", "metrics"):
        value = import_module(f"textmix.{name}")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("textmix")
    except PackageNotFoundError:
        return "0+unknown"

"""textmix groups texts: how many groups there are, what each is about, what fits nowhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textmix.clustering import Clustering, TextClusterer, cluster, load
    from textmix.corpus import Corpus, Tokenizer
    from textmix.estimators import DirichletMultinomialMixture, DirichletProcessMixture

    __version__: str

__all__ = [
    "Clustering",
    "Corpus",
    "DirichletMultinomialMixture",
    "DirichletProcessMixture",
    "TextClusterer",
    "Tokenizer",
    "__version__",
    "cluster",
    "load",
]

# Imported when first used: numba and scikit-learn take seconds, `textmix --help` needs neither.
_HOMES = {
    "Clustering": "textmix.clustering",
    "TextClusterer": "textmix.clustering",
    "cluster": "textmix.clustering",
    "load": "textmix.clustering",
    "Corpus": "textmix.corpus",
    "Tokenizer": "textmix.corpus",
    "DirichletMultinomialMixture": "textmix.estimators",
    "DirichletProcessMixture": "textmix.estimators",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _installed_version()
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

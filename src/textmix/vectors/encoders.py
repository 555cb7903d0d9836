"""Encoders make vectors of texts: by a name, or any object or function of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from textmix.vectors.source import as_matrix, as_unit_rows, blocks, find_not_finite
from textmix.vectors.weights import hash_model

if TYPE_CHECKING:
    from textmix.vectors.static import StaticEncoder

BLOCK_TEXTS = 1024  # texts that an encoder of the user's gets at once
RESERVED = ("auto", "static", "own", "given", "none")  # what encoders and vectors are called that are known by name
_calls = RLock()  # an encoder may ask another one
POSSIBLE = (
    '"auto", "static", "own", "sentence-transformers:NAME", "model2vec:NAME", None (words alone), '
    "an object with .encode(texts), or a function from a list of texts to an array"
)


class Encoder(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """What it is called in output and saved runs."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; a zero row for a text without a vector."""

    def describe(self) -> dict[str, Any]:
        """What run.json says of it: name, version, weights (a short hash), dimensions; None where not known."""


def make_encoder(spec: Any) -> Encoder | None:
    """The encoder that a setting asks for; None for words alone. ValueError if it asks for none that there is.

    "auto" and "own" depend on the collection, so whoever has it decides about them.
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        return _named_encoder(spec)
    if isinstance(spec, type):
        raise ValueError(f"encoder is the class {spec.__name__}; give an object of it")
    if isinstance(spec, UserEncoder | _static_encoder()):
        return spec
    if callable(getattr(spec, "encode", None)) or callable(spec):
        return UserEncoder(spec)
    raise ValueError(f"encoder must be {POSSIBLE}, not {spec!r:.80}")


def _static_encoder() -> type[StaticEncoder]:
    """The class, imported when it is needed: it takes SciPy."""
    from textmix.vectors.static import StaticEncoder

    return StaticEncoder


def _named_encoder(spec: str) -> Encoder:
    package, _, model = spec.partition(":")
    if spec == "static":
        return _static_encoder()()
    if package in ("sentence-transformers", "model2vec") and model.strip():
        from textmix.vectors import packages

        load = packages.load_sentence_transformer if package == "sentence-transformers" else packages.load_model2vec
        return UserEncoder(load(model.strip()), name=f"{package}:{model.strip()}")
    if spec in ("auto", "own"):
        raise ValueError(f'encoder "{spec}" depends on the collection; it cannot be made without one')
    raise ValueError(f"encoder must be {POSSIBLE}, not {spec!r:.80}")


class UserEncoder:
    """An object with .encode(texts), or a function of texts, whose results are checked and normalised.

    It gets each different text once per call, some at a time; blank ones it never gets, since they have no vector.
    """

    def __init__(self, model: Any, name: str | None = None) -> None:
        self._model = model
        self._has_encode = callable(getattr(model, "encode", None))
        self._n_dimensions: int | None = None
        self._weights: str | None = None
        self._is_hashed = False
        self.name = name or _name_of(model, has_encode=self._has_encode)
        if self.name in RESERVED:
            self.name += " (a function)"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; ValueError if the model gives anything but that."""
        with _calls:  # few models may be asked by several threads at once
            return self._encode(texts)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        places: dict[str, int] = {}
        order = [places.setdefault(text, len(places)) if text.strip() else -1 for text in texts]
        distinct = list(places)
        if not distinct and self._n_dimensions is None:
            self._encode_block(["text"])  # to know the dimensions
        encoded = [self._encode_block(distinct[block]) for block in blocks(len(distinct), BLOCK_TEXTS)]
        assert self._n_dimensions is not None
        blank = np.zeros((1, self._n_dimensions), dtype=np.float32)
        found: NDArray[np.float32] = np.concatenate([*encoded, blank])
        return found[order]  # −1 is the last row

    def describe(self) -> dict[str, Any]:
        """What run.json says of it; weights where the model is one of PyTorch or model2vec."""
        if not self._is_hashed:
            self._weights, self._is_hashed = hash_model(self._model), True
        return {
            "name": self.name,
            "version": _package_version(self._model) if self._has_encode else None,
            "weights": self._weights,
            "dimensions": self._n_dimensions,
        }

    def _encode_block(self, texts: list[str]) -> NDArray[np.float32]:
        what = f"the output of encoder {self.name}"
        array = as_matrix(self._call(texts), len(texts), what)
        found = find_not_finite(array)
        if found is not None:
            row, value = found
            raise ValueError(f"{what} contains {value} for the text {texts[row]!r:.60}")
        n_dimensions = array.shape[1]
        if self._n_dimensions not in (None, n_dimensions):
            raise ValueError(
                f"{what} has {n_dimensions:,} dimensions for some texts and {self._n_dimensions:,} for others"
            )
        self._n_dimensions = n_dimensions
        return as_unit_rows(array)

    def _call(self, texts: list[str]) -> Any:
        if not self._has_encode:
            return self._model(texts)
        encode = self._model.encode
        return encode(texts, show_progress_bar=False) if _takes(encode, "show_progress_bar") else encode(texts)


def _takes(function: Callable[..., Any], parameter: str) -> bool:
    """Whether a function has a parameter of this name."""
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False


def _name_of(model: Any, *, has_encode: bool) -> str:
    name = None if has_encode else getattr(model, "__name__", None)
    return name if isinstance(name, str) and name != "<lambda>" else type(model).__name__


def _package_version(model: Any) -> str | None:
    """The version of the package that a model's class is from; None for what is not installed."""
    try:
        return version(type(model).__module__.partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return None

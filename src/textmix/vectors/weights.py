"""The hash that tells one set of weights from another in a saved run."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

HASH_LENGTH = 16  # hexadecimal digits
MAX_BYTES = 2 << 30  # a hash takes a second per GB; larger models are named without one


def short_hash(parts: Iterable[bytes | memoryview]) -> str:
    """The first digits of the SHA-256 of all parts, one after the other."""
    hash = sha256()
    for part in parts:
        hash.update(part)
    return hash.hexdigest()[:HASH_LENGTH]


def hash_arrays(arrays: Iterable[NDArray[Any]]) -> str:
    """The hash of the numbers in arrays."""
    return short_hash(np.ascontiguousarray(array).data.cast("B") for array in arrays)


def hash_model(model: Any) -> str | None:
    """The hash of a model's weights, if it is clear where they are: in PyTorch's state, or model2vec's table."""
    try:
        if callable(getattr(model, "state_dict", None)):
            state = model.state_dict()
            if sum(tensor.numel() * tensor.element_size() for tensor in state.values()) > MAX_BYTES:
                return None
            return hash_arrays(_as_numpy(state[name]) for name in sorted(state))
        table = getattr(model, "embedding", None)
        return hash_arrays([table]) if isinstance(table, np.ndarray) else None
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None  # only looks like a model of theirs


def _as_numpy(tensor: Any) -> NDArray[Any]:
    tensor = tensor.detach().cpu()
    try:
        array: NDArray[Any] = tensor.numpy()
    except TypeError:  # bfloat16
        array = tensor.float().numpy()
    return array

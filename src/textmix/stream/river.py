"""The stream as a clusterer of river: one document at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import scipy.sparse

from textmix.corpus import Corpus
from textmix.stream.clusterer import StreamClusterer

try:
    from river import base
except ImportError as error:
    raise ImportError("river is not installed: pip install 'textmix[river]'") from error


class RiverClusterer(base.Clusterer):
    """Clusters by `StreamClusterer`, for river: `learn_one` and `predict_one`.

    A document is a text, or a dict of whole counts by word such as river's `BagOfWords` makes. Each is a batch of its
    own, so that `textmix.StreamClusterer.partial_fit` with larger ones is both faster and better.

    Parameters
    ----------
    alpha, beta, n_sweeps, merge, seed
        As for StreamClusterer, `seed` being its random_state.
    keep : int or None, default=None
        How many documents to keep, the last ones; None: all.
    """

    def __init__(
        self,
        alpha: float | str = "0.1n",
        beta: float = 0.02,
        n_sweeps: int = 10,
        merge: bool = True,
        keep: int | None = None,
        seed: int = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.n_sweeps = n_sweeps
        self.merge = merge
        self.keep = keep
        self.seed = seed
        self.stream = StreamClusterer(alpha, beta, n_sweeps=n_sweeps, merge=merge, random_state=seed)

    def learn_one(self, x: str | Mapping[Any, int]) -> None:
        """Take a document in; of more than a tenth too many the oldest go."""
        self.stream.partial_fit(_as_batch(x))
        if self.keep is not None and self.stream.n_documents_ > 1.1 * self.keep:
            self.stream.forget(keep=self.keep)

    def predict_one(self, x: str | Mapping[Any, int]) -> int:
        """The most probable cluster of a document, by its id; −1 if no word of it is known. Nothing is learned."""
        return int(self.stream.predict(_as_batch(x))[0])


def _as_batch(x: str | Mapping[Any, int]) -> list[str] | Corpus:
    if isinstance(x, str):
        return [x]
    if not isinstance(x, Mapping):
        raise ValueError(f"a document is a text or a dict of counts by word, not {type(x).__name__}")
    return Corpus.from_counts(scipy.sparse.csr_array([list(x.values())]), [str(word) for word in x])

"""What studies measure of a clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import completeness_score, homogeneity_score, normalized_mutual_info_score


def nmi(labels: NDArray[Any], found: NDArray[Any]) -> float:
    """Normalised mutual information by the geometric mean, as all five papers have it."""
    return float(normalized_mutual_info_score(labels, found, average_method="geometric"))


def scores(labels: NDArray[Any], found: NDArray[Any]) -> dict[str, float]:
    """NMI, homogeneity and completeness."""
    return {
        "nmi": nmi(labels, found),
        "homogeneity": float(homogeneity_score(labels, found)),
        "completeness": float(completeness_score(labels, found)),
    }


def count_clusters(found: NDArray[Any], larger_than: int = 0) -> int:
    """How many clusters have more than so many documents; documents without a cluster (-1) do not count."""
    sizes = np.bincount(found[found >= 0])
    return int(np.count_nonzero(sizes > larger_than))

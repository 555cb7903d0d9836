"""A clustering compared with known labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics

from textmix.metrics.matching import accuracy_score, entropy_score, purity_score

# 1 for the same partition.
SCORES = (
    "nmi_geometric",
    "nmi_arithmetic",
    "homogeneity",
    "completeness",
    "v_measure",
    "ami",
    "ari",
    "purity",
    "accuracy",
)


# What people read of it.
SCORE_NAMES = {
    "nmi_geometric": "NMI (geometric)",
    "nmi_arithmetic": "NMI (arithmetic)",
    "homogeneity": "homogeneity",
    "completeness": "completeness",
    "ami": "AMI",
    "ari": "ARI",
}


def agreement(labels_true: Iterable[Any], labels_pred: ArrayLike) -> dict[str, float]:
    """How far clusters and known labels agree: 1 for the same partition, entropy 0.

    Left out, and counted, are documents without words (cluster −1: nothing was decided about them) and
    documents without a known label (None, NaN, ""). Documents alone in their cluster count like all others.

    Returns
    -------
    dict
        nmi_geometric (the papers'), nmi_arithmetic, homogeneity, completeness, v_measure, ami, ari, purity,
        accuracy (of the best matching), entropy; n_documents (those compared), n_labels, n_clusters,
        n_without_words, n_without_label. Scores are NaN if none is left.
    """
    numbers: dict[str, int] = {"": 0}
    names = ("" if _is_missing(label) else str(label) for label in labels_true)
    known = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), dtype=np.int32)
    found = np.asarray(labels_pred)
    if found.ndim != 1 or known.shape != found.shape:
        raise ValueError(f"labels_true has {known.size} labels, labels_pred has shape {found.shape}")
    without_words = found == -1
    without_label = (known == 0) & ~without_words
    used = ~without_words & ~without_label
    result = _scores(known[used], found[used]) if used.any() else dict.fromkeys((*SCORES, "entropy"), float("nan"))
    return {
        **result,
        "n_documents": int(np.count_nonzero(used)),
        "n_labels": int(np.unique(known[used]).size),
        "n_clusters": int(np.unique(found[used]).size),
        "n_without_words": int(np.count_nonzero(without_words)),
        "n_without_label": int(np.count_nonzero(without_label)),
    }


def _scores(known: NDArray[Any], found: NDArray[Any]) -> dict[str, float]:
    return {
        "nmi_geometric": float(metrics.normalized_mutual_info_score(known, found, average_method="geometric")),
        "nmi_arithmetic": float(metrics.normalized_mutual_info_score(known, found)),
        "homogeneity": float(metrics.homogeneity_score(known, found)),
        "completeness": float(metrics.completeness_score(known, found)),
        "v_measure": float(metrics.v_measure_score(known, found)),
        "ami": float(metrics.adjusted_mutual_info_score(known, found)),
        "ari": float(metrics.adjusted_rand_score(known, found)),
        "purity": purity_score(known, found),
        "accuracy": accuracy_score(known, found),
        "entropy": entropy_score(known, found),
    }


def _is_missing(label: Any) -> bool:
    return label is None or label == "" or label != label

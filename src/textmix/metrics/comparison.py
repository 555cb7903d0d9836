"""A clustering compared with known labels: the table of scores, and `agreement`, which computes them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics

from textmix.metrics.matching import accuracy_score, entropy_score, purity_score


class Score(NamedTuple):
    """How far clusters and labels agree, as one number."""

    name: str  # in `agreement`, run.json and --json
    function: Callable[[Any, Any], float]  # of known labels and clusters, an array each
    title: str = ""  # `textmix evaluate` and the report show the scores that have one
    meaning: str = ""  # what the report says of it


SCORES = (
    Score(
        "nmi_geometric",
        partial(metrics.normalized_mutual_info_score, average_method="geometric"),
        "NMI (geometric)",
        "How much clusters and labels tell about each other: 0 nothing, 1 all. The papers' measure; it favours many "
        "clusters.",
    ),
    Score(
        "nmi_arithmetic",
        metrics.normalized_mutual_info_score,
        "NMI (arithmetic)",
        "The same by another mean, the one that most programs use; it equals the V-measure.",
    ),
    Score(
        "homogeneity",
        metrics.homogeneity_score,
        "homogeneity",
        "1 if each cluster has texts of one label only. Many small clusters make it high.",
    ),
    Score(
        "completeness",
        metrics.completeness_score,
        "completeness",
        "1 if the texts of each label are in one cluster. Few large clusters make it high.",
    ),
    Score("v_measure", metrics.v_measure_score),
    Score(
        "ami",
        metrics.adjusted_mutual_info_score,
        "AMI",
        "NMI less what chance would give: near 0 for clusters drawn at random. Best where there are many more clusters "
        "than labels, or far fewer.",
    ),
    Score(
        "ari",
        metrics.adjusted_rand_score,
        "ARI",
        "Of pairs of texts: whether clusters and labels agree which belong together. 0 is chance, 1 the same groups; "
        "large clusters count most.",
    ),
    Score("purity", purity_score),
    Score("accuracy", accuracy_score),
    Score("entropy", entropy_score),
)
SHOWN_SCORES = tuple(score for score in SCORES if score.title)


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
    known, found = known[used], found[used]
    return {
        **{score.name: float(score.function(known, found)) if known.size else float("nan") for score in SCORES},
        "n_documents": int(known.size),
        "n_labels": int(np.unique(known).size),
        "n_clusters": int(np.unique(found).size),
        "n_without_words": int(np.count_nonzero(without_words)),
        "n_without_label": int(np.count_nonzero(without_label)),
    }


def _is_missing(label: Any) -> bool:
    return label is None or label == "" or label != label

"""What `textmix cluster --json` prints: one JSON object, for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from textmix.clustering import Clustering
from textmix.corpus.readers import ReadReport


def print_json(clustering: Clustering, report: ReadReport, scores: Mapping[str, float] | None) -> None:
    """Print the clusters and numbers; the label of each text is in the files of --out."""
    print(json.dumps(describe(clustering, report, scores), indent=2, ensure_ascii=False, allow_nan=False))


def describe(clustering: Clustering, report: ReadReport, scores: Mapping[str, float] | None) -> dict[str, Any]:
    """Plain data: null for what is not known."""
    return {
        "n_texts": int(clustering.labels.size),
        "n_clusters": clustering.n_clusters,
        "n_of_several_texts": sum(cluster.size > 1 for cluster in clustering.clusters),
        "n_outliers": int(np.count_nonzero(clustering.outliers)),
        "n_without_words": clustering.n_without_words,
        "stability": _known(clustering.stability),
        "clusters": [
            {
                "cluster": cluster.index,
                "name": cluster.name,
                "known": cluster.known,
                "size": cluster.size,
                "share": cluster.share,
                "stability": _known(cluster.stability),
                "words": [[str(word), score] for word, score in cluster.words],
                "examples": [{"row": row + 1, "text": text} for row, text in _examples(cluster)],
            }
            for cluster in clustering.clusters
        ],
        "known_clusters": clustering.known_clusters,
        "files": report.files,
        "n_skipped": report.n_skipped,
        "skipped": report.reasons,
        "scores": None if scores is None else {name: _known(value) for name, value in scores.items()},
        "seconds": clustering.seconds,
    }


def _examples(cluster: Any) -> zip[tuple[int, str]]:
    return zip(cluster.documents, cluster.examples, strict=True)


def _known(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else number

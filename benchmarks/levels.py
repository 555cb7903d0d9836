"""How many groups, and how sure: told the number of classes, at the levels, and by the probability of the label.

For each collection and seed one fit without settings and one told the number of classes, with static word vectors where
there are texts. Beside them k-means told the number, on the same vectors, or on TF-IDF where there are only counts. AMI
with the labels; the area under the ROC curve of `probability` for "the label is the majority label of its cluster", and
how often that holds for texts of a probability above .9, from .5 to .9 and below.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_mutual_info_score as ami
from sklearn.metrics import roc_auc_score

import textmix
from common import DATA, print_table, read
from textmix.vectors.static import StaticEncoder

TEXTS = ("Tweet", "T", "S", "TS", "StackOverflow", "HWU64", "AGNews-8000", "BBC_News", "20NG", "R8", "R52", "Reuters")
COUNTS = ("classic3", "la12", "k1b", "reviews", "tr11", "tr41")


def read_counts(name: str) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    column_of: dict[str, int] = {}
    entries = [
        (row, column_of.setdefault(word, len(column_of)), n)
        for row, document in enumerate(documents)
        for word, n in document["counts"].items()
    ]
    rows, columns, counts = (np.array(values, np.int32) for values in zip(*entries, strict=True))
    shape = len(documents), len(column_of)
    return scipy.sparse.csr_array((counts, (rows, columns)), shape=shape), np.array([d["label"] for d in documents])


def fit(data: Any, seed: int, n_clusters: int | None) -> textmix.ConsensusMixture:
    if isinstance(data, list):
        return textmix.cluster(data, seed, encoder="static", n_clusters=n_clusters, progress=False).estimator
    return textmix.ConsensusMixture(n_clusters, random_state=seed).fit(data)


def k_means(data: Any, n_clusters: int, seed: int) -> np.ndarray:
    if isinstance(data, list):
        points = StaticEncoder().encode(data)
    else:
        points = TfidfTransformer().fit_transform(scipy.sparse.csr_matrix(data.astype(float)))
    return KMeans(n_clusters, n_init=5, random_state=seed).fit_predict(points)


def measure(name: str, seed: int, *, beside: bool) -> dict[str, Any]:
    data, labels = read_counts(name) if name in COUNTS else read(name)
    classes = np.unique(labels, return_inverse=True)[1]
    n_classes = int(classes.max()) + 1
    model = fit(data, seed, None)
    own = model.labels_
    at_levels = [(int(groups.max()) + 1, ami(labels, np.append(groups, -1)[own])) for groups in model.levels_]
    at_levels.append((model.n_clusters_, ami(labels, own)))
    known = np.flatnonzero(own >= 0)
    table = np.zeros((model.n_clusters_, n_classes))
    np.add.at(table, (own[known], classes[known]), 1)
    is_majority = table.argmax(axis=1)[own[known]] == classes[known]
    probability = model.own_probabilities()[known]
    bands = [probability > 0.9, (probability > 0.5) & (probability <= 0.9), probability <= 0.5]
    return {
        "set": name,
        "classes": n_classes,
        "found": model.n_clusters_,
        "range": model.n_clusters_range_,
        "ami": at_levels[-1][1],
        "levels": at_levels,
        "best": max(score for _, score in at_levels),
        "told": ami(labels, fit(data, seed, n_classes).labels_),
        "k-means": ami(labels, k_means(data, n_classes, seed)) if beside else float("nan"),
        "auc": roc_auc_score(is_majority, probability),
        "bands": [(float(band.mean()), float(is_majority[band].mean()) if band.any() else np.nan) for band in bands],
    }


def rows_of(found: list[dict[str, Any]]) -> Iterator[object]:
    yield found[0]["set"]
    yield found[0]["classes"]
    for name in ("ami", "told", "k-means", "best", "auc"):
        yield float(np.nanmean([each[name] for each in found]))
    yield " ".join(str(number) for number, _ in found[0]["levels"])
    for band in range(3):
        shares, right = zip(*(each["bands"][band] for each in found), strict=True)
        yield f"{np.mean(shares):.0%}: {np.nanmean(right) if np.isfinite(right).any() else 0:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=[*TEXTS, *COUNTS])
    parser.add_argument("--no-k-means", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.sets:
        found = [measure(name, seed, beside=not arguments.no_k_means) for seed in range(arguments.seeds)]
        rows.append(list(rows_of(found)))
        print(rows[-1], flush=True)
    head = [
        "set",
        "classes",
        "found",
        "told",
        "k-means told",
        "best level",
        "AUC",
        "levels",
        "above .9",
        ".5 to .9",
        "below .5",
    ]
    print_table(f"AMI and AUC, mean of {arguments.seeds} seeds", head, rows)


if __name__ == "__main__":
    main()

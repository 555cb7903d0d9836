"""Words and vectors: textmix with no settings, by words alone, with static word vectors and with sentence vectors.

Beside it spherical k-means on the same sentence vectors, told the number of clusters, and BERTopic on them with its
defaults (the better of its two figures: outliers as a cluster of their own, or put into the nearest). NMI (geometric),
means over seeds; the number of clusters and AMI are printed too.

BERTopic needs an environment of its own: --bertopic PYTHON names its interpreter (pip install bertopic).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import textmix
from common import DATA, nmi, print_table, read

TICKETS = Path(__file__).resolve().parents[1] / "examples" / "tickets.csv"
SHORT = ("tickets", "StackOverflow", "Tweet", "T", "S", "TS", "HWU64")
LONG = ("AGNews-8000", "BBC_News", "R8", "R52", "Reuters", "20NG", "ohsumed")
VIEWS = ("words", "static", "minilm", "k-means")


def read_set(name: str) -> tuple[list[str], np.ndarray]:
    if name != "tickets":
        return read(name)
    with TICKETS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], np.array([row["topic"] for row in rows])


def sentence_vectors(name: str) -> np.ndarray | None:
    path = DATA / "vectors" / f"{name}.minilm.npy"
    return np.load(path) if path.exists() else None


def cluster(view: str, texts: list[str], vectors: np.ndarray | None, n_classes: int, seed: int) -> np.ndarray:
    if view == "words":
        return textmix.cluster(texts, seed, encoder=None, progress=False).labels
    if view == "static":
        return textmix.cluster(texts, seed, encoder="static", progress=False).labels
    if view == "minilm":
        return textmix.cluster(texts, seed, vectors=vectors, progress=False).labels
    model = textmix.VonMisesFisherMixture(n_classes, assignment="hard", n_init=5, max_iter=100, random_state=seed)
    return model.fit(vectors.astype(np.float32)).labels_


def scores(name: str, views: list[str], seeds: range) -> Iterator[dict[str, Any]]:
    texts, labels = read_set(name)
    vectors, n_classes = sentence_vectors(name), np.unique(labels).size
    for view in views:
        if view in ("minilm", "k-means") and vectors is None:
            continue
        found: dict[str, Any] = {"set": name, "view": view, "classes": n_classes, "nmi": [], "ami": [], "clusters": []}
        for seed in seeds:
            own = cluster(view, texts, vectors, n_classes, seed)
            found["nmi"].append(nmi(labels, own))
            found["ami"].append(float(adjusted_mutual_info_score(labels, own)))
            found["clusters"].append(int((np.bincount(own[own >= 0]) > 1).sum()))
        yield found


def bertopic(python: str, name: str, seeds: int) -> float | None:
    """The better of BERTopic's two figures, the mean over runs."""
    if sentence_vectors(name) is None:
        return None
    script = Path(__file__).with_name("bertopic_beside.py")
    call = [python, str(script), "--given-vectors", "--runs", str(seeds), "--sets", name]
    lines = subprocess.run(call, check=True, capture_output=True, text=True).stdout.splitlines()
    cells = [line.split("|") for line in lines if line.startswith(f"| {name} ")]
    return max(statistics.fmean(float(row[column]) for row in cells) for column in (2, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=[*SHORT, *LONG])
    parser.add_argument("--views", nargs="*", default=list(VIEWS))
    parser.add_argument("--bertopic", metavar="PYTHON", help="an interpreter that has BERTopic")
    parser.add_argument("--keep", type=Path, help="append all figures to this file, as JSON lines")
    arguments = parser.parse_args()
    tables: dict[str, list[list[object]]] = {"nmi": [], "ami": [], "clusters": []}
    for name in arguments.sets:
        found = {}
        for each in scores(name, arguments.views, range(arguments.seeds)):
            found[each["view"]] = each
            means = " ".join(f"{score} {statistics.fmean(each[score]):.3f}" for score in tables)
            print(name, each["view"], means, f"least NMI {min(each['nmi']):.3f}", flush=True)
            if arguments.keep is not None:
                with arguments.keep.open("a") as file:
                    file.write(json.dumps(each) + os.linesep)
        for score, rows in tables.items():
            cells = [statistics.fmean(found[view][score]) if view in found else "" for view in arguments.views]
            rows.append([name, *(round(cell) if score == "clusters" and cell else cell for cell in cells)])
        if arguments.bertopic is not None:
            beside = bertopic(arguments.bertopic, name, arguments.seeds)
            tables["nmi"][-1].append("" if beside is None else beside)
    header = ["collection", *arguments.views]
    beside = ["BERTopic"] if arguments.bertopic is not None else []
    for score, rows in tables.items():
        print_table(f"{score}, mean of {arguments.seeds} seeds", header + (beside if score == "nmi" else []), rows)


if __name__ == "__main__":
    main()

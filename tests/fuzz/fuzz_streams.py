"""Any sequence of calls of a stream, in memory or on disk: after each, all statistics equal a recount."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from odd_matrices import make_counts, make_matrix
from stream_helpers import assert_statistics_equal_a_recount

from textmix import StreamClusterer
from textmix.stream.checking import check_folder
from textmix.stream.durable import Document, DurableStream, Policy

WORDS = [*"abcdefghijklmnopqrstuvwxyz", "日本", "ß", "Ünïcode", "x" * 50]
REFUSALS = (ValueError, TypeError)


def run_case(rng: np.random.Generator, folder: Path) -> str:
    return _on_disk(rng, folder / "stream") if rng.random() < 0.4 else _in_memory(rng)


def _settings(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "alpha": ["0.1n", 1.0, "2n", 1e-6][rng.integers(4)],
        "beta": float(rng.choice([0.02, 1.0, 1e-6])),
        "n_sweeps": int(rng.choice([0, 1, 10])),
        "merge": bool(rng.random() < 0.7),
        "growth_window": int(rng.choice([1, 10, 1000])),
        "random_state": int(rng.integers(100)),
    }


def _text(rng: np.random.Generator) -> str:
    first, length = int(rng.integers(len(WORDS))), int(rng.choice([0, 1, 3, 5, 300], p=[0.05, 0.2, 0.4, 0.33, 0.02]))
    near = (first + rng.integers(0, rng.choice([2, 5, 30]), size=length)) % len(WORDS)
    return " ".join(f"{WORDS[place]}{WORDS[first]}" for place in near)


def _ids(rng: np.random.Generator, n: int) -> list[str]:
    return [str(number) for number in rng.integers(0, rng.choice([5, 50, 5000]), size=n)]


def _in_memory(rng: np.random.Generator) -> str:
    stream, n_columns = StreamClusterer(**_settings(rng)), int(rng.choice([1, 5, 40]))
    takes_texts = rng.random() < 0.6
    stream.partial_fit([_text(rng)] if takes_texts else make_counts_whole(rng, 1, n_columns))
    for _ in range(int(rng.integers(1, 25))):
        step = rng.choice(["add", "remove", "forget", "assign"], p=[0.6, 0.2, 0.1, 0.1])
        n = int(rng.choice([0, 1, 3, 20, 100]))
        if step == "add" and takes_texts:
            stream.partial_fit([_text(rng) for _ in range(n)], _ids(rng, n) if rng.random() < 0.5 else None)
        elif step == "add":
            _add_matrix(rng, stream, n, n_columns)
        elif step == "remove":
            stream.remove(_ids(rng, n))
        elif step == "forget":
            stream.forget(keep=int(rng.integers(0, 200)))
        else:
            found = stream.assign(
                [_text(rng) for _ in range(n)] if takes_texts else make_counts_whole(rng, n, n_columns)
            )
            assert set(found.labels.tolist()) <= {-1, *stream.cluster_ids_.tolist()}
        assert_statistics_equal_a_recount(stream._statistics)
    return "in memory"


def make_counts_whole(rng: np.random.Generator, n_rows: int, n_columns: int) -> np.ndarray:
    return np.minimum(np.round(make_counts(rng, max(n_rows, 1), n_columns)[:n_rows]), 1000)


def _add_matrix(rng: np.random.Generator, stream: StreamClusterer, n: int, n_columns: int) -> None:
    matrix = make_matrix(rng, make_counts_whole(rng, n, n_columns))
    before = stream.n_documents_
    try:
        stream.partial_fit(matrix.given)
    except REFUSALS:
        assert stream.n_documents_ == before
        assert matrix.must_be_refused or n == 0
    else:
        assert not matrix.must_be_refused


def _on_disk(rng: np.random.Generator, folder: Path) -> str:
    policy = Policy(keep=int(rng.choice([10, 100]))) if rng.random() < 0.3 else None
    stream = DurableStream(folder, clusterer=StreamClusterer(**_settings(rng)), policy=policy)
    now = 1_700_000_000
    try:
        for _ in range(int(rng.integers(1, 15))):
            step = rng.choice(["add", "remove", "reopen", "rename", "assign"], p=[0.5, 0.15, 0.15, 0.1, 0.1])
            n = int(rng.choice([1, 3, 20]))
            if step == "add":
                now += int(rng.integers(0, 100_000))
                times = [None if rng.random() < 0.3 else now + int(rng.integers(-1000, 1000)) for _ in range(n)]
                texts = [_text(rng) for _ in range(n)]
                documents = [
                    Document(id, text, None if time is None else str(np.datetime64(time, "s")))
                    for id, text, time in zip(_ids(rng, n), texts, times, strict=True)
                ]
                answers = stream.add(documents)
                assert [answer.id for answer in answers] == [document.id for document in documents]
            elif step == "remove":
                stream.remove(_ids(rng, n))
            elif step == "reopen":
                known = {cluster.id: cluster.size for cluster in stream.clusters()}
                stream.close()
                assert check_folder(folder) == []
                stream = DurableStream(folder)
                assert {cluster.id: cluster.size for cluster in stream.clusters()} == known
            elif step == "rename" and (clusters := stream.clusters()):
                stream.rename(clusters[rng.integers(len(clusters))].id, _text(rng)[:100].strip() or None)
            else:
                stream.assign([_text(rng) for _ in range(n)])
            assert stream.check() == []
    finally:
        stream.close()
    return "on disk"

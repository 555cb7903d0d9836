"""The stream: quality on titles that come in batches, titles a second, and memory over ten million documents.

`python stream.py quality`, `speed` or `memory` runs one part alone.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from common import nmi, read
from textmix import StreamClusterer

N_BATCHES = 16
N_ORDERS = 20
PUBLISHED = {"shuffled": "MStream .834", "sorted by topic": "MStreamF .873"}


def orders_of(known: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Random orders; sorted by topic, the topics by name or in a random order of their own."""
    names = np.unique(known)
    ranks = [np.argsort(np.random.default_rng(seed).permutation(names.size)) for seed in range(N_ORDERS)]
    place = np.searchsorted(names, known)
    return {
        "shuffled": [np.random.default_rng(seed).permutation(known.size) for seed in range(N_ORDERS)],
        "sorted by topic": [np.argsort(known, kind="stable")] * N_ORDERS,
        "sorted, topics in random order": [np.argsort(rank[place], kind="stable") for rank in ranks],
    }


def quality() -> None:
    texts, known = read("T")
    print(f"T in {N_BATCHES} batches, NMI (geometric), mean (lowest) of {N_ORDERS} seeds, one order each")
    print("| order | as answered | in the end | clusters | published |")
    print("|---|---:|---:|---:|---|")
    for name, orders in orders_of(known).items():
        answered, final, n_clusters = [], [], []
        for seed, order in enumerate(orders):
            stream, labels = StreamClusterer(random_state=seed), np.full(known.size, -1)
            for batch in np.array_split(order, N_BATCHES):
                labels[batch] = stream.partial_fit([texts[row] for row in batch], ids=batch).labels_
            answered.append(nmi(known[labels >= 0], labels[labels >= 0]))
            labels = stream.labels_of(range(known.size))
            final.append(nmi(known[labels >= 0], labels[labels >= 0]))
            n_clusters.append(stream.n_clusters_)
        print(
            f"| {name} | {np.mean(answered):.3f} ({min(answered):.3f}) | {np.mean(final):.3f} ({min(final):.3f}) "
            f"| {np.mean(n_clusters):.0f} | {PUBLISHED.get(name, '')} |",
            flush=True,
        )


class Titles:
    """Made-up titles of six words on 500 subjects, which share half of their words."""

    def __init__(self, n_subjects: int = 500) -> None:
        self._subjects = [[f"subject{subject}word{word}" for word in range(12)] for subject in range(n_subjects)]
        self._common = [f"common{word}" for word in range(3000)]
        self._rng = np.random.default_rng(0)

    def make(self, n: int) -> list[str]:
        subjects = self._rng.integers(len(self._subjects), size=n)
        own = self._rng.integers(12, size=(n, 3))
        common = (len(self._common) * self._rng.random((n, 3)) ** 3).astype(int)
        return [
            " ".join([*(self._subjects[s][w] for w in o), *(self._common[w] for w in c)])
            for s, o, c in zip(subjects.tolist(), own.tolist(), common.tolist(), strict=True)
        ]


def speed() -> None:
    titles = Titles()
    print("\nTitles a second on one core, 500 subjects, batches of 1,000 (100)")
    print("| sweeps | titles a second | batches of 100 | clusters |")
    print("|---:|---:|---:|---:|")
    for n_sweeps in (0, 10):
        stream = StreamClusterer().partial_fit(titles.make(20_000)).set_params(n_sweeps=n_sweeps)
        rates = []
        for size, n_batches in ((1000, 60), (100, 100)):
            batches = [titles.make(size) for _ in range(n_batches)]
            began = time.perf_counter()
            for batch in batches:
                stream.partial_fit(batch)
            rates.append(size * n_batches / (time.perf_counter() - began))
        print(f"| {n_sweeps} | {rates[0]:,.0f} | {rates[1]:,.0f} | {stream.n_clusters_} |", flush=True)


def memory(n_documents: int = 10_000_000, window: int = 100_000, size: int = 10_000) -> None:
    """Resident memory while documents pass through a window; new words come all the time and old ones go."""
    stream, rng, began = StreamClusterer(n_sweeps=0), np.random.default_rng(0), time.perf_counter()
    print(f"\n{n_documents:,} made-up documents through a window of {window:,}")
    print("| documents | MB now | MB at most | words present | clusters | s |")
    print("|---:|---:|---:|---:|---:|---:|")
    for first in range(0, n_documents, size):
        subjects = rng.integers(100, size=size) + first // window * 5  # five subjects go in each window, and five come
        words = rng.integers(20, size=(size, 6))
        rare = first + rng.integers(size, size=size)
        texts = [
            " ".join([*(f"s{subject}w{word}" for word in own), f"rare{number}"])
            for subject, own, number in zip(subjects.tolist(), words.tolist(), rare.tolist(), strict=True)
        ]
        stream.partial_fit(texts, ids=range(first, first + size))
        stream.forget(keep=window)
        if (first + size) in (window, 2 * window, 5 * window) or (first + size) % (n_documents // 10) == 0:
            now, most = resident(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row = (first + size, now, most, stream._statistics.words.n_present, stream.n_clusters_)
            print(
                "| {:,} | {:.0f} | {:.0f} | {:,} | {} |".format(*row),
                f"{time.perf_counter() - began:.0f} |",
                flush=True,
            )


def resident() -> float:
    """Megabytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def main(parts: list[str]) -> None:
    for part in parts or ["quality", "speed", "memory"]:
        if part == "memory" and parts != ["memory"]:  # in a process of its own, which has seen nothing yet
            subprocess.run([sys.executable, __file__, "memory"], check=True)
        else:
            {"quality": quality, "speed": speed, "memory": memory}[part]()


if __name__ == "__main__":
    main(sys.argv[1:])

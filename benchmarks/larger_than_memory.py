"""Texts whose counts are five times what --memory allows: the peak of memory, and a run that is killed and resumed.

20NG's texts copied, shuffled, one word in ten replaced by another at random; runs are those of the command line.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common import print_table, read
from million import labels_of, textmix_command

REPLACED = 0.1
BYTES_OF_A_COUNT = 8  # of a text: which word, and how often


def write_texts(path: Path, least_bytes: float, rng: np.random.Generator) -> tuple[int, float]:
    """Write texts, one a line, until their counts and they themselves take so many bytes: how many, bytes of counts."""
    texts, _ = read("20NG")
    words = [np.array(text.split(), dtype=object) for text in texts]
    vocabulary = np.array(sorted({word for text in words for word in text.tolist()}), dtype=object)
    n_texts, n_counts = 0, 0
    with open(path, "w", encoding="utf-8") as file:
        while min(file.tell(), n_counts * BYTES_OF_A_COUNT) < least_bytes:
            for index in rng.permutation(len(words)):
                own = words[index].copy()
                places = np.flatnonzero(rng.random(own.size) < REPLACED)
                own[places] = vocabulary[rng.integers(vocabulary.size, size=places.size)]
                file.write(" ".join(own) + "\n")
                n_counts += len(set(own))
            n_texts += len(words)
    return n_texts, float(n_counts * BYTES_OF_A_COUNT)


class Ended(NamedTuple):
    """How a process ended: after how many seconds, its largest resident memory in bytes, and whether it was killed."""

    seconds: float
    peak: int
    killed: bool


def run(command: list[str], kill_after: float | None = None) -> Ended:
    """Run a command, and kill it after so many seconds."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    ended, killed = False, False
    while not ended:
        time.sleep(0.1)
        if kill_after is not None and not killed and time.perf_counter() - started > kill_after:
            process.kill()
            killed = True
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
        ended = found != 0
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, -signal.SIGKILL if killed else 0):
        raise RuntimeError(f"textmix failed ({process.returncode})")
    return Ended(time.perf_counter() - started, usage.ru_maxrss * 1024, killed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", type=int, default=512, help="in MB")
    parser.add_argument("--times", type=float, default=5.0, help="how often that, the counts")
    parser.add_argument("--clusters", default="20")
    parser.add_argument("--sweeps", default="5")
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    memory = arguments.memory * 1e6
    rows = []
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        file = folder / "texts.txt"
        n_texts, n_bytes = write_texts(file, arguments.times * memory, rng)
        size = f"{n_texts:,} texts, {file.stat().st_size / 1e9:.2f} GB, counts {n_bytes / 1e9:.2f} GB"
        print(size, flush=True)
        options = ["--memory", f"{arguments.memory}MB", "--clusters", arguments.clusters, "--sweeps", arguments.sweeps]
        whole = folder / "whole"
        ended = run(textmix_command(file, whole, *options))
        rows.append(["uninterrupted", f"{ended.seconds:.0f} s", f"{ended.peak / memory:.2f} ×", ""])
        print(rows[-1], flush=True)
        for number in range(arguments.kills):
            out, at = folder / f"killed-{number}", rng.uniform(0.05, 0.95) * ended.seconds
            first = run(textmix_command(file, out, *options), at)
            second = run(textmix_command(file, out, *options, "--resume"))
            same = bool((labels_of(out) == labels_of(whole)).all())
            rows.append(
                [
                    f"SIGKILL after {at:.0f} s" if first.killed else "(ended before the kill)",
                    f"{first.seconds + second.seconds:.0f} s",
                    f"{max(first.peak, second.peak) / memory:.2f} ×",
                    "identical" if same else "DIFFERENT",
                ]
            )
            print(rows[-1], flush=True)
    header = ["run", "time", f"peak, of {arguments.memory} MB", "labels"]
    print_table(f"{size}, --memory {arguments.memory}MB", header, rows)


if __name__ == "__main__":
    main()

"""A million short texts from a Parquet file to a saved run: with no settings, and by the parallel sampler alone.

The latter on threads, on two Dask workers, and with one of them killed.

T's titles copied, shuffled, one word in ten replaced by another at random; runs are those of the command line.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np

from common import nmi, print_table, read

N_TEXTS = 1_000_000
REPLACED = 0.1
SEED = 0


def write_texts(path: Path, n_texts: int) -> None:
    """The texts and their labels as Parquet."""
    titles, labels = read("T")
    words = [title.split() for title in titles]
    vocabulary = np.array(sorted({word for title in words for word in title}))
    rng = np.random.default_rng(SEED)
    chosen = rng.permutation(np.resize(np.arange(len(words)), n_texts))
    n_words = np.array([len(title) for title in words])
    total = int(n_words[chosen].sum())
    replaced = np.where(rng.random(total) < REPLACED, rng.integers(vocabulary.size, size=total), -1).tolist()
    texts, place = [], 0
    for title in chosen.tolist():
        own = words[title]
        others = replaced[place : place + len(own)]
        place += len(own)
        texts.append(
            " ".join(word if other < 0 else vocabulary[other] for word, other in zip(own, others, strict=True))
        )
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts (text VARCHAR, label VARCHAR)")
        for first in range(0, n_texts, 50_000):
            last = first + 50_000
            columns = [texts[first:last], [labels[i] for i in chosen[first:last].tolist()]]
            connection.execute("INSERT INTO texts SELECT unnest($1), unnest($2)", columns)
        connection.execute(f"COPY texts TO '{path}' (FORMAT parquet)")


def textmix_command(file: Path, out: Path, *options: str) -> list[str]:
    program = Path(sys.executable).parent / "textmix"
    return [str(program), "cluster", str(file), "--language", "none", "--out", str(out), *options]


def textmix(file: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = textmix_command(file, out, "--text", "text", *options)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"textmix failed ({process.returncode}): {err[-2000:]}")
    return out, err


def run_alone(file: Path, out: Path, *options: str) -> tuple[str, float, float]:
    """What the program prints, the seconds it takes and its peak memory in megabytes."""
    command = textmix_command(file, out, "--text", "text", *options)
    with tempfile.TemporaryFile("w+") as printed:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT, text=True)
        _, status, usage = os.wait4(process.pid, 0)
        spent = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()
    if process.returncode != 0:
        raise RuntimeError(f"textmix failed ({process.returncode}): {text[-2000:]}")
    return text, spent, usage.ru_maxrss * 1024 / 1e6


def lines_of_textmix(err: str) -> str:
    """What the program itself said: not what Dask logs."""
    return "; ".join(line for line in err.splitlines() if line.startswith("textmix: "))


def labels_of(run: Path) -> np.ndarray:
    with duckdb.connect() as connection:
        query = "SELECT cluster FROM read_csv(?, all_varchar = false) ORDER BY row"
        return connection.execute(query, [str(run / "assignments.csv")]).fetchnumpy()["cluster"]


def kill_a_worker(processes: Sequence[int], after: float) -> None:
    """SIGKILL to the first of some processes, after so many seconds."""

    def kill() -> None:
        time.sleep(after)
        os.kill(processes[0], signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=N_TEXTS)
    parser.add_argument("--clusters", default="300")
    parser.add_argument("--kill-after", type=float, default=20.0, help="seconds after the start of the third run")
    arguments = parser.parse_args()
    from distributed import Client, LocalCluster

    rows = []
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        file = folder / "texts.parquet"
        write_texts(file, arguments.texts)
        with duckdb.connect() as connection:
            truth = connection.execute("SELECT label FROM read_parquet(?)", [str(file)]).fetchnumpy()["label"]
        common = ["--clusters", arguments.clusters, "--inference", "parallel", "--top", "3"]
        for name, options in [("no settings", []), ("words alone", ["--encoder", "none"]), ("threads", common)]:
            out, spent, peak = run_alone(file, folder / name, *options)
            expected = labels_of(folder / name)
            print(out)
            rows.append([name, f"{spent:.1f} s", f"{peak:,.0f} MB", f"{nmi(truth, expected):.4f}"])
            print(rows[-1], flush=True)
        for name, kills in [("Dask, two workers", False), ("Dask, one of two killed", True)]:
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
            with cluster, Client(cluster) as client:
                started = time.perf_counter()
                run = folder / name.replace(" ", "-")
                process = textmix(file, run, *common, "--scheduler", client.scheduler.address)
                if kills:
                    workers = list(client.run(os.getpid).values())
                    kill_a_worker(workers, arguments.kill_after)
                _, err = finish(process)
                spent = time.perf_counter() - started
            same = bool((labels_of(run) == expected).all())
            rows.append([name, f"{spent:.1f} s", "identical" if same else "DIFFERENT", lines_of_textmix(err)])
            print(rows[-1], flush=True)
    print_table(
        f"{arguments.texts:,} texts to labels", ["engine", "time", "peak, or labels", "NMI, or what it printed"], rows
    )


if __name__ == "__main__":
    main()

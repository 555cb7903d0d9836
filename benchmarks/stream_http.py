"""`textmix serve` under load: clients on loopback send batches of titles, and every answer is on disk when it comes."""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

from common import print_table, read

COLLECTION = "T"  # 11,109 news titles
HEADERS = {"Content-Type": "application/json"}


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """A server of its own process; gives its port."""
    command = [str(Path(sys.executable).parent / "textmix"), "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        if match is None:
            raise SystemExit("textmix serve did not start")
        try:
            yield int(match[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def post(connection: http.client.HTTPConnection, batch: list[dict[str, str]]) -> float:
    """Send a batch; the seconds until its answer was read."""
    body = json.dumps({"documents": batch})
    started = time.perf_counter()
    connection.request("POST", "/documents", body, HEADERS)
    response = connection.getresponse()
    answers = response.read()
    seconds = time.perf_counter() - started
    if response.status != 200 or len(json.loads(answers)["documents"]) != len(batch):
        raise SystemExit(f"the server answered {response.status}")
    return seconds


def send(
    client: int, port: int, batches: list[list[dict[str, str]]], deadline: float, together: Barrier
) -> tuple[float, float, list[float]]:
    """One client, one batch after the other; when it began and ended, and how long each took."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.connect()
    together.wait()
    started, seconds = time.time(), []
    for batch in batches:
        if time.time() - started > deadline:
            break
        seconds.append(post(connection, batch))
    return started, time.time(), seconds


def as_batches(texts: list[str], size: int) -> list[list[dict[str, str]]]:
    documents = [{"id": f"title-{place}", "text": text} for place, text in enumerate(texts)]
    return [documents[first : first + size] for first in range(0, len(documents), size)]


def measure(n_clients: int, size: int, n_documents: int, deadline: float) -> list[str]:
    """A row of the table: documents a second, and how long answers took."""
    texts, _ = read(COLLECTION)
    texts = [f"{texts[place % len(texts)]}" for place in range(n_documents)]
    batches = as_batches(texts, size)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder, "state")) as port:
        warming = [{"id": "warming", "text": text} for text in texts[:size]]
        post(http.client.HTTPConnection("127.0.0.1", port), warming)  # compiles, or loads what was compiled
        with multiprocessing.get_context("spawn").Manager() as manager:
            together = manager.Barrier(n_clients)
            jobs = [(client, port, batches[client::n_clients], deadline, together) for client in range(n_clients)]
            with multiprocessing.get_context("spawn").Pool(n_clients) as pool:
                found = pool.starmap(send, jobs)
    seconds = np.concatenate([times for *_, times in found])
    took = max(end for _, end, _ in found) - min(begin for begin, *_ in found)
    middle, late = np.quantile(seconds, [0.5, 0.99]) * 1000.0
    n_sent = min(len(seconds) * size, n_documents)
    return [str(n_clients), f"{n_sent:,}", f"{n_sent / took:,.0f}", f"{middle:.0f} ms", f"{late:.0f} ms"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--documents", type=int, default=33_327, help="the titles, three times")
    parser.add_argument("--seconds", type=float, default=60.0, help="at most, for each line of the table")
    arguments = parser.parse_args()
    rows = [measure(n, arguments.batch, arguments.documents, arguments.seconds) for n in arguments.clients]
    print_table(
        f"`textmix serve`: batches of {arguments.batch} titles, every answer durable",
        ["clients", "documents", "documents a second", "50 % of answers within", "99 %"],
        rows,
    )


if __name__ == "__main__":
    main()

"""A stream that is killed at random moments has every answered line, at most one batch more, and nothing twice.

`python tests/stream/test_durable_killed.py 50` kills it fifty times; a second number is the seed.
"""

from __future__ import annotations

import gc
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest
from stream_texts import TOPICS, make_text

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(Path(__file__).parent)])}
BATCH = 20  # lines
LATEST = 0.25  # seconds after the first answer, or after the start
AT_START = 0.25  # share of kills that come while the stream is opened, or soon after
KEPT = 300  # documents about which additions and removals balance

Texts = dict[str, str]  # by id
Operation = dict[str, str]  # as a line has it


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_nothing_answered_is_lost_and_nothing_is_there_twice():
    command = [sys.executable, __file__, "8"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(result.stdout.splitlines()) == 8 + 1


def make_operation(rng: random.Random, there: Texts) -> Operation:
    """Add a document, or one that is there again with another text, or remove one, there or not."""
    id = rng.choice(list(there)) if there and rng.random() < 0.5 else f"{rng.randrange(10_000)}"
    if rng.random() < 0.7 * len(there) / KEPT:
        return {"remove": id}
    return {"id": id, "text": f"{make_text(rng, rng.choice(list(TOPICS)))} {rng.randrange(10_000)}"}


def apply(operation: Operation, there: Texts) -> None:
    if "remove" in operation:
        there.pop(operation["remove"], None)
    else:
        there[operation["id"]] = operation["text"]


def start_child(folder: Path) -> tuple[int, int, int]:
    """A process that runs the program; its number, where to write lines, where to read answers."""
    lines_out, lines_in = os.pipe()
    answers_out, answers_in = os.pipe()
    child = os.fork()
    if child:
        os.close(lines_out)
        os.close(answers_in)
        return child, lines_in, answers_out
    os.close(lines_in)
    os.close(answers_out)
    sys.stdin, sys.stdout = os.fdopen(lines_out), os.fdopen(answers_in, "w")
    sys.argv = ["textmix", "stream", str(folder), "--batch", str(BATCH), "--quiet"]
    try:
        main.run()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)  # it is to be killed


def run_and_kill(folder: Path, rng: random.Random, there: Texts) -> tuple[list[Operation], int]:
    """Send operations until the process is killed; what was sent, and how many were answered."""
    child, lines, answers = start_child(folder)
    os.set_blocking(lines, False)
    expected, sent, unsent, received = dict(there), [], b"", b""
    delay = rng.uniform(0, LATEST)
    end = time.monotonic() + delay if rng.random() < AT_START else None
    while end is None or time.monotonic() < end:
        timeout = None if end is None else max(end - time.monotonic(), 0)
        readable, writable, _ = select.select([answers], [lines], [], timeout)
        if writable:
            if not unsent:
                for _ in range(rng.randint(1, 2 * BATCH)):
                    sent.append(make_operation(rng, expected))
                    apply(sent[-1], expected)
                    unsent += json.dumps(sent[-1]).encode() + b"\n"
            unsent = unsent[write(lines, unsent) :]
        if readable:
            received += read(answers)
            end = time.monotonic() + delay if end is None else end
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it ended by itself: {os.waitstatus_to_exitcode(status)}"
    while chunk := os.read(answers, 1 << 16):
        received += chunk
    os.close(lines)
    os.close(answers)
    return sent, count_answers(received, sent, dict(there))


def write(descriptor: int, data: bytes) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


def read(descriptor: int) -> bytes:
    chunk = os.read(descriptor, 1 << 16)
    assert chunk, "it ended by itself"
    return chunk


def count_answers(received: bytes, sent: list[Operation], there: Texts) -> int:
    """How many lines were answered whole, each with the id that was asked for, and removals by what was there."""
    *answers, _ = received.split(b"\n")
    for answer, operation in zip(map(json.loads, answers), sent, strict=False):
        if "remove" in operation:
            assert answer == {"id": operation["remove"], "removed": operation["remove"] in there}
        else:
            assert answer["id"] == operation["id"]
            assert answer["cluster"] >= 0
        apply(operation, there)
    return len(answers)


def stored_texts(folder: Path) -> Texts:
    """What is there after a kill, once it is known that all of it is well."""
    with DurableStream(folder) as stream:
        mistakes = stream.check()
        assert mistakes == [], mistakes
        ids = [document.id for cluster in stream.clusters() for document in stream.documents_of(cluster.id, KEPT * 10)]
        assert len(ids) == len(set(ids)) == stream.n_documents
        return {id: stream.document(id).text for id in ids}


def verify(found: Texts, before: Texts, sent: list[Operation], n_answered: int) -> int:
    """Go through the operations that may have been done; returns how many were, beyond those that were answered."""
    there = dict(before)
    for operation in sent[:n_answered]:
        apply(operation, there)
    for n_more, operation in enumerate([*sent[n_answered : n_answered + BATCH], {}]):
        if there == found:
            return n_more
        if operation:
            apply(operation, there)
    raise AssertionError(f"what is there is not what {n_answered} answers say, nor up to {BATCH} operations more")


def kill_many_times(n_kills: int, seed: int) -> None:
    rng, there, totals = random.Random(seed), Texts(), []
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        for number in range(n_kills):
            sent, n_answered = run_and_kill(state, rng, there)
            found = stored_texts(state)
            n_more = verify(found, there, sent, n_answered)
            totals.append(n_answered)
            there = found
            print(f"kill {number + 1}: {n_answered} answered, {n_more} more done, {len(there)} documents", flush=True)
    assert sum(totals) > 0
    print(f"{n_kills} kills, {sum(totals)} operations answered, none lost, none doubled")


if __name__ == "__main__":
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache"))
    from textmix.cli import main
    from textmix.stream import lines  # noqa: F401  what is loaded here need not be loaded by each child
    from textmix.stream.durable import Document, DurableStream

    with tempfile.TemporaryDirectory() as warm, DurableStream(warm) as opened:
        opened.add([Document("1", "parcel late"), Document("2", "parcel late courier")])
    gc.collect()
    gc.freeze()
    kill_many_times(int(sys.argv[1]) if len(sys.argv) > 1 else 50, int(sys.argv[2]) if len(sys.argv) > 2 else 0)

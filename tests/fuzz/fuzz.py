"""Random calls of estimators, streams, readers and saved runs, in processes of their own: `make fuzz MINUTES=10`.

Kernels are compiled with bounds checks, so that an index out of range is an error and not damage that shows later. A
fault is an exception that is not a refusal, a wrong result, a process that dies, or a case that does not end. Every
case follows from its subject and number alone; `python tests/fuzz/fuzz.py streams 17` runs case 17 of one again.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("tests", "tests/fuzz", "tests/stream", "tests/corpus")]  # for helpers
SUBJECTS = ("estimators", "streams", "readers", "runs")
SECONDS_PER_CASE = 900.0  # compiling included, on a busy machine; a case takes well under a second otherwise


class Fault(NamedTuple):
    """A case that went wrong."""

    subject: str
    number: int
    what: str


def run_case(subject: str, number: int) -> str:
    """Run one case; returns how it ended ("fitted", "refused", …) or raises."""
    module = importlib.import_module(f"fuzz_{subject}")
    with tempfile.TemporaryDirectory(prefix="textmix-fuzz-") as folder:
        rng = np.random.default_rng([SUBJECTS.index(subject), number] if subject in SUBJECTS else number)
        return str(module.run_case(rng, Path(folder)))


def check_refusal(error: Exception) -> None:
    """What is refused is refused in words."""
    assert str(error).strip(), f"{type(error).__name__} without a message"


class Worker:
    """A process that runs the cases of one subject, and writes their numbers to a file before it begins them."""

    def __init__(self, subject: str, first: int, folder: Path, until: float) -> None:
        self.subject = subject
        self._until = until
        self._log = folder / f"{subject}-{first}"
        self._log.touch()
        self._errors = folder / f"{subject}-{first}-errors"
        with open(self._errors, "wb") as errors:
            command = [sys.executable, __file__, subject, str(first), "--log", self._log, "--seconds"]
            self._process = subprocess.Popen(
                [*command, str(until - time.monotonic())],
                stdout=errors,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(folder)},  # what a case that is killed leaves goes with the folder
            )

    def poll(self) -> tuple[Fault | None, int | None]:
        """A fault, if there is one, and the number to go on with once the process has ended; None: it runs."""
        code = self._process.poll()
        entries = self._log.read_text().split("\n")
        begun = [int(entry) for entry in entries if entry.isdigit()]
        number = begun[-1] if begun else 0
        if code is None:
            waited = time.time() - self._log.stat().st_mtime
            if waited < SECONDS_PER_CASE:
                return None, None
            self._process.kill()
            self._process.wait()
            return Fault(self.subject, number, f"did not end within {SECONDS_PER_CASE:.0f} s"), number + 1
        if code == 0:
            return None, number + 1
        said = self._errors.read_text(errors="replace").strip()
        ending = f"the process was ended by signal {-code}\n{said}" if code < 0 else said
        return Fault(self.subject, number, ending), number + 1

    def outcomes(self) -> Counter[str]:
        """How many cases ended in which way."""
        return Counter(entry for entry in self._log.read_text().split("\n") if entry and not entry.isdigit())

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def work(subject: str, first: int, log: Path, seconds: float) -> None:
    """Run cases until the time is up or one fails."""
    end, number = time.monotonic() + seconds, first
    while time.monotonic() < end:
        _append(log, number)
        _append(log, run_case(subject, number))
        number += 1


def _append(log: Path, entry: object) -> None:
    with open(log, "a") as file:
        file.write(f"{entry}\n")


def fuzz(subjects: tuple[str, ...], minutes: float, first: int, n_faults: int = 20) -> list[Fault]:
    """Run all subjects side by side; a subject goes on after a fault, until there are too many."""
    until = time.monotonic() + minutes * 60
    faults: list[Fault] = []
    outcomes = {subject: Counter[str]() for subject in subjects}
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker(subject, first, Path(folder), until) for subject in subjects]
        try:
            while workers and len(faults) < n_faults:
                time.sleep(0.2)
                for place, worker in reversed(list(enumerate(workers))):
                    fault, next_number = worker.poll()
                    if fault is not None:
                        faults.append(fault)
                        print(f"FAULT {fault.subject} {fault.number}: {fault.what}\n", flush=True)
                    if next_number is not None:
                        outcomes[worker.subject] += worker.outcomes()
                        del workers[place]
                        if fault is not None and time.monotonic() < until:
                            workers.append(Worker(worker.subject, next_number, Path(folder), until))
        finally:
            for worker in workers:
                worker.stop()
                outcomes[worker.subject] += worker.outcomes()
    for subject, counted in outcomes.items():
        ended = ", ".join(f"{n:,} {how}" for how, n in counted.most_common())
        print(f"{subject}: {counted.total():,} cases ({ended})", flush=True)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subject", nargs="?", help=f"{', '.join(SUBJECTS)}; all if left out")
    parser.add_argument("number", nargs="?", type=int, help="the one case to run")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.log is not None:
        try:
            work(given.subject, given.number, given.log, given.seconds)
        except BaseException:
            traceback.print_exc()
            return 1
        return 0
    if given.number is not None:
        print(run_case(given.subject, given.number))
        return 0
    faults = fuzz((given.subject,) if given.subject else SUBJECTS, given.minutes, given.first)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        # Numba reads it when it is imported. Machine code with checks has a cache of its own.
        environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / ".cache" / "bounds-checked")}
        os.environ.update(environment)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.exit(main())

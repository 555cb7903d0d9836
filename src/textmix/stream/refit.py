"""A new fit of the documents that a stream has, in a process of its own: by words alone, otherwise as by default.

As a program, python -m textmix.stream.refit FOLDER SEED, it fits counts.npz of a folder and writes labels.npy there. It
ends, and the folder goes, when its standard input does: should the stream be killed, nothing is left of the fit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

if TYPE_CHECKING:
    from textmix.stream.continuing import Snapshot

COUNTS, LABELS = "counts.npz", "labels.npy"


class RefitSummary(NamedTuple):
    """What a new fit has changed."""

    n_documents: int
    n_moved: int  # documents in clusters of another id
    n_clusters_before: int
    n_clusters: int
    n_same: int  # clusters that kept their ids


class Refit:
    """A new fit of a stream's documents, under way; what it finds is taken over when it has ended.

    Where no document has words there is nothing to fit, and no process is started.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        seed: int,
        take_over: Callable[[Snapshot, NDArray[np.int32]], RefitSummary],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._ended = ended
        self._process = _FitProcess(snapshot.counts, seed) if snapshot.counts.nnz else None
        self._result: Future[RefitSummary] = Future()
        self._thread = threading.Thread(target=self._run, args=(snapshot, take_over), daemon=True)
        self._thread.start()

    def _run(self, snapshot: Snapshot, take_over: Callable[[Snapshot, NDArray[np.int32]], RefitSummary]) -> None:
        try:
            self._result.set_result(take_over(snapshot, self._labels(snapshot)))
        except BaseException as error:
            self._result.set_exception(error)
        self._ended()

    def _labels(self, snapshot: Snapshot) -> NDArray[np.int32]:
        if self._process is None:
            return np.full(snapshot.origins.size, -1, np.int32)
        return self._process.labels()

    @property
    def has_begun(self) -> bool:
        """Whether there was anything to fit."""
        return self._process is not None

    @property
    def is_done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._result.done()

    def wait(self, timeout: float | None = None) -> RefitSummary:
        """What it has changed; RuntimeError if the fit failed, and nothing changed."""
        return self._result.result(timeout)

    def stop(self) -> None:
        """Give up, unless it has ended; the clusters stay as they are."""
        if self._process is not None:
            self._process.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()


class _FitProcess:
    """A fit in a process of its own."""

    def __init__(self, counts: scipy.sparse.csr_array, seed: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="textmix-refit-")
        scipy.sparse.save_npz(Path(self._folder.name) / COUNTS, counts, compressed=False)
        self._process = subprocess.Popen(
            _command(self._folder.name, seed),
            stdin=subprocess.PIPE,  # never written to: its end tells the process that this one has ended
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the stream, which ends this one
        )

    def labels(self) -> NDArray[np.int32]:
        """Wait for the labels; RuntimeError with the reason if there are none."""
        try:
            with self._process as process:
                assert process.stderr is not None
                said = process.stderr.read().decode(errors="replace")
                process.wait()  # while its standard input is open
            if process.returncode != 0:
                reason = (said.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
                raise RuntimeError(f"the new fit failed, the clusters stay as they are: {reason}")
            labels: NDArray[Any] = np.load(Path(self._folder.name) / LABELS)
            return labels
        finally:
            self._folder.cleanup()

    def stop(self) -> None:
        """Give up; `labels` then fails."""
        self._process.kill()


def _command(folder: str, seed: int) -> list[str]:
    return [sys.executable, "-m", __name__, folder, str(seed)]


def main(folder: str, seed: str) -> None:
    """Fit the counts in a folder and write their labels there."""
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    from textmix.estimators import ConsensusMixture

    counts = scipy.sparse.load_npz(Path(folder) / COUNTS)
    model = ConsensusMixture(random_state=int(seed), progress=False, n_jobs=1).fit(scipy.sparse.csr_array(counts))
    np.save(Path(folder) / LABELS, model.labels_)


def _end_with_parent(folder: str) -> None:
    """Wait for the end of standard input, then end this process at once."""
    os.read(0, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])

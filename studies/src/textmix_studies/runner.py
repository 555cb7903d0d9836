"""Runs the cells of a study side by side, keeps what is finished, goes on after an interruption."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from threadpoolctl import threadpool_limits

from textmix.inference.progress import Progress
from textmix_studies import collections
from textmix_studies.store import CellStore, identity
from textmix_studies.study import Cell, Result, Results, Study, Values

ENDED = "its process was ended from outside (for lack of memory?)"

Named = tuple[Cell, str]  # a cell and its identity


def run_cells(
    study: Study,
    cells: Sequence[Cell],
    store: CellStore,
    data: Path,
    *,
    jobs: int,
    progress: Progress,
    tell: Callable[[str], None],
    anew: bool = False,
    versions: str = "",
) -> Results:
    """Compute all cells that are not in the store, or all (anew).

    A cell that fails is told and has its reason in the results. Only one run at a time works with a store.
    """
    collections.use(data)
    keys = [identity(cell, collections.fingerprint(cell.collection)) for cell in cells]
    if len(set(keys)) < len(keys):
        raise AssertionError("two cells of a study have the same arguments")
    found = {} if anew else store.read(zip(cells, keys, strict=True))
    reasons = {cell.collection: collections.why_missing(cell.collection) for cell in cells}
    left = [
        (cell, key) for cell, key in zip(cells, keys, strict=True) if key not in found and not reasons[cell.collection]
    ]
    if found and left:
        tell(f"{len(found):,} of {len(cells):,} cells were done already")
    failed: dict[str, Result] = {}
    store.hold()
    try:
        with progress.task(study.name, total=len(cells)) as task:
            task.advance(len(cells) - len(left))

            def keep(key: str, result: Result) -> None:
                if result.values is None:
                    failed[key] = result
                    tell(f"{describe(result.cell)} failed: {result.reason}")
                else:
                    found[key] = result._replace(versions=versions)
                    store.append(key, found[key])
                task.advance(1)

            together = [pair for pair in left if not pair[0].alone]
            _run(study, together, data, jobs, keep)
            _run(study, [pair for pair in left if pair[0].alone], data, 1, keep)
    finally:
        store.close()
    results = []
    for cell, key in zip(cells, keys, strict=True):
        known = found.get(key) or failed.get(key)
        results.append(known or Result(cell, None, reason=reasons[cell.collection]))
    return Results(results)


def describe(cell: Cell) -> str:
    """A cell by its part and arguments."""
    return f"{cell.part} ({', '.join(f'{name}={value}' for name, value in cell.arguments.items())})"


def _run(study: Study, cells: Sequence[Named], data: Path, jobs: int, keep: Callable[[str, Result], None]) -> None:
    """Compute cells in processes of one thread each.

    A process that is ended from outside takes those beside it along: they are computed again, one at a time.
    """
    waiting = list(reversed(cells))
    while waiting:
        broken = _run_in_pool(study, waiting, data, jobs, keep)
        for cell, key in broken:
            if len(broken) == 1 or _run_in_pool(study, [(cell, key)], data, 1, keep):
                keep(key, Result(cell, None, reason=ENDED))


def _run_in_pool(
    study: Study, waiting: list[Named], data: Path, jobs: int, keep: Callable[[str, Result], None]
) -> list[Named]:
    """Compute cells, last first, until none waits, or a process is ended from outside; the cells that ran then."""
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_prepare, initargs=(data,))
    running: dict[Future[tuple[Values | None, float, str]], Named] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:  # no more than are running, so that Ctrl-C ends soon
                cell, _ = waiting[-1]
                future = pool.submit(_compute, study.parts[cell.part], cell.arguments)
                running[future] = waiting.pop()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                values, seconds, reason = future.result()
                cell, key = running.pop(future)
                keep(key, Result(cell, values, seconds, reason))
    except BrokenProcessPool:
        return list(running.values())
    finally:
        for process in list((pool._processes or {}).values()):
            if running:
                process.terminate()
        pool.shutdown(cancel_futures=True)
    return []


def _prepare(data: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    collections.use(data)


def _compute(work: Callable[..., Values], arguments: Values) -> tuple[Values | None, float, str]:
    started = time.perf_counter()
    try:
        values = work(**arguments)
    except Exception as error:  # whatever it is, the other cells go on
        return None, time.perf_counter() - started, f"{type(error).__name__}: {error}"
    return values, time.perf_counter() - started, ""

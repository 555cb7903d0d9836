"""Cells are computed side by side, kept one by one, and not computed twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_study import make_study

from textmix.inference.progress import Progress
from textmix_studies.runner import ENDED, run_cells
from textmix_studies.store import CellStore, identity
from textmix_studies.study import Cell, Result

TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def run(tmp_path):
    log, told = tmp_path / "log", []

    def run(*numbers, anew=False, **settings):
        study = make_study(log, numbers, **settings)
        store = CellStore(tmp_path / "cells.jsonl")
        results = run_cells(
            study, study.plan(False), store, tmp_path, jobs=2, progress=Progress(False), tell=told.append, anew=anew
        )
        return results

    run.log, run.told = log, told
    return run


def computed(log: Path) -> list[int]:
    return sorted(int(line) for line in log.read_text().split()) if log.exists() else []


def test_all_cells_are_computed_in_the_order_of_the_plan(run):
    assert run(3, 7, 1, 2).values("square", "square") == [9, 49, 1, 4]
    assert computed(run.log) == [1, 2, 3, 7]


def test_what_is_finished_is_not_computed_again(run):
    run(1, 2)
    assert run(1, 2, 3).values("square", "square") == [1, 4, 9]
    assert computed(run.log) == [1, 2, 3]
    assert run.told == ["2 of 3 cells were done already"]


def test_a_cell_that_fails_has_its_reason_and_the_others_go_on(run):
    results = run(1, 13, 2)
    assert results.values("square", "square") == [1, 4]
    assert results.missing() == {"ValueError: thirteen": 1}
    assert len(run.told) == 1
    assert "number=13" in run.told[0]
    assert "thirteen" in run.told[0]
    run(1, 13, 2)
    assert computed(run.log) == [1, 2]  # the one that failed is tried again


def test_a_collection_that_is_not_at_hand_is_the_reason(run):
    results = run(1, 99, collection="sports")
    assert results.missing() == {"sports is not at hand (no sports.jsonl.gz)": 1}
    assert computed(run.log) == [1]


@pytest.mark.parametrize("numbers", [(1, 66, 2, 3, 4), (66, 1), (66,)])
def test_a_cell_whose_process_is_ended_is_named_and_the_others_go_on(run, numbers):
    results = run(*numbers, wait=0.1)
    assert sorted(results.values("square", "square")) == sorted(n * n for n in numbers if n != 66)
    assert results.missing() == {ENDED: 1}
    assert [("number=66" in message, ENDED in message) for message in run.told] == [(True, True)]


def test_computed_anew_a_cell_replaces_what_was_kept_and_others_stay(run, tmp_path):
    run(1, 2)
    lines = (tmp_path / "cells.jsonl").read_text()
    run(1, anew=True)
    assert computed(run.log) == [1, 1, 2]
    assert (tmp_path / "cells.jsonl").read_text().startswith(lines)
    run(1, 2)
    assert computed(run.log) == [1, 1, 2]


def test_a_second_run_in_the_same_folder_is_refused(run, tmp_path):
    other = CellStore(tmp_path / "cells.jsonl")
    other.hold()
    with pytest.raises(ValueError, match="another run works in"):
        run(1)
    other.close()
    assert run(1).values("square", "square") == [1]


def test_two_cells_of_one_name_are_a_mistake(run):
    with pytest.raises(AssertionError, match="same arguments"):
        run(1, 1)


SCRIPT = """
import sys
from pathlib import Path
from tiny_study import make_study
from textmix.inference.progress import Progress
from textmix_studies.runner import run_cells
from textmix_studies.store import CellStore

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    study = make_study(folder / "log", tuple(range(20, 32)), wait=0.3)
    store = CellStore(folder / "cells.jsonl")
    results = run_cells(study, study.plan(False), store, folder, jobs=2, progress=Progress(False), tell=print)
    print(results.values("square", "square"))
"""


def start(script: Path, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    return subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_was_ended_goes_on_where_it_was(ending, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = start(script, tmp_path)
    stored = tmp_path / "cells.jsonl"
    while not stored.exists() or stored.read_text().count("\n") < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.killpg(process.pid, ending)
    process.communicate()
    assert process.returncode != 0
    kept = stored.read_text().count("\n")
    assert 3 <= kept < 12
    output, error = start(script, tmp_path).communicate()
    assert f"{[n * n for n in range(20, 32)]}" in output, error
    done = computed(tmp_path / "log")
    assert set(done) == set(range(20, 32))
    assert len(done) <= 12 + 2  # the two that were running had perhaps written that they were done


def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_whole(tmp_path):
    first, second = Cell("a", {"seed": 0}), Cell("a", {"seed": 1})
    store = CellStore(tmp_path / "cells.jsonl")
    store.append("1", Result(first, {"x": 1.5}, 2.0))
    store.close()
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + whole[:20])
    store.append("2", Result(second, {"x": None}))
    store.close()
    found = store.read([(first, "1"), (second, "2"), (second, "3")])
    assert found == {"1": Result(first, {"x": 1.5}, 2.0), "2": Result(second, {"x": None})}


def test_a_cell_is_another_with_other_arguments_or_data():
    cell = Cell("a", {"seed": 0, "k": 5}, "T")
    same = Cell("a", {"k": 5, "seed": 0}, "T", alone=True)
    others = [Cell("b", cell.arguments), Cell("a", {"seed": 1, "k": 5})]
    assert identity(cell, "T:10") == identity(same, "T:10")
    assert len({identity(cell, "T:10"), identity(cell, "T:11"), *(identity(c, "T:10") for c in others)}) == 4

"""The folder of a run: what may be overwritten, what counts as complete."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from textmix.corpus.files import write_files
from textmix.results.folder import FORMAT, RUN_FILE, VERSION, check_destination, read_manifest, write_run


def write_two(folder: Path) -> None:
    (folder / "table.csv").write_text("a\n1\n")
    (folder / "model").mkdir()
    (folder / "model" / "x.json").write_text("{}")


def test_a_written_run_is_complete_and_leaves_nothing_else(tmp_path):
    write_run(tmp_path / "a" / "run", write_two, {"seed": 3})
    assert read_manifest(tmp_path / "a" / "run")["seed"] == 3
    names = sorted(path.name for path in (tmp_path / "a" / "run").rglob("*"))
    assert names == ["model", "run.json", "table.csv", "x.json"]


def test_run_json_is_moved_last(tmp_path, monkeypatch):
    moved = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (moved.append(Path(b).name), replace(a, b)))
    write_run(tmp_path / "run", write_two, {})
    assert moved[-1] == RUN_FILE
    assert sorted(moved) == ["run.json", "table.csv", "x.json"]


def test_an_empty_folder_is_fine_and_other_files_are_refused(tmp_path):
    check_destination(tmp_path / "new")
    check_destination(tmp_path)
    (tmp_path / "thesis.tex").write_text("years of work")
    for force in (False, True):
        with pytest.raises(ValueError, match="holds other files"):
            check_destination(tmp_path, force=force)


def test_a_foreign_run_json_does_not_make_a_run(tmp_path):
    (tmp_path / RUN_FILE).write_text('{"format": "something else"}')
    with pytest.raises(ValueError, match="holds other files"):
        check_destination(tmp_path, force=True)
    with pytest.raises(ValueError, match="was not written by textmix"):
        read_manifest(tmp_path)


def test_an_earlier_run_is_overwritten_with_force_only(tmp_path):
    write_run(tmp_path, write_two, {"seed": 1})
    with pytest.raises(ValueError, match=r"holds an earlier run.*--force"):
        write_run(tmp_path, write_two, {"seed": 2})
    assert read_manifest(tmp_path)["seed"] == 1
    write_run(tmp_path, write_two, {"seed": 2}, force=True)
    assert read_manifest(tmp_path)["seed"] == 2


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        check_destination(tmp_path / "run")
    with pytest.raises(ValueError, match="cannot be written"):
        check_destination(tmp_path / "run" / "below")


def test_a_failure_while_writing_leaves_an_earlier_run_as_it_was(tmp_path):
    write_run(tmp_path, write_two, {"seed": 1})

    def fail(folder: Path) -> None:
        (folder / "table.csv").write_text("other")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_run(tmp_path, fail, {"seed": 2}, force=True)
    assert read_manifest(tmp_path)["seed"] == 1
    assert (tmp_path / "table.csv").read_text() == "a\n1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "run.json", "table.csv"]


def test_a_failure_while_moving_is_told_from_other_files_and_can_be_repeated(tmp_path, monkeypatch):
    replace = os.replace

    def fail_at_run_json(source, target):
        if Path(target).name == RUN_FILE:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_run_json)
    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path, write_two, {})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="was not saved to its end"):
        read_manifest(tmp_path)
    write_run(tmp_path, write_two, {"seed": 2})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "run.json", "table.csv"]


def test_two_runs_are_not_written_to_one_folder_at_once(tmp_path):
    def write_another_meanwhile(folder: Path) -> None:
        write_two(folder)
        with pytest.raises(ValueError, match=f'another run is writing to "{tmp_path / "run"}"'):
            write_run(tmp_path / "run", write_two, {"seed": 2})

    write_run(tmp_path / "run", write_another_meanwhile, {"seed": 1})
    assert read_manifest(tmp_path / "run")["seed"] == 1
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["model", "run.json", "table.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (b'{"format": "textmix r', "damaged"),
        (b"\xff\xfe", "damaged"),
        (b"[1]", "was not written by textmix"),
        (json.dumps({"format": FORMAT}).encode(), "damaged \\(it has no version\\)"),
        (json.dumps({"format": FORMAT, "version": VERSION + 1}).encode(), "newer textmix"),
    ],
)
def test_a_run_json_that_cannot_be_used_is_reported(tmp_path, content, message):
    (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_manifest(tmp_path)


def test_a_missing_folder_and_one_without_run_json_are_reported(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        read_manifest(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"there is no run\.json in it"):
        read_manifest(tmp_path)


def test_a_disk_that_fills_up_leaves_all_old_files(tmp_path, monkeypatch):
    names = ["a.npy", "b.npy", "c.json"]
    write_files(tmp_path, {name: lambda file: file.write(b"old") for name in names})
    flushed = []

    def fill_up(file):
        flushed.append(file.name)
        if len(flushed) == len(names):
            raise OSError("no space left on device")

    monkeypatch.setattr("textmix.corpus.files.flush", fill_up)
    with pytest.raises(OSError, match="no space"):
        write_files(tmp_path, {name: lambda file: file.write(b"new") for name in names})
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert all((tmp_path / name).read_bytes() == b"old" for name in names)

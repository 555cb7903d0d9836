"""One program at a time works in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from textmix.corpus import folder_lock
from textmix.corpus.folder_lock import FolderLock

SRC = Path(folder_lock.__file__).parents[2]
HOLDER = """
import sys
from pathlib import Path
from textmix.corpus.folder_lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
sys.stdin.readline()
try:
    lock.hold("taken")
except ValueError as error:
    print(error, flush=True)
else:
    print("held", flush=True)
sys.stdin.readline()
lock.release()
"""


def test_of_two_processes_that_begin_at_once_in_a_new_folder_one_has_it(tmp_path):
    folder = tmp_path / "new" / "work"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1, "env": environment}
    with subprocess.Popen(command, **pipes) as one, subprocess.Popen(command, **pipes) as other:
        for each in (one, other):
            each.stdin.write("begin\n")
            each.stdin.flush()
        assert sorted(each.stdout.readline() for each in (one, other)) == ["held\n", "taken\n"]
        for each in (one, other):
            each.stdin.write("end\n")
            each.stdin.flush()
    assert not list(tmp_path.iterdir())  # what was made and stayed empty


def test_folders_that_were_there_or_have_files_stay(tmp_path):
    for folder in (tmp_path, tmp_path / "new" / "work"):
        lock = FolderLock(folder)
        lock.hold("taken")
        (folder / "mine.txt").write_text("mine")
        lock.release()
        assert (folder / "mine.txt").exists()
        FolderLock(folder).hold("taken")


def test_a_folder_that_was_removed_before_its_lock_was_taken_is_made_again(tmp_path, monkeypatch):
    first, second, third = (FolderLock(tmp_path / "work") for _ in range(3))
    first.hold("taken")
    flock = folder_lock.fcntl.flock

    def end_first(descriptor: int, how: int) -> None:
        first.release()  # between opening the folder and locking it
        flock(descriptor, how)

    monkeypatch.setattr(folder_lock.fcntl, "flock", end_first)
    second.hold("taken")
    monkeypatch.undo()
    assert (tmp_path / "work").is_dir()
    with pytest.raises(ValueError, match="taken"):
        third.hold("taken")

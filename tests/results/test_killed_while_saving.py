"""A process killed in the middle of saving leaves no half-written file, and no run.json that promises more."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Forks a child for every rename, and every fifth write to the disk (fsync); the child kills itself there.
SCRIPT = """
import os, shutil, signal, sys
from pathlib import Path
import textmix

folder = Path(sys.argv[1])
first, second = (textmix.cluster(["red apple", "green apple", "fast car", f"slow car {word}"]) for word in ("a1", "b2"))


def save_and_die(clustering, target, name, number):
    original, calls = getattr(os, name), [0]

    def deadly(*arguments):
        calls[0] += 1
        if calls[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    child = os.fork()
    if child == 0:
        setattr(os, name, deadly)
        clustering.save(target, force=True)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(target):
    files = (path for path in target.rglob("*") if path.is_file() and ".tmp" not in str(path))
    return {str(path.relative_to(target)): path.read_bytes() for path in files}


def save_in_child(clustering, target):
    assert save_and_die(clustering, target, "fsync", 10**9) == 0
    return contents(target)


whole = [save_in_child(clustering, folder / f"whole{i}") for i, clustering in enumerate((first, second))]
assert whole[0].keys() == whole[1].keys() and "run.json" in whole[0]
differing = {name for name in whole[0] if whole[0][name] != whole[1][name]}
assert "assignments.csv" in differing
kills = 0
for name, step in (("fsync", 5), ("replace", 1)):
    number = 1
    while True:
        target = folder / f"{name}{number}"
        shutil.copytree(folder / "whole0", target)
        code = save_and_die(second, target, name, number)
        if code == 0:
            break
        assert code == -signal.SIGKILL, code
        kills += 1
        found = contents(target)
        for file, content in found.items():
            if file != "run.json":  # its timings differ
                assert content in (whole[0][file], whole[1][file]), (name, number, file)
        if "run.json" in found:
            versions = {i for i in (0, 1) if all(found[f] == whole[i][f] for f in differing - {"run.json"})}
            assert versions, (name, number, "run.json beside files of two runs")
            assert found.keys() == whole[0].keys()
            textmix.load(target)
        last = target
        number += step
    save_in_child(second, last)  # saving again works
    assert not list(last.glob(".textmix-*"))
print(kills)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_a_kill_at_any_write_or_rename_leaves_whole_files_only(tmp_path):
    result = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 30

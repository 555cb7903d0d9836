"""The tests pass in any environment: variables of the shell and ignored signals do not reach them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_ci_passes_on_what_pip_needs_and_nothing_else(tmp_path):
    """.ci/run calls make; here a stand-in prints the environment it gets."""
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$@"\nenv\ncat "$HOME/.pip/pip.conf"\n')
    make.chmod(0o755)
    config = tmp_path / "home" / ".config" / "pip" / "pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text("[global]\ntimeout = 61\n")
    given = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "PYTHONUNBUFFERED": "1",
        "CI": "1",
    }
    kept = {"PIP_INDEX_URL": "file:///somewhere else", "HTTPS_PROXY": "http://127.0.0.1:1"}
    ran = subprocess.run([ROOT / ".ci" / "run"], env={**given, **kept}, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert [line for line in lines if line in ("browser", "test")] == ["browser", "test"]
    variables = dict(line.split("=", 1) for line in lines[lines.index("test") + 1 :] if "=" in line)
    assert {name: variables[name] for name in kept} == kept
    assert not {"PYTHONUNBUFFERED", "CI"} & set(variables)
    assert variables["HOME"] != given["HOME"]
    assert variables["PIP_CACHE_DIR"] == f"{given['HOME']}/.cache/pip"
    assert "timeout = 61" in lines
    assert not Path(variables["HOME"]).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_is_heard_although_the_parent_ignores_it():
    script = "import signal; {}; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    heard = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for first in ("pass", "import conftest"):
            command = [sys.executable, "-c", script.format(first)]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            heard.append(ran.stdout.strip())
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["False", "True"]

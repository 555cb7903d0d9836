"""Set-up shared by all tests: where compiled kernels are kept, where the real data lie."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import settings
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

# The same examples at every run.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

# A shell that starts the tests in the background makes them, and every process they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent

# Kernels are compiled into a folder of the project; textmix.kernels.jit adds a hash of the sources to its name.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache"))

_compile = Dispatcher.compile
_being_compiled: set[str] = set()


def _compile_once(dispatcher: Dispatcher, signature: object) -> object:
    """Compile a kernel that another test process is compiling by waiting for it, then reading what it wrote.

    No two processes can wait for each other: a process that waits holds the locks of kernels that call this one.
    """
    name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"
    if not name.startswith("textmix.kernels.") or name in _being_compiled:
        return _compile(dispatcher, signature)
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with global_compiler_lock, open(folder / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _being_compiled.add(name)
        try:
            return _compile(dispatcher, signature)
        finally:
            _being_compiled.remove(name)


Dispatcher.compile = _compile_once


def pytest_collection_finish() -> None:
    """Let garbage collections pass over what was imported: large runs ask for them, some 0.3 s each otherwise."""
    gc.collect()
    gc.freeze()
    gc.callbacks.append(_time_collection)


_collection = {"began": 0.0, "was_slow": False}


def _time_collection(phase: str, info: dict) -> None:
    if phase == "start":
        _collection["began"] = time.perf_counter()
    elif info["generation"] == 2 and time.perf_counter() - _collection["began"] > 0.02:
        _collection["was_slow"] = True


def pytest_runtest_logfinish() -> None:
    """And over what has come to stay since, such as what compiling a kernel leaves behind."""
    if _collection["was_slow"]:
        gc.collect()
        gc.freeze()
        _collection["was_slow"] = False


def pytest_sessionfinish() -> None:
    """At exit all is collected, as in a program."""
    if _time_collection in gc.callbacks:
        gc.callbacks.remove(_time_collection)
    gc.unfreeze()


def data_folder() -> Path:
    """Where the labelled collections lie: TEXTMIX_DATA, or ../shared/data beside the project."""
    return Path(os.environ.get("TEXTMIX_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = data_folder()
    if not (folder / "Tweet.jsonl.gz").exists():
        pytest.skip("no labelled collections here: set TEXTMIX_DATA to their folder")
    return folder


@pytest.fixture
def program(capsys, monkeypatch):
    """Run the program with arguments: exit code, standard output, standard error."""
    from textmix.cli import main

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["textmix", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main.run()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call

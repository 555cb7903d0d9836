"""The only file that names numba.njit: how every kernel is compiled and where its machine code is kept.

Numba's cache notices a change in the file of the function that was compiled, not one in a function that it calls from
another file. So the cache folder is named by a hash of all kernel sources: a change anywhere gives a new folder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.options import DefaultOptions


def _sources_hash() -> str:
    """A short hash of every source file in this folder."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _cache_folder() -> str | None:
    """A writable folder for compiled kernels, or None where there is none."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    user_cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    root = Path(chosen) if chosen else Path(user_cache) / "textmix"
    folder = root / f"kernels-{_sources_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    return str(folder)


_CACHE_FOLDER = _cache_folder()


def kernel(function: Callable[..., Any] | None = None, *, allocates: bool = True) -> Any:
    """Compile a function of arrays, numbers and NamedTuples of them, without the GIL, its machine code kept on disk.

    One that makes no arrays (allocates=False) is compiled without reference counting, which Numba otherwise does for
    every array of a NamedTuple at every assignment: half the time of a sweep over short documents.
    """
    if function is None:
        return lambda decorated: kernel(decorated, allocates=allocates)
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if not allocates and hasattr(DefaultOptions, "_nrt"):
        settings["_nrt"] = False
    if _CACHE_FOLDER is None:
        return numba.njit(**settings)(function)
    # Numba reads the folder when the decorator runs; other users of Numba in this process keep theirs.
    config: Any = numba.config
    previous = config.CACHE_DIR
    config.CACHE_DIR = _CACHE_FOLDER
    try:
        return numba.njit(cache=True, **settings)(function)
    finally:
        config.CACHE_DIR = previous


def inline(function: Callable[..., Any]) -> Any:
    """Compile a function that is only ever called from kernels by copying it into them.

    A call that passes NamedTuples of arrays costs some 300 ns, since every array's reference count is raised and
    lowered; a copied body costs nothing.
    """
    return numba.njit(error_model="numpy", inline="always")(function)

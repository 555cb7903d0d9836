"""A saved run, changed by a stranger who corrects the checksums: refused in one sentence, or used without harm."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import tempfile
import tokenize
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from stream_helpers import make_texts

import textmix
from fuzz import check_refusal

VALUES = [0, 1, -1, -5, 7, 10**6, 10**9, 2**31 - 1, -(2**31), 2**62]
SPECIAL = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300]
JSON_VALUES = [None, -1, 0, 1e308, "", "x" * 1000, [], {}, [[]], True, "../../etc/passwd", 10**30, "nan"]


@functools.cache
def saved_runs() -> list[Path]:
    """Runs of several models and encoders, made once in a process."""
    folder, texts = Path(tempfile.mkdtemp(prefix="textmix-fuzz-runs-")), make_texts(60)
    settings = [
        {"encoder": None},
        {"encoder": "static"},
        {"encoder": "own"},
        {"model": textmix.algorithm("gsdmm", n_clusters=8, n_sweeps=3)},
        {"model": textmix.algorithm("gsdpmm", n_sweeps=3)},
    ]
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, given in enumerate(settings):
        textmix.cluster(texts, **given).save(folder / str(number))
    return sorted(folder.iterdir())


def run_case(rng: np.random.Generator, folder: Path) -> str:
    runs = saved_runs()
    run = folder / "run"
    shutil.copytree(runs[rng.integers(len(runs))], run)
    if rng.random() < 0.1:
        assert use(run, rng) == "used"
        return "used unchanged"
    files = sorted(path for path in run.rglob("*") if path.is_file())
    chosen = [files[place] for place in rng.choice(len(files), size=int(rng.choice([1, 1, 1, 3])), replace=False)]
    changes = [f"{path.relative_to(run)}: {_change(rng, path)}" for path in chosen]
    correct_checksums(run)
    try:
        return use(run, rng)
    except Exception as error:
        error.add_note("; ".join(changes))
        raise


def _change(rng: np.random.Generator, path: Path) -> str:
    if rng.random() < 0.1:
        return _replace_file(rng, path)
    if path.suffix == ".npy" and rng.random() < 0.8:
        return _change_array(rng, path)
    if path.suffix == ".json" and rng.random() < 0.8:
        return _change_json(rng, path)
    content = bytearray(path.read_bytes())
    place = int(rng.integers(len(content))) if content else 0
    if rng.random() < 0.3:
        path.write_bytes(content[:place])
        return f"cut at {place}"
    content[place : place + 1] = bytes([int(rng.integers(256))])
    path.write_bytes(content)
    return f"byte {place}"


def _replace_file(rng: np.random.Generator, path: Path) -> str:
    kind = str(rng.choice(["missing", "empty", "fifo", "link", "folder", "other"]))
    content = path.read_bytes()
    path.unlink()
    if kind == "empty":
        path.touch()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        beside = path.with_name("elsewhere")
        beside.write_bytes(content)
        path.symlink_to(beside)
    elif kind == "folder":
        path.mkdir()
    elif kind == "other":
        path.write_bytes(rng.bytes(100))
    return kind


def _change_array(rng: np.random.Generator, path: Path) -> str:
    array = np.load(path)
    kind = str(rng.choice(["value", "all", "shorter", "longer", "type", "shape", "header"]))
    if kind == "header":
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({int(rng.choice([10**13, 10**6, 2**62]))},)}}"
        padded = header.ljust(117) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode())
        return kind
    if kind in ("value", "all"):
        changed = array.copy()
        value: Any = (
            SPECIAL[rng.integers(len(SPECIAL))] if array.dtype.kind == "f" else VALUES[rng.integers(len(VALUES))]
        )
        with np.errstate(all="ignore"):
            value = np.array(value).astype(array.dtype)
        if kind == "all":
            changed[...] = value
        elif array.size:
            changed.flat[rng.integers(array.size)] = value
        kind = f"{kind} {value}"
    elif kind == "shorter":
        changed = array[: array.shape[0] // 2] if array.ndim else array
    elif kind == "longer":
        changed = np.concatenate([array, array]) if array.ndim else array
    elif kind == "type":
        changed = array.astype(["int8", "float32", "float64", "uint64", "U3", "complex128", ">i4"][rng.integers(7)])
    else:
        changed = array.reshape(1, *array.shape)
    np.save(path, changed)
    return kind


def _change_json(rng: np.random.Generator, path: Path) -> str:
    content = json.loads(path.read_bytes())
    holder, keys = content, []
    while isinstance(holder, dict | list) and len(holder):
        key = list(holder)[rng.integers(len(holder))] if isinstance(holder, dict) else int(rng.integers(len(holder)))
        keys.append(key)
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.2:
            if isinstance(holder, dict) and rng.random() < 0.2:
                del holder[key]
            else:
                holder[key] = JSON_VALUES[rng.integers(len(JSON_VALUES))]
            break
        holder = holder[key]
    path.write_text(json.dumps(content))
    return f"at {keys}"


def correct_checksums(run: Path) -> None:
    """Make the checksums of a run's folders those of the files as they are now."""
    for kind in ("corpus", "model", "vectors"):
        manifest_path = run / kind / f"{kind}.json"
        try:
            manifest = json.loads(manifest_path.read_bytes()) if manifest_path.is_file() else None
            for name in manifest["checksums"]:
                path = run / kind / name
                if path.is_file() and not path.is_symlink():
                    content = path.read_bytes() if path.suffix == ".json" else np.load(path, allow_pickle=False)
                    manifest["checksums"][name] = zlib.crc32(
                        np.ascontiguousarray(content).data if path.suffix == ".npy" else content
                    )
            manifest_path.write_text(json.dumps(manifest))
        except (ValueError, TypeError, KeyError, EOFError, OSError, MemoryError, tokenize.TokenError):
            continue


def use(run: Path, rng: np.random.Generator) -> str:
    """Load a run and do with it what people do; a ValueError refuses it."""
    try:
        clustering = textmix.load(run)
        assigned = clustering.assign(make_texts(5, seed=int(rng.integers(100))))
        labels = clustering.labels
        rows = (
            clustering.documents.to_dict() if hasattr(clustering.documents, "to_dict") else list(clustering.documents)
        )
        clusters = list(clustering.clusters)
        clustering.report(run.parent / "report.html")
        clustering.save(run.parent / "again")
    except ValueError as error:
        check_refusal(error)
        return "refused"
    assert labels.min(initial=0) >= -1
    assert labels.max(initial=-1) < len(clusters)
    assert np.asarray(assigned.labels).max(initial=-1) < len(clusters)
    assert sum(cluster.size for cluster in clusters) == np.count_nonzero(labels >= 0)
    assert rows is not None
    return "used"

"""What must stay the same bit for bit when code is put in order: hashes of results, kept in golden.json.

`make golden` writes the file anew; do so only where results are meant to change. The hashes hold for the processor and
the versions of packages that the file names, since others round differently.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import scipy.sparse

import textmix

GOLDEN = Path(__file__).with_name("golden.json")
ROOT = Path(__file__).resolve().parents[2]
TICKETS = ROOT / "examples" / "tickets.csv"
PACKAGES = ("duckdb", "numba", "numpy", "scikit-learn", "scipy")
COLLECTIONS = ("synthetic", "tickets", "Tweet", "T", "tr11")
N_TITLES = 3000
OF_THE_CLOCK = ("run", "made_of", "seconds", "versions", "checksums")  # what differs from run to run
SECONDS = re.compile(rb'<div><dt dir="auto">seconds .*</div>\n *|\["seconds [^]]*\],?')  # in a report

DATA = Path(os.environ.get("TEXTMIX_DATA", ROOT.parent / "shared" / "data"))

Hashes = dict[str, str]

_EM = [{"assignment": assignment} for assignment in ("hard", "stochastic", "soft", "annealed")]
_MANY = {"n_clusters": 60, "n_sweeps": 8}
_PROCESS = {"n_start_clusters": 20, "n_sweeps": 8}
ESTIMATORS: dict[str, list[dict[str, Any]]] = {
    "BernoulliMixture": [{"n_clusters": 9, **each} for each in _EM],
    "MultinomialMixture": [{"n_clusters": 9, **each} for each in _EM],
    "VonMisesFisherMixture": [{"n_clusters": 9, **each} for each in _EM] + [{"n_clusters": 9, "kappa": "learned"}],
    "EDCMMixture": [{"n_clusters": 5, "max_iter": 5}, {"n_clusters": 5, "max_iter": 5, "assignment": "hard"}],
    "FeaturePartitionMixture": [
        {"max_clusters": 8, "max_iter": 4},
        {"max_clusters": 8, "max_iter": 4, "partition": False},
        {"max_clusters": 8, "inference": "gibbs", "n_sweeps": 5, "n_kept": 3},
    ],
    "DirichletMultinomialMixture": [
        _MANY,
        {**_MANY, "sampler": "sparse"},
        {**_MANY, "sampler": "dense"},
        {**_MANY, "polish": False, "alpha": "learn", "beta": "learn"},
        {**_MANY, "init": "online"},
        {**_MANY, "inference": "metropolis", "switch": 2},
        {**_MANY, "inference": "parallel", "n_jobs": 2},
        {**_MANY, "inference": "parallel", "engine": "serial", "word_probabilities": "sampled", "leave_out": False},
    ],
    "DirichletProcessMixture": [
        _PROCESS,
        {**_PROCESS, "alpha": "learn", "beta": "learn"},
        {**_PROCESS, "inference": "metropolis", "switch": 2},
        {**_PROCESS, "max_clusters": 15},
    ],
    "ConsensusMixture": [{}, {"n_clusters": 7, "n_runs": 3}, {"duplicates": "once", "granularity": 2.0, "n_runs": 3}],
}


def digest(value: Any) -> str:
    """A short hash of an array, of text, or of a mapping of either."""
    if isinstance(value, Mapping):
        content = "".join(f"{name} {digest(each)}\n" for name, each in sorted(value.items())).encode()
    elif isinstance(value, str):
        content = value.encode()
    elif isinstance(value, bytes):
        content = value
    else:
        array = np.ascontiguousarray(value.toarray() if scipy.sparse.issparse(value) else value)
        content = f"{array.dtype} {array.shape}".encode() + array.tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def made_with() -> dict[str, str]:
    """The processor and the packages on which the last bits of a result depend."""
    processor = f"{llvmlite.binding.get_host_cpu_name()} {digest(llvmlite.binding.get_host_cpu_features().flatten())}"
    return {"processor": processor, **{package: version(package) for package in PACKAGES}}


def make_texts() -> list[str]:
    """Texts of eight subjects, some of them empty, some the same."""
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{each}" for each in rng.zipf(1.6, 7) % 60 + 40 * (number % 8)) for number in range(600)]
    return [*texts, "", "   ", *texts[:40], "only here once", "漢字 ümlaut 🙂"]


@cache
def read_collection(name: str, folder: Path) -> list[Any]:
    """The texts of a collection, or for tr11 its counts."""
    if name == "synthetic":
        return make_texts()
    if name == "tickets":
        with TICKETS.open(newline="", encoding="utf-8") as file:
            return [row["text"] for row in csv.DictReader(file)]
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    return [document.get("text", document.get("counts")) for document in documents][: N_TITLES if name == "T" else None]


@cache
def counts_of(name: str, folder: Path) -> Any:
    """The count matrix of a collection."""
    documents = read_collection(name, folder)
    if isinstance(documents[0], str):
        return textmix.Corpus.from_texts(documents).counts
    rows = [row for row, document in enumerate(documents) for _ in document]
    columns = [int(word) for document in documents for word in document]
    values = [count for document in documents for count in document.values()]
    return scipy.sparse.csr_array((values, (rows, columns)))


def hash_estimator(estimator: str, settings: dict[str, Any], collection: str, folder: Path) -> Hashes:
    """What an estimator says of a collection."""
    counts = counts_of(collection, folder)
    model = getattr(textmix, estimator)(random_state=0, **settings).fit(counts)
    named = ("labels_", "probabilities_", "outlier_scores_", "cluster_sizes_", "cluster_word_counts_")
    hashes = {name: digest(getattr(model, name)) for name in named if hasattr(model, name)}
    trace = {name: values for name, values in model.trace_.items() if name not in OF_THE_CLOCK}
    return hashes | {"trace_": digest(trace), "predict": digest(model.predict(counts[:200]))}


def hash_cluster(settings: dict[str, Any], collection: str, folder: Path) -> Hashes:
    """What `textmix.cluster` says of a collection by words alone."""
    texts = read_collection(collection, folder)
    clustering = textmix.cluster(texts, encoder=None, **settings)
    trace = {name: values for name, values in clustering.trace.items() if name not in OF_THE_CLOCK}
    clusters = [[each.name, each.size, each.stability, list(each.examples)] for each in clustering.clusters]
    return {
        "labels": digest(clustering.labels),
        "probabilities": digest(clustering.probabilities),
        "outlier_scores": digest(clustering.outlier_scores),
        "trace": digest(trace),
        "clusters": digest(json.dumps(clusters)),
        "assign": digest(clustering.assign(texts[:50]).labels),
    }


def hash_stream(collection: str, folder: Path) -> Hashes:
    """What a stream says of a collection as it comes."""
    stream = textmix.StreamClusterer()
    texts = read_collection(collection, folder)[:1000]
    hashes = {}
    for start in range(0, len(texts), 250):
        stream.partial_fit(texts[start : start + 250])
        hashes[f"labels_ {start}"] = digest(stream.labels_)
    return hashes


def hash_run(arguments: list[str]) -> Hashes:
    """The files that the program leaves of the tickets, without what the clock says."""
    from textmix.cli import main

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        given = ["--text", "text", "--id", "id", "--label", "topic", "--encoder", "none"]
        sys.argv = ["textmix", "cluster", str(TICKETS.relative_to(ROOT)), *given, "--out", str(out), "-q", *arguments]
        with chdir(ROOT), suppress(SystemExit):
            main.run()
        assert (out / "run.json").exists()
        files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "trace_seconds.npy")
        return {str(path.relative_to(out)): _digest_file(path) for path in files}


def _digest_file(path: Path) -> str:
    if path.suffix == ".parquet":
        import duckdb

        return digest(repr(duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall()))
    if path.suffix == ".json":
        return digest(json.dumps(_timeless(json.loads(path.read_text(encoding="utf-8"))), sort_keys=True))
    if path.name == "trace.csv":
        with path.open(newline="", encoding="utf-8") as file:
            return digest(json.dumps([_timeless(row) for row in csv.DictReader(file)]))
    return digest(SECONDS.sub(b"", path.read_bytes()) if path.suffix == ".html" else path.read_bytes())


def _timeless(value: Any) -> Any:
    """Without what the clock says, and sums to ten digits: these depend on the order of their terms."""
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in OF_THE_CLOCK}
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _describe(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Hashes]]]:
    """All that is hashed, by name."""
    for collection in COLLECTIONS:
        for estimator, variants in ESTIMATORS.items():
            for settings in variants:
                name = f"{collection}: {estimator}({_describe(settings)})"
                yield name, partial(hash_estimator, estimator, settings, collection, folder)
        if collection == "tr11":
            continue
        for settings in ({}, {"n_clusters": 12, "min_document_frequency": 2}, {"model": "dirichlet-process"}):
            yield f"{collection}: cluster({_describe(settings)})", partial(hash_cluster, settings, collection, folder)
        yield f"{collection}: stream", partial(hash_stream, collection, folder)
    for arguments in (["--time", "created"], ["--memory", "512MB"]):
        yield f"tickets: textmix cluster {' '.join(arguments)}".strip(), partial(hash_run, arguments)


def main() -> None:
    """Write golden.json."""
    found = {}
    for name, compute in cases(DATA):
        found[name] = compute()
        print(name, file=sys.stderr)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(hashes)}" for name, hashes in found.items())
    GOLDEN.write_text(f'{{"made_with": {json.dumps(made_with())},\n"hashes": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main()

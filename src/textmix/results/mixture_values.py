"""What a saved mixture says, checked: parts that agree with each other, and numbers in their ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.matrix import MAX_TOTAL
from textmix.corpus.saved_values import (
    FRACTIONS,
    WHOLE,
    check_number,
    check_positive,
    check_range,
    check_type,
    check_vector,
    sparse_counts,
)
from textmix.inference.pooling import NOT_FITTED, DocumentVectors, ViewWeights
from textmix.inference.votes import Votes
from textmix.kernels.state import Prior

CONSENSUS = "ConsensusMixture"  # the estimator of several runs: its clusters have a stability, and may be known
KNOWN = "known_clusters_"  # of that estimator
TRACE = "trace_"  # before the names of a trace's arrays
VIEW_WEIGHTS = "view_weights"  # how much words and vectors count
VOTE_BETA = "vote_beta"  # of the second step
RANGE = "n_clusters_range"
LEVEL = "level_"  # before the number of a level
ROUNDING = 0.01  # of the length of a vector whose numbers have 2 bytes


def read_values(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `FittedMixture`; KeyError, ValueError or TypeError if these cannot be those of one."""
    labels, sizes, unit = arrays["labels"], arrays["cluster_sizes"], settings["unit"]
    check_vector("labels.npy", labels, WHOLE)
    check_vector("cluster_sizes.npy", sizes, WHOLE)
    check_range("labels.npy", labels, -1, sizes.size - 1)
    check_range("cluster_sizes.npy", sizes, 1, labels.size)
    if not np.array_equal(np.bincount(labels[labels >= 0], minlength=sizes.size), sizes):
        raise ValueError("cluster_sizes.npy does not have the sizes of the clusters in labels.npy")
    check_number("n_words", settings["n_words"], 0, whole=True)
    names = tuple(f"word_counts_{name}" for name in ("data", "indices", "row_starts"))
    files = (f"{names[0]}.npy", f"{names[1]}.npy", f"{names[2]}.npy")
    word_counts = sparse_counts(files, [arrays[name] for name in names], settings["n_words"])
    if word_counts.shape[0] != sizes.size:
        raise ValueError(f"{files[2]} has {word_counts.shape[0]:,} clusters, not {sizes.size:,}")
    check_unit(unit, word_counts)
    for name, kind in (("estimator", str), ("parameters", dict), ("polished", bool), ("converged", bool)):
        check_type(name, settings[name], kind)
    inference = settings.get("inference", "gibbs")
    check_type("inference", inference, str)
    check_number("n_sweeps", settings["n_sweeps"], 0, whole=True)
    check_number("log_joint", settings["log_joint"], -math.inf)
    beta = check_positive("beta", settings["beta"], word_counts.shape[1])
    return {
        "estimator": settings["estimator"],
        "parameters": settings["parameters"],
        "labels": labels.astype(np.int32, copy=False),
        "cluster_sizes": sizes.astype(np.int64, copy=False),
        "cluster_word_counts": word_counts,
        "alpha": check_positive("alpha", settings["alpha"]),
        "beta": beta,
        "prior": _read_prior(settings["prior"], sizes.size),
        "unit": float(unit),
        "polished": settings["polished"],
        "n_identical": _read_n_identical(arrays["twins"], labels.size),
        "trace": _read_trace(arrays),
        "n_sweeps": settings["n_sweeps"],
        "converged": settings["converged"],
        "log_joint": float(settings["log_joint"]),
        "inference": inference,
        "stabilities": _read_stabilities(arrays["stabilities"], sizes.size, settings["estimator"] == CONSENSUS),
        "known_clusters": _read_known_clusters(settings.get(KNOWN, {}), sizes.size),
        "known_documents": _read_documents("known_documents.npy", arrays["known_documents"], labels.size),
        "vectors": _read_vectors(arrays, settings, labels.size),
        "weights": _read_weights(settings),
        "votes": _read_votes(arrays, settings, labels),
        "n_clusters_range": _read_range(settings.get(RANGE)),
        "levels": _read_levels(arrays, sizes.size),
    }


def check_unit(unit: Any, counts: scipy.sparse.csr_array) -> None:
    """Raise ValueError unless these counts, as multiples of the unit, are whole numbers that kernels can add up."""
    check_number("unit", unit, 0.0, 1.0)
    if unit != 1.0 and math.frexp(unit)[0] != 0.5:
        raise ValueError(f"unit is {unit}, not a power of two")
    if unit == 1.0 and counts.dtype.kind == "f" and not np.array_equal(counts.data, np.floor(counts.data)):
        raise ValueError("unit is 1, but there are counts with fractions")
    if not counts.data.sum(dtype=np.float64) <= 2 * MAX_TOTAL * unit:
        raise ValueError(f"unit is {unit}, too small for these counts")


def _read_prior(prior: Mapping[str, Any], n_clusters: int) -> Prior:
    check_type("prior", prior, dict)
    pseudo_counts = np.asarray(prior["pseudo_counts"])
    check_vector("pseudo_counts", pseudo_counts, FRACTIONS)
    if pseudo_counts.size == 0:
        raise ValueError("pseudo_counts is empty")
    check_range("pseudo_counts", pseudo_counts, 0.0, 1e200)
    check_number("concentration", prior["concentration"], 0.0, 1e200)
    check_number("max_clusters", prior["max_clusters"], n_clusters, 2**62, whole=True)
    check_type("labelled", prior["labelled"], bool)
    return Prior(
        pseudo_counts.astype(np.float64), float(prior["concentration"]), prior["max_clusters"], prior["labelled"]
    )


def _read_n_identical(n_identical: NDArray[Any], n_documents: int) -> NDArray[np.int32]:
    check_vector("twins.npy", n_identical, WHOLE, n_documents if n_identical.size else 0)
    check_range("twins.npy", n_identical, 0, n_documents)
    return n_identical.astype(np.int32, copy=False)


def _read_trace(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    trace = {name.removeprefix(TRACE): values for name, values in arrays.items() if name.startswith(TRACE)}
    n_sweeps = next(iter(trace.values())).size if trace else 0
    for name, values in trace.items():
        check_vector(f"{TRACE}{name}.npy", values, FRACTIONS, n_sweeps)
    return trace


def _read_stabilities(stabilities: NDArray[Any], n_clusters: int, needed: bool) -> NDArray[np.float64]:
    check_vector("stabilities.npy", stabilities, "f", n_clusters if needed or stabilities.size else 0)
    check_range("stabilities.npy", stabilities[~np.isnan(stabilities)], 0.0, 1.0)
    return stabilities.astype(np.float64, copy=False)


def _read_known_clusters(known: Any, n_clusters: int) -> dict[str, int]:
    check_type(KNOWN, known, dict)
    for name, label in known.items():
        check_number(f"{KNOWN}: {name[:40]!r}", label, -1, n_clusters - 1, whole=True)
    return dict(known)


def _read_documents(file: str, documents: NDArray[Any], n_documents: int) -> NDArray[np.int64]:
    check_vector(file, documents, WHOLE)
    check_range(file, documents, 0, n_documents - 1)
    return documents.astype(np.int64, copy=False)


def _read_vectors(
    arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], n_documents: int
) -> DocumentVectors | None:
    """The vectors of the documents, if the run has any."""
    if not {"vectors", "vector_rows"} & arrays.keys():
        return None
    matrix, rows = arrays["vectors"], _read_documents("vector_rows.npy", arrays["vector_rows"], n_documents)
    if matrix.dtype != np.float16 or matrix.ndim != 2 or matrix.shape[1] < 2:
        raise ValueError("vectors.npy is not a table of 2-byte numbers")
    if matrix.shape[0] != rows.size or (np.diff(rows) <= 0).any():
        raise ValueError("vectors.npy and vector_rows.npy do not belong together")
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float32))
    wrong = np.flatnonzero(~((np.abs(lengths - 1.0) < ROUNDING) | (lengths == 0.0)))  # NaN and infinity are
    if wrong.size:
        raise ValueError(f"row {wrong[0]:,} of vectors.npy has the length {lengths[wrong[0]]:.3g}, not 1 or 0")
    return DocumentVectors(rows, matrix)


def _read_weights(settings: Mapping[str, Any]) -> ViewWeights:
    """The weights of the views, of a consensus."""
    if settings["estimator"] != CONSENSUS:
        return NOT_FITTED
    weights = settings[VIEW_WEIGHTS]
    check_type(VIEW_WEIGHTS, weights, dict)
    for name in ViewWeights._fields:
        check_number(f"{VIEW_WEIGHTS}: {name}", weights[name], 0.0, 1e6)
    return ViewWeights(**{name: float(weights[name]) for name in ViewWeights._fields})


def _read_range(limits: Any) -> tuple[int, int] | None:
    """The least and the greatest number of clusters that there may be."""
    if limits is None:
        return None
    check_type(RANGE, limits, list)
    least, most = limits
    check_number(RANGE, least, 0, whole=True)
    check_number(RANGE, most, least, whole=True)
    return least, most


def _read_votes(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], labels: NDArray[Any]) -> Votes | None:
    """The votes of the runs, of a consensus that was not made of given labels."""
    if not {"vote_rows", "vote_runs", "vote_found"} & arrays.keys() and VOTE_BETA not in settings:
        return None
    rows, runs, found = (
        _read_documents("vote_rows.npy", arrays["vote_rows"], labels.size),
        *(arrays[name] for name in ("vote_runs", "vote_found")),
    )
    if runs.dtype != np.int32 or runs.ndim != 2 or runs.shape[1] != rows.size or (np.diff(rows) <= 0).any():
        raise ValueError("vote_rows.npy and vote_runs.npy do not belong together")
    check_range("vote_runs.npy", runs.ravel(), -1, max(rows.size - 1, 0))
    check_vector("vote_found.npy", found, WHOLE, labels.size)
    check_range("vote_found.npy", found, -1, labels.size - 1)
    if not np.array_equal(found >= 0, labels >= 0):
        raise ValueError("vote_found.npy and labels.npy do not belong together")
    check_number(VOTE_BETA, settings[VOTE_BETA], 1e-100)
    votes = Votes(rows, runs, found.astype(np.int32, copy=False), float(settings[VOTE_BETA]))
    if votes.following(labels.astype(np.int32, copy=False)) is not votes:
        raise ValueError("the clusters in labels.npy are not merged from those in vote_found.npy")
    return votes


def _read_levels(arrays: Mapping[str, NDArray[Any]], n_clusters: int) -> tuple[NDArray[np.int32], ...]:
    """The groups of the clusters at each level, each made of groups of the next one."""
    levels: list[NDArray[np.int32]] = []
    while (name := f"{LEVEL}{len(levels)}") in arrays:
        groups = arrays[name]
        check_vector(f"{name}.npy", groups, WHOLE, n_clusters)
        check_range(f"{name}.npy", groups, 0, n_clusters - 1)
        if np.unique(groups).size != groups.max(initial=-1) + 1:
            raise ValueError(f"{name}.npy has groups without clusters")
        levels.append(groups.astype(np.int32, copy=False))
    for coarse, fine in pairwise(levels):
        if np.unique(np.column_stack((fine, coarse)), axis=0).shape[0] != np.unique(fine).size:
            raise ValueError("the levels of the saved clusters do not fit into each other")
    return tuple(levels)

"""What users tell of documents beforehand, checked: known clusters, examples of them, weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from textmix.corpus.counting import is_missing
from textmix.estimators.counts import check_counts
from textmix.inference.identical import are_first, group_identical
from textmix.inference.known_clusters import GuidedDocuments, chances_of
from textmix.vectors.source import check_vectors

UNKNOWN = -1


class PriorKnowledge(NamedTuple):
    """What is known of the documents of a fit. Clusters are known by number; `names` has what users call them."""

    names: list[str]
    known: NDArray[np.int32]  # of each document the known cluster it belongs to, −1 for most
    examples: scipy.sparse.csr_array  # documents of known clusters that are not among those to be clustered
    example_of: NDArray[np.int32]
    weights: NDArray[np.float64] | None  # how much each document counts
    example_vectors: NDArray[np.float32] | None = None  # where there is a second view; zeros for those without

    @property
    def n_known(self) -> int:
        """Known clusters."""
        return len(self.names)


def read_knowledge(
    estimator: BaseEstimator,
    counts: scipy.sparse.csr_array,
    y: Any,
    sample_weight: Any,
    examples: Mapping[Any, Any] | None,
    example_vectors: Mapping[Any, Any] | None = None,
    n_dimensions: int | None = None,
) -> PriorKnowledge:
    """Check what a user gives beside the counts; n_dimensions: of the vectors of the documents, None without.

    Examples without words count by their vectors, if they have any.
    """
    n_documents = counts.shape[0]
    names: dict[str, int] = {}
    known = np.full(n_documents, -1, np.int32)
    if y is not None:
        given = column_or_1d(np.asarray(y, dtype=object))
        if given.size != n_documents:
            raise ValueError(f"y has {given.size:,} labels, there are {n_documents:,} documents")
        told = {
            document: _name_of(value)
            for document, value in enumerate(given.tolist())
            if not (is_missing(value) or value == UNKNOWN or str(value).strip() in ("", str(UNKNOWN)))
        }
        names = {name: number for number, name in enumerate(sorted(set(told.values())))}
        known[[*told]] = [names[name] for name in told.values()]
    matrices, example_of, vectors = [], [], [np.zeros((0, n_dimensions or 0), np.float32)]
    if examples is not None and not isinstance(examples, Mapping):
        raise ValueError(f"examples must be {{name: counts}}, not {type(examples).__name__}")
    for name, rows in (examples or {}).items():
        matrix = check_counts(estimator, rows, reset=False).matrix
        own = _check_example_vectors(name, example_vectors, matrix.shape[0], n_dimensions or 0)
        kept = (np.diff(matrix.indptr) > 0) | own.any(axis=1)
        matrices.append(matrix[kept])
        vectors.append(own[kept])
        cluster = names.setdefault(_name_of(name), len(names))
        example_of.append(np.full(matrices[-1].shape[0], cluster, np.int32))
    if matrices:
        stacked = scipy.sparse.csr_array(scipy.sparse.vstack(matrices))
    else:
        stacked = scipy.sparse.csr_array((0, counts.shape[1]), dtype=counts.dtype)
    weights = None if sample_weight is None else check_weights(sample_weight, n_documents)
    clusters = np.concatenate([*example_of, np.empty(0, np.int32)])
    held = None if n_dimensions is None else np.concatenate(vectors)
    return PriorKnowledge(list(names), known, stacked, clusters, weights, held)


def _check_example_vectors(
    name: Any, given: Mapping[Any, Any] | None, n_examples: int, n_dimensions: int
) -> NDArray[np.float32]:
    """The vectors of the examples of one cluster, zeros if there are none; ValueError if they cannot be used."""
    if n_dimensions == 0 or given is None or name not in given:
        return np.zeros((n_examples, n_dimensions), np.float32)
    what = f"vectors of the examples of {name!r}"
    checked = check_vectors(given[name], n_examples, what, some=False)
    if checked.n_dimensions != n_dimensions:
        raise ValueError(
            f"{what} have {checked.n_dimensions:,} dimensions, those of the documents {n_dimensions:,}; "
            "they must come from the same encoder"
        )
    return checked.rows(np.arange(n_examples))


def check_weights(sample_weight: Any, n_documents: int) -> NDArray[np.float64]:
    """Weights of the documents: finite, none negative, not all 0."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    if weights.ndim == 0:
        weights = np.full(n_documents, float(weights))
    if weights.ndim > 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (n_documents,):
        raise ValueError(f"sample_weight has {weights.size:,} weights, there are {n_documents:,} documents")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ValueError(f"sample_weight has {weights[wrong[0]]} at {wrong[0]}; weights are finite, 0 or more")
    if n_documents and not weights.any():
        raise ValueError("all weights in sample_weight are zero: no document counts")
    return weights


def count_once(counts: scipy.sparse.csr_array, known: NDArray[np.int32], unit: float) -> NDArray[np.bool_]:
    """Which documents count when identical ones count once: the first of each kind, of each known cluster if any."""
    groups = group_identical(counts, unit)
    return are_first(groups, known) & ((known >= 0) | ~np.isin(groups, groups[known >= 0]))


def weigh_identical(counts: scipy.sparse.csr_array, knowledge: PriorKnowledge, unit: float) -> PriorKnowledge:
    """The same, each document with the largest weight of those that are identical to it."""
    if knowledge.weights is None:
        return knowledge
    groups = group_identical(counts, unit)
    largest = np.zeros(groups.max(initial=-1) + 1)
    np.maximum.at(largest, groups, knowledge.weights)
    return knowledge._replace(weights=largest[groups])


def know_identical(counts: scipy.sparse.csr_array, knowledge: PriorKnowledge, unit: float) -> PriorKnowledge:
    """The same, with what is identical to a known document or example known too: as most of these are."""
    if knowledge.n_known == 0:
        return knowledge
    n_documents = counts.shape[0]
    groups = group_identical(scipy.sparse.csr_array(scipy.sparse.vstack((counts, knowledge.examples))), unit)
    clusters = np.append(knowledge.known, knowledge.example_of)
    told = np.flatnonzero(clusters >= 0)
    shape = (groups.max(initial=-1) + 1, knowledge.n_known)
    votes = scipy.sparse.csr_array((np.ones(told.size), (groups[told], clusters[told])), shape)
    best = np.where(np.diff(votes.indptr) > 0, np.asarray(votes.argmax(axis=1)).ravel(), -1)
    has_words = np.diff(counts.indptr) > 0
    known = np.where((knowledge.known < 0) & has_words, best[groups[:n_documents]], knowledge.known)
    return knowledge._replace(known=known.astype(np.int32))


class Arranged(NamedTuple):
    """The documents that take part, in the order that sampling wants, and which document each of them is."""

    documents: GuidedDocuments
    rows: NDArray[np.int64]  # from the number of documents of the fit on: examples


def arrange(
    counts: scipy.sparse.csr_array, knowledge: PriorKnowledge, unit: float, order: NDArray[np.int64], *, once: bool
) -> Arranged:
    """Documents of no known cluster, then those of a known one, then examples; `once`: one of those that are identical.

    Documents of each kind come in this order. Documents without words take no part, nor do those of weight 0 whose
    cluster is not known.
    """
    has_words = np.diff(counts.indptr) > 0
    takes_part = has_words.copy()
    if knowledge.weights is not None:
        takes_part &= (knowledge.weights > 0) | (knowledge.known >= 0)
        if has_words.any() and not takes_part.any():
            raise ValueError("no document with words has a weight in sample_weight that is not zero")
    own = order[takes_part[order]]
    if once:
        own = own[count_once(counts[own], knowledge.known[own], unit)]
        knowledge = weigh_identical(counts, knowledge, unit)
    is_known = knowledge.known[own] >= 0
    rows = np.concatenate((own[~is_known], own[is_known]))
    shown = counts[rows]
    known = np.append(knowledge.known[own[is_known]], knowledge.example_of)
    if knowledge.example_of.size:
        shown = scipy.sparse.csr_array(scipy.sparse.vstack((shown, knowledge.examples)))
        rows = np.append(rows, counts.shape[0] + np.arange(knowledge.example_of.size))
    chances = None
    if knowledge.weights is not None:
        free = chances_of(knowledge.weights[own[~is_known]])
        chances = np.append(free, np.ones(known.size))
    return Arranged(GuidedDocuments(shown, known, knowledge.n_known, chances), rows)


def _name_of(value: Any) -> str:
    """What a known cluster is called; 3 and 3.0 are the same."""
    return str(int(value)) if isinstance(value, float | np.floating) and value.is_integer() else str(value)

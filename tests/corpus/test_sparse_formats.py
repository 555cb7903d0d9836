"""Sparse matrices whose index arrays are wrong are refused wherever one comes in: compiled code trusts these arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from textmix import (
    BernoulliMixture,
    ConsensusMixture,
    DirichletMultinomialMixture,
    DirichletProcessMixture,
    EDCMMixture,
    FeaturePartitionMixture,
    FrequencySelector,
    LogIdfWeighting,
    MultinomialMixture,
    StreamClusterer,
    VarianceSelector,
    VonMisesFisherMixture,
)
from textmix.corpus import Corpus
from textmix.corpus.matrix import check_sparse

DENSE = np.array([[2, 1, 0, 0, 3], [1, 2, 0, 1, 0], [0, 0, 3, 1, 0], [0, 1, 2, 2, 1], [4, 0, 0, 1, 1], [0, 0, 1, 1, 2]])


def csr():
    return sparse.csr_array(DENSE)


def with_arrays(matrix, **arrays):
    """The matrix with other index arrays, put in place past its constructor."""
    for name, values in arrays.items():
        setattr(matrix, name, np.array(values))
    return matrix


def with_row_starts(place, value):
    matrix = csr()
    matrix.indptr[place] = value
    return matrix


def with_indices(make, value):
    matrix = make(DENSE)
    matrix.indices[::5] = value
    return matrix


def with_coordinate(axis, value):
    matrix = sparse.coo_array(DENSE)
    matrix.coords[axis][3] = value
    return matrix


def with_row(value):
    matrix = sparse.lil_array(DENSE)
    matrix.rows[0][1] = value
    return matrix


def with_data_row(values):
    matrix = sparse.lil_array(DENSE)
    matrix.data[0] = values
    return matrix


FAULTY = {
    "a column beyond the last": lambda: with_indices(sparse.csr_array, 10**9),
    "the column after the last": lambda: with_indices(sparse.csr_array, 5),
    "a negative column": lambda: with_indices(sparse.csr_array, -1),
    "a far negative column": lambda: with_indices(sparse.csr_matrix, -(10**9)),
    "a column beyond the last, int64": lambda: with_arrays(csr(), indices=csr().indices.astype(np.int64) + 2**40),
    "row starts that fall": lambda: with_row_starts(3, 1),
    "row starts that rise and end at 0": lambda: with_arrays(csr(), indptr=[0, 3, 6, 8, 12, 15, 0]),
    "row starts not from 0": lambda: with_row_starts(0, 1),
    "negative row starts": lambda: with_row_starts(0, -(10**6)),
    "row starts beyond the entries": lambda: with_row_starts(-1, 10**9),
    "too few row starts": lambda: with_arrays(csr(), indptr=csr().indptr[:-2]),
    "too many row starts": lambda: with_arrays(csr(), indptr=[*csr().indptr, csr().nnz]),
    "no row starts": lambda: with_arrays(csr(), indptr=np.empty(0, np.int32)),
    "fewer indices than entries": lambda: with_arrays(csr(), indices=csr().indices[:-3]),
    "fewer entries than indices": lambda: with_arrays(csr(), data=csr().data[:-3]),
    "indices that are fractions": lambda: with_arrays(csr(), indices=csr().indices + 0.5),
    "entries in two dimensions": lambda: with_arrays(csr(), data=np.ones((csr().nnz, 2))),
    "CSC, a row beyond the last": lambda: with_indices(sparse.csc_array, 10**9),
    "CSC, a negative row": lambda: with_indices(sparse.csc_matrix, -3),
    "BSR, a column beyond the last": lambda: with_indices(sparse.bsr_array, 10**9),
    "COO, a row beyond the last": lambda: with_coordinate(0, 10**9),
    "COO, a negative column": lambda: with_coordinate(1, -1),
    "COO, fewer entries than places": lambda: with_arrays(sparse.coo_array(DENSE), data=[1, 2, 3]),
    "LIL, a column beyond the last": lambda: with_row(10**9),
    "LIL, a negative column": lambda: with_row(-7),
    "LIL, a column that no array holds": lambda: with_row(10**19),
    "LIL, more entries than columns": lambda: with_data_row([1] * 100_000),
    "LIL, fewer rows": lambda: with_arrays(sparse.lil_array(DENSE), rows=sparse.lil_array(DENSE).rows[:2]),
    "LIL, a row that is no list": lambda: with_data_row(None),
    "DIA, fewer diagonals": lambda: with_arrays(sparse.dia_array(DENSE), data=sparse.dia_array(DENSE).data[:1]),
}
faulty = pytest.mark.parametrize("make", FAULTY.values(), ids=FAULTY.keys())

QUIET = {"random_state": 0, "progress": False}
ESTIMATORS = [
    DirichletMultinomialMixture(3, n_sweeps=2, **QUIET),
    DirichletProcessMixture(n_sweeps=2, inference="parallel", n_jobs=1, **QUIET),
    ConsensusMixture(n_runs=1, n_sweeps=1, n_jobs=1, **QUIET),
    BernoulliMixture(max_iter=2, **QUIET),
    MultinomialMixture(max_iter=2, **QUIET),
    EDCMMixture(max_iter=2, **QUIET),
    VonMisesFisherMixture(max_iter=2, **QUIET),
    FeaturePartitionMixture(3, max_iter=2, n_init=1, **QUIET),
    StreamClusterer(n_sweeps=1),
    FrequencySelector(0.0, 1.0),
    VarianceSelector(),
    LogIdfWeighting(),
]
WAYS_IN = (
    "fit",
    "partial_fit",
    "predict",
    "predict_proba",
    "score",
    "score_samples",
    "perplexity",
    "transform",
    "assign",
)


@faulty
def test_a_faulty_matrix_is_refused(make):
    with pytest.raises(ValueError, match="sparse matrix"):
        check_sparse(make())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("name", ["a column beyond the last", "row starts that fall", "COO, a row beyond the last"])
def test_every_way_into_an_estimator_refuses_it(estimator, name):
    estimator.fit(csr())
    for way in WAYS_IN:
        if hasattr(estimator, way):
            with pytest.raises(ValueError, match="sparse matrix"):
                getattr(estimator, way)(FAULTY[name]())
    with pytest.raises(ValueError, match="sparse matrix"):
        estimator.fit(Corpus(FAULTY[name](), list("abcde")))


def test_examples_and_scores_of_new_documents_are_checked():
    model, wrong = ConsensusMixture(n_runs=1, n_sweeps=1, n_jobs=1, **QUIET), FAULTY["a negative column"]()
    with pytest.raises(ValueError, match="sparse matrix"):
        model.fit(csr(), examples={"a": wrong})
    with pytest.raises(ValueError, match="sparse matrix"):
        model.fit(csr()).score_new(wrong, np.zeros(6, np.int32))


@faulty
def test_a_corpus_is_not_made_of_it(make):
    with pytest.raises(ValueError, match="sparse matrix"):
        Corpus.from_counts(make())


def test_a_stream_refuses_it_in_a_corpus():
    with pytest.raises(ValueError, match="sparse matrix"):
        StreamClusterer(n_sweeps=1).partial_fit(Corpus(FAULTY["a column beyond the last"](), list("abcde")))


def test_the_message_says_where():
    with pytest.raises(ValueError, match="row 0 has an entry in column 1000000000 of 5"):
        check_sparse(FAULTY["a column beyond the last"]())
    with pytest.raises(ValueError, match="row 2 ends before it begins"):
        check_sparse(FAULTY["row starts that fall"]())


FORMATS = ["csr", "csc", "coo", "lil", "dia", "dok", "bsr"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
def test_every_format_is_taken(kind, make):
    given = make(DENSE).asformat(kind)
    np.testing.assert_array_equal(check_sparse(given).toarray(), DENSE)
    np.testing.assert_array_equal(Corpus.from_counts(given).counts.toarray(), DENSE)
    np.testing.assert_array_equal(given.toarray(), DENSE)


def test_a_good_matrix_is_neither_copied_nor_changed():
    given = sparse.csr_array(DENSE)
    assert check_sparse(given) is given


def test_entries_after_the_last_row_do_not_count():
    given = with_arrays(csr(), data=[*csr().data, -7, 9], indices=[*csr().indices, 10**9, -1])
    np.testing.assert_array_equal(check_sparse(given).toarray(), DENSE)
    expected = DirichletMultinomialMixture(3, n_sweeps=2, **QUIET).fit(DENSE)
    np.testing.assert_array_equal(
        DirichletMultinomialMixture(3, n_sweeps=2, **QUIET).fit(given).labels_, expected.labels_
    )
    assert given.data.size == csr().nnz + 2


def test_unsorted_and_repeated_columns_are_put_in_order_even_where_the_matrix_claims_they_are():
    given = sparse.csr_array(DENSE)
    assert given.has_canonical_format
    given.indices[:3] = [4, 1, 4]
    expected = sparse.csr_array(np.vstack([[0, 1, 0, 0, 5], DENSE[1:]]))
    np.testing.assert_array_equal(Corpus.from_counts(given).counts.indices, expected.indices)
    model, selector = DirichletMultinomialMixture(3, n_sweeps=2, **QUIET), FrequencySelector(0.5, 0.7)
    np.testing.assert_array_equal(model.fit(given).labels_, model.fit(expected).labels_)
    np.testing.assert_array_equal(selector.fit(given).kept_, [False, False, False, False, True])


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array"])
def test_unsigned_indices_are_taken(kind):
    matrix = getattr(sparse, kind)(DENSE)
    if kind == "coo_array":
        matrix.coords = tuple(each.astype(np.uint32) for each in matrix.coords)
    else:
        matrix.indices = matrix.indices.astype(np.uint32)
    np.testing.assert_array_equal(check_sparse(matrix).toarray(), DENSE)

"""Vectors made from the collection itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from textmix.vectors import CountVectors, OwnVectors, own


def random_counts(n_documents: int, n_words: int, seed: int = 0) -> csr_array:
    """Documents of two topics, each with half of the words."""
    random = np.random.default_rng(seed)
    half = n_words // 2
    counts = np.zeros((n_documents, n_words), dtype=np.int32)
    for document in range(n_documents):
        words = random.integers(0, half, size=8) + half * (document % 2)
        np.add.at(counts[document], words, 1)
    return csr_array(counts)


def naive_directions(counts: csr_array, n_dimensions: int) -> np.ndarray:
    """The same, by scikit-learn's TF-IDF and a full decomposition."""
    dampened = counts.astype(float)
    dampened.data = np.log1p(dampened.data)
    transformer = TfidfTransformer().fit(counts)
    weighed = dampened.toarray() * transformer.idf_
    weighed /= np.linalg.norm(weighed, axis=1, keepdims=True)
    directions = np.linalg.svd(weighed, full_matrices=False)[2][:n_dimensions]
    rows = weighed @ directions.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("n_documents", "n_words", "max_dense"),
    [(300, 130, 1000), (130, 300, 1000), (300, 130, 10), (130, 300, 10)],
)
def test_vectors_are_those_of_a_full_decomposition(monkeypatch, n_documents, n_words, max_dense):
    monkeypatch.setattr(own, "MAX_DENSE", max_dense)
    counts = random_counts(n_documents, n_words)
    rows = OwnVectors.fit(counts, seed=0).transform(counts)
    assert rows.dtype == np.float32
    assert rows.shape == (n_documents, 100)
    expected = naive_directions(counts, 100)
    # Directions may be mirrored or, where singular values are close, turned; similarities are not.
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=2e-3)


@pytest.mark.parametrize("max_dense", [1000, 10])
def test_the_same_seed_gives_the_same_numbers(monkeypatch, max_dense):
    monkeypatch.setattr(own, "MAX_DENSE", max_dense)
    counts = random_counts(250, 220)
    first, second = (OwnVectors.fit(counts, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.components, second.components)
    other = OwnVectors.fit(counts, seed=6)
    np.testing.assert_allclose(other.components[:, 0], first.components[:, 0], atol=1e-4)


def test_signs_are_fixed():
    components = OwnVectors.fit(random_counts(200, 60), seed=0).components
    largest = np.abs(components).argmax(axis=0)
    assert (components[largest, np.arange(components.shape[1])] > 0).all()


def test_topics_are_told_apart():
    counts = random_counts(200, 60)
    vectors = OwnVectors.fit(counts, seed=0)
    rows = vectors.transform(counts)
    similarity = rows @ rows.T
    assert similarity[::2, ::2].mean() > similarity[::2, 1::2].mean() + 0.05


def test_rows_have_length_one_or_none():
    counts = csr_array(np.array([[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 3, 1], [2, 0, 0, 1]]))
    rows = OwnVectors.fit(counts, seed=0).transform(counts)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 1], atol=1e-6)


@pytest.mark.parametrize(
    ("counts", "n_dimensions"),
    [
        (np.eye(3), 3),
        (np.ones((5, 4)), 2),  # of rank one: the second dimension is zero
        (np.ones((1, 1)), 2),
        (np.zeros((2, 3)), 2),
        (np.array([[1.5, 0.0, 0.25], [0.0, 0.1, 2.0]]), 2),
    ],
)
def test_small_collections_have_few_dimensions(counts, n_dimensions):
    vectors = OwnVectors.fit(csr_array(counts), seed=0)
    rows = vectors.transform(csr_array(counts))
    assert rows.shape == (len(counts), n_dimensions)
    assert vectors.n_dimensions == n_dimensions
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), counts.any(axis=1), atol=1e-6)


def test_new_documents_are_placed_where_old_ones_like_them_are():
    counts = random_counts(200, 60)
    vectors = OwnVectors.fit(counts, seed=0)
    np.testing.assert_array_equal(vectors.transform(counts[[3, 8]]), vectors.transform(counts)[[3, 8]])


def test_counts_of_other_words_are_refused():
    vectors = OwnVectors.fit(random_counts(50, 20), seed=0)
    with pytest.raises(ValueError, match="the counts have 30 words, but the vectors 20"):
        vectors.transform(random_counts(5, 30))


def test_saved_arrays_give_the_same_vectors():
    counts = random_counts(100, 40)
    vectors = OwnVectors.fit(counts, seed=0)
    arrays = vectors.arrays()
    assert {name: (array.dtype, array.shape) for name, array in arrays.items()} == {
        "idf": (np.dtype(np.float32), (40,)),
        "components": (np.dtype(np.float32), (40, vectors.n_dimensions)),
    }
    loaded = OwnVectors.from_arrays(arrays)
    np.testing.assert_array_equal(loaded.transform(counts), vectors.transform(counts))
    assert loaded.describe() == vectors.describe()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"idf": None}, "lack the array idf"),
        ({"components": None}, "lack the array components"),
        ({"idf": np.ones(3, dtype=np.float32)}, r"damaged: idf is \(3,\)"),
        ({"components": np.ones(40, dtype=np.float32)}, "damaged"),
        ({"components": np.ones((40, 1), dtype=np.float32)}, "damaged"),
        ({"idf": np.full(40, np.nan, dtype=np.float32)}, "must be finite float32"),
        ({"idf": np.ones(40)}, "must be finite float32"),
    ],
)
def test_damaged_arrays_are_refused(changes, message):
    arrays = {**OwnVectors.fit(random_counts(100, 40), seed=0).arrays(), **changes}
    with pytest.raises(ValueError, match=message):
        OwnVectors.from_arrays({name: array for name, array in arrays.items() if array is not None})


def test_the_description_is_json_and_tells_collections_apart():
    first = OwnVectors.fit(random_counts(100, 40), seed=0).describe()
    second = OwnVectors.fit(random_counts(100, 40, seed=1), seed=0).describe()
    assert json.loads(json.dumps(first)) == first
    assert (first["name"], first["dimensions"]) == ("own", 40)
    assert first["weights"] != second["weights"]


def test_rows_are_made_when_asked_for():
    counts = random_counts(100, 40)
    vectors = OwnVectors.fit(counts, seed=0)
    source = CountVectors(vectors, counts)
    assert (source.n_documents, source.n_dimensions) == (100, vectors.n_dimensions)
    chosen = np.array([9, 4, 9])
    np.testing.assert_array_equal(source.rows(chosen), vectors.transform(counts)[chosen])

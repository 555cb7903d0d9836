"""Vectors of the user's: what is accepted, what is refused and how, and rows of length 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textmix.vectors import ArrayVectors, EncodedTexts, check_vectors
from textmix.vectors.source import BLOCK_ROWS, as_unit_rows, blocks

ROWS = [[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]
UNIT = [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]]


def all_rows(source) -> np.ndarray:
    return source.rows(np.arange(source.n_documents))


@pytest.mark.parametrize(
    "vectors",
    [
        ROWS,
        tuple(map(tuple, ROWS)),
        np.array(ROWS),
        np.array(ROWS, dtype=np.float16),
        np.array(ROWS, dtype=np.float32),
        np.array(ROWS, dtype=">f8"),
        np.array(ROWS, dtype=np.int8),
        np.asfortranarray(ROWS),
        pd.DataFrame(ROWS),
        pd.Series(ROWS),
        pd.Series([np.array(row, dtype=np.float32) for row in ROWS]),
        [np.array(row) for row in ROWS],
    ],
    ids=lambda vectors: f"{type(vectors).__name__}-{getattr(vectors, 'dtype', '')}",
)
def test_whatever_holds_numbers_becomes_unit_rows(vectors):
    source = check_vectors(vectors, 3)
    assert isinstance(source, ArrayVectors)
    assert (source.n_documents, source.n_dimensions) == (3, 2)
    rows = all_rows(source)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, UNIT, rtol=1e-6)


class Tensor:
    """As PyTorch's: NumPy cannot take it from a GPU or a graph, and knows no bfloat16."""

    def __init__(self, rows, dtype="torch.float32", *, is_free=False):
        self.rows, self.dtype, self.is_free = rows, dtype, is_free

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.rows, self.dtype, is_free=True)

    def float(self):
        return Tensor(self.rows, is_free=self.is_free)

    def __array__(self, dtype=None, copy=None):
        if not self.is_free or self.dtype == "torch.bfloat16":
            raise TypeError("cannot be converted")
        return np.array(self.rows, dtype=dtype or np.float32)


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_tensors_are_taken_from_wherever_they_are(dtype):
    np.testing.assert_allclose(all_rows(check_vectors(Tensor(ROWS, dtype), 3)), UNIT, rtol=1e-6)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([1.0, 2.0, 3.0], "vectors must have two dimensions (one row per text), not 1"),
        (np.ones((3, 2, 2)), "vectors must have two dimensions (one row per text), not 3"),
        (5.0, "vectors must have two dimensions (one row per text), not 0"),
        (ROWS[:2], "vectors has 2 rows, but there are 3 texts; give one row per text"),
        (np.ones((7_200, 2)), "vectors has 7,200 rows, but there are 3 texts; give one row per text"),
        (np.ones((3, 0)), "vectors has 0 dimensions; a vector needs at least 2 numbers"),
        (np.ones((3, 1)), "vectors has 1 dimension; a vector needs at least 2 numbers"),
        ([["a", "b"]] * 3, "vectors must be numbers, not <U1"),
        (np.ones((3, 2), dtype=complex), "vectors must be numbers, not complex128"),
        (np.array([[1, None]] * 3), "vectors must be numbers, not object"),
        ([[1, 2], [1, 2, 3], [1, 2]], "row 1 of vectors (counted from 0) has 3 numbers, row 0 has 2"),
        (pd.Series([[1, 2], [1], [1, 2]]), "row 1 of vectors (counted from 0) has 1 numbers, row 0 has 2"),
        ([[1, 2], [3, np.nan], [np.inf, 2]], "row 1 of vectors (counted from 0) contains NaN; vectors must be finite"),
        ([[1, 2], [3, 4], [-np.inf, 2]], "row 2 of vectors (counted from 0) contains -infinity"),
        (np.array([[1, np.inf]] * 3, dtype=np.float16), "row 0 of vectors (counted from 0) contains infinity"),
        (np.zeros((3, 4)), "all rows of vectors are zero, so no text has a vector"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(vectors, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        check_vectors(vectors, 3)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_messages_use_the_name_given():
    with pytest.raises(ValueError, match=r"^title\.npy has 1 rows, but there are 2 texts"):
        check_vectors(np.ones((1, 2)), 2, name="title.npy")


def test_a_faulty_row_is_found_in_any_block():
    vectors = np.ones((2 * BLOCK_ROWS + 5, 2), dtype=np.float32)
    vectors[BLOCK_ROWS + 17, 1] = np.nan
    vectors[2 * BLOCK_ROWS + 1, 0] = np.inf
    with pytest.raises(ValueError, match=rf"^row {BLOCK_ROWS + 17:,} of vectors .* contains NaN"):
        check_vectors(vectors, len(vectors))


def test_one_row_that_is_not_zero_suffices():
    vectors = np.zeros((BLOCK_ROWS + 2, 2))
    vectors[-1, 1] = 2
    assert all_rows(check_vectors(vectors, len(vectors)))[-1].tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_memory_map_is_read_row_by_row(tmp_path: Path, dtype):
    vectors = np.random.default_rng(0).normal(size=(50, 8)).astype(dtype)
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    source = check_vectors(mapped, 50)
    assert np.shares_memory(source._array, mapped)
    chosen = np.array([7, 3, 49, 7])
    rows = source.rows(chosen)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(rows, all_rows(source)[chosen])


def test_the_array_is_left_as_it_is():
    vectors = np.array(ROWS)
    rows = all_rows(check_vectors(vectors, 3))
    rows[:] = 9
    np.testing.assert_array_equal(vectors, ROWS)


def test_a_row_does_not_depend_on_those_around_it():
    vectors = np.random.default_rng(1).normal(size=(BLOCK_ROWS + 9, 7))
    together = as_unit_rows(vectors)
    source = ArrayVectors(vectors)
    np.testing.assert_array_equal(all_rows(source), together)
    for row in (0, 5, BLOCK_ROWS, BLOCK_ROWS + 8):
        np.testing.assert_array_equal(source.rows(np.array([row]))[0], together[row])


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-30, 1e30, 1e200, 1e308])
def test_lengths_beyond_the_range_of_squares(size):
    np.testing.assert_allclose(as_unit_rows(np.array([[0.6 * size, 0.8 * size], [0, 0]])), UNIT[:2], rtol=1e-5)


def test_no_rows():
    assert ArrayVectors(np.ones((3, 2))).rows(np.array([], dtype=np.int64)).shape == (0, 2)
    assert list(blocks(0)) == []


class Lengths:
    """Encodes a text as its length, and remembers what it was given."""

    name = "lengths"

    def __init__(self):
        self.given = []

    def encode(self, texts):
        self.given.append(list(texts))
        return np.array([[len(text), 1] for text in texts], dtype=np.float32).reshape(-1, 2)

    def describe(self):
        return {}


def test_only_the_texts_asked_for_are_encoded():
    encoder = Lengths()
    source = EncodedTexts(encoder, ["a", "bb", "ccc", "dddd"])
    assert encoder.given == []
    assert source.n_documents == 4
    assert source.rows(np.array([2, 0])).tolist() == [[3, 1], [1, 1]]
    assert source.n_dimensions == 2
    assert encoder.given == [["ccc", "a"]]


def test_dimensions_cost_one_text():
    encoder = Lengths()
    source = EncodedTexts(encoder, ["a", "bb"])
    assert (source.n_dimensions, source.n_dimensions) == (2, 2)
    assert encoder.given == [["a"]]

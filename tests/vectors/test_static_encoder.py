"""Static word vectors: sums of the pieces' vectors, by a small table and by the one of the package."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from textmix.vectors import StaticEncoder, static
from textmix.vectors.static import load_table

PIECES = ["[PAD]", "[UNK]", "re", "##fund", "money", "late", "parcel", "!", "the"]


def write_table(path: Path, **changes) -> Path:
    vectors = np.random.default_rng(0).integers(-127, 128, size=(len(PIECES), 6)).astype(np.int8)
    arrays = {
        "vectors": vectors,
        "scales": np.linspace(0.001, 0.02, len(PIECES), dtype=np.float32),
        "pieces": np.frombuffer("\n".join(PIECES).encode(), dtype=np.uint8),
    }
    np.savez_compressed(path, **{name: array for name, array in {**arrays, **changes}.items() if array is not None})
    return path


@pytest.fixture
def table(tmp_path) -> Path:
    return write_table(tmp_path / "table.npz")


def expected_vector(path: Path, pieces: list[str]) -> np.ndarray:
    with np.load(path) as arrays:
        rows = arrays["vectors"].astype(float) * np.broadcast_to(arrays["scales"].reshape(-1, 1), (len(PIECES), 1))
    total = np.sum([np.log(1 + pieces.count(piece)) * rows[PIECES.index(piece)] for piece in set(pieces)], axis=0)
    return total / np.linalg.norm(total)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Refund", ["re", "##fund"]),
        ("refund the MONEY!!", ["re", "##fund", "the", "money", "!", "!"]),
        ("parcel, unknown: late", ["parcel", "late"]),
        ("late late parcel", ["late", "late", "parcel"]),
    ],
)
def test_a_text_is_the_sum_of_its_pieces(table, text, pieces):
    rows = StaticEncoder(table).encode([text])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows[0], expected_vector(table, pieces), atol=1e-6)


def test_one_scale_may_serve_all_pieces(tmp_path):
    path = write_table(tmp_path / "scalar.npz", scales=np.float32(0.01))
    row = StaticEncoder(path).encode(["late money"])[0]
    np.testing.assert_allclose(row, expected_vector(path, ["late", "money"]), atol=1e-6)


def test_a_text_without_known_pieces_is_a_zero_row(table):
    rows = StaticEncoder(table).encode(["", "unknown words", "[PAD] [UNK]", "late"])
    assert rows.any(axis=1).tolist() == [False, False, False, True]


def test_no_texts(table):
    assert StaticEncoder(table).encode([]).shape == (0, 6)
    assert StaticEncoder(table).encode([""]).tolist() == [[0.0] * 6]


def test_a_text_has_the_same_vector_in_any_block(table, monkeypatch):
    words = ["refund", "money", "late", "parcel", "!", "the", "unknown"]
    random = np.random.default_rng(3)
    texts = [" ".join(random.choice(words, size=size)) for size in random.integers(0, 40, size=200)]
    together = StaticEncoder(table).encode(texts)
    for n_texts, n_characters in ((1, 10**6), (7, 10**6), (64, 100), (10**6, 1)):
        monkeypatch.setattr(static, "BLOCK_TEXTS", n_texts)
        monkeypatch.setattr(static, "BLOCK_CHARACTERS", n_characters)
        np.testing.assert_array_equal(StaticEncoder(table).encode(texts), together)


def test_blocks_are_bounded_in_texts_and_characters(monkeypatch):
    monkeypatch.setattr(static, "BLOCK_TEXTS", 3)
    monkeypatch.setattr(static, "BLOCK_CHARACTERS", 10)
    texts = ["aaaa", "bbbb", "cccc", "d" * 50, "e", "f", "g", "h"]
    blocks = list(static._text_blocks(texts))
    assert blocks == [["aaaa", "bbbb"], ["cccc"], ["d" * 50], ["e", "f", "g"], ["h"]]


def test_coverage_is_the_share_of_words_that_are_whole_pieces(table):
    encoder = StaticEncoder(table)
    assert encoder.coverage(["money", "late", "refund", "geld"], [5, 1, 2, 2]) == 0.6
    assert encoder.coverage([], []) == 0
    assert encoder.coverage(np.array(["money", "geld"]), np.array([1, 3])) == 0.25


def test_the_description_tells_tables_apart(table, tmp_path):
    other = write_table(tmp_path / "other.npz", scales=np.float32(1))
    first, second = StaticEncoder(table).describe(), StaticEncoder(other).describe()
    assert json.loads(json.dumps(first)) == first
    assert (first["name"], first["dimensions"]) == ("static", 6)
    assert first["weights"] != second["weights"]
    assert first["version"]


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"static word vectors are missing \(.*nowhere.npz\); install textmix again"):
        StaticEncoder(tmp_path / "nowhere.npz")


def test_availability_is_that_of_the_package_file(monkeypatch):
    assert StaticEncoder.is_available()
    monkeypatch.setattr(static, "TABLE_FILE", "nowhere.npz")
    assert not StaticEncoder.is_available()


@pytest.mark.parametrize(
    "changes",
    [
        {"pieces": np.frombuffer(b"one\ntwo", dtype=np.uint8)},
        {"pieces": np.frombuffer(b"\xff\xfe", dtype=np.uint8)},
        {"vectors": np.ones((len(PIECES), 6))},
        {"vectors": np.ones(len(PIECES), dtype=np.int8)},
        {"scales": np.ones(2, dtype=np.float32)},
        {"scales": np.float32(np.nan)},
        {"scales": None},
        {"vectors": np.array([{}])},
    ],
)
def test_a_damaged_table_is_one_sentence(tmp_path, changes):
    encoder = StaticEncoder(write_table(tmp_path / "table.npz", **changes))
    with pytest.raises(ValueError, match=r"table.npz is damaged .*; install textmix again$"):
        encoder.encode(["late"])


def test_what_is_not_a_table_is_one_sentence(tmp_path):
    (tmp_path / "table.npz").write_bytes(b"PK\x03\x04 but no archive")
    with pytest.raises(ValueError, match="is damaged"):
        StaticEncoder(tmp_path / "table.npz").encode(["late"])


def test_the_table_is_read_once_however_many_threads_ask(table, monkeypatch):
    n_threads, reads = 8, []
    read_bytes, ready = Path.read_bytes, threading.Barrier(n_threads)

    def counted(path):
        reads.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    results: list[np.ndarray] = []

    def encode():
        ready.wait()
        results.append(StaticEncoder(table).encode(["late parcel", "refund"]))

    threads = [threading.Thread(target=encode) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reads == [table]
    assert len(results) == n_threads
    assert all(np.array_equal(result, results[0]) for result in results)


def test_threads_share_the_cache_of_words(table, monkeypatch):
    monkeypatch.setattr("textmix.vectors.wordpiece.MAX_CACHED", 5)  # cleared again and again
    texts = [f"late{mark}parcel refund money{mark}" for mark in "!?.,;:-_()" * 50]
    expected = StaticEncoder(table).encode(texts)
    results: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: results.append(StaticEncoder(table).encode(texts[::-1]))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result[::-1], expected) for result in results)
    assert len(results) == 4


def test_copies_do_not_carry_the_table(table):
    encoder = StaticEncoder(table)
    encoder.encode(["late"])
    assert len(pickle.dumps(encoder)) < 500
    for copied in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder)):
        np.testing.assert_array_equal(copied.encode(["late"]), encoder.encode(["late"]))


def test_the_table_of_the_package():
    encoder = StaticEncoder()
    assert load_table()._vectors.dtype == np.int8
    assert encoder.describe()["dimensions"] == 256
    parcel, order, login, nothing = encoder.encode(
        ["My parcel is late.", "where is my package?", "I cannot log in to my account", "ไทย"]
    )
    assert parcel @ order > parcel @ login
    assert not nothing.any()


def test_english_is_covered_and_other_languages_are_not():
    encoder = StaticEncoder()
    english = ["order", "arrived", "three", "weeks", "ago", "want", "money", "back", "device", "update"]
    german = ["bestellung", "angekommen", "obwohl", "wochen", "bezahlt", "paket", "rechnung", "doppelt", "geld"]
    assert encoder.coverage(english, [1] * len(english)) > 0.9
    assert encoder.coverage(german, [1] * len(german)) < 0.2

"""`--encoder` and `--vectors`: how vectors are read, and that they reach the run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textmix.cli.reading import read_documents
from textmix.cli.vectors import VectorColumn, VectorFile, check_options, open_vectors
from textmix.corpus.readers import ReadReport

TEXTS = ["refund money", "money refund bank", "refund bank money", "login password", "password login reset"] * 4
VECTORS = np.random.default_rng(0).normal(size=(len(TEXTS), 6)).astype(np.float32)
VECTORS += np.array([[3.0] * 6 if "money" in text else [-3.0] * 6 for text in TEXTS], dtype=np.float32)


def as_lists(vectors) -> list[str]:
    return [json.dumps(row.tolist()) for row in vectors]


def parse(*batches: list[str], column: str = "embedding") -> np.ndarray:
    source = VectorColumn(column)
    for batch in batches:
        source.add(batch)
    return source.finish(ReadReport())


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "table.csv"
    frame = pd.DataFrame({"text": TEXTS, "embedding": as_lists(VECTORS), "number": range(len(TEXTS))})
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def array(tmp_path) -> Path:
    np.save(tmp_path / "vectors.npy", VECTORS)
    return tmp_path / "vectors.npy"


# Columns


@pytest.mark.parametrize(
    "value",
    ["[0.5, -2e-3, 3]", "[0.5,-2e-3,3]", " [ 0.5 , -2e-3, 3 ] ", "[0.5 -2e-3\n 3]", "(0.5, -2e-3, 3)", "0.5,-0.002,3"],
)
def test_a_list_of_numbers_as_it_may_be_written(value):
    np.testing.assert_allclose(parse([value, "[1, 2, 3]"]), [[0.5, -0.002, 3], [1, 2, 3]])


def test_an_empty_value_is_a_row_of_zeros_wherever_it_is():
    rows = parse(["", ""], ["[]", "[1, 2]", " "], ["", "[3, 4]"], [""])
    assert rows.dtype == np.float32
    assert rows.tolist() == [[0, 0], [0, 0], [0, 0], [1, 2], [0, 0], [0, 0], [3, 4], [0, 0]]


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([["[1, 2]"] * 16 + ["refund"]], "row 17 of column \"embedding\": not a list of numbers: 'refund'"),
        ([["[1, 2]"], ["[1, null]"]], "row 2 of column \"embedding\": not a list of numbers: '[1, null]'"),
        ([["[1, 2", "[1, 2]"]], 'row 1 of column "embedding": not a list of numbers'),
        ([["[1, 2]", "[[1, 2], [3, 4]]"]], 'row 2 of column "embedding": not a list of numbers'),
        ([["[1,,2]"]], 'row 1 of column "embedding": not a list of numbers'),
        ([["größe"]], 'row 1 of column "embedding": not a list of numbers'),
        ([["", "[1, 2, 3]"], ["[1, 2]"]], 'row 3 of column "embedding" has 2 numbers, row 2 has 3'),
        ([["[1, 2]", "[1, NaN]"]], 'row 2 of column "embedding" contains NaN; a text without a vector has an empty'),
        ([["[1, -inf]"]], 'row 1 of column "embedding" contains -infinity'),
        ([["[1, 1e99]"]], 'row 1 of column "embedding" contains infinity'),
        ([["17", "18"]], 'row 1 of column "embedding" is one number; a vector is a list of them'),
        ([["", "[]"], [""]], 'column "embedding" has no vectors: all its values are empty or zero'),
        ([["[0, 0]"]], 'column "embedding" has no vectors'),
        ([], 'column "embedding" has no vectors'),
    ],
)
def test_a_faulty_value_is_named_by_row_and_column(batches, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        parse(*batches)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_columns_of_lists_are_read_from_any_format(tmp_path, kind):
    path = tmp_path / f"table.{kind}"
    lists = [row.tolist() for row in VECTORS]
    lists[3] = None
    frame = pd.DataFrame({"text": TEXTS, "embedding": lists, "other": "x"})
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False)
    documents = read_documents([str(path)], {"text": "text"}, more=["other"], vectors="embedding")
    expected = VECTORS.copy()
    expected[3] = 0
    np.testing.assert_allclose(documents.vectors, expected, rtol=1e-6)
    assert documents.more == {"other": ["x"] * len(TEXTS)}
    assert documents.texts == TEXTS


def test_a_column_may_be_one_that_is_read_anyway(table):
    documents = read_documents([str(table)], {"text": "text"}, more=["embedding"], vectors="embedding")
    np.testing.assert_allclose(documents.vectors, VECTORS, rtol=1e-6)
    assert len(documents.more["embedding"]) == len(TEXTS)


# Files


def test_a_file_stays_on_disk(array, table):
    documents = read_documents([str(table)], {"text": "text"}, vectors=str(array))
    assert isinstance(documents.vectors, np.memmap)
    np.testing.assert_array_equal(documents.vectors, VECTORS)


def test_without_vectors_there_are_none(table):
    assert read_documents([str(table)], {"text": "text"}).vectors is None


def test_what_is_a_file_and_what_a_column(array, tmp_path):
    assert isinstance(open_vectors(str(array)), VectorFile)
    assert isinstance(open_vectors("embedding"), VectorColumn)
    assert isinstance(open_vectors("title.embedding"), VectorColumn)
    np.savez(tmp_path / "vectors.npz", VECTORS)
    with pytest.raises(ValueError, match=r"vectors\.npz\": only \.npy files are read \(numpy\.save\)"):
        open_vectors(str(tmp_path / "vectors.npz"))


def _write_npz(path: Path) -> None:
    with open(path, "wb") as file:
        np.savez(file, VECTORS)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_text("not an array"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x93NUMPY\x01\x00"),
        lambda path: np.save(path, np.array([{}, []], dtype=object), allow_pickle=True),
        _write_npz,
    ],
    ids=["text", "empty", "truncated", "objects", "npz"],
)
def test_what_is_not_an_array_is_one_sentence(tmp_path, write):
    path = tmp_path / "vectors.npy"
    write(path)
    with pytest.raises(ValueError, match=r"vectors\.npy\" \(--vectors\) is not a \.npy file of numbers") as raised:
        open_vectors(str(path))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path):
    with pytest.raises(ValueError, match=r'^no such file: "nowhere\.npy" \(--vectors\)$'):
        open_vectors("nowhere.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ValueError, match=r'^cannot read ".*folder\.npy" \(--vectors\): is a directory$'):
        open_vectors(str(tmp_path / "folder.npy"))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (VECTORS[:7], "vectors.npy has 7 rows, there are 20 texts"),
        (VECTORS[:, 0], "vectors.npy must have two dimensions (one row per text), not 1"),
        (np.float32(1), "vectors.npy must have two dimensions (one row per text), not 0"),
        (VECTORS[:, :1], "vectors.npy has 1 dimension"),
        (np.full((20, 3), "x"), "vectors.npy must be numbers"),
        (np.full((20, 3), np.nan), "row 0 of vectors.npy (counted from 0) contains NaN"),
        (np.zeros((20, 3)), "all rows of vectors.npy are zero"),
    ],
)
def test_an_array_that_does_not_fit_is_one_line(program, table, tmp_path, monkeypatch, vectors, message):
    monkeypatch.chdir(tmp_path)
    np.save("vectors.npy", vectors)
    code, shown, error = program("cluster", table, "--vectors", "vectors.npy")
    assert (code, shown) == (2, "")
    assert error.startswith(f"textmix: {message}")
    assert error.count("\n") == 1


def test_rows_that_were_skipped_are_the_likely_cause(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"text": text}) for text in TEXTS]
    lines[4] = lines[9] = "{broken"
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    np.save("vectors.npy", VECTORS)
    code, _, error = program("cluster", "texts.jsonl", "--vectors", "vectors.npy")
    assert code == 2
    assert error == (
        "textmix: vectors.npy has 20 rows, there are 18 texts: 2 rows were skipped while reading; "
        "repair or remove such rows, and their vectors\n"
    )


# Options


@pytest.mark.parametrize(
    ("encoder", "vectors", "in_memory"),
    [
        (None, None, True),
        ("static", None, True),
        ("none", None, False),
        ("auto", None, False),
        (None, None, False),
        (None, "column", True),
        ("auto", "column", True),
    ],
)
def test_options_that_go_together(encoder, vectors, in_memory):
    check_options(encoder, vectors, in_memory=in_memory)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vectors", "embedding", "--encoder", "static"], "--vectors and --encoder both say where vectors come from"),
        (["--vectors", "embedding", "--encoder", "none"], "--vectors and --encoder both say where vectors come from"),
        (["--encoder", "static", "--memory", "1GB", "--out", "new"], "--encoder static is for runs in memory: with"),
        (
            ["--vectors", "embedding", "--memory", "1GB", "--out", "new"],
            "--vectors is for runs in memory: with --memory",
        ),
        (["--vectors", "x.npy", "--engine", "dask", "--out", "new"], "texts are clustered by words alone"),
        (["--encoder", "statik"], 'encoder must be "auto", "static", "own"'),
        (["--encoder", "sentence-transformers:"], "encoder must be"),
        (["--vectors", "embeding"], 'no column "embeding"'),
        (["--vectors", "text"], 'row 1 of column "text": not a list of numbers'),
        (["--vectors", "number"], 'row 1 of column "number" is one number'),
        (["--vectors", "nowhere.npy"], 'no such file: "nowhere.npy" (--vectors)'),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(program, table, arguments, message):
    code, shown, error = program("cluster", table, *arguments)
    assert (code, shown) == (2, "")
    assert error.startswith("textmix: ")
    assert error.count("\n") == 1
    assert message in error


def test_a_missing_package_is_named(program, table, monkeypatch):
    def not_found(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("textmix.vectors.packages.import_module", not_found)
    code, _, error = program("cluster", table, "--encoder", "model2vec:minishlab/potion-base-8M")
    assert code == 2
    assert error == "textmix: this encoder needs the package model2vec: pip install model2vec\n"


def test_help_explains_both(program):
    shown = program("cluster", "--help")[1]
    assert all(name in shown for name in ("--encoder", "--vectors", "words alone", ".npy"))
    assert "--vectors" in program("assign", "--help")[1]


# Whole runs


def first_line(shown: str) -> str:
    return shown.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "views"),
    [
        (["--encoder", "none"], "words alone"),
        (["--encoder", "NONE"], "words alone"),
        (["--encoder", "static"], "words and static word vectors"),
    ],
)
def test_the_first_line_says_how_texts_are_seen(program, table, arguments, views):
    code, shown, error = program("cluster", table, "--text", "text", *arguments)
    assert code == 0, error
    assert first_line(shown).startswith("Read 20 texts from ")
    assert first_line(shown).endswith(f"stop words left out. Clustered by {views}.")
    result = json.loads(program("cluster", table, "--text", "text", *arguments, "--json")[1])
    assert result["views"] == views


def test_vectors_of_a_file_and_of_a_column_give_the_same_run(program, table, array):
    outputs = [
        json.loads(program("cluster", table, "--text", "text", "--vectors", given, "--json")[1])
        for given in (array, "embedding")
    ]
    assert outputs[0]["views"] == outputs[1]["views"] != "words alone"
    assert outputs[0]["clusters"] == outputs[1]["clusters"]


def test_own_vectors_need_no_package(program, table):
    code, shown, error = program("cluster", table, "--text", "text", "--encoder", "own")
    assert code == 0, error
    assert "words alone" not in first_line(shown)


def test_clusters_on_disk_are_of_words_alone(program, table, tmp_path):
    code, shown, error = program("cluster", table, "--text", "text", "--memory", "1GB", "--out", tmp_path / "run")
    assert code == 0, error
    assert first_line(shown).endswith("Clustered by words alone.")


def test_run_json_names_the_vectors(program, table, array, tmp_path):
    code, _, error = program("cluster", table, "--text", "text", "--vectors", array, "--out", tmp_path / "run")
    assert code == 0, error
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["input"]["columns"]["vectors"] == str(array)


def test_new_texts_of_a_run_with_vectors_need_vectors(program, table, array, tmp_path):
    run = tmp_path / "run"
    code, _, error = program("cluster", table, "--text", "text", "--vectors", "embedding", "--out", run, "--quiet")
    assert (code, error) == (0, "")
    labels = [int(row["cluster"]) for row in csv.DictReader((run / "assignments.csv").open())]
    for given in (array, "embedding"):
        code, shown, error = program("assign", run, table, "--text", "text", "--vectors", given)
        assert code == 0, error
        assert [int(row["cluster"]) for row in csv.DictReader(io.StringIO(shown))] == labels
    code, shown, error = program("assign", run, table, "--text", "text")
    assert (code, shown) == (2, "")
    assert error.count("\n") == 1
    assert "vectors" in error
    np.save(tmp_path / "narrow.npy", VECTORS[:, :4])
    code, shown, error = program("assign", run, table, "--text", "text", "--vectors", tmp_path / "narrow.npy")
    assert (code, shown) == (2, "")
    assert error.count("\n") == 1


def test_new_texts_of_a_run_with_an_encoder_need_none(program, table, tmp_path):
    run = tmp_path / "run"
    assert program("cluster", table, "--text", "text", "--encoder", "static", "--out", run, "--quiet")[0] == 0
    code, shown, error = program("assign", run, table, "--text", "text")
    assert code == 0, error
    assert len(list(csv.DictReader(io.StringIO(shown)))) == len(TEXTS)

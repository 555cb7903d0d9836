"""A run folder from anyone: whatever is wrong in it is one ValueError on loading, with its checksums corrected."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textmix

TEXTS = ["refund money bank", "money refund", "login password", "password login reset", "parcel courier", "", "courier"]
PARTS = {"corpus": "corpus.json", "model": "model.json", "vectors": "vectors.json"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "run"
    n = 4 * len(TEXTS)
    days = [f"2024-03-{day + 1:02}" for day in range(n)]
    kept = {"ids": range(n), "labels": range(n), "times": days}
    clustering = textmix.cluster(TEXTS * 4, 3, y=["a", *[""] * (n - 1)], **kept, encoder="static")
    clustering.rename(0, "first").save(folder)
    return folder


@pytest.fixture
def run(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run", copy_function=shutil.copyfile))


def write_manifest(run: Path, part: str, change: Callable[[dict[str, Any]], object]) -> None:
    path = run / part / PARTS[part]
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def write_array(run: Path, name: str, array: np.ndarray) -> None:
    """Write an array of the run, with its checksum."""
    part, file = name.split("/")
    np.save(run / name, array)
    checksum = zlib.crc32(array.tobytes())
    write_manifest(run, part, lambda manifest: manifest["checksums"].update({file: checksum}))


def write_list(run: Path, name: str, content: bytes) -> None:
    """Write a JSON file of the run, with its checksum."""
    part, file = name.split("/")
    (run / name).write_bytes(content)
    write_manifest(run, part, lambda manifest: manifest["checksums"].update({file: zlib.crc32(content)}))


def with_number(number: float, place: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        changed = array.astype(np.result_type(array.dtype, np.min_scalar_type(number)))
        if changed.size == 0:
            return np.array([number])
        changed[place] = number
        return changed

    return change


SHAPES = {
    "two dimensions": lambda array: array.reshape(1, -1),
    "texts": lambda array: array.astype("U8"),
    "truth values": lambda array: np.ones(array.size, bool),
    "small fractions": lambda array: np.ones(array.size, np.float16),
    "one more": lambda array: np.append(array, array[-1:] if array.size else np.zeros(1, array.dtype)),
}
VALUES = {
    "negative": with_number(-7),
    "huge": with_number(2**40),
    "last huge": with_number(2**40, -1),
    "fraction": with_number(0.5),
    "nan": with_number(math.nan),
    "infinite": with_number(math.inf),
}
ANY_NUMBER = ("corpus/times.npy", "model/trace_")  # of any value, if whole where they were
WHOLE = ("times", "labels", "cluster_sizes", "indices", "row_starts", "twins", "known_documents", "vote_")
ARRAYS = [
    *(f"corpus/{name}.npy" for name in ("data", "indices", "row_starts", "times")),
    *(f"model/word_counts_{name}.npy" for name in ("data", "indices", "row_starts")),
    *(f"model/{name}.npy" for name in ("labels", "cluster_sizes", "twins", "stabilities", "known_documents")),
    *(f"model/{name}.npy" for name in ("vectors", "vector_rows")),
    *(f"model/{name}.npy" for name in ("vote_rows", "vote_runs", "vote_found")),
    "model/trace_n_clusters.npy",
]
FINE = {  # what is nothing to complain of
    ("model/stabilities.npy", "nan"),
    ("model/stabilities.npy", "fraction"),
    ("model/known_documents.npy", "one more"),
    *((name, damage) for name in ARRAYS if name.startswith(ANY_NUMBER) for damage in ("negative", "huge", "last huge")),
    *((name, damage) for name in ARRAYS if "trace" in name for damage in ("fraction", "nan", "infinite")),
}
OPTIONAL = ("corpus/times.npy", "model/trace_n_clusters.npy")
CASES = [(name, damage) for name in ARRAYS for damage in (*SHAPES, *VALUES) if (name, damage) not in FINE]


def test_the_run_itself_is_fine_and_has_all_arrays(saved):
    assert textmix.load(saved).n_clusters > 1
    found = {str(path.relative_to(saved)) for path in saved.rglob("*.npy")}
    assert found - set(ARRAYS) == {f"model/trace_{name}.npy" for name in ("log_joint", "n_moved", "seconds")}
    assert set(ARRAYS) <= found


@pytest.mark.parametrize(("name", "damage"), CASES)
def test_an_array_that_cannot_be_is_refused(run, name, damage):
    write_array(run, name, {**SHAPES, **VALUES}[damage](np.load(run / name)))
    with pytest.raises(ValueError, match=r"is not a complete|do not belong together|cannot be read") as refused:
        textmix.load(run)
    assert str(run) in str(refused.value)


@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in OPTIONAL])
def test_an_array_that_is_not_listed_is_missed(run, name):
    part, file = name.split("/")
    path = run / part / f"{part}.json"
    manifest = json.loads(path.read_text())
    del manifest["checksums"][file]
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=r"is not a complete|do not belong together|cannot be read"):
        textmix.load(run)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("model/stabilities.npy", lambda a: a[:0], r"stabilities\.npy has"),
        ("corpus/indices.npy", lambda a: np.flip(a), r"indices\.npy does not rise within row 0"),
        ("corpus/indices.npy", lambda a: a[[0, 0, *range(2, a.size)]], r"indices\.npy does not rise within row 0"),
        ("corpus/row_starts.npy", lambda a: a[[0, 2, 1, *range(3, a.size)]], r"row_starts\.npy falls"),
        ("corpus/row_starts.npy", lambda a: a[1:], r"row_starts\.npy does not go from 0"),
        ("corpus/row_starts.npy", lambda a: a[:0], r"row_starts\.npy does not go from 0"),
        ("corpus/data.npy", lambda a: a + np.int64(2**58), r"data\.npy adds up to 2\^60 or more"),
        ("corpus/data.npy", lambda a: a + 1, "are not those of the texts of the clusters"),
        ("corpus/data.npy", lambda a: a + 0.25, "counts with fractions"),
        ("model/word_counts_data.npy", lambda a: a + 1, "are not those of the texts of the clusters"),
        (
            "model/labels.npy",
            lambda a: a[::-1],
            r"−1 for the texts without words|are not those of the texts|vote_found\.npy and labels\.npy do not",
        ),
        ("model/labels.npy", lambda a: a[:-1], r"cluster_sizes\.npy does not have the sizes"),
        ("model/vectors.npy", lambda a: a[:-1], "do not belong together"),
        ("model/vectors.npy", lambda a: np.vstack((a, a[:1])), "do not belong together"),
        ("model/vectors.npy", lambda a: a[:, :1], "not a table of 2-byte numbers"),
        ("model/vectors.npy", lambda a: a.astype(np.float32), "not a table of 2-byte numbers"),
        ("model/vectors.npy", lambda a: a.astype(">f2"), "not a table of 2-byte numbers"),
        ("model/vectors.npy", lambda a: a * np.float16(0.5), r"row 0 of vectors\.npy has the length 0\.5, not 1 or 0"),
        ("model/vectors.npy", lambda a: np.vstack((a[:3], 9 * a[3:])), r"row 3 of vectors\.npy has the length 9"),
        ("model/vectors.npy", lambda a: a * np.float16(math.nan), r"row 0 of vectors\.npy has the length nan"),
        ("model/vector_rows.npy", lambda a: a[::-1], "do not belong together"),
        ("model/vector_rows.npy", lambda a: a[[0, 0, *range(2, a.size)]], "do not belong together"),
        ("model/vector_rows.npy", lambda a: a + 1, r"vector_rows\.npy has 28; its numbers go from 0 to 27"),
    ],
)
def test_what_is_wrong_is_named(run, name, change, message):
    write_array(run, name, change(np.load(run / name)))
    with pytest.raises(ValueError, match=message):
        textmix.load(run)


@pytest.mark.parametrize("name", ["vocabulary", "ids", "labels"])
@pytest.mark.parametrize("content", ["[]", "[1]", "{}", "3", "null", "[" * 100_000, '["a"', '["a", "a"]', "\ud800"])
def test_a_list_that_cannot_be_is_refused(run, name, content):
    write_list(run, f"corpus/{name}.json", content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=str(run / "corpus")):
        textmix.load(run)


def test_vectors_that_run_json_does_not_tell_of_are_refused(run):
    path = run / "run.json"
    path.write_text(json.dumps({name: part for name, part in json.loads(path.read_text()).items() if name != "views"}))
    with pytest.raises(ValueError, match=r'run\.json" is damaged \(views is None'):
        textmix.load(run)


def test_vectors_without_the_weights_of_the_views_are_refused(run):
    write_manifest(run, "model", lambda manifest: manifest["settings"].pop("view_weights"))
    with pytest.raises(ValueError, match="there is no 'view_weights'"):
        textmix.load(run)


@pytest.fixture(scope="module")
def saved_with_own_vectors(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "own"
    textmix.cluster(TEXTS * 4, 3, encoder="own").save(folder)
    return folder


@pytest.fixture
def own(saved_with_own_vectors, tmp_path) -> Path:
    return Path(shutil.copytree(saved_with_own_vectors, tmp_path / "own", copy_function=shutil.copyfile))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, change) for name in ("idf", "components") for change in SHAPES.values()),
        *((name, VALUES[damage]) for name in ("idf", "components") for damage in ("huge", "nan", "infinite")),
        *((name, change) for name in ("idf", "components") for change in (lambda a: a[:-1], lambda a: a[:0])),
        *(("components", change) for change in (lambda a: a[:, :1], lambda a: a[:, :-1], lambda a: a.T.copy())),
    ],
)
def test_own_vectors_that_cannot_be_are_refused(own, name, change):
    write_array(own, f"vectors/{name}.npy", change(np.load(own / "vectors" / f"{name}.npy")))
    with pytest.raises(ValueError, match=r"not a complete set of|do not belong together|cannot be read") as refused:
        textmix.load(own)
    assert str(own) in str(refused.value)


NAN, NO_NUMBERS = math.nan, ("x", None, {}, [], True)
SETTINGS = [
    *(("alpha", value) for value in (0, -1, NAN, math.inf, [1, -1], [[1]], *NO_NUMBERS)),
    *(("beta", value) for value in (0, -1, NAN, math.inf, [1, 1], 1e300, *NO_NUMBERS)),
    *(("unit", value) for value in (0, -1, 2, 0.3, NAN, 2.0**-80, *NO_NUMBERS)),
    *(("n_words", value) for value in (3, -1, 2**70, 1.5, *NO_NUMBERS)),
    *(("n_sweeps", value) for value in (-1, 1.5, NAN, *NO_NUMBERS)),
    *(("log_joint", value) for value in (NAN, math.inf, *NO_NUMBERS)),
    *((name, value) for name in ("converged", "polished") for value in (1, "x", None)),
    *((name, value) for name in ("estimator", "inference") for value in (1, None, [])),
    *(("known_clusters_", value) for value in (3, [], {"a": 99}, {"a": -2}, {"a": "0"}, {"a": NAN})),
    *(
        ("parameters", value)
        for value in (3, {"unknown": 1}, {"alpha": -1}, {"n_runs": 10**30}, {"client": "tcp://127.0.0.1:1"})
    ),
    *(("prior", value) for value in (3, {}, [])),
    *(("prior.pseudo_counts", value) for value in ([], [-1], [NAN], [[1]], ["x"], 1, None)),
    *(("prior.concentration", value) for value in (-1, NAN, math.inf, *NO_NUMBERS)),
    *(("prior.max_clusters", value) for value in (0, 1.5, 2**70, NAN, *NO_NUMBERS)),
    *(("prior.labelled", value) for value in (1, None, "x")),
    *(("view_weights", value) for value in (3, None, [], {}, {"words": 1.0})),
    *((f"view_weights.{name}", value) for name in ("words", "vectors") for value in (-1, NAN, math.inf, *NO_NUMBERS)),
]


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_a_setting_of_the_model_that_cannot_be_is_refused(run, name, value):
    *outer, inner = name.split(".")

    def change(manifest: dict[str, Any]) -> None:
        settings = manifest["settings"]
        for key in outer:
            settings = settings[key]
        settings[inner] = value

    write_manifest(run, "model", change)
    with pytest.raises(ValueError, match=r"is not a complete model|settings that cannot be|model this textmix does"):
        textmix.load(run)


TOKENIZER = {"tokenizer": None}


@pytest.mark.parametrize(
    "tokenizer",
    [
        3,
        [],
        {},
        {**TOKENIZER, "unknown": 1},
        {**TOKENIZER, "min_word_length": 0},
        {"tokenizer": 3},
        {"lowercase": True},
    ],
)
def test_settings_of_no_tokenizer_are_refused(run, tokenizer):
    write_manifest(run, "corpus", lambda manifest: manifest["settings"].update({"tokenizer": tokenizer}))
    with pytest.raises(ValueError, match="is not a complete corpus"):
        textmix.load(run)


@pytest.mark.parametrize("name", ["../x.npy", "/etc/hostname", "a/b.npy", "..", "", "x.npy\0", "x.pickle", "é.npy"])
def test_names_that_lead_elsewhere_are_refused(run, name):
    np.save(run / "x.npy", np.zeros(3))
    write_manifest(run, "corpus", lambda manifest: manifest["checksums"].update({name: 0}))
    with pytest.raises(ValueError, match="is not the name of one of its files"):
        textmix.load(run)


@pytest.mark.parametrize(
    "change",
    [
        {"input": 3},
        {"input": {"files": [1]}},
        {"input": {"files": "x"}},
        {"input": {"columns": {"label": 1}}},
        {"input": {"reasons": {"x": "y"}}},
        {"input": {"n_skipped": "x"}},
        {"settings": []},
        {"settings": {"parameters": 3}},
        {"settings": {"tokenizer": 3}},
        {"guidance": 3},
        {"versions": None},
        {"seconds": {"all": "x"}},
        {"names": {"99": "x"}},
        {"names": {"-1": "x"}},
        {"names": {"x": "x"}},
        {"names": {"0": 3}},
        {"names": []},
        {"views": 3},
        {"views": None},
        {"views": {}},
        {"views": {"vectors": None}},
        {"views": {"vectors": "static"}},
        {"views": {"vectors": {}}},
        {"views": {"vectors": {"name": 3}}},
        {"views": {"vectors": {"name": "static", "weights": ["x"]}}},
    ],
)
def test_a_part_of_run_json_that_cannot_be_is_refused(run, change):
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=r'run\.json" is damaged'):
        textmix.load(run)


FILES = ["run.json", "corpus/corpus.json", "corpus/vocabulary.json", "corpus/data.npy", "model/model.json"]
FILES += ["model/labels.npy", "assignments.parquet"]


def make_socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


REPLACEMENTS: dict[str, Callable[[Path, Path], object]] = {
    "pipe": lambda path, before: os.mkfifo(path),
    "link": lambda path, before: path.symlink_to(before),
    "link to nowhere": lambda path, before: path.symlink_to("nowhere"),
    "device": lambda path, before: path.symlink_to("/dev/zero"),
    "folder": lambda path, before: path.mkdir(),
    "socket": lambda path, before: make_socket(path),
    "nothing": lambda path, before: None,
    "empty": lambda path, before: path.touch(),
    "terabyte": lambda path, before: (path.touch(), os.truncate(path, 1 << 40)),
}


@pytest.mark.parametrize("replacement", REPLACEMENTS)
@pytest.mark.parametrize("name", FILES)
def test_only_regular_files_are_read(run, name, replacement):
    before = (run / name).rename(run.parent / "before")
    REPLACEMENTS[replacement](run / name, before)
    with pytest.raises(ValueError, match=Path(name).name.replace(".", r"\.")):
        _ = textmix.load(run).texts


@pytest.mark.parametrize("part", PARTS)
def test_folders_inside_are_no_links(own, part):
    before = (own / part).rename(own.parent / "before")
    (own / part).symlink_to(before)
    with pytest.raises(ValueError, match=f"{part} is a symbolic link"):
        textmix.load(own)


def test_own_vectors_of_an_earlier_run_in_the_folder_are_not_those_of_a_later_one(own):
    textmix.cluster(TEXTS * 4, 3, encoder="static").save(own, force=True)
    again = textmix.load(own)
    assert again.describe_views()["vectors"]["name"] == "static"
    np.testing.assert_array_equal(again.predict(TEXTS), again.labels[: len(TEXTS)])


def test_a_run_without_what_made_its_own_vectors_is_refused(own):
    shutil.rmtree(own / "vectors")
    with pytest.raises(ValueError, match=str(own / "vectors")):
        textmix.load(own)


def header(description: str) -> bytes:
    text = description.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000,), }") + bytes(12),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999999,), }"),
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (-3,), }") + bytes(12),
        header("{'descr': '<i4', 'fortran_order': True, 'shape': (3, 1), }") + bytes(12),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }") + b"cos\nsystem\n(S'true'\ntR.",
        header("{'descr': '<i4', 'fortran_order': False, 'shape': (3,)"),
        header("{'descr': 'x', 'fortran_order': False, 'shape': (3,), }"),
        header("(" * 110),
        b"\x93NUMPY\x03\x00\xff\xff\xff\xff",
        b"PK\x03\x04" + bytes(100),
    ],
)
def test_a_header_that_promises_what_is_not_there_is_refused_before_room_is_made(run, content):
    (run / "model" / "labels.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"labels\.npy is missing or cannot be read"):
        textmix.load(run)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 'text' AS text FROM range(100_000)", "has more rows"),
        ("SELECT 'text' AS text FROM range(3)", "has 3 rows"),
        ("SELECT 7 AS text FROM range(28)", "not all its texts are texts"),
        ("SELECT NULL::VARCHAR AS text FROM range(28)", "not all its texts are texts"),
        ("SELECT 7 AS other FROM range(28)", "is missing or damaged"),
    ],
)
def test_a_table_of_texts_that_cannot_be_is_refused(run, query, message):
    from textmix.corpus.readers.duck import connect

    n_rows = "range(100_000)" if "10_000_000_000" in query else None
    query = query.replace("range(100_000)", n_rows) if n_rows else query
    with connect() as connection:
        connection.execute(f"COPY ({query}) TO '{run / 'assignments.parquet'}' (FORMAT parquet)")
    with pytest.raises(ValueError, match=message):
        _ = textmix.load(run).texts

"""A saved and loaded clustering is the same clustering."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import textmix

WORDS = ["refund", "money", "login", "password", "parcel", "courier", "app", "crash"]


def make_texts(n: int = 120) -> list[str]:
    rng = np.random.default_rng(1)
    texts = []
    for _ in range(n):
        first = 2 * rng.integers(4)
        texts.append(" ".join(rng.choice(WORDS[first : first + 2], 3)) + f" {rng.choice(WORDS)}")
    return [*texts, "", 'odd "text"\nwith\0zero and \ud800 surrogate', "zebra", "zebra"]


@pytest.fixture(scope="module")
def clustering() -> textmix.Clustering:
    texts = make_texts()
    labels = [text.split(" ")[0] for text in texts]
    return textmix.cluster(texts, 5, ids=range(len(texts)), labels=labels)


@pytest.fixture(scope="module")
def saved(clustering, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "run"
    clustering.save(folder, notes={"input": {"n_rows": 124}})
    return folder


@pytest.fixture
def copy(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


def assert_same(one: textmix.Clustering, other: textmix.Clustering) -> None:
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    np.testing.assert_array_equal(one.outliers, other.outliers)
    np.testing.assert_array_equal(one.outlier_scores, other.outlier_scores)
    new = ["refund money", "unknown", "", "courier crash app"]
    np.testing.assert_array_equal(one.predict_proba(new), other.predict_proba(new))
    for before, after in zip(one.assign(new), other.assign(new), strict=True):
        np.testing.assert_array_equal(before, after)
    assert one.trace.keys() == other.trace.keys()
    for name in one.trace:
        np.testing.assert_array_equal(one.trace[name], other.trace[name])


@pytest.mark.parametrize("name", ["format", "version", "settings", "names", "seconds", "result", "counts"])
def test_notes_under_names_that_textmix_uses_are_refused(clustering, tmp_path, name):
    with pytest.raises(ValueError, match=f"notes cannot be called {name}"):
        clustering.save(tmp_path / "run", notes={"project": "tickets", name: {}})
    assert not (tmp_path / "run").exists()


def test_a_loaded_clustering_gives_equal_results(clustering, saved):
    loaded = textmix.load(saved)
    assert_same(clustering, loaded)
    assert loaded.corpus.ids == clustering.corpus.ids
    assert loaded.corpus.labels == clustering.corpus.labels
    assert loaded.estimator.get_params() == clustering.estimator.get_params()
    assert loaded.estimator.top_words(3) == clustering.estimator.top_words(3)
    assert [cluster.words for cluster in loaded.clusters] == [cluster.words for cluster in clustering.clusters]


@pytest.mark.parametrize("polish", [False, True])
def test_a_dirichlet_process_comes_back_equal(tmp_path, polish):
    model = textmix.DirichletProcessMixture(alpha=2.0, polish=polish)
    clustering = textmix.cluster(make_texts(), 7, model=model)
    clustering.save(tmp_path / "run")
    assert_same(clustering, textmix.load(tmp_path / "run"))


def test_how_it_was_sampled_is_kept_but_not_the_cluster_of_machines(tmp_path):
    clustering = textmix.cluster(make_texts(), inference="parallel", n_jobs=1)
    clustering.estimator.set_params(engine="dask", client="tcp://gone:1")
    clustering.save(tmp_path / "run")
    assert "tcp://gone:1" not in (tmp_path / "run" / "model" / "model.json").read_text()
    loaded = textmix.load(tmp_path / "run")
    assert (loaded.estimator.engine, loaded.estimator.client, loaded.estimator.n_jobs) == ("dask", None, 1)
    assert loaded.estimator.inference_ == "parallel"
    assert loaded.info["result"]["inference"] == "parallel"
    assert_same(clustering, loaded)


def test_a_random_generator_as_seed_does_not_hinder_saving(tmp_path):
    clustering = textmix.cluster(make_texts(), np.random.default_rng(3))
    clustering.save(tmp_path / "run")
    assert_same(clustering, textmix.load(tmp_path / "run"))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["seed"] is None


def test_a_loaded_clustering_can_be_saved_again(saved, tmp_path):
    loaded = textmix.load(saved)
    loaded.save(tmp_path / "again")
    for name in ("assignments.csv", "clusters.csv", "trace.csv", "model/labels.npy", "corpus/vocabulary.json"):
        assert (saved / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_texts_survive_but_for_lone_surrogates(clustering, saved):
    expected = [text.replace("\ud800", "\ufffd") for text in clustering.texts]
    assert textmix.load(saved).texts == expected


def test_the_tables_say_what_the_clustering_says(clustering, saved):
    with open(saved / "assignments.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    levels = [f"level_{place}{end}" for place in range(1, len(clustering.levels)) for end in ("", "_name")]
    columns = ["row", "id", "label", "cluster", "name", *levels, "probability", "outlier", "outlier_score", "text"]
    assert list(rows[0]) == columns
    assert [int(row["row"]) for row in rows] == list(range(1, 125))
    assert [int(row["cluster"]) for row in rows] == clustering.labels.tolist()
    names = [clustering.clusters[label].name if label >= 0 else "" for label in clustering.labels]
    assert [row["name"] for row in rows] == names
    assert [row["outlier"] == "true" for row in rows] == clustering.outliers.tolist()
    assert (rows[120]["cluster"], rows[120]["name"], rows[120]["probability"]) == ("-1", "", "")
    with open(saved / "clusters.csv", encoding="utf-8", newline="") as file:
        clusters = list(csv.DictReader(file))
    assert list(clusters[0]) == ["cluster", "name", "size", "share", "stability", *levels, "words", "example"]
    assert [int(row["size"]) for row in clusters] == [cluster.size for cluster in clustering.clusters]
    n_sweeps = len((saved / "trace.csv").read_text().splitlines()) - 1
    assert n_sweeps == clustering.estimator.n_iter_


def test_run_json_holds_settings_versions_seed_and_counts(clustering, saved):
    info = json.loads((saved / "run.json").read_text())
    assert info["format"] == "textmix run"
    assert info["seed"] == 5
    assert {"python", "textmix", "numpy", "numba", "scikit-learn"} <= info["versions"].keys()
    assert info["settings"]["model"] == "ConsensusMixture"
    assert info["settings"]["parameters"]["beta"] == 0.1
    assert info["documents"]["n_documents"] == 124
    assert info["documents"]["n_without_words"] == 1
    assert info["result"]["n_clusters"] == clustering.n_clusters
    assert info["result"]["log_joint_trace"]["last"] == clustering.trace["log_joint"][-1]
    assert info["input"] == {"n_rows": 124}
    assert info["seconds"].keys() == {"counting", "sampling"}
    assert textmix.load(saved).info == info


def test_nothing_is_pickled(saved):
    for path in saved.rglob("*.npy"):
        np.load(path, allow_pickle=False)
    endings = {path.suffix for path in saved.rglob("*") if path.is_file()}
    assert endings == {".csv", ".json", ".npy", ".parquet"}


def test_a_tokenizer_of_the_users_own_has_to_be_given_again(tmp_path):
    clustering = textmix.cluster(["a-b", "a-b-c", "x-y", "y-x"], tokenizer=lambda t: t.split("-"), min_word_length=1)
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.labels, clustering.labels)
    with pytest.raises(ValueError, match="tokenizer of your own"):
        loaded.assign(["a-b"])
    given = textmix.load(tmp_path / "run", tokenizer=lambda text: text.split("-"))
    np.testing.assert_array_equal(given.predict(["a-b"]), clustering.predict(["a-b"]))


@pytest.mark.parametrize("name", ["model/labels.npy", "corpus/data.npy", "corpus/vocabulary.json", "model/model.json"])
def test_a_damaged_or_missing_file_is_named(copy, name):
    path = copy / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=path.name.replace(".", r"\.")):
        textmix.load(copy)
    path.unlink()
    with pytest.raises(ValueError, match=path.name.replace(".", r"\.")):
        textmix.load(copy)


def test_a_truncated_texts_file_is_reported_when_texts_are_needed(copy):
    path = copy / "assignments.parquet"
    path.write_bytes(path.read_bytes()[:-10])
    loaded = textmix.load(copy)
    assert loaded.labels.size == 124
    with pytest.raises(ValueError, match="missing or damaged"):
        _ = loaded.texts


def test_a_newer_model_and_a_foreign_corpus_are_refused(copy, tmp_path):
    manifest = json.loads((copy / "model" / "model.json").read_text())
    (copy / "model" / "model.json").write_text(json.dumps({**manifest, "version": 99}))
    with pytest.raises(ValueError, match="newer textmix"):
        textmix.load(copy)
    (copy / "model" / "model.json").write_text(json.dumps(manifest))
    textmix.cluster(make_texts(10)).save(tmp_path / "other")
    shutil.rmtree(copy / "corpus")
    shutil.copytree(tmp_path / "other" / "corpus", copy / "corpus")
    with pytest.raises(ValueError, match="do not belong together"):
        textmix.load(copy)


def test_an_unknown_model_is_refused(copy):
    manifest = json.loads((copy / "model" / "model.json").read_text())
    manifest["settings"]["estimator"] = "FutureMixture"
    (copy / "model" / "model.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="does not know: FutureMixture"):
        textmix.load(copy)


def test_saving_over_something_else_is_refused(clustering, saved, tmp_path):
    with pytest.raises(ValueError, match="holds an earlier run"):
        clustering.save(saved)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        clustering.save(tmp_path, force=True)

"""Clusterings that people change: merged, split, renamed; tables and charts of them."""

from __future__ import annotations

import json

import numpy as np
import pandas
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans

import textmix
from test_clustering import LABELS, TEXTS
from textmix.report import summarise_report


@pytest.fixture(scope="module")
def clustering():
    times = [f"2024-03-{1 + i % 20:02}" for i in range(len(TEXTS))]
    return textmix.cluster(TEXTS, language=None, ids=range(len(TEXTS)), labels=LABELS, times=times)


def test_clusters_are_a_list_and_a_table(clustering):
    clusters = clustering.clusters
    assert len(clusters) == clustering.n_clusters
    assert [cluster.index for cluster in clusters] == list(range(len(clusters)))
    assert clusters[-1] is clusters[len(clusters) - 1]
    assert [cluster.size for cluster in clusters[:2]] == clusters["size"][:2].tolist()
    assert isinstance(clusters.to_pandas(), pandas.DataFrame)
    assert clusters.to_pandas()["name"].tolist() == [cluster.name for cluster in clusters]
    assert clusters.sort_values("size").shape[0] == len(clusters)
    assert "<table>" in clustering._repr_html_()


def test_documents_are_a_table(clustering):
    documents = clustering.documents
    assert documents.columns[:5] == ["document", "id", "label", "time", "cluster"]
    assert documents["cluster"].tolist() == clustering.labels.tolist()
    assert documents["time"][0] == "2024-03-01T00:00:00Z"
    assert documents.to_polars().shape == (len(TEXTS), len(documents.columns))


def test_the_documents_of_a_cluster_come_by_label_by_name_or_as_itself(clustering):
    cluster = clustering.clusters[1]
    by_label, by_name, itself = (clustering.documents_of(key) for key in (1, cluster.name, cluster))
    assert by_label.to_dict() == by_name.to_dict() == itself.to_dict()
    assert sorted(by_label["document"].tolist()) == np.flatnonzero(clustering.labels == 1).tolist()
    assert by_label["document"][0] == cluster.documents[0]  # the most typical first


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (-1, "no cluster -1; labels go from 0 to"),
        (99, "no cluster 99"),
        ("refnd", "no cluster called 'refnd'"),
        (None, "None"),
    ],
)
def test_a_cluster_that_is_not_there_is_named(clustering, key, message):
    for method in (clustering.documents_of, clustering.split, lambda key: clustering.merge(0, key)):
        with pytest.raises(ValueError, match=message):
            method(key)


def test_a_name_with_a_slip_gets_a_hint(clustering):
    name = clustering.clusters[0].name
    with pytest.raises(ValueError, match="did you mean"):
        clustering.documents_of(name[:-1] + "x")


def test_merging_takes_clusters_together_and_leaves_the_first_clustering_alone(clustering):
    before = clustering.labels.copy()
    merged = clustering.merge(0, clustering.clusters[2].name)
    assert merged.n_clusters == clustering.n_clusters - 1
    together = np.isin(before, [0, 2])
    assert np.unique(merged.labels[together]).size == 1
    assert not set(merged.labels[together]) & set(merged.labels[~together])
    sizes = [cluster.size for cluster in merged.clusters]
    assert sizes == sorted(sizes, reverse=True) == np.bincount(merged.labels[merged.labels >= 0]).tolist()
    np.testing.assert_array_equal(clustering.labels, before)
    with pytest.raises(ValueError, match="takes two clusters or more"):
        clustering.merge(1, 1)


def test_splitting_clusters_the_texts_of_one_anew(clustering):
    together = clustering.merge(0, 1)
    split = together.split(0)
    assert split.n_clusters == clustering.n_clusters
    outside = together.labels != 0
    assert np.unique(split.labels[outside]).size == np.unique(together.labels[outside]).size
    pairs = set(zip(split.labels.tolist(), clustering.labels.tolist(), strict=True))
    assert len(pairs) == len({label for label, _ in pairs})  # the two topics are found again
    assert together.split(0, n_clusters=3).n_clusters == clustering.n_clusters + 1
    with pytest.raises(ValueError, match="cluster 0 cannot be split: n_clusters is 99, but only"):
        clustering.split(0, n_clusters=99)


def test_names_follow_their_clusters_and_are_saved(clustering, tmp_path):
    renamed = clustering.rename(0, "  Money \n back ").rename(clustering.clusters[1].name, "Post")
    assert [cluster.name for cluster in renamed.clusters[:2]] == ["Money back", "Post"]
    assert clustering.clusters[0].name != "Money back"
    merged = renamed.merge("Post", clustering.clusters[2].name)
    assert merged.clusters[merged.labels[np.flatnonzero(clustering.labels == 1)[0]]].name == "Post"
    assert renamed.merge("Post", "Money back").clusters[0].name == "Money back"
    renamed.split("Post").save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    assert {"Money back", "Post"} <= {cluster.name for cluster in loaded.clusters}
    assert {"Money back", "Post"} <= set(loaded.documents["name"])
    assert loaded.rename("Post", "Mail").with_n_clusters(1).clusters[0].name == "Money back"
    with pytest.raises(ValueError, match="another cluster is called 'Post'"):
        renamed.rename(0, "Post")
    for name in (" ", "x" * 201):
        with pytest.raises(ValueError, match="must have 1 to 200 characters"):
            renamed.rename(0, name)
    with pytest.raises(ValueError, match="must be a text, not None"):
        renamed.rename(0, None)


def test_the_name_of_a_small_cluster_does_not_take_over_a_large_one(clustering):
    parts = clustering.split(0, n_clusters=2)
    sizes = [cluster.size for cluster in parts.clusters]
    small = parts.rename(len(sizes) - 1, "Tiny")
    assert sizes[-1] < sizes[0]
    assert "Tiny" not in [cluster.name for cluster in small.merge(0, "Tiny").clusters]
    assert "Tiny" not in [cluster.name for cluster in small.with_n_clusters(1).clusters]


def test_names_are_given_not_known_and_no_two_are_the_same(clustering):
    renamed = clustering.rename(0, "Money")
    assert (renamed.clusters[0].named, renamed.clusters[0].known) == (True, False)
    assert "Money: " in repr(renamed)
    y = [label if i < 12 else None for i, label in enumerate(LABELS)]
    known = textmix.cluster(TEXTS, language=None, y=y)
    assert [cluster.known for cluster in known.clusters[:3]] == [True] * 3
    twice = known.rename("parcel", "login / refund").merge("refund", "login")
    names = [cluster.name for cluster in twice.clusters]
    assert sorted(names[:2]) == ["login / refund", "login / refund (2)"]


def test_tables_are_chosen_from_as_data_frames_are(clustering):
    large = clustering.clusters[clustering.clusters["size"] >= 12]
    assert len(large) == sum(cluster.size >= 12 for cluster in clustering.clusters)


def test_splitting_keeps_to_the_settings_of_the_model():
    texts = [*TEXTS, *["refund money bank"] * 60]
    once = textmix.cluster(texts, language=None, duplicates="once")
    split = once.split(once.clusters[once.labels[0]])
    assert split.estimator.duplicates == "once"
    own = textmix.ConsensusMixture(2, duplicates="once").fit(once.corpus.counts[once.labels == once.labels[0]])
    assert len(set(zip(own.labels_.tolist(), split.labels[once.labels == once.labels[0]].tolist(), strict=True))) == 2


@pytest.mark.parametrize("n_clusters", [1, 0, 2.5, None])
def test_a_cluster_is_split_into_two_or_more(clustering, n_clusters):
    with pytest.raises(ValueError, match="a cluster is split into two or more, not into"):
        clustering.split(0, n_clusters=n_clusters)


def test_clusters_with_an_alpha_of_their_own_stay_as_they_are():
    model = textmix.DirichletMultinomialMixture(12, alpha=np.linspace(0.1, 3, 12), random_state=0)
    clustering = textmix.cluster(TEXTS, language=None, model=model)
    with pytest.raises(ValueError, match="an alpha of their own can be neither merged nor split"):
        clustering.merge(0, 1)


def test_noise_of_other_packages_fits_nowhere():
    clustering = textmix.cluster([*TEXTS, "", "zebra lion"], language=None, model=DBSCAN(eps=0.5, min_samples=3))
    assert clustering.labels[-1] == -1
    assert np.flatnonzero(clustering.outliers).tolist() == [len(TEXTS) + 1]
    assert clustering.n_without_words == 1


class ByWord(ClusterMixin, BaseEstimator):
    """Of texts of one word each: the cluster is the number of the word, from 1 on, and 0 without any."""

    def fit(self, X, y=None):
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        return X @ np.arange(1, X.shape[1] + 1)

    def predict_proba(self, X):
        return np.eye(X.shape[1] + 1)[self.predict(X)]


def test_clusters_of_other_packages_are_numbered_by_size_too():
    texts = [*["apple"] * 3, *["berry"] * 4, *["cherry"] * 8, ""]
    clustering = textmix.cluster(texts, language=None, model=ByWord())
    assert clustering.labels.tolist() == [2] * 3 + [1] * 4 + [0] * 8 + [-1]
    assert [(cluster.size, cluster.name) for cluster in clustering.clusters] == [
        (8, "cherry"),
        (4, "berry"),
        (3, "apple"),
    ]
    assert clustering.estimator.labels_.tolist() == [1] * 3 + [2] * 4 + [3] * 8 + [0]
    assert clustering.predict(["unheard", *texts]).tolist() == [-1, *clustering.labels.tolist()]
    assert clustering.predict_proba(["apple", "berry", "cherry"]).tolist() == np.eye(3)[::-1].tolist()
    noisy = textmix.cluster([*texts, "zebra"], language=None, model=DBSCAN(eps=0.5, min_samples=3))
    assert noisy.labels.tolist() == [*clustering.labels.tolist(), -1]


@pytest.mark.parametrize("model", ["dirichlet-multinomial", "dirichlet-process"])
def test_clusters_of_one_run_can_be_changed_too(model, tmp_path):
    clustering = textmix.cluster(TEXTS, language=None, model=model)
    changed = clustering.split(0).split(0).merge(0, 1).rename(0, "First")
    assert changed.n_clusters == clustering.n_clusters + 1
    changed.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.labels, changed.labels)
    assert loaded.clusters[0].name == "First"
    np.testing.assert_allclose(loaded.probabilities, changed.probabilities)


def test_clusters_of_other_models_have_tables_and_names_but_stay_as_they_are():
    clustering = textmix.cluster(TEXTS, language=None, model=KMeans(3, random_state=0))
    with pytest.raises(ValueError, match="clusters of KMeans cannot be merged"):
        clustering.merge(0, 1)
    with pytest.raises(ValueError, match="clusters of KMeans cannot be split"):
        clustering.split(0)
    assert clustering.rename(0, "First").clusters[0].name == "First"
    assert clustering.chart("map").data[0].type == "scatter"


def test_words_come_by_either_order(clustering):
    assert [words[0].word for words in clustering.top_words(1)] == [c.words[0].word for c in clustering.clusters]
    assert all(len(words) <= 3 for words in clustering.top_words(3, order="probable"))


def test_every_chart_is_an_object_of_its_own(clustering):
    assert {name: clustering.chart(name).data[0].type for name in ("map", "trace", "times", "confusion")} == {
        "map": "scatter",
        "trace": "scatter",
        "times": "bar",
        "confusion": "heatmap",
    }
    with pytest.raises(ValueError, match="no chart 'pie' of this clustering; there are: map, trace"):
        clustering.chart("pie")


def test_a_report_is_one_file_and_a_folder_is_refused(clustering, tmp_path):
    clustering.report(tmp_path / "page.html", title="Tickets & more")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Tickets &amp; more" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html"]
    with pytest.raises(ValueError, match="is a folder; name a file"):
        clustering.report(tmp_path)
    with pytest.raises(ValueError, match=r"is no name for a page; let it end in \.html"):
        clustering.report(tmp_path / "run.json")
    with pytest.raises(ValueError, match="there is no folder"):
        clustering.report(tmp_path / "no" / "page.html")


def test_a_run_is_saved_with_its_report_and_an_old_one_does_not_stay(clustering, tmp_path):
    clustering.save(tmp_path / "run", report=True)
    assert (tmp_path / "run" / "report.html").stat().st_size > 1_000_000
    clustering.merge(0, 1).save(tmp_path / "run", force=True)
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_page_that_fails_costs_no_run(clustering, tmp_path, monkeypatch):
    monkeypatch.setattr("textmix.report.write.render_page", lambda data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        clustering.save(tmp_path / "run", report=True)
    np.testing.assert_array_equal(textmix.load(tmp_path / "run").labels, clustering.labels)


def test_what_was_installed_at_the_fit_is_kept(clustering, tmp_path):
    clustering.save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    info = json.loads(path.read_text())
    path.write_text(json.dumps({**info, "versions": {**info["versions"], "numpy": "1.0"}}))
    loaded = textmix.load(tmp_path / "run")
    summary = summarise_report(loaded._report_source(None))["course"]["summary"]
    assert dict(summary)["version of numpy"] == "1.0"
    loaded.rename(0, "First").save(tmp_path / "again")
    assert json.loads((tmp_path / "again" / "run.json").read_text())["versions"]["numpy"] == "1.0"


@pytest.mark.parametrize("threshold", [float("inf"), float("nan"), "high"])
def test_a_threshold_is_a_finite_number(clustering, threshold):
    with pytest.raises(ValueError, match="must be a finite number"):
        clustering.with_outlier_threshold(threshold)


def test_writing_to_labels_changes_nothing_else(clustering, tmp_path):
    renamed, before = clustering.rename(0, "first"), clustering.labels.copy()
    renamed.labels[:] = 0
    assert clustering.labels.tolist() == clustering.estimator.labels_.tolist() == before.tolist()
    renamed.save(tmp_path / "run")
    assert textmix.load(tmp_path / "run").labels.tolist() == before.tolist()


def test_a_clustering_is_made_of_an_estimator_its_corpus_and_texts(clustering):
    made = textmix.Clustering(clustering.estimator, clustering.corpus, TEXTS)
    assert made.clusters.to_pandas().equals(clustering.clusters.to_pandas())

"""What a report is told of a clustering."""

from __future__ import annotations

import json

import numpy as np
import pytest

import textmix
from test_clustering import LABELS, TEXTS
from textmix.report import summarise_report
from textmix.report.charts import N_OVER_TIME, OTHERS, PALETTE, cluster_colours, time_chart
from textmix.report.examples import MAX_CHARACTERS, MAX_NAME, short_names, word_forms
from textmix.report.page import plain_data

STRANGE = ["zebra giraffe", "", "refund login parcel bank courier page money reset late"]
ALL = [*TEXTS, *STRANGE]


def cluster_by(encoder):
    labels = [*LABELS, "", "refund", "login"]
    times = [f"2024-{1 + i % 3:02}-11" for i in range(len(ALL))]
    ids = [f"T{i}" for i in range(len(ALL))]
    return textmix.cluster(ALL, language=None, labels=labels, ids=ids, times=times, encoder=encoder)


@pytest.fixture(scope="module")
def by_words():
    return cluster_by(None)


@pytest.fixture(scope="module", params=[None, "static"], ids=["words", "words and vectors"])
def clustering(request, by_words):
    return by_words if request.param is None else cluster_by(request.param)


@pytest.fixture(scope="module")
def summary(clustering):
    return summarise_report(clustering._report_source(None))


def test_it_is_plain_data(summary):
    json.dumps(plain_data(summary), allow_nan=False)


def test_the_numbers_are_those_of_the_clustering(clustering, summary):
    documents = summary["documents"]
    assert (documents["n"], documents["n_without_words"]) == (len(ALL), 1)
    assert documents["n_outliers"] == clustering.outliers.sum()
    assert documents["n_clusters"] == clustering.n_clusters
    assert documents["n_several"] == sum(cluster.size > 1 for cluster in clustering.clusters)
    assert documents["stability"] == clustering.stability


def test_clusters_have_words_texts_and_neighbours(clustering, summary):
    assert [cluster["index"] for cluster in summary["clusters"]] == [
        cluster.index for cluster in clustering.clusters if cluster.size > 1
    ]
    for cluster in summary["clusters"]:
        own = clustering.clusters[cluster["index"]]
        assert (cluster["name"], cluster["size"]) == (own.name, own.size)
        assert -1 <= cluster["coherence"] <= 1
        assert [word for word, _ in cluster["telling"]][:3] == [word.word for word in own.words[:3]]
        probable = [score for _, score in cluster["probable"]]
        assert probable == sorted(probable, reverse=True)
        texts = [summary["texts"][place] for place in cluster["typical"]]
        assert [text["text"] for text in texts][:3] == own.examples
        assert {text["cluster"] for text in texts} == {own.index}
        assert not set(cluster["typical"]) & set(cluster["unusual"])
        nearest = cluster["nearest"]
        assert own.index not in [other["index"] for other in nearest]
        assert [other["distance"] for other in nearest] == sorted(other["distance"] for other in nearest)
        for other in nearest:
            assert set(other["here"]) <= {word for word, _ in clustering.top_words(99)[own.index]}
            assert not set(other["here"]) & set(other["there"])


def test_texts_say_where_they_come_from(clustering, summary):
    for text in summary["texts"]:
        document = text["row"] - 1
        assert text["text"] == ALL[document]
        assert text["id"] == f"T{document}"
        assert text["time"].startswith("2024-")
        assert text["cluster"] == clustering.labels[document]
        assert text["score"] == pytest.approx(clustering.outlier_scores[document], nan_ok=True)


def test_outliers_at_each_threshold_are_counted(clustering, summary):
    outliers = summary["outliers"]
    assert 0.25 in outliers["steps"]
    assert outliers["steps"] == sorted(outliers["steps"])
    expected = [clustering.with_outlier_threshold(step).outliers.sum() for step in outliers["steps"]]
    assert outliers["counts"] == expected
    listed = [summary["texts"][place] for place in outliers["texts"]]
    for step, count in zip(outliers["steps"], outliers["counts"], strict=True):
        assert sum(text["alone"] or text["score"] > step for text in listed) == count


def test_texts_alone_in_their_cluster_are_marked(by_words):
    summary = summarise_report(by_words._report_source(None))
    listed = [summary["texts"][place] for place in summary["outliers"]["texts"]]
    assert {text["text"] for text in listed if text["alone"]} == {STRANGE[0], STRANGE[2]}


@pytest.mark.parametrize(("most", "n_alone"), [(2, 1), (4, 2), (38, 2)])
def test_of_many_outliers_both_kinds_are_listed(by_words, monkeypatch, most, n_alone):
    monkeypatch.setattr("textmix.report.summary.N_OUTLIERS", most)
    summary = summarise_report(by_words._report_source(None))
    listed = [summary["texts"][place] for place in summary["outliers"]["texts"]]
    assert len(listed) <= most
    assert sum(text["alone"] for text in listed) == n_alone


def test_the_hierarchy_can_be_cut_anywhere(clustering, summary):
    hierarchy = summary["hierarchy"]
    n_nodes = len(hierarchy["names"])
    for n_left in range(1, n_nodes + 1):
        group = list(range(n_nodes))
        for one, other in hierarchy["pairs"][: n_nodes - n_left]:
            group = [one if place == other else place for place in group]
        sizes = sorted(
            sum(size for size, place in zip(hierarchy["sizes"], group, strict=True) if place == own)
            for own in set(group)
        )
        cut = clustering.model.merges.cut_labels(clustering.labels, n_left)
        assert sizes == sorted(np.bincount(cut[cut >= 0]).tolist())


def test_a_long_hierarchy_begins_where_the_page_can_hold_it(clustering, monkeypatch):
    monkeypatch.setattr("textmix.report.summary.MAX_NODES", 3)
    hierarchy = summarise_report(clustering._report_source(None))["hierarchy"]
    cut = clustering.model.merges.cut_labels(clustering.labels, 3)
    assert sorted(hierarchy["sizes"]) == sorted(np.bincount(cut[cut >= 0]).tolist())
    assert len(hierarchy["pairs"]) == 2


def test_labels_are_compared(clustering, summary):
    labels = summary["labels"]
    assert sorted(labels["names"]) == ["login", "parcel", "refund"]
    total = sum(sum(row["counts"]) for row in labels["rows"])
    several = {cluster.index for cluster in clustering.clusters if cluster.size > 1}
    known = [
        label
        for label, text_label in zip(clustering.labels, [*LABELS, "", "refund", "login"], strict=True)
        if text_label
    ]
    assert total == sum(label in several for label in known)
    assert {name: value for name, value, _ in labels["scores"]}["AMI"] > 0.5
    assert all(meaning for _, _, meaning in labels["scores"])
    assert summary["charts"]["confusion"]["data"][0]["y"] == [row["name"] for row in labels["rows"]]


def test_rare_labels_are_taken_together(clustering, monkeypatch):
    monkeypatch.setattr("textmix.report.summary.MAX_LABELS", 1)
    labels = summarise_report(clustering._report_source(None))["labels"]
    assert labels["names"][1] == "2 others"
    assert all(len(row["counts"]) == 2 for row in labels["rows"])


def test_charts_are_there_for_what_is_known(clustering, summary):
    assert set(summary["charts"]) == {"map", "trace", "times", "confusion"}
    bare = textmix.cluster(TEXTS, language=None)
    assert set(summarise_report(bare._report_source(None))["charts"]) == {"map", "trace"}
    shown = summary["charts"]["map"]["data"][0]
    assert shown["customdata"] == [cluster["index"] for cluster in summary["clusters"]]
    times = summary["charts"]["times"]["data"]
    assert sum(sum(bars["y"]) for bars in times) == (clustering.labels >= 0).sum()
    colours = {cluster["name"]: cluster["colour"] for cluster in summary["clusters"]}
    assert shown["marker"]["color"] == list(colours.values())
    assert {bars["name"]: bars["marker"]["color"] for bars in times} == {**colours, "all others": OTHERS}


def test_the_largest_clusters_have_shades_of_their_groups_colour():
    groups = np.array([0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0])
    colours = cluster_colours(groups)
    assert len({*colours[:N_OVER_TIME], OTHERS}) == N_OVER_TIME + 1
    assert [colours[0], colours[1], *colours[N_OVER_TIME:]] == [PALETTE[group] for group in (0, 1, 1, 0)]


@pytest.mark.parametrize(
    ("last", "unit", "n_bins"),
    [
        ("2024-01-01T05", "hour", 6),
        ("2024-01-20", "day", 20),
        ("2024-12-31", "week", 53),
        ("2028-01-01", "month", 49),
        ("2060-01-01", "year", 37),
        ("9999-12-31", "133 years", 60),
    ],
)
def test_times_are_counted_by_a_unit_that_suits_them(clustering, last, unit, n_bins):
    times = np.full(len(ALL), np.datetime64("2024-01-01", "s"))
    times[3] = np.datetime64(last, "s")
    times[4] = np.datetime64("NaT")
    colours = ["#4c78c8"] * clustering.n_clusters
    chart = time_chart(clustering.clusters, colours, clustering.labels, times)
    assert chart["layout"]["xaxis"]["title"]["text"] == f"by {unit}"
    assert {len(bars["x"]) for bars in chart["data"]} == {n_bins}
    assert chart["data"][0]["x"][0].startswith("2024-01-01")  # a Monday
    assert sum(sum(bars["y"]) for bars in chart["data"]) == (clustering.labels >= 0).sum() - 1
    assert time_chart(clustering.clusters, colours, clustering.labels, np.full(len(ALL), np.datetime64("NaT"))) is None


def test_names_in_charts_are_text(clustering):
    renamed = clustering.rename(0, '<a href="x">here</a> & there')
    charts = summarise_report(renamed._report_source(None))["charts"]
    written = json.dumps(charts)
    assert "<a" not in written
    assert "&lt;a href=" in written
    assert "&amp; there" in written


def test_words_are_highlighted_as_they_are_written():
    texts = ["Refunds, please! A REFUND?", "refunded twice", "the parcels"] * 3
    clustering = textmix.cluster(texts, language="en", stem=True)
    column = list(clustering.corpus.vocabulary).index("refund")
    assert word_forms(clustering.corpus, texts)[column] == ["refund", "refunded", "refunds"]
    own = textmix.cluster(texts, tokenizer=lambda text: [f"{word}!" for word in text.split()])
    assert word_forms(own.corpus, texts) == {}  # its words are none that can be found again


def test_the_telling_words_are_those_highlighted(summary):
    for cluster in summary["clusters"]:
        assert set(cluster["highlight"]) <= {word for word, _ in cluster["telling"]}
        assert cluster["highlight"]


def test_long_names_that_differ_stay_different():
    names = ["a" * 300, "a" * 299 + "b", "a" * 150 + "x" + "a" * 149, "short"]
    short = short_names([*names, *names])
    assert list(short) == names
    assert len(set(short.values())) == len(names)
    assert short["short"] == "short"
    assert max(map(len, short.values())) < MAX_NAME + 10


def test_copies_make_no_coherence_where_they_count_once():
    texts = [*TEXTS, *["refund parcel"] * 40]
    distinct = list({tuple(sorted(text.split())): text for text in texts}.values())
    once, every = (
        summarise_report(textmix.cluster(given, language=None, duplicates=duplicates)._report_source(None))
        for given, duplicates in ((texts, "once"), (distinct, "all"))
    )
    assert {tuple(dict(cluster["probable"])): cluster["coherence"] for cluster in once["clusters"]} == {
        tuple(dict(cluster["probable"])): cluster["coherence"] for cluster in every["clusters"]
    }


def test_long_texts_are_cut():
    texts = [*TEXTS, "refund " + "money " * 1000]
    summary = summarise_report(textmix.cluster(texts, language=None)._report_source(None))
    long = [text for text in summary["texts"] if text["cut"]]
    assert [len(text["text"]) for text in long] == [MAX_CHARACTERS]


@pytest.mark.parametrize(
    "texts", [["one two"], ["one two", "one two"], ["one two", "three four"], ["one", "two", "three"], ["a b c d"] * 50]
)
@pytest.mark.parametrize("model", ["consensus", "dirichlet-process"])
def test_few_texts_have_a_report_too(texts, model):
    times = ["2024-03-04"] * len(texts)
    clustering = textmix.cluster(texts, language=None, model=model, min_word_length=1, labels=texts, times=times)
    summary = summarise_report(clustering._report_source(None))
    assert summary["documents"]["n"] == len(texts)
    json.dumps(plain_data(summary), allow_nan=False)


def test_a_single_run_has_no_threshold_and_no_hierarchy():
    clustering = textmix.cluster(ALL, language=None, model="dirichlet-multinomial", outlier_size=20)
    summary = summarise_report(clustering._report_source(None))
    assert clustering.outliers.sum() > 2
    assert len(summary["outliers"]["texts"]) == clustering.outliers.sum()
    assert summary["hierarchy"] is None
    assert (summary["outliers"]["threshold"], summary["outliers"]["steps"]) == (None, [])

"""The order of the texts makes no difference; levels, probabilities and numbers agree wherever they are shown."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage

import textmix
from textmix.report import summarise_report

TICKETS = Path(__file__).resolve().parents[1] / "examples" / "tickets.csv"


def read_tickets(n: int = 720) -> list[str]:
    with TICKETS.open(newline="", encoding="utf-8") as file:
        return [row["text"] for row in csv.DictReader(file)][:n]


@pytest.fixture(scope="module", params=[None, "static"], ids=["words", "words and vectors"])
def encoder(request):
    return request.param


@pytest.fixture(scope="module")
def clustering(encoder):
    return textmix.cluster(read_tickets(), encoder=encoder)


# ------------------------------------------------------------------ order


@pytest.mark.parametrize("settings", [{}, {"n_clusters": 9}, {"duplicates": "once"}], ids=str)
def test_reversed_and_shuffled_texts_give_the_same_clusters(encoder, settings):
    texts = read_tickets(400)
    texts += [texts[5], texts[5].upper() + "!", texts[17]]  # the same words, but not the same texts
    labels = textmix.cluster(texts, encoder=encoder, **settings).labels
    for order in (np.arange(len(texts))[::-1], np.random.default_rng(0).permutation(len(texts))):
        other = textmix.cluster([texts[i] for i in order], encoder=encoder, **settings)
        np.testing.assert_array_equal(other.labels, labels[order])


def test_also_with_known_clusters_and_weights(encoder):
    texts = read_tickets(300)
    known = ["refund" if "refund" in text.lower() and i % 3 == 0 else None for i, text in enumerate(texts)]
    known[0] = "another"
    weights = 1.0 + np.arange(len(texts)) % 3
    labels = textmix.cluster(texts, y=known, sample_weight=weights, encoder=encoder).labels
    other = textmix.cluster(texts[::-1], y=known[::-1], sample_weight=weights[::-1], encoder=encoder)
    np.testing.assert_array_equal(other.labels[::-1], labels)


def test_also_with_copies_that_have_vectors_of_their_own():
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.5, size=(40, 12))[rng.integers(40, size=300)]
    vectors = rng.normal(size=(300, 8))
    order = rng.permutation(300)
    for n_clusters in (3, 5):
        settings = {"n_clusters": n_clusters, "duplicates": "once", "n_runs": 3}
        one = textmix.ConsensusMixture(**settings).fit(counts, vectors=vectors)
        other = textmix.ConsensusMixture(**settings).fit(counts[order], vectors=vectors[order])
        np.testing.assert_array_equal(other.labels_, one.labels_[order])


def test_also_where_a_sample_forms_the_clusters(encoder, monkeypatch):
    for module in ("inference.consensus_fit", "estimators.consensus_mixture"):
        monkeypatch.setattr(f"textmix.{module}.MAX_SAMPLED", 200)
    texts = read_tickets(500)
    labels = textmix.cluster(texts, encoder=encoder).labels
    np.testing.assert_array_equal(textmix.cluster(texts[::-1], encoder=encoder).labels[::-1], labels)


def test_also_with_vectors_of_ones_own():
    texts = read_tickets(300)
    vectors = np.random.default_rng(1).normal(size=(300, 12))
    vectors[::7] = 0.0
    labels = textmix.cluster(texts, vectors=vectors).labels
    np.testing.assert_array_equal(textmix.cluster(texts[::-1], vectors=vectors[::-1]).labels[::-1], labels)


# ------------------------------------------------------------------ probabilities


def check_probabilities(clustering):
    probabilities, labels = clustering.probabilities, clustering.labels
    known = labels >= 0
    np.testing.assert_array_equal(np.argmax(probabilities[known], axis=1), labels[known])
    np.testing.assert_allclose(probabilities[known].sum(axis=1), 1.0)
    own = clustering.documents["probability"]
    np.testing.assert_array_equal(own[known], probabilities[known, labels[known]])
    assert np.isnan(own[~known]).all()


def test_a_label_is_always_the_most_probable_cluster(clustering, encoder, tmp_path):
    check_probabilities(clustering)
    for number in clustering.levels[:-1]:
        check_probabilities(clustering.with_n_clusters(number))
    check_probabilities(clustering.merge(0, 3).split(1))
    check_probabilities(textmix.cluster(read_tickets(), n_clusters=300, encoder=encoder))  # parts have equal votes
    check_probabilities(textmix.cluster([*read_tickets(200), ""], frozen=clustering, encoder=encoder))
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.probabilities, clustering.probabilities)
    check_probabilities(loaded.with_n_clusters(4))


def test_merging_adds_up_the_probabilities_where_that_leaves_the_label_on_top(clustering):
    merged = clustering.merge(0, 1)
    kept = np.flatnonzero((clustering.labels >= 0) & ~np.isin(clustering.labels, (0, 1)))
    summed = clustering.probabilities[:, 0] + clustering.probabilities[:, 1]
    joined = merged.labels[np.flatnonzero(clustering.labels == 0)[0]]
    on_top = kept[summed[kept] < clustering.probabilities[kept, clustering.labels[kept]]]
    np.testing.assert_allclose(merged.probabilities[on_top, joined], summed[on_top])
    assert on_top.size > 100


def test_new_texts_get_probabilities_of_the_same_scale(encoder):
    """In the mean a little less sure than those of texts that the clusters were made of."""
    texts = read_tickets()
    clustering = textmix.cluster(texts[:500], encoder=encoder)
    fitted = np.nanmean(clustering.documents["probability"])
    assert fitted - 0.25 < np.nanmean(clustering.assign(texts[500:]).probabilities) < fitted


# ------------------------------------------------------------------ levels


def test_levels_end_with_the_clustering_and_fit_into_each_other(clustering):
    levels = clustering.levels
    assert levels == sorted(set(levels))
    assert levels[-1] == clustering.n_clusters
    assert 2 <= len(levels) <= 4
    documents, clusters = clustering.documents, clustering.clusters
    for place, number in enumerate(levels[:-1], 1):
        groups = clustering.groups(number)
        own = clustering.with_n_clusters(number)
        column, of_cluster = documents[f"level_{place}"], clusters[f"level_{place}"]
        np.testing.assert_array_equal(column, own.labels)
        np.testing.assert_array_equal(of_cluster[clustering.labels], column)
        assert [group.size for group in groups] == [cluster.size for cluster in own.clusters]
        assert sorted(label for group in groups for label in group.clusters) == list(range(clustering.n_clusters))
        names = [group.name for group in groups]
        assert len(set(names)) == number
        assert documents[f"level_{place}_name"].tolist() == [names[group] for group in column]
    with pytest.raises(ValueError, match="there is no level of 7777 groups"):
        clustering.groups(7777)
    assert is_valid_linkage(clustering.linkage())
    assert len(clustering.linkage()) == clustering.n_clusters - 1


def test_levels_are_saved(clustering, tmp_path):
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    assert loaded.levels == clustering.levels
    assert loaded.n_clusters_range == clustering.n_clusters_range
    for number in clustering.levels[:-1]:
        assert loaded.groups(number) == clustering.groups(number)
    with (tmp_path / "run" / "assignments.csv").open(newline="", encoding="utf-8") as file:
        assert [int(row["level_1"]) for row in csv.DictReader(file)] == clustering.documents["level_1"].tolist()


def test_the_dendrogram_has_a_line_for_each_merge(clustering):
    figure = clustering.chart("hierarchy")
    assert len(figure.data) == clustering.n_clusters - 1
    assert sorted(figure.layout.yaxis.ticktext) == sorted(cluster.name for cluster in clustering.clusters)


def test_the_range_holds_the_number_of_clusters(clustering, encoder):
    least, most = clustering.n_clusters_range
    assert least <= clustering.tally.n_clusters <= most
    assert most - least < clustering.tally.n_clusters
    assert clustering.with_n_clusters(3).n_clusters_range is None
    assert textmix.cluster(read_tickets(100), n_clusters=4, encoder=encoder).n_clusters_range is None


# ------------------------------------------------------------------ one count everywhere


def counted_on_page(page: str) -> dict[str, int]:
    tiles = re.findall(r"<dt>([^<]+)</dt><dd>([\d,]+)</dd>(?:\s*<dd class=\"note\">[^<]*</dd>)*", page)
    found = {name: int(number.replace(",", "")) for name, number in tiles}
    alone = re.search(r'<dd class="note">and ([\d,]+) texts? alone</dd>', page)
    return {**found, "alone": int(alone.group(1).replace(",", "")) if alone else 0}


def check_numbers(folder: Path, program, *, printed: str | None = None) -> None:
    clustering = textmix.load(folder)
    numbers = clustering.tally
    sizes = np.bincount(clustering.labels[clustering.labels >= 0])
    assert numbers.n_clusters == np.count_nonzero(sizes > 1)
    assert numbers.n_single == np.count_nonzero(sizes == 1)
    assert numbers.n_outliers == np.count_nonzero(clustering.outliers)
    assert clustering.n_clusters == numbers.n_clusters + numbers.n_single
    code, _, _ = program("report", folder, "--out", folder / "again.html")
    assert code == 0
    page = counted_on_page((folder / "again.html").read_text(encoding="utf-8"))
    assert page["Clusters"] == numbers.n_clusters
    assert page["alone"] == numbers.n_single
    assert page["Fit nowhere"] == numbers.n_outliers
    assert summarise_report(clustering._report_source(None))["documents"]["n_several"] == numbers.n_clusters
    result = json.loads((folder / "run.json").read_text())["result"]
    assert (result["n_clusters"], result["n_outliers"]) == (clustering.n_clusters, numbers.n_outliers)
    assert f"{numbers.n_clusters:,} cluster" in repr(clustering).splitlines()[0]
    if printed is not None:
        first = re.search(r"^([\d,]+) clusters?\b.*?(?:; ([\d,]+) texts? on (?:its|their) own)?:$", printed, re.M)
        assert int(first.group(1)) == numbers.n_clusters
        assert int(first.group(2) or 0) == numbers.n_single
        outliers = re.search(r"^([\d,]+) outliers?, for example", printed, re.M)
        assert (int(outliers.group(1)) if outliers else 0) == numbers.n_outliers


def test_terminal_page_json_and_load_count_alike(tmp_path, program, encoder):
    code, printed, _ = program(
        *("cluster", TICKETS, "--text", "text", "--encoder", encoder or "none", "--out", tmp_path / "run")
    )
    assert code == 0
    check_numbers(tmp_path / "run", program, printed=printed)
    code, printed, _ = program("cluster", TICKETS, "--text", "text", "--encoder", encoder or "none", "--json")
    as_json, numbers = json.loads(printed), textmix.load(tmp_path / "run").tally
    assert as_json["n_of_several_texts"] == numbers.n_clusters
    assert as_json["n_single"] == numbers.n_single
    assert as_json["n_outliers"] == numbers.n_outliers
    assert as_json["n_clusters_range"] == list(textmix.load(tmp_path / "run").n_clusters_range)
    assert [len(level) for level in as_json["levels"]] == textmix.load(tmp_path / "run").levels[:-1]
    edited = textmix.load(tmp_path / "run").merge(0, 2).split(1).rename(0, "Refunds")
    edited.save(tmp_path / "edited")
    check_numbers(tmp_path / "edited", program)
    few = tmp_path / "few.csv"
    few.write_text("text\n" + "\n".join(f'"{text}"' for text in read_tickets(60) if '"' not in text), encoding="utf-8")
    code, printed, _ = program(
        *("cluster", few, "--text", "text", "--frozen", tmp_path / "run", "--out", tmp_path / "frozen")
    )
    assert code == 0
    check_numbers(tmp_path / "frozen", program, printed=printed)

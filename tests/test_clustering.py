"""The facade: textmix.cluster, TextClusterer, Clustering."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

import textmix
from textmix.clustering.text_clusterer import TextClusterer, default_n_clusters

TOPICS = {
    "refund": ["refund money back", "want refund money", "money refund account bank", "bank refund money"],
    "login": ["password login page", "login password reset", "reset password login", "login page password"],
    "parcel": ["parcel late courier", "courier lost parcel", "late parcel courier van", "parcel courier late"],
}
TEXTS = [text for texts in TOPICS.values() for text in texts] * 3
LABELS = [topic for topic, texts in TOPICS.items() for _ in texts] * 3


@pytest.fixture(scope="module")
def clustering() -> textmix.Clustering:
    return textmix.cluster([*TEXTS, "", "zebra giraffe"], language=None, encoder=None)


def test_clear_topics_are_told_apart(clustering):
    for topic in TOPICS:
        found = {int(label) for label, known in zip(clustering.labels, LABELS, strict=False) if known == topic}
        assert len(found) == 1, topic
    assert len(set(clustering.labels[:36].tolist())) == 3


def test_a_text_without_words_has_label_minus_one_and_is_counted(clustering):
    assert clustering.labels[36] == -1
    assert clustering.n_without_words == 1
    assert np.isnan(clustering.probabilities[36]).all()
    assert "1 without words" in repr(clustering)


def test_a_text_alone_in_its_cluster_is_an_outlier(clustering):
    assert np.flatnonzero(clustering.outliers).tolist() == [37]
    assert np.nanargmax(clustering.outlier_scores) == 37


def test_clusters_have_size_share_words_and_examples(clustering):
    assert [cluster.index for cluster in clustering.clusters] == list(range(clustering.n_clusters))
    assert sum(cluster.size for cluster in clustering.clusters) == 37
    assert sum(cluster.share for cluster in clustering.clusters) == pytest.approx(1.0)
    for cluster in clustering.clusters:
        assert cluster.examples == [clustering.texts[document] for document in cluster.documents]
        assert len(set(cluster.examples)) == len(cluster.examples)
        assert set(clustering.labels[cluster.documents].tolist()) == {cluster.index}
    own = clustering.clusters[int(clustering.labels[0])]
    assert {word for word, _ in own.words[:2]} == {"refund", "money"}


def test_probabilities_have_a_column_for_a_new_cluster_and_add_up_to_one(clustering):
    probabilities = np.delete(clustering.probabilities, 36, axis=0)
    assert clustering.probabilities.shape == (38, clustering.n_clusters + 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_the_probability_in_tables_is_that_of_the_own_cluster(clustering):
    used = clustering.labels >= 0
    own = clustering.probabilities[used, clustering.labels[used]]
    np.testing.assert_array_equal(clustering.model.scores.probabilities[used], own)
    np.testing.assert_array_equal(clustering.outlier_scores, clustering.estimator.outlier_scores_)


def test_new_texts_join_the_cluster_of_their_topic(clustering):
    found = clustering.assign(["refund of money", "courier parcel", "", "unheard words"])
    assert found.labels[0] == clustering.labels[0]
    assert found.labels[1] == clustering.labels[8]
    assert found.labels[2:].tolist() == [-1, -1]
    assert np.isnan(found.probabilities[2:]).all()
    assert not found.outliers[2:].any()
    np.testing.assert_array_equal(clustering.predict(["refund of money"]), found.labels[:1])


def test_a_new_text_of_words_that_never_stood_together_would_rather_be_a_cluster_of_its_own(clustering):
    found = clustering.assign(["refund login parcel bank courier page money reset late", "refund money"])
    assert found.outliers.tolist() == [True, False]
    assert found.labels[0] >= 0


def test_assigning_in_blocks_gives_what_the_estimator_gives(clustering, monkeypatch):
    monkeypatch.setattr("textmix.results.assignments.BLOCK_CELLS", 1)
    texts = [*TEXTS, "refund login parcel bank courier page money reset late", ""]
    found = clustering.assign(texts)
    expected = clustering.estimator.predict_proba(clustering.corpus.count(texts))
    np.testing.assert_array_equal(found.labels, clustering.estimator.predict(clustering.corpus.count(texts)))
    np.testing.assert_array_equal(found.probabilities[:-1], expected[:-1, :-1].max(axis=1))
    np.testing.assert_array_equal(found.outliers, expected[:, -1] > np.nan_to_num(expected[:, :-1]).max(axis=1))


def test_assigning_no_texts_gives_nothing(clustering):
    assert clustering.assign([]).labels.size == 0


def test_the_frame_has_a_row_a_text(clustering):
    frame = clustering.to_frame()
    columns = ["document", "cluster", "name", "probability", "outlier", "outlier_score", "text"]
    assert list(frame.columns) == columns
    assert frame["text"].tolist() == list(clustering.texts)
    assert frame["cluster"].tolist() == clustering.labels.tolist()


def test_ids_and_labels_stand_in_the_frame():
    frame = textmix.cluster(TEXTS, ids=range(36), labels=LABELS).to_frame()
    assert list(frame.columns[:3]) == ["document", "id", "label"]
    assert frame["id"].tolist() == [str(number) for number in range(36)]
    assert frame["label"].tolist() == LABELS


def test_the_same_seed_gives_the_same_clusters_and_the_global_state_stays():
    before = np.random.get_state()[1].copy()
    first, second = textmix.cluster(TEXTS, 3), textmix.cluster(TEXTS, 3)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.trace["log_joint"], second.trace["log_joint"])
    np.testing.assert_array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("n_texts", [1, 2, 3])
def test_a_few_texts_can_be_clustered(n_texts):
    clustering = textmix.cluster(TEXTS[:n_texts])
    assert clustering.labels.shape == (n_texts,)
    assert clustering.labels.min() == 0
    assert len(clustering.clusters) == clustering.n_clusters
    assert repr(clustering)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "there are no texts"),
        (["", "  ", None], "none of the 3 texts has any words"),
        (["the"], "the text does not have any words"),
        ("one text", "texts is a single str"),
        ({"a": "b"}, "not dict"),
        (7, "not int"),
        (["a text", 7], "position 1 is int"),
    ],
)
def test_texts_that_cannot_be_clustered_give_one_clear_sentence(texts, message):
    with pytest.raises(ValueError, match=message):
        textmix.cluster(texts, language="english")


def test_missing_texts_are_empty_texts():
    clustering = textmix.cluster([*TEXTS, None, float("nan")])
    assert clustering.labels[-2:].tolist() == [-1, -1]
    assert clustering.texts[-2:] == ["", ""]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "kmeans"}, "model must be one of auto, consensus, dirichlet-multinomial"),
        ({"model": 3}, "model must be one of"),
        ({"model": "dirichlet-process", "n_clusters": 3}, "has no setting n_clusters"),
        ({"model": textmix.DirichletProcessMixture(), "beta": 0.1}, "give it to the model itself"),
        ({"tokenizer": textmix.Tokenizer(), "stem": True}, "not both \\(stem\\)"),
        ({"beta": -1.0}, "'beta' parameter"),
        ({"language": "klingon"}, "unknown language 'klingon'"),
        ({"inference": "guess"}, "'inference' parameter"),
        ({"engine": "abacus"}, "'engine' parameter"),
        ({"init": "warm"}, "'init' parameter"),
        ({"model": "dirichlet-process", "init": "online"}, "has no setting init"),
        ({"model": textmix.DirichletProcessMixture(), "engine": "serial"}, "give it to the model itself"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"client": "tcp://nowhere:1"}, "client is a Dask cluster"),
    ],
)
def test_a_wrong_setting_is_refused_before_texts_are_read(settings, message):
    def unread():
        raise AssertionError("a text was read")
        yield ""

    with pytest.raises(ValueError, match=message):
        textmix.cluster(unread(), **settings)


def test_settings_of_the_samplers_are_passed_on():
    settings = {"inference": "parallel", "init": "online", "engine": "serial", "n_jobs": 1}
    model = textmix.cluster(TEXTS, **settings).estimator
    assert settings.items() <= model.get_params().items()
    assert model.inference_ == "parallel"
    assert model.client is None


@pytest.mark.parametrize("name", ["dirichlet-multinomial", "dirichlet-process"])
def test_named_models_choose_how_to_sample_by_themselves(name, monkeypatch):
    assert TextClusterer(name).fit(TEXTS).model_.inference_ == "gibbs"
    monkeypatch.setattr("textmix.estimators.gibbs_mixture.PARALLEL_FROM", 50)
    assert TextClusterer(name).fit(TEXTS).model_.inference_ == "parallel"
    assert TextClusterer(name, inference="gibbs").fit(TEXTS).model_.inference_ == "gibbs"
    model = textmix.DirichletMultinomialMixture(10)
    assert TextClusterer(model).fit(TEXTS).model_.inference_ == "gibbs"


def test_an_unknown_setting_is_refused():
    with pytest.raises(TypeError, match="n_cluster"):
        textmix.cluster(TEXTS, n_cluster=3)


def test_the_upper_number_of_clusters_grows_with_the_texts_to_500():
    assert [default_n_clusters(n) for n in (0, 1, 20, 500, 10_000)] == [1, 1, 20, 500, 500]
    assert TextClusterer("dirichlet-multinomial").fit([*TEXTS, ""]).model_.n_clusters == 36


def test_clusters_are_merged_without_fitting_again(tmp_path):
    clustering = textmix.cluster(TEXTS, granularity="fine")
    coarse = clustering.with_n_clusters(2)
    assert coarse.n_clusters == 2
    np.testing.assert_array_equal(coarse.labels, clustering.estimator.cut(2))
    assert sum(cluster.size for cluster in coarse.clusters) == len(TEXTS)
    assert 0 <= coarse.clusters[0].stability <= 1
    assert clustering.n_clusters > 2
    clustering.save(tmp_path / "run")
    again = textmix.load(tmp_path / "run").with_n_clusters(2)
    np.testing.assert_array_equal(again.labels, coarse.labels)
    again.save(tmp_path / "coarse")
    np.testing.assert_array_equal(textmix.load(tmp_path / "coarse").labels, coarse.labels)
    with pytest.raises(ValueError, match="can be merged to fewer"):
        clustering.with_n_clusters(clustering.n_clusters + 1)
    with pytest.raises(ValueError, match="cannot be merged"):
        textmix.cluster(TEXTS, model="dirichlet-process").with_n_clusters(2)


def test_the_automatic_model_is_a_consensus_unless_a_setting_of_a_single_run_is_given():
    assert type(TextClusterer().make_model(100)) is textmix.ConsensusMixture
    assert type(TextClusterer(n_clusters=3, n_sweeps=5).make_model(100)) is textmix.ConsensusMixture
    for setting in ({"alpha": 0.1}, {"beta": 0.1}, {"inference": "gibbs"}, {"init": "online"}, {"engine": "serial"}):
        assert type(TextClusterer(**setting).make_model(100)) is textmix.DirichletMultinomialMixture
    assert type(TextClusterer().make_model(100, on_disk=True)) is textmix.DirichletMultinomialMixture
    assert len(set(TextClusterer(n_clusters=3).fit(TEXTS).labels_)) == 3


def test_the_clusterer_is_a_scikit_learn_estimator():
    clusterer = TextClusterer("dirichlet-process", alpha=1.0, random_state=5, language=None)
    copy = clone(clusterer)
    assert copy.get_params() == clusterer.get_params()
    labels = copy.fit_predict(TEXTS)
    np.testing.assert_array_equal(labels, copy.labels_)
    np.testing.assert_array_equal(copy.predict(TEXTS[:5]), copy.clustering_.predict(TEXTS[:5]))
    assert copy.predict_proba(TEXTS[:5]).shape == (5, copy.n_clusters_ + 1)
    with pytest.raises(ValueError, match="not fitted"):
        clone(copy).predict(TEXTS)


def test_an_estimator_is_copied_and_gets_the_seed_if_it_has_none():
    model = textmix.DirichletMultinomialMixture(10, random_state=None)
    clusterer = TextClusterer(model, random_state=4).fit(TEXTS)
    assert not hasattr(model, "labels_")
    assert clusterer.model_.random_state == 4
    seeded = TextClusterer(textmix.DirichletMultinomialMixture(10, random_state=9), random_state=4)
    assert seeded.fit(TEXTS).model_.random_state == 9


def test_any_clusterer_can_stand_behind_it_but_is_not_saved(tmp_path):
    clustering = textmix.cluster([*TEXTS, ""], model=KMeans(3, n_init=3))
    assert clustering.n_clusters == 3
    assert clustering.labels[-1] == -1
    assert sorted(cluster.size for cluster in clustering.clusters) == [12, 12, 12]
    np.testing.assert_array_equal(clustering.predict(["refund money", ""]), [clustering.labels[0], -1])
    assert not clustering.outliers.any()
    with pytest.raises(AttributeError, match="KMeans has no probabilities_"):
        _ = clustering.probabilities
    with pytest.raises(ValueError, match="by KMeans cannot be saved"):
        clustering.save(tmp_path / "run")


def test_a_tokenizer_of_the_users_own_splits_texts():
    clustering = textmix.cluster(["A-b-c", "a-B"], tokenizer=lambda text: text.split("-"), min_word_length=1)
    assert clustering.corpus.vocabulary == ["a", "b", "c"]
    assert clustering.corpus.counts.toarray().tolist() == [[1, 1, 1], [1, 1, 0]]


def test_importing_textmix_imports_nothing_heavy():
    code = (
        "import sys, textmix; dir(textmix); textmix.__version__; import textmix.cli.main; "
        "print([name for name in ('numba', 'sklearn', 'scipy', 'duckdb', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in textmix.__all__:
        assert getattr(textmix, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'clusters'"):
        _ = textmix.clusters


@pytest.mark.parametrize("name", ["kmnls", "damnls", "softvmfs", "edcm"])
def test_an_algorithm_of_the_papers_behind_texts(name):
    clustering = textmix.cluster([*TEXTS, ""], model=textmix.algorithm(name, n_clusters=3, n_init=5))
    assert clustering.n_clusters == 3
    assert clustering.labels[-1] == -1
    frame = clustering.to_frame()
    assert frame["probability"][:-1].between(0, 1).all()
    assert np.isfinite(clustering.outlier_scores[:-1]).all()
    np.testing.assert_array_equal(clustering.predict(TEXTS), clustering.labels[:-1])
    assigned = clustering.assign([TEXTS[0], "qqq"])
    assert assigned.labels.tolist() == [clustering.labels[0], -1]
    with pytest.raises(ValueError, match="cannot be saved"):
        clustering.save("nowhere")


def test_seed_words_name_clusters():
    seed_words = {"Accounts": ["password", "sesame"], "Post": ["van"], "Bank": ["refund", "money", "credit"]}
    with pytest.warns(UserWarning, match="seed word") as told:
        clustering = textmix.cluster(TEXTS, language=None, seed_words=seed_words)
    message = "only one seed word of 'Accounts' is in the texts; not there, or stop words: sesame"
    assert [(str(one.message), one.filename) for one in told] == [(message, __file__)]
    assert set(clustering.known_clusters) == {"Accounts", "Post", "Bank"}
    own = clustering.clusters[clustering.known_clusters["Accounts"]]
    assert (own.name, own.known) == ("Accounts", True)
    assert {text for text, label in zip(TEXTS, clustering.labels, strict=True) if label == own.index} == {
        *TOPICS["login"]
    }
    assert "Accounts: " in repr(clustering)


def test_known_texts_stay_together_and_names_are_kept_when_saved(tmp_path):
    y = [topic if i < 8 else None for i, topic in enumerate(LABELS)]
    clustering = textmix.cluster(TEXTS, y=y, sample_weight=np.ones(len(TEXTS)), language=None)
    assert set(clustering.known_clusters) == {"refund", "login"}
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    assert loaded.known_clusters == clustering.known_clusters
    assert [cluster.name for cluster in loaded.clusters] == [cluster.name for cluster in clustering.clusters]
    assert loaded.with_n_clusters(2).known_clusters.keys() == clustering.known_clusters.keys()
    everything = clustering.with_outlier_threshold(-100.0), loaded.with_outlier_threshold(-100.0)
    given = {text for text, name in zip(TEXTS, y, strict=True) if name is not None}
    assert [(~one.outliers).tolist() for one in everything] == [[text in given for text in TEXTS]] * 2
    both = loaded.with_n_clusters(1)
    assert both.clusters[0].name == "login / refund"


def test_clusters_of_another_clustering_stay(clustering):
    new = ["refund money", "courier parcel", "zebra lion", "lion zebra tiger", "tiger zebra", "lion tiger zebra"]
    later = textmix.cluster(new, frozen=clustering, language=None)
    names = {later.clusters[label].name for label in later.labels[:2]}
    assert names == {clustering.clusters[clustering.labels[i]].name for i in (0, 8)}
    assert len(set(later.labels[2:].tolist()) & set(later.known_clusters.values())) == 0
    assert sum(label < 0 for label in later.known_clusters.values()) == 1
    by_texts = textmix.cluster(new, frozen={"Zoo": ["zebra lion"]}, language=None)
    assert by_texts.clusters[by_texts.labels[2]].name == "Zoo"


def test_texts_are_split_as_those_of_frozen_clusters_were():
    known = textmix.cluster(TEXTS, language="en", stop_words=["parcel"], stem=True)
    new = ["parcel refund", "courier late"]
    assert textmix.cluster(new, frozen=known).corpus.tokenizer == known.corpus.tokenizer
    own = textmix.cluster(new, frozen=known, stop_words=["late"])
    assert own.corpus.tokenizer.stop_words == ("late",)
    assert not own.corpus.tokenizer.stem


def test_a_text_sent_many_times_does_not_give_its_cluster_its_words():
    texts = [*TEXTS, *["refund money bank wholesale"] * 300]
    clustering = textmix.cluster(texts, language=None, duplicates="once")
    own = clustering.clusters[clustering.labels[0]]
    assert own.size == 312
    assert set(clustering.labels[-300:]) == {own.index}
    assert "wholesale" not in own.name
    assert "wholesale" not in [word for word, _ in own.words[:4]]


def test_a_seed_word_of_two_clusters_is_told():
    with pytest.warns(UserWarning, match='"van" stands under "Post" and "Cars": it does not tell them apart'):
        textmix.cluster(TEXTS, language=None, seed_words={"Post": ["van", "parcel"], "Cars": ["Van"]})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed_words": {"Post": ["the", "qwerty"]}}, r"no text has a seed word of 'Post' \(the, qwerty\)"),
        ({"seed_words": {"Post": "van"}}, "single str"),
        ({"seed_words": {"Post": ["van"]}, "alpha": 0.1}, "seed_words is for the model 'consensus'"),
        ({"frozen": ["van"]}, "frozen must be a Clustering"),
        ({"frozen": {"Post": "van"}}, "frozen of 'Post' is a single str"),
        ({"frozen": {"Post": []}}, "frozen of 'Post' is empty"),
        ({"seed_words": ["van"]}, "seed_words must be"),
        ({"seed_words": {"Post": 7}}, "seed_words of 'Post' is a single int"),
        ({"sample_weight": ["a"] * 36}, "sample_weight must be numbers"),
        ({"y": [1]}, "y has 1 labels"),
        ({"y": [1] * 36, "model": KMeans(2)}, "y is for the model 'consensus', not for KMeans"),
        ({"duplicates": "twice"}, "'duplicates' parameter"),
    ],
)
def test_guidance_that_cannot_be_followed_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        textmix.cluster(TEXTS, **given)

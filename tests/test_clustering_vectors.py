"""Texts by words and meaning: where vectors come from, new texts, saved runs, known clusters, models of vectors."""

from __future__ import annotations

import json
from threading import Thread

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import textmix
from textmix import ConsensusMixture, TextClusterer, VonMisesFisherMixture
from textmix.vectors import ArrayVectors, StaticEncoder, make_encoder

# No two texts say the same in the same words; most pairs of one subject have no word in common.
TICKETS = {
    "delivery": [
        "my parcel is late",
        "where is my order",
        "the package never arrived",
        "still waiting for the delivery",
        "the courier lost the shipment",
        "order has not been delivered",
        "parcel stuck at the depot",
        "tracking says delivered but nothing came",
        "late delivery again",
        "shipping takes far too long",
        "my package is missing",
        "the courier left the parcel with a neighbour",
    ],
    "login": [
        "I forgot my password",
        "cannot log in to my account",
        "the login page does not load",
        "password reset link is broken",
        "locked out after too many attempts",
        "username is not recognised",
        "reset email with the new password did not come",
        "sign in fails every time",
        "my account is blocked",
        "the security code is rejected",
        "unable to access my profile",
        "login credentials are not accepted",
    ],
    "refund": [
        "I want my money back",
        "please refund the payment",
        "charged twice on my card",
        "the invoice is wrong",
        "cancel the payment",
        "my credit card was debited by mistake",
        "when do I get the refund",
        "billing error on the last statement",
        "reimbursement has not been paid",
        "you took money without asking",
        "the price on the bill is too high",
        "bank transfer was not returned",
    ],
}
TEXTS = [text for texts in TICKETS.values() for text in texts]
SUBJECTS = np.repeat(np.arange(3), 12)
GERMAN = [
    "das Paket ist zu spät gekommen und der Fahrer war unfreundlich",
    "ich habe mein Passwort vergessen und kann mich nicht anmelden",
    "wo bleibt meine Bestellung, sie sollte gestern da sein",
    "die Anmeldung geht nicht mehr, das Passwort ist falsch",
] * 4
# Of their words that count, none is in the texts above.
NEW = ["freight delayed", "user verification failed", "fee reimbursed"]


class Doubled:
    """An encoder of the user's: static vectors, twice as long."""

    n_texts = 0

    def encode(self, texts):
        self.n_texts += len(texts)
        return 2 * StaticEncoder().encode(texts)


def encode_texts(texts):
    return StaticEncoder().encode(texts).tolist()


def encode(texts):
    return StaticEncoder().encode(texts)


@pytest.fixture(scope="module")
def static():
    return textmix.cluster(TEXTS)


@pytest.fixture(scope="module")
def given():
    return textmix.cluster(TEXTS, vectors=encode(TEXTS))


@pytest.fixture(scope="module")
def own():
    return textmix.cluster(TEXTS, encoder="own")


# Where vectors come from


def test_english_texts_are_clustered_by_words_and_static_vectors(static):
    assert static.view_sentence() == "words and static word vectors"
    assert static.estimator.has_vectors_


def test_texts_of_another_language_are_clustered_by_words_alone():
    clustering = textmix.cluster(GERMAN)
    assert clustering.view_sentence() == "words alone"
    assert not clustering.estimator.has_vectors_
    assert textmix.cluster(GERMAN, encoder="static").view_sentence() == "words and static word vectors"


def test_where_no_language_is_recognised_texts_are_english_if_the_static_vectors_know_their_words():
    assert textmix.cluster(TEXTS, language=None).view_sentence() == "words and static word vectors"
    unknown = [text.replace("e", "q").replace("a", "x") for text in TEXTS]
    assert textmix.cluster(unknown, language=None).view_sentence() == "words alone"


def test_without_an_encoder_words_are_all(static):
    by_words = textmix.cluster(TEXTS, encoder=None)
    assert by_words.view_sentence() == "words alone"
    alone = ConsensusMixture().fit(by_words.corpus.counts)
    np.testing.assert_array_equal(by_words.labels, alone.labels_)
    assert by_words.describe_views() == {"words": True, "vectors": None}
    assert not np.array_equal(by_words.labels, static.labels)


def test_without_the_table_of_static_vectors_words_are_all(monkeypatch):
    monkeypatch.setattr(StaticEncoder, "is_available", staticmethod(lambda: False))
    assert textmix.cluster(TEXTS).view_sentence() == "words alone"


@pytest.mark.parametrize(
    ("encoder", "sentence"),
    [
        ("static", "words and static word vectors"),
        (Doubled(), "words and vectors by Doubled"),
        (encode_texts, "words and vectors by encode_texts"),
        (StaticEncoder(), "words and static word vectors"),
    ],
    ids=["name", "object", "function", "ours"],
)
def test_an_encoder_is_a_name_an_object_or_a_function(static, encoder, sentence):
    clustering = textmix.cluster(TEXTS, encoder=encoder)
    assert clustering.view_sentence() == sentence
    np.testing.assert_array_equal(clustering.labels, static.labels)
    np.testing.assert_array_equal(clustering.predict(NEW), static.predict(NEW))


def test_an_encoder_may_ask_another_one(static):
    inner, found = make_encoder(Doubled()), []
    thread = Thread(target=lambda: found.append(textmix.cluster(TEXTS, encoder=inner.encode)), daemon=True)
    thread.start()
    thread.join(timeout=120)  # neither waits for the other
    assert not thread.is_alive()
    np.testing.assert_array_equal(found[0].labels, static.labels)


def test_vectors_may_be_made_from_the_texts_themselves(own):
    assert own.view_sentence() == "words and vectors made from the texts themselves"
    assert own.estimator.has_vectors_
    np.testing.assert_array_equal(textmix.cluster(TEXTS, encoder="own").labels, own.labels)


def test_vectors_may_be_given(given, static):
    assert given.view_sentence() == "words and the vectors given"
    np.testing.assert_array_equal(given.labels, static.labels)
    for vectors in (encode(TEXTS).tolist(), ArrayVectors(encode(TEXTS))):
        np.testing.assert_array_equal(textmix.cluster(TEXTS, vectors=vectors).labels, static.labels)


def test_each_text_is_encoded_once():
    encoder = Doubled()
    textmix.cluster([*TEXTS, *TEXTS], encoder=encoder)
    assert encoder.n_texts <= len(TEXTS) + 1  # one more to know the dimensions


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": "bert"}, "encoder must be"),
        ({"encoder": 3}, "encoder must be"),
        ({"encoder": "model2vec:"}, "encoder must be"),
        ({"encoder": Doubled}, "encoder is the class Doubled; give an object of it"),
    ],
)
def test_a_wrong_encoder_is_refused_before_texts_are_read(settings, message):
    def unread():
        raise AssertionError("a text was read")
        yield ""

    with pytest.raises(ValueError, match=message):
        textmix.cluster(unread(), **settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectors": np.ones((35, 4))}, "vectors has 35 rows, but there are 36 texts"),
        ({"vectors": np.where(np.arange(36) == 30, np.nan, 1.0)[:, np.newaxis] * np.ones(4)}, "row 30 of vectors"),
        ({"vectors": np.ones((36, 4)), "encoder": "static"}, "vectors are given, so an encoder is not needed"),
        ({"vectors": np.ones((36, 4)), "model": "dirichlet-process"}, "is a model of words"),
        ({"encoder": "static", "alpha": 0.1}, "is a model of words"),
        ({"encoder": lambda texts: np.ones((1, 4))}, "the output of encoder"),
    ],
    ids=["rows", "NaN", "both", "model", "one run", "output"],
)
def test_vectors_that_cannot_be_used_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        textmix.cluster(TEXTS, **given)


# What they are good for


def test_paraphrases_without_a_common_word_are_together_by_meaning_and_not_by_words(static):
    by_words = textmix.cluster(TEXTS, encoder=None)
    shared = (by_words.corpus.counts @ by_words.corpus.counts.T).toarray() > 0
    is_pair = np.triu(~shared & (SUBJECTS[:, np.newaxis] == SUBJECTS), 1)
    assert is_pair.sum() > 150
    together = {
        name: (found.labels[:, np.newaxis] == found.labels)[is_pair].mean()
        for name, found in (("meaning", static), ("words", by_words))
    }
    assert together["meaning"] > 0.75
    assert together["words"] < 0.2
    assert adjusted_rand_score(SUBJECTS, static.labels) > 0.8
    late, where = TEXTS.index("my parcel is late"), TEXTS.index("where is my order")
    by_meaning = [textmix.cluster(TEXTS, seed).labels for seed in range(6)]
    assert sum(labels[late] == labels[where] for labels in by_meaning) >= 2  # some seeds part the subject
    assert by_words.labels[late] != by_words.labels[where]


def test_a_new_text_without_a_known_word_is_assigned_by_its_meaning(static):
    assert static.corpus.count(NEW).nnz == 0
    found = static.assign([*NEW, "", "?!"])
    np.testing.assert_array_equal(found.labels[:3], static.labels[[0, 12, 24]])
    assert found.labels[3] == -1
    assert (found.probabilities[:3] > 1 / 3).all()
    assert np.isfinite(found.outlier_scores[:3]).all()
    by_words = textmix.cluster(TEXTS, encoder=None)
    assert by_words.assign(NEW).labels.tolist() == [-1, -1, -1]


def test_many_new_texts_are_encoded_some_at_a_time(static, given, monkeypatch):
    texts = [*NEW, *TEXTS[::3], "", "?!"]
    for clustering, vectors in ((static, None), (given, encode(texts))):
        at_once = clustering.assign(texts, vectors=vectors)
        with monkeypatch.context() as patched:
            patched.setattr("textmix.clustering.clustering.MAX_ENCODED", 4)
            in_parts = clustering.assign(texts, vectors=vectors)
            with pytest.raises(ValueError, match="16 rows, but there are 17 texts"):
                given.assign(texts, vectors=encode(texts)[1:])
        for found, expected in zip(in_parts, at_once, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_new_text_about_something_else_is_an_outlier(static):
    found = static.assign(["a violin concerto in three movements", "my parcel has not arrived"])
    assert found.outliers.tolist() == [True, False]
    assert found.outlier_scores[0] > found.outlier_scores[1]


def test_a_text_without_words_has_no_cluster_though_it_has_a_vector():
    clustering = textmix.cluster([*TEXTS, "it is what it is"])
    assert clustering.labels[-1] == -1
    assert np.isnan(clustering.probabilities[-1]).all()
    assert clustering.n_without_words == 1


def test_what_stands_in_tables_is_by_both_views(static):
    np.testing.assert_array_equal(static.model.scores.probabilities, static.probabilities[np.arange(36), static.labels])
    np.testing.assert_array_equal(static.outlier_scores, static.estimator.outlier_scores_)
    frame = static.to_frame()
    assert frame["probability"].between(0, 1).all()


def test_guidance_goes_with_vectors():
    y = [None] * 36
    y[0], y[12] = "Post", "Accounts"
    clustering = textmix.cluster(TEXTS, y=y, sample_weight=np.where(np.arange(36) % 6 == 5, 0.0, 1.0))
    for name, subject in (("Post", 0), ("Accounts", 1)):
        own = clustering.labels == clustering.known_clusters[name]
        assert own[subject == SUBJECTS].mean() > 0.9
        assert (SUBJECTS[own] == subject).mean() > 0.9


def test_n_clusters_goes_with_vectors():
    for n_clusters in (2, 3, 10):
        assert textmix.cluster(TEXTS, n_clusters=n_clusters).n_clusters == n_clusters


# New texts


def test_vectors_of_new_texts_are_asked_for_where_they_were_given(given):
    for method in (given.predict, given.assign, given.predict_proba):
        with pytest.raises(ValueError, match="made with vectors of your own; give the vectors of the new texts too"):
            method(NEW)
    np.testing.assert_array_equal(given.predict(NEW, vectors=encode(NEW)), given.labels[[0, 12, 24]])


@pytest.mark.parametrize("kind", [list, np.asarray, ArrayVectors])
def test_vectors_of_new_texts_come_in_many_forms_and_lengths(given, kind, monkeypatch):
    expected = given.assign(NEW, vectors=encode(NEW))
    monkeypatch.setattr("textmix.results.assignments.BLOCK_CELLS", 1)  # one text at a time
    found = given.assign(NEW, vectors=kind(7.5 * encode(NEW).astype(float)))
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)
    np.testing.assert_allclose(found.outlier_scores, expected.outlier_scores, atol=1e-6)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((2, 256)), "vectors has 2 rows, but there are 3 texts"),
        (np.ones((4, 256)), "vectors has 4 rows, but there are 3 texts"),
        (np.ones((3, 7)), "vectors have 7 dimensions, those of the fit had 256"),
        (np.where(np.arange(3) == 2, np.inf, 1.0)[:, np.newaxis] * np.ones(256), "row 2 of vectors .* infinity"),
    ],
    ids=["too few", "too many", "dimensions", "infinity"],
)
def test_wrong_vectors_of_new_texts_are_refused_with_the_row(given, vectors, message, monkeypatch):
    monkeypatch.setattr("textmix.results.assignments.BLOCK_CELLS", 1)
    for method in (given.predict, given.assign, given.predict_proba):
        with pytest.raises(ValueError, match=message):
            method(NEW, vectors=vectors)


def test_a_clustering_by_words_alone_takes_no_vectors():
    by_words = textmix.cluster(TEXTS, encoder=None)
    for method in (by_words.predict, by_words.assign, by_words.predict_proba):
        with pytest.raises(ValueError, match="this clustering is by words alone: leave out vectors"):
            method(NEW, vectors=encode(NEW))


def test_vectors_may_be_given_in_place_of_the_encoder_s(static):
    np.testing.assert_array_equal(static.predict(NEW, vectors=encode(NEW[::-1])), static.predict(NEW[::-1]))


def test_no_new_texts_give_nothing(static, own, given):
    assert static.assign([]).labels.size == own.assign([]).labels.size == 0
    assert given.assign([], vectors=np.ones((0, 256))).labels.size == 0


def test_the_clusterer_takes_vectors_too():
    clusterer = TextClusterer().fit(TEXTS, vectors=encode(TEXTS))
    np.testing.assert_array_equal(clusterer.predict(NEW, vectors=encode(NEW)), clusterer.labels_[[0, 12, 24]])
    assert clusterer.predict_proba(NEW, vectors=encode(NEW)).shape == (3, clusterer.n_clusters_ + 1)
    assert TextClusterer(encoder="static").fit(TEXTS).predict(NEW).shape == (3,)


# Saved runs


def assert_same(one, other, new=NEW, **vectors):
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-9)
    np.testing.assert_allclose(one.outlier_scores, other.outlier_scores, atol=1e-9)
    np.testing.assert_array_equal(one.outliers, other.outliers)
    assert one.view_sentence() == other.view_sentence()
    for found, expected in zip(one.assign(new, **vectors), other.assign(new, **vectors), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("encoder", ["static", "own", None])
def test_a_run_is_loaded_as_it_was_saved(encoder, tmp_path):
    clustering = textmix.cluster(TEXTS, encoder=encoder)
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    new = [*NEW, *TEXTS[:5], "parcel money password"]
    assert_same(clustering, loaded, new)
    loaded.save(tmp_path / "again")
    assert_same(clustering, textmix.load(tmp_path / "again"), new)
    assert json.loads((tmp_path / "again" / "run.json").read_text())["views"] == clustering.describe_views()


def test_a_run_with_vectors_of_the_user_s_own_asks_for_those_of_new_texts(given, tmp_path):
    given.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    assert_same(given, loaded, vectors=encode(NEW))
    with pytest.raises(ValueError, match="give the vectors of the new texts too"):
        loaded.assign(NEW)
    with_encoder = textmix.load(tmp_path / "run", encoder=Doubled())
    np.testing.assert_array_equal(with_encoder.predict(NEW), given.predict(NEW, vectors=encode(NEW)))


@pytest.mark.parametrize(("encoder", "name"), [(Doubled(), "Doubled"), (encode_texts, "encode_texts")])
def test_an_encoder_of_the_user_s_own_is_asked_for_again(encoder, name, tmp_path):
    clustering = textmix.cluster(TEXTS, encoder=encoder)
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    assert loaded.view_sentence() == f"words and vectors by {name}"
    np.testing.assert_allclose(loaded.probabilities, clustering.probabilities, atol=1e-9)
    with pytest.raises(
        ValueError, match=f'the encoder "{name}", which is not at hand; .*load\\(folder, encoder=...\\)'
    ):
        loaded.assign(NEW)
    assert_same(clustering, textmix.load(tmp_path / "run", encoder=encoder))


def test_static_vectors_of_another_version_are_not_mixed_with_these(static, tmp_path):
    static.save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    info = json.loads(path.read_text())
    info["views"]["vectors"]["weights"] = "0" * 16
    path.write_text(json.dumps(info))
    with pytest.raises(ValueError, match="another version of the static word vectors"):
        textmix.load(tmp_path / "run").assign(NEW)


@pytest.mark.parametrize("views", [3, {"vectors": "static"}, {"vectors": {"name": 7}}, {"vectors": None}], ids=str)
def test_a_damaged_description_of_the_views_is_named(static, tmp_path, views):
    static.save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "views": views}))
    with pytest.raises(ValueError, match="damaged"):
        textmix.load(tmp_path / "run")


def test_run_json_says_what_documents_were_seen_by(static, own, given, tmp_path):
    described = {}
    for name, clustering in (("static", static), ("own", own), ("given", given)):
        clustering.save(tmp_path / name)
        described[name] = json.loads((tmp_path / name / "run.json").read_text())["views"]
        assert described[name] == clustering.describe_views()
    vectors = described["static"]["vectors"]
    assert vectors["name"] == "static"
    assert vectors["version"] == textmix.__version__
    assert len(vectors["weights"]) == 16
    assert vectors["dimensions"] == 256
    assert described["own"]["vectors"]["weights"] != vectors["weights"]
    assert described["given"] == {"words": True, "vectors": {"name": "given", "dimensions": 256}}


def test_own_vectors_of_other_texts_do_not_go_with_a_run(own, tmp_path):
    own.save(tmp_path / "run")
    textmix.cluster(GERMAN, encoder="own").save(tmp_path / "other")
    for file in (tmp_path / "other" / "vectors").iterdir():
        (tmp_path / "run" / "vectors" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match="do not belong together"):
        textmix.load(tmp_path / "run")


@pytest.mark.parametrize("is_loaded", [False, True], ids=["fitted", "loaded"])
def test_clusters_are_changed_by_both_views(static, tmp_path, is_loaded):
    clustering = static
    if is_loaded:
        static.save(tmp_path / "run")
        clustering = textmix.load(tmp_path / "run")
    merged = clustering.merge(0, 1).rename(0, "Both")
    assert merged.n_clusters == clustering.n_clusters - 1
    split = merged.split("Both")
    assert adjusted_rand_score(split.labels, clustering.labels) > 0.9  # by words alone they would not be found again
    fewer = clustering.with_n_clusters(2)
    for changed in (merged, split, fewer, clustering.with_outlier_threshold(0.5)):
        assert changed.view_sentence() == "words and static word vectors"
        np.testing.assert_allclose(changed.probabilities.sum(axis=1), 1.0)
        assert (changed.predict(NEW) >= 0).all()
    merged.save(tmp_path / "merged")
    again = textmix.load(tmp_path / "merged")
    assert again.clusters[0].name == "Both"
    assert_same(merged, again)


def test_a_cluster_of_which_no_text_has_a_vector_can_be_split():
    vectors = encode(TEXTS)
    vectors[:12] = 0.0
    y = np.array(["delivery", "login", "refund"])[SUBJECTS]
    clustering = textmix.cluster(TEXTS, y=y, vectors=vectors)
    assert clustering.n_clusters == 3
    assert clustering.split("delivery").n_clusters == 4


# Known clusters


LATER = [  # hardly a word in common with those above
    *["freight delayed", "boxes shipped yesterday", "postal service slow", "mail delayed again"],
    *["user verification failed", "authentication failed twice", "two-factor verification", "username typed wrongly"],
    *["soup was cold", "pizza tasted great", "lovely dinner and wine", "waiter brought cold pasta"],
]


def check_frozen(clustering, earlier):
    """Later texts are in the clusters of the earlier ones that mean the same, those of a new subject in none."""
    names = [earlier.clusters[earlier.labels[place]].name for place in (0, 12)]
    post, accounts = (clustering.known_clusters[name] for name in names)
    assert (clustering.labels[:4] == post).mean() >= 0.75
    assert (clustering.labels[4:8] == accounts).mean() >= 0.75
    assert not np.isin(clustering.labels[8:], [post, accounts]).any()


def test_later_texts_join_frozen_clusters_by_meaning(static):
    later = textmix.cluster(LATER, frozen=static)
    assert later.view_sentence() == "words and static word vectors"
    check_frozen(later, static)


def test_later_texts_join_frozen_clusters_by_the_vectors_given(given, tmp_path):
    later = textmix.cluster(LATER, frozen=given, vectors=encode(LATER))
    assert later.view_sentence() == "words and the vectors given"
    check_frozen(later, given)
    given.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    again = textmix.cluster(LATER, frozen=loaded, vectors=encode(LATER))
    np.testing.assert_array_equal(again.labels, later.labels)


def test_vectors_of_frozen_clusters_must_be_of_the_same_encoder(given):
    with pytest.raises(ValueError, match="have 256 dimensions, those of the documents 3; they must come from the same"):
        textmix.cluster(LATER, frozen=given, vectors=np.ones((12, 3)))


def test_frozen_texts_by_name_are_encoded_as_the_others_are():
    later = textmix.cluster(LATER, frozen={"Post": TEXTS[:12], "Accounts": TEXTS[12:24]})
    assert later.view_sentence() == "words and static word vectors"
    assert (later.labels[:4] == later.known_clusters["Post"]).mean() >= 0.75
    assert (later.labels[4:8] == later.known_clusters["Accounts"]).mean() >= 0.75


def test_frozen_clusters_by_words_alone_are_joined_by_words_alone():
    by_words = textmix.cluster(TEXTS, encoder=None)
    assert textmix.cluster(TEXTS[:20], frozen=by_words).view_sentence() == "words alone"
    assert textmix.cluster(TEXTS[:20], frozen=by_words, encoder="static").estimator.has_vectors_


def test_with_frozen_clusters_of_own_vectors_a_run_can_be_saved_and_loaded(own, tmp_path):
    later = textmix.cluster([*TEXTS[::2], *LATER], frozen=own)
    assert later.view_sentence() == "words and vectors made from the texts themselves"
    later.save(tmp_path / "run")
    assert_same(later, textmix.load(tmp_path / "run"))


def test_frozen_clusters_whose_encoder_is_not_at_hand_are_joined_by_the_default(tmp_path):
    textmix.cluster(TEXTS, encoder=Doubled()).save(tmp_path / "run")
    frozen = textmix.load(tmp_path / "run")
    with pytest.warns(UserWarning, match='made with the encoder "Doubled", which is not at hand'):
        later = textmix.cluster(LATER, frozen=frozen)
    assert later.view_sentence() == "words and static word vectors"
    check_frozen(later, frozen)
    encoder = textmix.load(tmp_path / "run", encoder=Doubled())
    assert textmix.cluster(LATER, frozen=encoder).view_sentence() == "words and vectors by Doubled"


def test_an_encoder_of_a_frozen_run_keeps_its_name(static, tmp_path, monkeypatch):
    monkeypatch.setattr("textmix.vectors.packages.load_model2vec", lambda name: Doubled())
    clustering = textmix.cluster(TEXTS, encoder="model2vec:small")
    assert clustering.view_sentence() == "words and vectors by model2vec:small"
    clustering.save(tmp_path / "run")
    loaded = textmix.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.predict(NEW), static.predict(NEW))
    later = textmix.cluster(LATER, frozen=loaded)
    assert later.view_sentence() == "words and vectors by model2vec:small"
    later.save(tmp_path / "later")
    assert (textmix.load(tmp_path / "later").predict(NEW) >= 0).all()


def test_seed_words_draw_texts_that_do_not_have_them():
    seed_words = {"Money": ["refund", "payment"], "Post": ["parcel", "courier"]}
    clustering = textmix.cluster(TEXTS, seed_words=seed_words)
    for name, subject in (("Money", 2), ("Post", 0)):
        drawn = clustering.labels == clustering.known_clusters[name]
        assert drawn[subject == SUBJECTS].mean() > 0.5
        assert (SUBJECTS[drawn] == subject).mean() > 0.8


def test_seed_words_and_frozen_texts_of_one_name_go_together(given):
    name, texts = given.clusters[given.labels[0]].name, [*LATER, "soup spoon"]
    later = textmix.cluster(texts, frozen=given, vectors=encode(texts), seed_words={name: ["freight", "mail"]})
    check_frozen(later, given)


# Models of vectors


@pytest.fixture(scope="module")
def directions():
    return textmix.cluster(TEXTS, vectors=encode(TEXTS), model=VonMisesFisherMixture(3, random_state=0))


def test_a_mixture_of_vectors_has_names_examples_and_a_report(directions, tmp_path):
    assert adjusted_rand_score(SUBJECTS, directions.labels) > 0.8
    assert directions.n_clusters == 3
    for cluster in directions.clusters:
        assert cluster.name
        assert cluster.examples == [TEXTS[document] for document in cluster.documents]
    assert {word for word, _ in directions.clusters[directions.labels[0]].words} & {"parcel", "courier", "package"}
    assert directions.view_sentence() == "words and the vectors given"
    directions.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "VonMisesFisherMixture" in page
    assert directions.clusters[0].name in page


def test_a_mixture_of_vectors_assigns_new_texts_by_their_vectors(directions):
    np.testing.assert_array_equal(directions.predict(TEXTS, vectors=encode(TEXTS)), directions.labels)
    found = directions.assign(NEW, vectors=encode(NEW))
    np.testing.assert_array_equal(found.labels, directions.labels[[0, 12, 24]])  # though no word is known
    assert (found.probabilities > 1 / 3).all()
    assert directions.predict_proba(NEW, vectors=encode(NEW)).shape == (3, 3)
    assert directions.predict(["?"], vectors=np.zeros((1, 256))).tolist() == [-1]
    with pytest.raises(ValueError, match="give the vectors of the new texts too"):
        directions.predict(NEW)


def test_a_mixture_of_vectors_takes_an_encoder(directions):
    clustering = textmix.cluster(TEXTS, encoder="static", model=VonMisesFisherMixture(3, random_state=0))
    np.testing.assert_array_equal(clustering.labels, directions.labels)
    np.testing.assert_array_equal(clustering.predict(NEW), directions.predict(NEW, vectors=encode(NEW)))
    by_words = textmix.cluster(TEXTS, model=VonMisesFisherMixture(3, random_state=0))
    assert by_words.view_sentence() == "words alone"


def test_models_of_other_packages_see_vectors_of_length_1_at_the_fit_and_later():
    vectors = encode(TEXTS) * np.linspace(1, 50, 36)[:, np.newaxis]
    clustering = textmix.cluster(TEXTS, vectors=vectors, model=KMeans(3, random_state=0, n_init=5))
    np.testing.assert_array_equal(clustering.predict(TEXTS, vectors=vectors[::-1][::-1]), clustering.labels)
    np.testing.assert_array_equal(clustering.predict(TEXTS, vectors=100 * vectors), clustering.labels)


# The report


@pytest.mark.parametrize(
    ("encoder", "sentence"),
    [("static", "words and static word vectors"), (None, "words alone")],
    ids=["static", "none"],
)
def test_the_report_says_what_texts_were_seen_by(encoder, sentence, tmp_path):
    textmix.cluster(TEXTS, encoder=encoder).report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert sentence in page

"""Names of clusters: telling words, and phrases of two."""

from __future__ import annotations

import pytest

import textmix
from textmix.results.names import find_terms, make_names

OFTEN = ["The promo code fails", "my Promo-code again", "promo code?", "code", "items"]


def test_two_words_that_stand_together_are_a_phrase_in_the_place_of_the_more_telling_one():
    assert find_terms(["items", "code", "again", "promo"], OFTEN) == ["items", "promo code", "again"]
    assert find_terms(["code", "promo"], OFTEN, n=1) == ["promo code"]


@pytest.mark.parametrize(
    "texts",
    [
        ["promo code", "promo code", "code"],  # two texts only
        ["promo code"] * 3 + ["promo"] * 4 + ["code"] * 4,  # the rarer word mostly without the other
        ["gift code"] * 3 + ["code"] * 8,  # the other word mostly without the rarer
        ["code promo", "promo, then a code", "promo x code"] * 2,
    ],
    ids=["too few", "rarer", "commoner", "apart"],
)
def test_words_that_seldom_stand_together_are_none(texts):
    assert find_terms(["code", "promo"], texts) == ["code", "promo"]


def test_a_word_is_in_one_phrase_only_that_of_the_most_texts():
    texts = ["mac os x"] * 4 + ["os x"] * 2
    assert find_terms(["mac", "os", "x"], texts) == ["mac", "os x"]


def test_plurals_of_words_that_stand_already_are_left_out():
    assert find_terms(["crash", "crashes", "app", "apps", "glass"], []) == ["crash", "app", "glass"]
    assert find_terms(["apps", "app"], []) == ["apps"]


def test_names_differ():
    terms = [["a", "b", "c", "d"], ["a", "b", "c", "e"], ["a", "b", "c"], ["a", "b", "c"], [], []]
    assert make_names(terms, {}) == ["a, b, c, d", "a, b, c, e", "a, b, c", "a, b, c (2)", "", "(2)"]


def test_clusters_have_names():
    texts = [f"the promo code number {n} does not work" for n in range(20)]
    texts += [f"my parcel number {n} was not delivered yet" for n in range(20)]
    clustering = textmix.cluster(texts)
    by_text = {cluster.examples[0][:8]: cluster for cluster in clustering.clusters}
    assert "promo code" in by_text["the prom"].name
    assert by_text["the prom"].name == ", ".join(by_text["the prom"].terms[:3])
    assert "parcel" in by_text["my parce"].name


def test_names_change_little_with_a_few_texts_less():
    texts = [f"reset my password please, mail {n % 7}" for n in range(40)]
    texts += [f"visual studio crashes on build {n % 5}" for n in range(40)]
    names = {cluster.name for cluster in textmix.cluster(texts).clusters if cluster.size > 5}
    assert names == {cluster.name for cluster in textmix.cluster(texts[2:-2]).clusters if cluster.size > 5}

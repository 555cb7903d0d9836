"""Word pieces against examples worked by hand."""

from __future__ import annotations

import pytest

from textmix.vectors import wordpiece
from textmix.vectors.wordpiece import MAX_WORD_LENGTH, WordPieces, split_words

PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[unused1]", "[", "]", "#", "!", ",", "'"),
    *("un", "##aff", "##able", "##a", "want", "##ed", "runn", "##ing", "cafe", "refund", "a", "##b", "北", "σα", "##ς"),
]


@pytest.fixture
def vocabulary() -> WordPieces:
    return WordPieces(PIECES)


def names(pieces) -> list[str]:
    return [PIECES[piece] for piece in pieces]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Refund  my\tORDER\n", ["refund", "my", "order"]),
        ("don't (stop)!", ["don", "'", "t", "(", "stop", ")", "!"]),
        ("a$b+c<d>e=f~g`h^i|j", list("a$b+c<d>e=f~g`h^i|j")),
        ("Café naïve Ünï", ["cafe", "naive", "uni"]),
        ("cafe\u0301", ["cafe"]),
        ("北京is中国", ["北", "京", "is", "中", "国"]),
        ("かな", ["かな"]),
        ("“quoted” — dash…", ["“", "quoted", "”", "—", "dash", "…"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("nul\x00l bad\ufffd", ["null", "bad"]),
        ("non\u00a0breaking\u2028line", ["non", "breaking", "line"]),
        ("thanks👍🏽ok ❤", ["thanks", "👍", "🏽", "ok", "❤"]),
        ("ΣΑΣ", ["σας"]),
        ("", []),
        (" \n", []),
    ],
)
def test_words(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("want", ["want"]),
        ("wanted", ["want", "##ed"]),
        ("unaffable", ["un", "##aff", "##able"]),
        ("unwanted", []),  # "want" only starts words
        ("running", ["runn", "##ing"]),
        ("runner", []),
        ("aab", ["a", "##a", "##b"]),
        ("ed", []),
        ("refunded", ["refund", "##ed"]),
        ("", []),
    ],
)
def test_a_word_is_cut_into_its_longest_pieces_from_the_left(vocabulary, word, pieces):
    assert names(vocabulary.cut_word(word)) == pieces


def test_words_that_are_too_long_have_no_pieces(vocabulary):
    assert len(vocabulary.cut_word("a" * MAX_WORD_LENGTH)) == MAX_WORD_LENGTH
    assert vocabulary.cut_word("a" * (MAX_WORD_LENGTH + 1)) == ()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("UNaffable, wanted!", ["un", "##aff", "##able", ",", "want", "##ed", "!"]),
        ("Café 北北", ["cafe", "北", "北"]),
        ("wanted unknown wanted", ["want", "##ed", "want", "##ed"]),
        ("[CLS] [PAD]", ["[", "]", "[", "]"]),  # special pieces stand for no text
        ("##ing", ["#", "#"]),
        ("ΣΑΣ", ["σα", "##ς"]),
        ("xyz", []),
    ],
)
def test_a_text_is_the_pieces_of_its_words(vocabulary, text, pieces):
    assert names(vocabulary.cut_text(text)) == pieces
    assert names(vocabulary.cut_text(text)) == pieces, "from the cache"


def test_only_whole_plain_words_are_known(vocabulary):
    known = [word for word in ("want", "wanted", "ed", "##ed", "北", "[PAD]", "refund") if vocabulary.has_word(word)]
    assert known == ["want", "refund"]


def test_the_cache_is_bounded_and_changes_nothing(vocabulary, monkeypatch):
    monkeypatch.setattr(wordpiece, "MAX_CACHED", 3)
    monkeypatch.setattr(wordpiece, "MAX_CACHED_LENGTH", 8)
    texts = ["want", "wanted", "a", "ab", "aab", "wanted,a", "wanted,wanted"]
    for text in texts * 2:
        assert vocabulary.cut_text(text) == WordPieces(PIECES).cut_text(text)
        assert len(vocabulary.cached) <= 3
    assert "wanted,wanted" not in vocabulary.cached


def test_an_empty_vocabulary_knows_nothing():
    assert WordPieces([]).cut_text("any text") == []

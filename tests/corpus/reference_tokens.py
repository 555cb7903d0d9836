"""The same words and counts as textmix.corpus, slow and obvious: one document, one character at a time."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

UNSPACED_NAMES = {
    "CJK UNIFIED IDEOGRAPH": "Han",
    "CJK COMPATIBILITY IDEOGRAPH": "Han",
    "IDEOGRAPHIC ITERATION MARK": "Han",
    "IDEOGRAPHIC CLOSING MARK": "Han",
    "IDEOGRAPHIC NUMBER ZERO": "Han",
    "VERTICAL IDEOGRAPHIC ITERATION MARK": "Han",
    "HANGZHOU": "Han",
    "HIRAGANA": "Hiragana",
    "HENTAIGANA": "Hiragana",
    "KATAKANA": "Katakana",
    "HALFWIDTH KATAKANA": "Katakana",
    "THAI": "Thai",
    "LAO": "Lao",
    "KHMER": "Khmer",
    "MYANMAR": "Myanmar",
}
JAPANESE_MARKS = "ーｰﾞﾟ"
ZERO_WIDTH_SPACE = "\u200b"


def kind_of(character: str) -> str:
    """ "ignored", "mark", "separator", "word", or the name of a script that is written without spaces."""
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if character == ZERO_WIDTH_SPACE:
        return "separator"
    if category in ("Cf", "Me") or "VARIATION SELECTOR" in name or name == "COMBINING GRAPHEME JOINER":
        return "ignored"
    if category in ("Mn", "Mc") or character in JAPANESE_MARKS:
        return "mark"
    if not character.isalnum() and character != "_":
        return "separator"
    if not character.isdecimal():
        for start, script in UNSPACED_NAMES.items():
            if f"{name} ".startswith((start + " ", start + "-")):
                return script
    return "word"


def words_of(text: str, lowercase: bool = True) -> list[str]:
    """The words of a text, in order."""
    if lowercase:
        text = text.lower()
    text = unicodedata.normalize("NFC", text)
    runs: list[tuple[str, list[str]]] = []  # the kind of each run and its characters, with their marks
    open_run = False
    for character in text:
        kind = kind_of(character)
        if kind == "ignored":
            continue
        if kind == "mark":
            if open_run:
                runs[-1][1][-1] += character
        elif kind == "separator":
            open_run = False
        elif open_run and runs[-1][0] == kind:
            runs[-1][1].append(character)
        else:
            runs.append((kind, [character]))
            open_run = True
    words: list[str] = []
    for kind, characters in runs:
        if kind == "word" or len(characters) == 1:
            words.append("".join(characters))
        else:
            words.extend(first + second for first, second in pairwise(characters))
    return words


def count(
    texts: Sequence[str],
    lowercase: bool = True,
    stop_words: Iterable[str] = (),
    min_word_length: int = 2,
    max_word_length: int = 40,
    least: int = 0,
    most: int = 10**9,
) -> tuple[list[str], list[Counter[str]]]:
    """The vocabulary in alphabetical order, and each document's counts; least, most: document frequencies."""
    left_out = {piece for word in stop_words for piece in words_of(word, lowercase)}
    documents = [
        [
            word
            for word in words_of(text, lowercase)
            if word not in left_out
            and len(word) <= max_word_length
            and (len(word) >= min_word_length or kind_of(word[0]) != "word")
        ]
        for text in texts
    ]
    frequencies = Counter(word for document in documents for word in set(document))
    kept = [[word for word in document if least <= frequencies[word] <= most] for document in documents]
    vocabulary = sorted({word for document in kept for word in document})
    return vocabulary, [Counter(document) for document in kept]

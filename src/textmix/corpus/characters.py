"""Texts become one array of code points, and every code point has a class: part of a word, separator, mark, …

Decided here, and nowhere else, is what a word's characters are:

- Letters, digits and underscore (Python's ``\\w``) make words. Combining marks (categories Mn, Mc) belong
  to the character before them, so that Hindi words and accents that have no composed form stay whole; a mark
  after a separator is nothing. The Japanese length mark ー and the half-width voicing marks count as marks.
- Format characters (category Cf: soft hyphen, zero-width joiner and non-joiner, direction marks, byte order
  mark), enclosing marks (Me: of a keycap emoji, say) and variation selectors are dropped: "Kern\\u00adkraft"
  is "Kernkraft". Unicode's own word rules (UAX #29, WB4) look through them too. The zero-width space is the
  exception: it stands between words of Thai or Khmer, so it separates.
- Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar are written without spaces. Each has a class of its
  own; a word ends where the class changes. Their decimal digits are digits like all others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from textmix.kernels.tokenize import (
    DOCUMENT_END,
    FIRST_UNSPACED,
    IGNORED,
    MARK,
    WORD,
    drop_ignored,
)

Classes = npt.NDArray[np.uint8]
CodePoints = npt.NDArray[np.uint32]

N_CODE_POINTS = 0x110000
# No letter, digit or mark lies above these, apart from the variation selectors of _IGNORED_MARKS (Unicode
# 17).
_LETTERS_END = 0x40000
_MARKS_END = 0x20000

_ZERO_WIDTH_SPACE = 0x200B
# Combining grapheme joiner, Mongolian and general variation selectors: category Mn, but they change no
# meaning.
_IGNORED_MARKS = ((0x034F, 0x034F), (0x180B, 0x180D), (0x180F, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_TAGS = ((0xE0001, 0xE0001), (0xE0020, 0xE007F))
# Length mark ー in both widths, half-width voicing marks ﾞ and ﾟ: letters to Unicode, marks to a reader.
_JAPANESE_MARKS = (0x30FC, 0xFF70, 0xFF9E, 0xFF9F)

# First and last code point (inclusive) of the blocks of each script that is written without spaces; what is
# neither a letter nor a mark in them keeps its own class.
_UNSPACED_SCRIPTS: tuple[tuple[tuple[int, int], ...], ...] = (
    (
        (0x3005, 0x3007),
        (0x3021, 0x3029),
        (0x3038, 0x303B),
        (0x3400, 0x9FFF),
        (0xF900, 0xFAFF),
        (0x20000, 0x3FFFF),
    ),  # Han
    ((0x3041, 0x309F), (0x1B001, 0x1B11F), (0x1B132, 0x1B132), (0x1B150, 0x1B152)),  # Hiragana
    (
        (0x30A1, 0x30FF),
        (0x31F0, 0x31FF),
        (0xFF66, 0xFF9F),
        (0x1AFF0, 0x1B000),
        (0x1B120, 0x1B122),
        (0x1B155, 0x1B167),
    ),  # Katakana
    ((0x0E01, 0x0E5B),),  # Thai
    ((0x0E81, 0x0EDF),),  # Lao
    ((0x1780, 0x17FF),),  # Khmer
    ((0x1000, 0x109F), (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F), (0x116D0, 0x116E3)),  # Myanmar
)


@lru_cache(maxsize=1)
def character_classes() -> Classes:
    """The class of every code point; made on first use (some 20 ms), then shared, so it is read-only."""
    classes = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    letters = _decode(np.arange(_LETTERS_END, dtype=np.uint32))
    for run in re.finditer(r"\w+", letters):
        classes[run.start() : run.end()] = WORD
    _set_unspaced_scripts(classes)
    for run in re.finditer(r"\d+", letters[:_MARKS_END]):
        classes[run.start() : run.end()] = WORD
    for code in np.flatnonzero(classes[:_MARKS_END] == 0).tolist():
        category = unicodedata.category(chr(code))
        if category in ("Mn", "Mc"):
            classes[code] = MARK
        elif category in ("Cf", "Me"):
            classes[code] = IGNORED
    for first, last in (*_IGNORED_MARKS, *_TAGS):
        classes[first : last + 1] = IGNORED
    classes[list(_JAPANESE_MARKS)] = MARK
    classes[_ZERO_WIDTH_SPACE] = 0
    classes[0] = DOCUMENT_END
    classes.flags.writeable = False
    return classes


def _set_unspaced_scripts(classes: Classes) -> None:
    """Give the letters of each script without spaces their own class."""
    for script, blocks in enumerate(_UNSPACED_SCRIPTS):
        for first, last in blocks:
            block = classes[first : last + 1]
            block[block == WORD] = FIRST_UNSPACED + script


def is_unspaced(character: str) -> bool:
    """Whether the character is of a script that is written without spaces."""
    return bool(character_classes()[ord(character)] >= FIRST_UNSPACED)


def code_points(texts: Sequence[str], lowercase: bool) -> CodePoints:
    """The texts' code points in one array, each text followed by a 0: lower case, composed (NFC), ignored
    ones dropped.

    The texts are joined first, so that lower-casing and encoding cost one call; a text's own 0 becomes a
    blank. Raises TypeError if an item is not a string.
    """
    joined = "\0".join(texts) + "\0"
    if joined.count("\0") != len(texts):
        joined = "".join(text.replace("\0", " ") + "\0" for text in texts)
    if lowercase:
        joined = joined.lower()
    return _encode(joined)


def normal_form(word: str, lowercase: bool) -> str:
    """One word in the form that `code_points` gives it."""
    form = word.lower() if lowercase else word
    return form if form.isascii() else _decode(_encode(form))


def _encode(text: str) -> CodePoints:
    plain = text.isascii()
    if not plain and not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    codes = np.frombuffer(bytearray(text.encode("utf-32-le", "surrogatepass")), dtype="<u4")
    if plain:
        return codes
    return codes[: drop_ignored(codes, character_classes())]


def _decode(codes: CodePoints) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")

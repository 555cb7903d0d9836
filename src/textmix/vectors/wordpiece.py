"""Texts become word pieces as in BERT's uncased models: words first, then the longest known pieces of each.

Words are in lower case and without accents; every punctuation mark, Chinese character and emoji is a word of its own. A
word is cut from the left into the longest pieces of the vocabulary, those inside a word marked by "##": "refunding" is
"ref", "##und", "##ing". A word that cannot be cut completely has no pieces (BERT's "[UNK]"). Devlin et al. 2019; Wu et
al. 2016, section 4.1.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

CONTINUATION = "##"
MAX_WORD_LENGTH = 100  # longer words have no pieces, as in BERT
MAX_CACHED = 1_000_000  # stretches of text whose pieces are remembered: some 150 MB
MAX_CACHED_LENGTH = 50  # characters; longer ones are rarely met again

# First and last code point of characters that are words of their own: what BERT takes for Chinese (no kana, no hangul),
# and pictures. BERT has no words with pictures in them, so that "thanks👍" would be unknown.
_SINGLE = (
    (0x2600, 0x27BF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
    (0x1F000, 0x1FAFF),
)
# Symbols of ASCII that Unicode does not count as punctuation, but BERT does.
_SYMBOLS = frozenset("$+<=>^`|~")

Pieces = tuple[int, ...]


class WordPieces:
    """A vocabulary of pieces; a piece's number is its place in the list."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._starts: dict[str, int] = {}
        self._continuations: dict[str, int] = {}
        for number, piece in enumerate(pieces):
            if piece.startswith("[") and len(piece) > 1:
                continue  # "[CLS]", "[unused7]": stand for no text
            if piece.startswith(CONTINUATION) and len(piece) > len(CONTINUATION):
                self._continuations[piece.removeprefix(CONTINUATION)] = number
            else:
                self._starts[piece] = number
        self._longest = max(map(len, [*self._starts, *self._continuations]), default=0)
        # Keyed by what stands between blanks, so that a common stretch such as "(see" is looked up once.
        self.cached = _CachedPieces(self)

    def has_word(self, word: str) -> bool:
        """Whether a word in lower case is one piece and plain ASCII, as nearly all English words are."""
        return word.isascii() and word in self._starts

    def cut_text(self, text: str) -> list[int]:
        """The pieces of a text, in its order."""
        return [piece for stretch in text.split() for piece in self.cached[stretch]]

    def cut_word(self, word: str) -> Pieces:
        """The longest pieces of one word from the left; none if the vocabulary lacks one that is needed."""
        if len(word) > MAX_WORD_LENGTH:
            return ()
        found: list[int] = []
        known, start = self._starts, 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = known.get(word[start:end])
                if number is not None:
                    break
            else:
                return ()
            found.append(number)
            known, start = self._continuations, end
        return tuple(found)


class _CachedPieces(dict[str, Pieces]):
    """The pieces of stretches of text, found when they are first asked for. Threads may share it."""

    def __init__(self, vocabulary: WordPieces) -> None:
        self._vocabulary = vocabulary

    def __missing__(self, stretch: str) -> Pieces:
        pieces = tuple(piece for word in split_words(stretch) for piece in self._vocabulary.cut_word(word))
        if len(stretch) <= MAX_CACHED_LENGTH:
            if len(self) >= MAX_CACHED:
                self.clear()
            self[stretch] = pieces
        return pieces


class _Replacements(dict[int, str]):
    """What becomes of each character, for `str.translate`: found when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character.isspace():
            replacement = " "
        elif category[0] == "P" or character in _SYMBOLS or any(first <= code <= last for first, last in _SINGLE):
            replacement = f" {character} "
        elif category == "Mn" or category[0] == "C" or character == "\ufffd":
            replacement = ""  # accents, control characters, what could not be decoded
        else:
            replacement = character
        self[code] = replacement
        return replacement


_REPLACEMENTS = _Replacements()


def split_words(text: str) -> list[str]:
    """Words in lower case, without accents and control characters; punctuation marks are words."""
    return unicodedata.normalize("NFD", text.lower()).translate(_REPLACEMENTS).split()

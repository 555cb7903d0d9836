"""Snowball stems of words; the only file that imports PyStemmer."""

from __future__ import annotations

from collections.abc import Sequence

try:
    import Stemmer
except ImportError:
    Stemmer = None

# Snowball offers these beside its languages.
_ALGORITHMS_OF_ENGLISH_AND_DUTCH = frozenset({"porter", "dutch_porter"})


def stemming_languages() -> frozenset[str]:
    """The languages that have a stemmer, by name; none if PyStemmer is not installed."""
    if Stemmer is None:
        return frozenset()
    return frozenset(Stemmer.algorithms()) - _ALGORITHMS_OF_ENGLISH_AND_DUTCH


def require_stemmer() -> None:
    """Raise ImportError, saying what to install, if PyStemmer is not there."""
    if Stemmer is None:
        raise ImportError("stem=True needs the package PyStemmer: pip install 'textmix[stemming]'")


def check_stemming_language(language: str | None) -> None:
    """Raise ValueError if there is no language, or no stemmer for it."""
    if language is None:
        raise ValueError(
            "stem=True needs a language, and none was recognised in these texts; set language, or stem=False"
        )
    if language not in stemming_languages():
        raise ValueError(
            f"there is no stemmer for {language!r}; set stem=False, "
            f"or one of: {', '.join(sorted(stemming_languages()))}"
        )


def stem_words(words: Sequence[str], language: str | None) -> list[str]:
    """The stem of each word."""
    require_stemmer()
    check_stemming_language(language)
    # The stemmer's own cache is of no use: every word comes once.
    stems: list[str] = Stemmer.Stemmer(language, 0).stemWords(list(words))
    return stems

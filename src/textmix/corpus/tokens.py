"""How texts are made into words: the settings. What a word is by default stands in corpus/characters.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from textmix.corpus.counting import OwnSplitter, Splitter, WordSplitter
from textmix.corpus.stemming import check_stemming_language, require_stemmer, stemming_languages
from textmix.corpus.stop_words import language_name, stop_word_languages


@dataclass(frozen=True)
class Tokenizer:
    """Settings for turning texts into words.

    Parameters
    ----------
    lowercase
        Whether "Apple" and "apple" are one word.
    language
        A language by name ("german") or code ("de"), whose stop words and stemmer are used. "auto" recognises
        it by the stop words in the texts, and takes none if there are too few (texts that were cleaned
        already), with a warning if this is in doubt. Of each text, 200 words are considered. None: none.
    stop_words
        Words to leave out: None for those of the language, your own, or () to leave out none. They are split
        as texts are ("don't": don, t).
    stem
        Whether words with the same stem are one word ("connected", "connection": connect). Needs
        textmix[stemming].
    min_word_length, max_word_length
        Shorter and longer words are left out. Words of scripts written without spaces have no minimum.
    min_document_frequency, max_document_frequency
        Words that are in fewer, or in more, documents are left out. A whole number is a number of documents;
        a fraction (float) is one of all documents.
    tokenizer
        A function of your own from a text to its words, in place of the built-in splitting. It is given the
        text as it is; the other settings apply to the words it returns.
    """

    lowercase: bool = True
    language: str | None = "auto"
    stop_words: Iterable[str] | None = None  # kept as a tuple
    stem: bool = False
    min_word_length: int = 2
    max_word_length: int = 40
    min_document_frequency: int | float = 1
    max_document_frequency: int | float = 1.0
    tokenizer: Callable[[str], Iterable[str]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop_words", _checked_stop_words(self.stop_words))
        object.__setattr__(self, "language", _checked_language(self))
        for name in ("lowercase", "stem"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}")
        for name in ("min_word_length", "max_word_length"):
            object.__setattr__(self, name, _checked_length(name, getattr(self, name)))
        if self.max_word_length < self.min_word_length:
            raise ValueError(
                f"max_word_length is {self.max_word_length}, below min_word_length, {self.min_word_length}"
            )
        for name in ("min_document_frequency", "max_document_frequency"):
            object.__setattr__(self, name, _checked_document_frequency(name, getattr(self, name)))
        if self.tokenizer is not None and not callable(self.tokenizer):
            raise ValueError(
                f"tokenizer must be a function from a text to its words, not {type(self.tokenizer).__name__}"
            )

    def splitter(self) -> Splitter:
        """A new splitter for these settings; raises at once if a package is missing that they need."""
        if self.stem:
            require_stemmer()
        if self.tokenizer is not None:
            return OwnSplitter(self.tokenizer)
        return WordSplitter(self.lowercase, self.max_word_length)

    def settings(self) -> dict[str, Any]:
        """The settings as JSON can hold them; of a tokenizer of the user's own, only that there is one."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "tokenizer": None if self.tokenizer is None else _OWN}

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], tokenizer: Callable[[str], Iterable[str]] | None = None
    ) -> Tokenizer:
        """The tokenizer of `settings()`. Where it had one of the user's own, that one has to be given again.

        If it is not, texts cannot be counted: the attempt raises a ValueError that says so.
        """
        if settings["tokenizer"] is None and tokenizer is not None:
            raise ValueError("the texts were split by the built-in rule; leave the tokenizer out")
        if settings["tokenizer"] is not None and tokenizer is None:
            tokenizer = _tokenizer_not_given
        return cls(**{**settings, "tokenizer": tokenizer})


_OWN = "own"
_SAVED = (None, _OWN)  # what is saved of a tokenizer


def check_settings(settings: Any) -> None:
    """Raise ValueError if saved settings are not those of a tokenizer, or are out of range."""
    known = {field.name for field in fields(Tokenizer)}
    if not isinstance(settings, Mapping) or not settings.keys() <= known or settings.get("tokenizer", 0) not in _SAVED:
        raise ValueError("the settings of the tokenizer are not those of one")
    Tokenizer(**{**settings, "tokenizer": None})


def _tokenizer_not_given(text: str) -> Iterable[str]:
    raise ValueError(
        "the texts were split by a tokenizer of your own, which is not saved; give it again: load(…, tokenizer=…)"
    )


def _checked_stop_words(words: Any) -> tuple[str, ...] | None:
    if words is None:
        return None
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(
            f"stop_words must be a list of words, not {words!r}; for those of a language, "
            "set language and leave stop_words out"
        )
    checked = tuple(sorted(words) if isinstance(words, (set, frozenset)) else words)
    for word in checked:
        if not isinstance(word, str):
            raise ValueError(f"stop_words must be a list of words, but {word!r} is {type(word).__name__}")
    return checked


def _checked_language(tokenizer: Tokenizer) -> str | None:
    language = tokenizer.language
    if language is None:
        if tokenizer.stem:
            raise ValueError("stem=True needs a language; set language, or stem=False")
        return None
    if not isinstance(language, str):
        raise ValueError(f"language must be a name such as 'english', 'auto' or None, not {language!r}")
    if language == "auto":
        return language
    name = language_name(language, {*stop_word_languages(), *stemming_languages()})
    if tokenizer.stop_words is None and name not in stop_word_languages():
        raise ValueError(f"there are no stop words for {name!r}; give your own in stop_words, or () for none")
    if tokenizer.stem and stemming_languages():
        check_stemming_language(name)
    return name


def _checked_length(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)


def _checked_document_frequency(name: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, not {value!r}")
    if isinstance(value, Integral):
        if value < 0:
            raise ValueError(f"{name} as a number of documents must not be negative, not {value!r}")
        return int(value)
    fraction = float(value)
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"{name} as a fraction must be between 0.0 and 1.0, not {value!r}")
    return fraction

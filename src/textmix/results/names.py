"""Names for clusters: their most telling words, and phrases of two where these stand together in the texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

N_TERMS = 6
N_IN_NAME = 3
MIN_TEXTS = 3  # that have a phrase
OF_RARER, OF_COMMONER = 0.5, 0.3  # the least share of the texts with either of its words that have a phrase
MAX_CHARACTERS = 2000  # of a text that are looked at

_WORD = re.compile(r"\w+")


def find_terms(words: Sequence[str], texts: Iterable[str], n: int = N_TERMS) -> list[str]:
    """The first n of a cluster's telling words, two of them as one phrase where the cluster's texts have them so.

    A phrase is two words, one right after the other, in at least three texts, in half of those that have the rarer word
    and in three of ten that have the other. It takes the place of the more telling one. A plural of a word that stands
    already is left out.
    """
    phrase_of = _phrases(words, texts)
    terms: list[str] = []
    used: set[str] = set()
    for word in words:
        if len(terms) == n:
            break
        if word in used or used & {word.removesuffix("s"), word.removesuffix("es"), f"{word}s", f"{word}es"}:
            continue
        phrase = phrase_of.get(word, (word,))
        terms.append(" ".join(phrase))
        used.update(phrase)
    return terms


def _phrases(words: Sequence[str], texts: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The phrase of each word that is in one; of two phrases that share a word the one in more texts."""
    rank = {word: place for place, word in enumerate(words)}
    n_texts: Counter[str] = Counter()
    n_together: Counter[tuple[str, str]] = Counter()
    for text in texts:
        tokens = _WORD.findall(text[:MAX_CHARACTERS].lower())
        n_texts.update(rank.keys() & set(tokens))
        n_together.update({(a, b) for a, b in pairwise(tokens) if a != b and a in rank and b in rank})
    found = []
    for pair, n in n_together.items():
        rarer, commoner = sorted((n_texts[pair[0]], n_texts[pair[1]]))
        if n >= max(MIN_TEXTS, OF_RARER * rarer, OF_COMMONER * commoner):
            found.append(pair)
    phrase_of: dict[str, tuple[str, str]] = {}
    for pair in sorted(found, key=lambda pair: (-n_together[pair], rank[pair[0]], rank[pair[1]])):
        if not phrase_of.keys() & set(pair):
            phrase_of.update(dict.fromkeys(pair, pair))
    return phrase_of


def make_names(terms: Sequence[Sequence[str]], known: Mapping[int, str]) -> list[str]:
    """A name for each cluster: its first three terms; where others have the same, one more, or at last a number.

    `known` are the names that some clusters have already; those of negative numbers are taken as well.
    """
    beginnings = Counter(tuple(own[:n]) for own in terms for n in range(len(own) + 1))
    names = []
    for own in terms:
        n = min(N_IN_NAME, len(own))
        while n < len(own) and beginnings[tuple(own[:n])] > 1:
            n += 1
        names.append(", ".join(own[:n]))
    taken = {name for index, name in known.items() if index < 0}
    for index in sorted(range(len(names)), key=lambda index: index not in known):  # those that are known first
        name = names[index] = known.get(index, names[index])
        number = 1
        while names[index] in taken:
            number += 1
            names[index] = f"{name} ({number})".strip()
        taken.add(names[index])
    return names

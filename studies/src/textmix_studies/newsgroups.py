"""The cuts of the 20 Newsgroups that DMAFP 6.3 uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.corpus.stop_words import language_stop_words

DIFFERENT = ("alt.atheism", "rec.sport.baseball", "sci.space")
SIMILAR = ("comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x")
NEWSGROUPS_CUTS = ("News-different-3", "News-similar-3", "News-all-20", "News-complete-20")

_MESSAGES = 100  # of each group in the small sets
_SHORTEST = 30  # words of a message in the large ones

_HEADERS = ("From:", "Subject:")
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")
_ENCODED_LINE = re.compile(r"^M[ -`]{59,61}$", re.MULTILINE)  # uuencoded
_WORD = re.compile(r"[a-z]{3,}")


class LabelledDocuments(NamedTuple):
    """Counts of documents × words, the group of each document, and the words."""

    counts: scipy.sparse.csr_array
    labels: NDArray[Any]
    vocabulary: list[str]


def cut_newsgroups(
    texts: Iterable[str], labels: Sequence[str], cut: str, *, random_state: Any = 0
) -> LabelledDocuments:
    """One of the paper's sets, cut from the raw posts of the 20 Newsgroups and the names of their groups.

    "News-different-3" and "News-similar-3" are 100 random posts from each of three groups, of the words that are no
    stop words and stand in 3 to 100 of the 300. "News-all-20" are all posts of at least 30 words, of the words that are
    no stop words and stand in 2 to 4,000 posts. "News-complete-20" are the same posts with all words of more than one.

    The paper does not say how posts were split into words. Here: the lines From and Subject and the body, without
    e-mail addresses and uuencoded lines, in lower case, runs of three and more letters. That gives the paper's number
    of posts and of words in News-all-20 to 0.1 % and 1 %. With its threshold for rare words taken by the letter (a word
    of two documents stays) the small sets have 1.7 times the paper's words; with 3 they have about as many.
    """
    if cut not in NEWSGROUPS_CUTS:
        raise ValueError(f"cut must be one of {', '.join(NEWSGROUPS_CUTS)}, not {cut!r}")
    groups = np.asarray(labels, dtype=object)
    texts = list(texts)
    if len(texts) != groups.size:
        raise ValueError(f"{len(texts)} texts, but {groups.size} labels")
    stop_words: frozenset[str] = frozenset() if cut == "News-complete-20" else language_stop_words("english")
    if cut in ("News-different-3", "News-similar-3"):
        rows = _choose(groups, DIFFERENT if cut == "News-different-3" else SIMILAR, np.random.default_rng(random_state))
        posts, fewest, most = [newsgroups_words(texts[row]) for row in rows], 3, 100
    else:
        posts, fewest, most = [newsgroups_words(text) for text in texts], 2, len(texts)
        rows = np.flatnonzero([len(post) >= _SHORTEST for post in posts])
        posts = [posts[row] for row in rows]
        if cut == "News-all-20":
            most = 4000
    counts, vocabulary = _count(posts, stop_words, fewest, most)
    return LabelledDocuments(counts, groups[rows], vocabulary)


def newsgroups_words(post: str) -> list[str]:
    """The words of a raw post: see cut_newsgroups."""
    head, _, body = post.partition("\n\n")
    kept = [line.partition(":")[2] for line in head.split("\n") if line.startswith(_HEADERS)]
    text = "\n".join([*kept, _ENCODED_LINE.sub(" ", body)])
    return _WORD.findall(_ADDRESS.sub(" ", text).lower())


def _choose(groups: NDArray[Any], chosen: Sequence[str], rng: np.random.Generator) -> NDArray[np.int64]:
    rows = []
    for group in chosen:
        members = np.flatnonzero(groups == group)
        if members.size < _MESSAGES:
            raise ValueError(f"{members.size} posts of {group}; {_MESSAGES} are needed")
        rows.append(rng.choice(members, _MESSAGES, replace=False))
    return np.concatenate(rows)


def _count(
    posts: Sequence[Sequence[str]], stop_words: frozenset[str], fewest: int, most: int
) -> tuple[scipy.sparse.csr_array, list[str]]:
    """Counts of the words that stand in `fewest` to `most` posts and are no stop words."""
    frequencies = Counter(word for post in posts for word in set(post))
    vocabulary = sorted(w for w, n in frequencies.items() if fewest <= n <= most and w not in stop_words)
    columns = {word: column for column, word in enumerate(vocabulary)}
    counts = [Counter(columns[word] for word in post if word in columns) for post in posts]
    starts = np.cumsum([0, *(len(count) for count in counts)])
    indices = np.array([column for count in counts for column in count], dtype=np.int32)
    data = np.array([n for count in counts for n in count.values()], dtype=np.int64)
    matrix = scipy.sparse.csr_array((data, indices, starts.astype(np.int32)), shape=(len(posts), len(vocabulary)))
    matrix.sort_indices()
    return matrix, vocabulary

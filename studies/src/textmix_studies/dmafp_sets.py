"""The document sets of DMAFP's experiments (section 6.3), as near as the collections at hand come to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.stop_words import language_stop_words
from textmix_studies.collections import Collection, load, read
from textmix_studies.newsgroups import cut_newsgroups

OTHER_POSTS = "the News sets of three groups: other random posts, of another release"
OTHER_WORDS = "the News sets of 20 groups: how posts became words is not printed"
OTHER_SOURCE = "Classic400 is not to be had: 400 documents of classic3, whose words are others"


class DocumentSet(NamedTuple):
    """A set of the paper's (Table 1), and what stands for it here."""

    printed_name: str
    collection: str  # that it is cut from
    n_documents: int
    n_words: int
    n_classes: int
    max_clusters: int  # N
    ks: tuple[int, int, int]
    n_cuts: int  # that are random
    difference: str

    @property
    def wrong_ks(self) -> list[int]:
        """The numbers of clusters that are not the true one."""
        return [k for k in self.ks if k != self.n_classes]


SMALL = {
    "News-different-3": DocumentSet("News-different-3", "20NG", 300, 2121, 3, 30, (2, 3, 10), 5, OTHER_POSTS),
    "News-similar-3": DocumentSet("News-similar-3", "20NG", 300, 1767, 3, 30, (2, 3, 10), 5, OTHER_POSTS),
    "classic3-400": DocumentSet("Classic400", "classic3", 400, 6205, 3, 30, (2, 3, 10), 5, OTHER_SOURCE),
}
LARGE = {
    "News-all-20": DocumentSet("News-all-20", "20NG", 17820, 50799, 20, 80, (10, 20, 50), 1, OTHER_WORDS),
    "News-complete-20": DocumentSet("News-complete-20", "20NG", 17820, 51033, 20, 80, (10, 20, 50), 1, OTHER_WORDS),
}
SETS = {**SMALL, **LARGE}
CLASSIC_SIZES = {"MED": 100, "CISI": 100, "CRAN": 200}
CLASSIC_FEWEST, CLASSIC_MOST = 2, 200  # documents of a word


def cut_set(name: str, cut: int) -> Collection:
    """One of the sets; cut is the seed of its random documents."""
    return load(f"{name} {cut}", _cut)


def _cut(name_and_seed: str) -> Collection:
    name, seed = name_and_seed.split()
    if SETS[name].collection == "classic3":
        return _with_words(_cut_classic(int(seed)))
    texts, labels = read("20NG")
    counts, groups, words = cut_newsgroups(texts, labels.tolist(), name, random_state=int(seed))
    return _with_words(Collection(name, counts, groups.astype(str), words))


def _cut_classic(seed: int) -> Collection:
    """Random documents of classic3, of the words that are no stop words and stand in 2 to 200 of them."""
    whole, rng = load("classic3"), np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(whole.labels == name), size, replace=False) for name, size in CLASSIC_SIZES.items()]
    )
    counts, stop_words = whole.counts[rows], language_stop_words("english")
    frequencies = np.bincount(counts.indices, minlength=len(whole.words))
    kept = (frequencies >= CLASSIC_FEWEST) & (frequencies <= CLASSIC_MOST)
    kept &= np.array([word not in stop_words for word in whole.words])
    words = [whole.words[column] for column in np.flatnonzero(kept)]
    counts = counts[:, kept].tocsr()
    counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # for scikit-learn
    return Collection("classic3-400", counts, whole.labels[rows], words)


def _with_words(documents: Collection) -> Collection:
    """The documents that have words."""
    used = np.diff(documents.counts.indptr) > 0
    return documents._replace(counts=documents.counts[used], labels=documents.labels[used])


def count_groups(documents: Collection) -> NDArray[np.int64]:
    """In how many of the true groups each word stands."""
    stands = [_stands_in(documents.counts[documents.labels == group]) for group in np.unique(documents.labels)]
    return np.asarray(np.sum(stands, axis=0), dtype=np.int64)


def _stands_in(counts: Any) -> NDArray[np.bool_]:
    return np.bincount(counts.indices, minlength=counts.shape[1]) > 0

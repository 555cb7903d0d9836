"""The levels above the clusters: groups of clusters, groups of these groups, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.results.names import find_terms, make_names
from textmix.results.tables import Column
from textmix.results.words import ClusterWords

N_WORDS = 12  # of a group that its name may be made of
N_OWN = 2  # words in a name behind that of the group above


@dataclass(frozen=True)
class Group:
    """Some clusters that belong together: `index` by falling size, `clusters` their labels, `size` in texts."""

    index: int
    name: str
    size: int
    clusters: tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """The groups of one level, and for each cluster the index of its group."""

    groups: tuple[Group, ...]
    of_cluster: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)


def describe_levels(levels: Sequence[NDArray[np.int32]], sizes: NDArray[np.int64], words: ClusterWords) -> list[Level]:
    """The levels, coarse to fine, from the group of each cluster at each.

    A name at the first level has the words that tell a group from all others. Below, it has the leading word of the
    group above and, behind a colon, the words that tell the group from those beside it ("refund: card").
    """
    described: list[Level] = []
    leading: list[str] = []
    for place, of_cluster in enumerate(levels):
        n_groups = int(of_cluster.max(initial=-1)) + 1
        members = [tuple(np.flatnonzero(of_cluster == group).tolist()) for group in range(n_groups)]
        counts = _join_rows(words.counts, of_cluster, n_groups)
        if place == 0:
            terms = find_terms_of(counts, words)
            names, leading = make_names(terms, {}), [next(iter(own), "") for own in terms]
        else:
            above = described[-1].of_cluster
            parents = np.array([above[own[0]] for own in members], dtype=np.int32)
            names, leading = _names_below(counts, words, parents, described[-1].groups, leading)
        totals = np.bincount(of_cluster, sizes, minlength=n_groups).astype(int)
        groups = zip(names, totals.tolist(), members, strict=True)
        described.append(Level(tuple(Group(index, *each) for index, each in enumerate(groups)), of_cluster))
    return described


def find_terms_of(counts: scipy.sparse.csr_array, words: ClusterWords) -> list[list[str]]:
    """The most distinctive words of each row of counts among these rows."""
    top = ClusterWords(counts, words.beta, words.vocabulary).top(N_WORDS, "telling")
    return [find_terms([str(word) for word, _ in own], ()) for own in top]


def _names_below(
    counts: scipy.sparse.csr_array,
    words: ClusterWords,
    parents: NDArray[np.int32],
    above: Sequence[Group],
    leading: Sequence[str],
) -> tuple[list[str], list[str]]:
    """Names of the groups of a level below another, and the leading word of each."""
    names, own_leading = [""] * parents.size, [""] * parents.size
    for parent in range(len(above)):
        siblings = np.flatnonzero(parents == parent)
        if siblings.size == 1:
            names[siblings[0]], own_leading[siblings[0]] = above[parent].name, leading[parent]
            continue
        for group, terms in zip(siblings.tolist(), find_terms_of(counts[siblings], words), strict=True):
            own = [term for term in terms if term != leading[parent]][:N_OWN]
            start = f"{leading[parent]}: " if leading[parent] else ""
            names[group] = start + ", ".join(own) if own else above[parent].name
            own_leading[group] = next(iter(own), leading[parent])
    return make_names([[name] for name in names], {}), own_leading


def _join_rows(counts: scipy.sparse.csr_array, of_cluster: NDArray[np.int32], n_groups: int) -> scipy.sparse.csr_array:
    ones = np.ones(of_cluster.size, counts.dtype)
    members = scipy.sparse.csr_array(
        (ones, (of_cluster, np.arange(of_cluster.size))), shape=(n_groups, of_cluster.size)
    )
    joined = scipy.sparse.csr_array(members @ counts)
    joined.sort_indices()
    return joined


def level_columns(levels: Sequence[Level], labels: NDArray[np.int32]) -> list[Column]:
    """For documents or clusters of these labels the number and the name of their group at each level."""
    columns = []
    for place, level in enumerate(levels, 1):
        groups = np.append(level.of_cluster, np.int32(-1))[labels]
        names = np.array([*(group.name for group in level.groups), ""], dtype=object)[groups]
        columns += [Column(f"level_{place}", "BIGINT", groups), Column(f"level_{place}_name", "VARCHAR", names)]
    return columns

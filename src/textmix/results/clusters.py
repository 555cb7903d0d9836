"""Clusters as people read them: size, words, examples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.results.frames import Frame
from textmix.results.names import find_terms, make_names
from textmix.results.tables import Column
from textmix.results.typical import Example, Examples
from textmix.results.words import ClusterWords, ScoredWord

N_WORDS = 10
N_EXAMPLES = 3
N_LISTED = 10
N_READ = 200  # different texts of a cluster, to find phrases in


@dataclass(frozen=True)
class Cluster:
    """One cluster.

    Attributes
    ----------
    index
        Its label.
    name
        What it was known by before (y, seed words, frozen clusters), or what it was renamed to; else its most telling
        words, or phrases of two of them.
    size, share
        Number of its documents, and their share of all documents that have words.
    words
        Its words with their scores, those first that tell it best from the others.
    terms
        The first of them, two that stand together as one phrase; the name is made of them.
    documents, examples
        Its most typical documents, no two with the same text: their positions, and their texts.
    stability
        How well the runs find it: its overlap with the most similar cluster of a run, the mean; 1 if every run has just
        this cluster. NaN if that is not known any more, None of a single run.
    known, named
        Whether it was known before, and whether it has a name that it was given, then or later.
    """

    index: int
    name: str
    size: int
    share: float
    words: list[ScoredWord]
    terms: list[str]
    documents: list[int]
    examples: list[str]
    stability: float | None = None
    known: bool = False
    named: bool = False

    def __str__(self) -> str:
        return f"{self.index}: {self.size:,} texts, {self.name}"

    def list_terms(self) -> str:
        """Its leading words and phrases, behind the name that it was given."""
        terms = ", ".join(self.terms)
        return f"{self.name}: {terms}" if self.named and not terms.startswith(self.name) else terms

    def join_words(self, n: int = N_WORDS) -> str:
        """The first words, with blanks between them."""
        return " ".join(str(word) for word, _ in self.words[:n])


class Clusters(Frame):
    """The clusters by label, and a table with a row for each."""

    def __init__(self, clusters: Sequence[Cluster], columns: Sequence[Column]) -> None:
        super().__init__(columns)
        self._clusters = list(clusters)

    def __getitem__(self, key: Any) -> Any:
        """A cluster by its label, clusters by a slice, or a column by its name."""
        return self._clusters[key] if isinstance(key, Integral | slice) else super().__getitem__(key)

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._clusters)

    def __len__(self) -> int:
        return len(self._clusters)


def describe_clusters(
    labels: NDArray[Any],
    typicality: NDArray[Any],
    words: ClusterWords,
    texts: Sequence[str],
    stabilities: NDArray[np.float64] | None = None,
    given_names: Mapping[int, str] | None = None,
    known: Collection[int] = (),
) -> list[Cluster]:
    """All clusters, by label; `typicality` of each document, given_names are names that some clusters have."""
    n_clusters = words.counts.shape[0]
    examples = Examples(n_clusters, N_EXAMPLES)
    examples.add(0, texts, labels, typicality)
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    members = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    firsts = np.cumsum(sizes) - sizes
    read = [
        _first_distinct(texts, members[first : first + size], N_READ) for first, size in zip(firsts, sizes, strict=True)
    ]
    return list_clusters(sizes, words, examples.lists(), stabilities, read, given_names, known)


def _first_distinct(texts: Sequence[str], members: NDArray[Any], n: int) -> list[str]:
    """The first n different texts of some documents."""
    found: dict[str, None] = {}
    for document in members:
        found[texts[document]] = None
        if len(found) == n:
            break
    return list(found)


def list_clusters(
    sizes: NDArray[Any],
    words: ClusterWords,
    examples: Sequence[Sequence[Example]],
    stabilities: NDArray[np.float64] | None = None,
    read: Sequence[Sequence[str]] | None = None,
    given_names: Mapping[int, str] | None = None,
    known: Collection[int] = (),
) -> list[Cluster]:
    """All clusters, by label, whose examples are known; `read` are texts of each to find phrases in, else examples."""
    top_words = words.top(N_WORDS, "telling")
    if read is None:
        read = [[example.text for example in own] for own in examples]
    terms = [
        find_terms([str(word) for word, _ in own], own_texts) for own, own_texts in zip(top_words, read, strict=True)
    ]
    names = make_names(terms, given_names or {})
    n_documents = max(int(sizes.sum()), 1)
    return [
        Cluster(
            index=index,
            name=names[index],
            size=int(size),
            share=int(size) / n_documents,
            words=top_words[index],
            terms=terms[index],
            documents=[example.document for example in examples[index]],
            examples=[example.text for example in examples[index]],
            stability=None if stabilities is None else float(stabilities[index]),
            known=index in known,
            named=index in (given_names or {}),
        )
        for index, size in enumerate(sizes)
    ]


class Tally(NamedTuple):
    """How many clusters, single texts and outliers there are: the numbers that every view of a clustering shows."""

    n_texts: int
    n_clusters: int  # of two texts or more
    n_single: int  # clusters of one text
    n_outliers: int
    n_without_words: int  # texts in no cluster


def count_clusters(sizes: Iterable[int]) -> tuple[int, int]:
    """How many clusters have two texts or more, and how many have one."""
    listed = [int(size) for size in sizes]
    return sum(size > 1 for size in listed), sum(size == 1 for size in listed)


def tally(sizes: Iterable[int], n_texts: int, outliers: NDArray[np.bool_], n_without_words: int) -> Tally:
    """The numbers of a clustering whose clusters have these sizes."""
    n_clusters, n_single = count_clusters(sizes)
    return Tally(n_texts, n_clusters, n_single, int(np.count_nonzero(outliers)), n_without_words)


def summarise(clusters: Sequence[Cluster], numbers: Tally) -> str:
    """A few lines that name the numbers and the first clusters."""
    named = [(numbers.n_texts, "text"), (numbers.n_clusters, "cluster"), (numbers.n_outliers, "outlier")]
    texts, found, outliers = (f"{n:,} {what}{'s' * (n != 1)}" for n, what in named)
    if numbers.n_single:
        found += f" and {numbers.n_single:,} of a single text"
    without = f", {numbers.n_without_words:,} without words" if numbers.n_without_words else ""
    width = len(f"{max((cluster.size for cluster in clusters), default=0):,}")
    lines = [
        f"  {cluster.index:>3}  {cluster.size:>{width},}  {cluster.list_terms()}" for cluster in clusters[:N_LISTED]
    ]
    if len(clusters) > N_LISTED:
        lines.append(f"  … and {len(clusters) - N_LISTED:,} more")
    return "\n".join([f"Clustering of {texts}{without}: {found}, {outliers}", *lines])

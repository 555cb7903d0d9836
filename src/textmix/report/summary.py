"""A clustering as plain data that a page can show: everything JSON can hold, and no more texts than people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix.inference.identical import group_identical
from textmix.inference.merging import Merges, merge_clusters
from textmix.metrics import npmi_coherence
from textmix.metrics.comparison import SHOWN_SCORES
from textmix.report.charts import (
    OTHERS,
    PALETTE,
    cluster_colours,
    confusion_chart,
    map_chart,
    time_chart,
    trace_chart,
)
from textmix.report.examples import MAX_CHARACTERS, TextList, least_typical, most_typical, short_names, word_forms
from textmix.report.source import Source
from textmix.results.nearness import cluster_distances, distances_by_both, place_clusters
from textmix.results.typical import Example

MAX_CLUSTERS = 1000  # that are described; those of a single text are not
MAX_MAPPED = 300  # that are on the map, and have nearest ones
MAX_NODES = 1000  # of the hierarchy
MAX_LABELS = 60  # columns of the table of labels
MAX_COMPARED = 200  # rows of it
N_WORDS, N_COHERENT = 15, 10
N_TYPICAL, N_UNUSUAL, N_OUTLIERS = 8, 4, 300
N_NEAREST, N_TELLING_APART = 5, 6
N_STEPS = 60  # of the outlier threshold

BY_SCORE = (
    "The score says how much more probable the words of a text are in the collection at large than in its cluster "
    "without it, as the mean of the logarithm over its words. Above 0 a text might as well be words of all clusters. "
    "Texts alone in their cluster fit nowhere whatever the threshold."
)
ALONE = "Texts in clusters of very few texts fit nowhere."


def summarise(source: Source) -> dict[str, Any]:
    """Everything that the page shows (README.md in this folder has the parts)."""
    several = [cluster for cluster in source.clusters if cluster.size > 1]
    described = sorted(several, key=lambda cluster: -cluster.size)[:MAX_CLUSTERS]
    near = _Neighbours(source, [cluster.index for cluster in described[:MAX_MAPPED]])
    texts = TextList(source)
    labels = _compare_labels(source)
    charts = {
        "map": map_chart(described[:MAX_MAPPED], near.points, near.colours) if described else None,
        "trace": trace_chart(source.trace),
        "times": None
        if source.corpus.times is None
        else time_chart(described, near.colours, source.labels, source.corpus.times),
        "confusion": None if labels is None else labels.pop("chart"),
    }
    clusters = _describe_clusters(source, [cluster.index for cluster in described], near, texts)
    return {
        "title": source.title or "Clusters",
        "documents": _count_documents(source, len(described)),
        "clusters": clusters,
        "outliers": _list_outliers(source, texts),
        "texts": texts.entries,
        "hierarchy": None if source.merges is None else _list_merges(source, source.merges),
        "levels": _nest_levels(source, {cluster.index for cluster in described}),
        "charts": {name: chart for name, chart in charts.items() if chart is not None},
        "course": _describe_course(source),
        "labels": labels,
    }


def _count_documents(source: Source, n_described: int) -> dict[str, Any]:
    n_skipped = source.run.get("input", {}).get("n_skipped", 0)
    return {
        "n": source.tally.n_texts,
        "n_without_words": source.tally.n_without_words,
        "n_outliers": source.tally.n_outliers,
        "n_clusters": source.tally.n_clusters + source.tally.n_single,
        "n_several": source.tally.n_clusters,
        "range": source.n_clusters_range,
        "n_described": n_described,
        "n_skipped": int(n_skipped),
        "stability": source.stability,
        "sampled": bool(any(cluster.size > N_TYPICAL for cluster in source.clusters)),
    }


class _Neighbours:
    """Where clusters are on the map, which are near each other, and what tells two of them apart."""

    def __init__(self, source: Source, clusters: list[int]) -> None:
        self._clusters = clusters
        self._place_of = {cluster: place for place, cluster in enumerate(clusters)}
        self._counts = source.words.counts[clusters]
        self._counts.sort_indices()
        self._totals = np.asarray(self._counts.sum(axis=1), dtype=np.float64)
        self._betas = np.broadcast_to(source.words.beta, self._counts.shape[1])
        self._vocabulary = source.corpus.vocabulary
        self._distances = cluster_distances(self._counts)
        if source.directions is not None:
            self._distances = distances_by_both(self._distances, source.directions[clusters])
        self.points = place_clusters(self._distances)
        self.colours = cluster_colours(_group(self._counts))

    def colour_of(self, cluster: int) -> str:
        """The colour of a cluster on the map; one that is not there has none of its own."""
        return self.colours[self._place_of[cluster]] if cluster in self._place_of else OTHERS

    def nearest(self, cluster: int) -> list[dict[str, Any]]:
        """The nearest clusters with the words that are more frequent here, and there."""
        if cluster not in self._place_of:
            return []
        here = self._place_of[cluster]
        order = np.argsort(self._distances[here], kind="stable")
        return [
            {
                "index": self._clusters[there],
                "distance": float(self._distances[here, there]),
                "here": self._words_apart(here, there),
                "there": self._words_apart(there, here),
            }
            for there in order[order != here][:N_NEAREST]
        ]

    def _words_apart(self, one: int, other: int) -> list[str]:
        """Words by p log(p / q), p being their share in one cluster and q that in the other, both with β added."""
        words, counts = self._row(one)
        other_words, other_counts = self._row(other)
        places = np.minimum(np.searchsorted(other_words, words), max(other_words.size - 1, 0))
        elsewhere = np.where(other_words[places] == words, other_counts[places], 0.0) if other_words.size else 0.0
        betas, mass = self._betas[words], self._betas.sum()
        shares = (counts + betas) / (self._totals[one] + mass)
        others = (elsewhere + betas) / (self._totals[other] + mass)
        scores = shares * np.log(shares / others)
        best = np.argsort(-scores, kind="stable")[:N_TELLING_APART]
        return [self._vocabulary[words[place]] for place in best if scores[place] > 0]

    def _row(self, place: int) -> tuple[NDArray[Any], NDArray[Any]]:
        entries = slice(*self._counts.indptr[place : place + 2])
        return self._counts.indices[entries], self._counts.data[entries]


def _group(word_counts: scipy.sparse.csr_array) -> NDArray[np.int32]:
    """Up to ten groups of clusters, those that merging them ends with, numbered in the order of their first cluster."""
    n_clusters = word_counts.shape[0]
    return merge_clusters(word_counts).cut(min(n_clusters, len(PALETTE)))


def _describe_clusters(
    source: Source, described: list[int], near: _Neighbours, texts: TextList
) -> list[dict[str, Any]]:
    column_of = source.corpus.column_of
    probable, telling = (source.words.top(N_WORDS, order) for order in ("probable", "telling"))
    coherences = np.full(len(described), np.nan)
    if source.texts is not None:
        lists = [[column_of[word] for word, _ in probable[cluster][:N_COHERENT]] for cluster in described]
        coherences = npmi_coherence(_counts_that_count(source), lists)
    typical, unusual = most_typical(source, N_TYPICAL), least_typical(source, N_UNUSUAL)
    n_outliers = np.bincount(source.labels[source.outliers & (source.labels >= 0)], minlength=len(source.clusters))
    shown = [text[:MAX_CHARACTERS] for cluster in described for _, text in (*typical[cluster], *unusual[cluster])]
    forms = word_forms(source.corpus, shown)
    result = []
    for place, index in enumerate(described):
        cluster = source.clusters[index]
        told_by = [[word, score] for word, score in telling[index] if score > 0]
        of_typical = {document for document, _ in typical[index]}
        result.append(
            {
                "index": index,
                "name": cluster.name,
                "known": cluster.known,
                "size": cluster.size,
                "share": cluster.share,
                "stability": cluster.stability,
                "coherence": float(coherences[place]),
                "n_outliers": int(n_outliers[index]),
                "colour": near.colour_of(index),
                "probable": [[word, score] for word, score in probable[index]],
                "telling": told_by,
                "highlight": [form for word, _ in told_by for form in forms.get(column_of[word], ())],
                "typical": texts.add(typical[index]),
                "unusual": texts.add(example for example in unusual[index] if example.document not in of_typical),
                "nearest": near.nearest(index),
            }
        )
    return result


def _counts_that_count(source: Source) -> scipy.sparse.csr_array:
    """The counts of all documents; of identical ones once, if the run counts them so."""
    counts = source.corpus.counts
    if source.run.get("settings", {}).get("parameters", {}).get("duplicates") != "once":
        return counts
    return counts[np.unique(group_identical(counts, unit=1.0), return_index=True)[1]]


def _list_outliers(source: Source, texts: TextList) -> dict[str, Any]:
    n_outliers = source.tally.n_outliers
    if source.outliers_at is None or source.texts is None or source.outlier_scores is None:
        listed: Iterable[Example] = source.strangest
        if source.texts is not None and source.outlier_scores is not None:
            documents = np.flatnonzero(source.outliers)
            documents = documents[np.argsort(-source.outlier_scores[documents], kind="stable")]  # NaN last
            listed = [Example(int(document), source.texts[document]) for document in documents[:N_OUTLIERS]]
        return {
            "threshold": None,
            "steps": [],
            "counts": [],
            "texts": texts.add(listed),
            "n": n_outliers,
            "meaning": ALONE,
        }
    scores, threshold = source.outlier_scores, source.outlier_threshold
    known = scores[~np.isnan(scores)]
    steps = _thresholds(known, threshold)
    least = source.outliers_at(steps[0])
    order = np.flatnonzero(least)[np.argsort(-scores[least], kind="stable")]
    always = source.outliers_at(np.inf)
    scored, alone = order[~always[order]], order[always[order]]
    alone = alone[: max(N_OUTLIERS // 2, N_OUTLIERS - scored.size)]  # both kinds have their places
    chosen = np.concatenate((scored[: N_OUTLIERS - alone.size], alone))
    places = texts.add(Example(int(document), source.texts[document]) for document in chosen)
    for place, document in zip(places, chosen.tolist(), strict=True):
        texts.entries[place]["alone"] = bool(always[document])
    return {
        "threshold": threshold,
        "steps": steps,
        "counts": [int(np.count_nonzero(source.outliers_at(step))) for step in steps],
        "texts": places,
        "n": n_outliers,
        "meaning": BY_SCORE,
    }


def _thresholds(scores: NDArray[np.float64], threshold: float) -> list[float]:
    """Round steps from the median score, or the threshold, to the highest, the threshold among them."""
    low = min(float(np.median(scores)) if scores.size else threshold, threshold)
    high = max(float(scores.max(initial=threshold)), threshold + 0.1)
    steps = np.round(np.linspace(low, high, N_STEPS), 2)
    return sorted({*steps.tolist(), threshold})


def _nest_levels(source: Source, described: Collection[int]) -> list[dict[str, Any]]:
    """The groups of the coarsest level, each with the groups or clusters that it is made of.

    `described`: clusters that have a place in the page; others have no number.
    """
    if not source.levels:
        return []
    nodes: list[dict[str, Any]] = [
        {
            "name": cluster.name,
            "size": cluster.size,
            "cluster": cluster.index if cluster.index in described else None,
            "parts": [],
        }
        for cluster in source.clusters
    ]
    of_node = np.arange(len(nodes))  # a cluster of each node
    for level in reversed(source.levels):
        above: list[dict[str, Any]] = [
            {"name": group.name, "size": group.size, "cluster": None, "parts": []} for group in level.groups
        ]
        for node, cluster in zip(nodes, of_node.tolist(), strict=True):
            above[int(level.of_cluster[cluster])]["parts"].append(node)
        of_node = np.array([group.clusters[0] for group in level.groups])
        nodes = above
    return nodes


def _list_merges(source: Source, merges: Merges) -> dict[str, Any]:
    """The last merges, of at most so many nodes; what was merged before is part of a node."""
    n_nodes = min(merges.n_clusters, MAX_NODES)
    n_before = merges.n_clusters - n_nodes
    cut = merges.cut(n_nodes)
    sizes = np.zeros(n_nodes, np.int64)
    np.add.at(sizes, cut, [cluster.size for cluster in source.clusters])
    left = np.setdiff1d(np.arange(merges.n_clusters), merges.pairs[:n_before, 1])  # a number stands for its node
    place_of = {int(cluster): place for place, cluster in enumerate(left)}
    return {
        "n_found": merges.n_clusters,
        "names": [source.clusters[cluster].name for cluster in left],
        "sizes": [int(sizes[cut[cluster]]) for cluster in left],
        "clusters": left.tolist(),
        "pairs": [[place_of[int(one)], place_of[int(other)]] for one, other in merges.pairs[n_before:]],
        "costs": merges.costs[n_before:].tolist(),
    }


def _compare_labels(source: Source) -> dict[str, Any] | None:
    """Clusters against the labels that the texts had, the most frequent of them and the largest clusters."""
    known, scores = source.corpus.labels, source.agreement
    if known is None or scores is None or source.texts is None or scores["n_documents"] == 0:
        return None
    column = source.run.get("input", {}).get("columns", {}).get("label")
    frequent = [name for name, _ in Counter(label for label in known if label).most_common()]
    place_of = {name: min(place, MAX_LABELS) for place, name in enumerate(frequent)}
    short = short_names(known)
    names = [short[name] for name in frequent[:MAX_LABELS]]
    if len(frequent) > MAX_LABELS:
        names.append(f"{len(frequent) - MAX_LABELS:,} others")
    shown = [cluster.index for cluster in source.clusters if cluster.size > 1][:MAX_COMPARED]
    row_of = {cluster: row for row, cluster in enumerate(shown)}
    counts = np.zeros((len(shown), len(names)), np.int64)
    for label, cluster in zip(known, source.labels.tolist(), strict=True):
        if label and cluster in row_of:
            counts[row_of[cluster], place_of[label]] += 1
    rows = [
        {"cluster": cluster, "name": source.clusters[cluster].name, "counts": counts[row].tolist()}
        for row, cluster in enumerate(shown)
    ]
    return {
        "column": column or "label",
        "scores": [[score.title, scores[score.name], score.meaning] for score in SHOWN_SCORES],
        "n": scores["n_documents"],
        "names": names,
        "rows": rows,
        "chart": confusion_chart([row["name"] for row in rows], names, counts) if rows else None,
    }


def _describe_course(source: Source) -> dict[str, Any]:
    """Settings, versions, timings, files: what run.json says, as names and values."""
    run = source.run
    lines = []
    for name, value in (
        ("model", run.get("settings", {}).get("model")),
        ("seen by", run.get("seen_by")),
        *((f"encoder: {name}", value) for name, value in ((run.get("views") or {}).get("vectors") or {}).items()),
        *run.get("settings", {}).get("parameters", {}).items(),
        *((f"tokenizer: {name}", value) for name, value in (run.get("settings", {}).get("tokenizer") or {}).items()),
        *((f"guided by {name}", value) for name, value in run.get("guidance", {}).items()),
        ("files", ", ".join(run.get("input", {}).get("files", [])) or None),
        *((f"column: {name}", value) for name, value in run.get("input", {}).get("columns", {}).items()),
        *((f"seconds {name}", f"{value:.2f}") for name, value in run.get("seconds", {}).items()),
        *((f"version of {name}", value) for name, value in run.get("versions", {}).items()),
    ):
        if value is not None:
            lines.append([name.replace("_", " "), str(value)])
    reasons = run.get("input", {}).get("reasons", {})
    return {"summary": lines, "skipped": [[reason, int(n)] for reason, n in reasons.items()]}

"""Zhong and Ghosh's comparison of generative models: 12 algorithms on 15 collections, words selected or not."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textmix
from textmix.corpus import Corpus
from textmix_studies.baselines import Counts, Labels, bisecting_k_means, co_cluster
from textmix_studies.collections import Collection, load, read
from textmix_studies.scores import nmi
from textmix_studies.study import Cell, Study, Values
from textmix_studies.timing import timed_fit
from textmix_studies.zhong_ghosh_numbers import (
    ALGORITHMS,
    BISECTING,
    CO_CLUSTER,
    COLLECTIONS,
    CUT_FROM_20NG,
    METHODS,
    SELECTIONS,
    printed_collections,
)
from textmix_studies.zhong_ghosh_page import make_page

N_RUNS = 10
N_BASELINE_RUNS = 5
N_TIMED_RUNS = 3
TIMED_CLUSTERS = (10, 20, 30, 40)
QUICK_COLLECTIONS = ("NG17-19", "classic", "hitech", "sports", "k1b", "tr11", "tr23", "tr41", "tr45")

BASELINES: dict[str, Callable[[Counts, int, int], Labels]] = {CO_CLUSTER: co_cluster, BISECTING: bisecting_k_means}
SELECTORS: dict[str, Callable[[], Any]] = {
    "frequency": textmix.FrequencySelector,
    "variance": textmix.VarianceSelector,
}
POLITICS = ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc")  # NG17-19

_LETTERS = re.compile("[a-z]+")


def prepare_newsgroups(name: str, collection: str) -> Collection:
    """NG20 or NG17-19: posts without headers, runs of letters, no stop words, words of three documents or more."""
    texts, labels = read(name)
    wanted = np.isin(labels, POLITICS) if collection == "NG17-19" else np.ones(len(labels), np.bool_)
    bodies = [text.partition("\n\n")[2].lower() for text, kept in zip(texts, wanted, strict=True) if kept]
    corpus = Corpus.from_texts(
        bodies, tokenizer=_LETTERS.findall, language="english", min_word_length=2, min_document_frequency=3
    )
    return without_empty(Collection(collection, corpus.counts, labels[wanted], list(corpus.vocabulary)))


def select_words(name: str, collection: str, selection: str) -> Collection:
    """A collection with selected words; documents that have none left are removed."""
    whole = load_collection(collection, "none")
    selector = SELECTORS[selection]()
    counts = selector.fit_transform(whole.counts)
    words = [word for word, kept in zip(whole.words, selector.get_support(), strict=True) if kept]
    return without_empty(Collection(collection, counts, whole.labels, words))


def without_empty(collection: Collection) -> Collection:
    """Without the documents that have no words."""
    has_words = np.diff(collection.counts.indptr) > 0
    return collection._replace(counts=collection.counts[has_words], labels=collection.labels[has_words])


# Made once, so that a prepared collection is found again.
_PREPARE: dict[tuple[str, str], Callable[[str], Collection]] = {
    **{(name, "none"): partial(prepare_newsgroups, collection=name) for name in CUT_FROM_20NG},
    **{
        (name, selection): partial(select_words, collection=name, selection=selection)
        for name in COLLECTIONS
        for selection in SELECTORS
    },
}


def file_of(collection: str) -> str:
    """The file that a collection of the paper comes from."""
    return "20NG" if collection in CUT_FROM_20NG else collection


def load_collection(collection: str, selection: str) -> Collection:
    """A collection with all or with selected words."""
    return load(file_of(collection), _PREPARE.get((collection, selection)))


def run(selection: str, collection: str, method: str, seed: int) -> Values:
    """One run of one method."""
    data = load_collection(collection, selection)
    n_clusters = printed_collections()[collection].n_classes
    if method in BASELINES:
        labels = BASELINES[method](data.counts, n_clusters, seed)
        return _scores(data.labels, labels)
    model = make_model(method, n_clusters, seed)
    model.fit(data.counts)
    return {
        **_scores(data.labels, model.labels_),
        "n_iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
        "objective": float(model.objective_),
    }


def run_by_shares(selection: str, collection: str, seed: int) -> Values:
    """One run of damnls with clusters estimated from shares of words, every temperature until it settles.

    One word of an average document takes the place of the one word that eq. 11 adds.
    """
    data = load_collection(collection, selection)
    smoothing = float(data.counts.shape[0] / data.counts.sum())
    n_clusters = printed_collections()[collection].n_classes
    model = make_model("damnls", n_clusters, seed, normalized_counts=True, smoothing=smoothing, tol=1e-5)
    return _scores(data.labels, model.fit(data.counts).labels_)


def make_model(method: str, n_clusters: int, seed: int, **settings: Any) -> Any:
    """One of the twelve algorithms."""
    return textmix.algorithm(method, n_clusters, random_state=seed, n_jobs=1, progress=False, **settings)


def _scores(labels: NDArray[Any], found: NDArray[Any]) -> Values:
    """NMI, and the share of the largest cluster; documents without a cluster (-1) do not count."""
    used = found >= 0
    sizes = np.bincount(found[used])
    return {"nmi": nmi(labels[used], found[used]), "largest": float(sizes.max() / sizes.sum())}


def describe(selection: str, collection: str) -> Values:
    """How large a collection is."""
    data = load_collection(collection, selection)
    return {
        "n_documents": int(data.counts.shape[0]),
        "n_words": int(data.counts.shape[1]),
        "n_classes": data.n_classes,
    }


def measure_time(collection: str, method: str, n_clusters: int, seed: int) -> Values:
    """Seconds of one run, without reading and preparing the documents."""
    counts = load_collection(collection, "none").counts
    if method not in BASELINES:
        return {"fit_seconds": timed_fit(make_model(method, n_clusters, seed), counts)}
    started = time.perf_counter()
    BASELINES[method](counts, n_clusters, seed)
    return {"fit_seconds": time.perf_counter() - started}


def plan(quick: bool) -> Sequence[Cell]:
    """All runs; of a quick one, few of the smaller collections."""
    collections = [name for name in COLLECTIONS if not quick or name in QUICK_COLLECTIONS]
    n_runs, n_baseline_runs = (2, 2) if quick else (N_RUNS, N_BASELINE_RUNS)
    timed, n_timed_runs = ("NG17-19", 1) if quick else ("NG20", N_TIMED_RUNS)
    timed_clusters = TIMED_CLUSTERS[:2] if quick else TIMED_CLUSTERS
    cells = []
    for collection in collections:
        for selection in SELECTIONS:
            place = {"selection": selection, "collection": collection}
            cells.append(Cell("sizes", place, file_of(collection)))
            for method in METHODS:
                cells += [
                    Cell("run", {**place, "method": method, "seed": seed}, file_of(collection))
                    for seed in range(n_runs if method in ALGORITHMS else n_baseline_runs)
                ]
            if collection not in CUT_FROM_20NG:
                cells += [Cell("shares", {**place, "seed": seed}, file_of(collection)) for seed in range(n_runs)]
    for n_clusters in timed_clusters:
        for method in METHODS:
            for seed in range(n_timed_runs):
                arguments = {"collection": timed, "method": method, "n_clusters": n_clusters, "seed": seed}
                cells.append(Cell("time", arguments, file_of(timed), alone=True))
    return cells


STUDY = Study(
    "zhong-ghosh",
    "Zhong, Ghosh: Generative Model-based Document Clustering, a Comparative Study (2005)",
    {"run": run, "shares": run_by_shares, "sizes": describe, "time": measure_time},
    plan,
    make_page,
)

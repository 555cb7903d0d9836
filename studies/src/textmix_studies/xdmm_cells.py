"""What the study of X-DMM computes: the paper's samplers and baselines on its collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix import DirichletMultinomialMixture
from textmix_studies import baselines
from textmix_studies.collections import load, read
from textmix_studies.scores import nmi, scores
from textmix_studies.study import Cell, Values


class Described(NamedTuple):
    """A collection as the paper's Table 4 has it, and the copy that stands for it here."""

    copy: str
    n_classes: int
    n_documents: int
    n_words: int
    length: float
    difference: str  # of the copy
    has_repeats: bool = False  # a text stands in it once for each of its labels

    @property
    def ks(self) -> tuple[int, int]:
        """The numbers of clusters of Table 5."""
        return 2 * self.n_classes, 4 * self.n_classes


COLLECTIONS = {
    "20ng": Described(
        *("20NG", 20, 18846, 181755, 138.852),
        difference="20ng: the same posts, but the paper's preprocessing is not known (here header lines are kept)",
    ),
    "ohsumed": Described(
        *("ohsumed20000", 23, 56984, 92135, 114.884),
        difference="ohsumed: 23,166 of the 56,984 documents, those of the first 20,000 abstracts",
        has_repeats=True,
    ),
    "QA": Described(*("QA", 39, 2337, 264235, 2968.61), difference="QA: the paper's preprocessing is not known"),
    "Reuters": Described(
        *("Reuters", 116, 11476, 39600, 102.734),
        difference="Reuters: rebuilt; as many documents and classes as in the paper, whose preprocessing is not known",
        has_repeats=True,
    ),
}
ALPHA = BETA = 0.1
SETTINGS: dict[str, dict[str, Any]] = {
    "GSDMM": {"inference": "gibbs"},
    "FGSDMM+": {"inference": "gibbs", "init": "online"},
    "X-DMM": {"inference": "metropolis"},
    "X-DMM parallel": {"inference": "parallel"},
}
OURS = tuple(SETTINGS)
BASELINES = ("K-means", "LDA")
CURVES_OF, CURVES_K = "ohsumed", 23  # K of Table 4


class Extent(NamedTuple):
    """How much a run computes."""

    names: Sequence[str]  # of collections
    n_ks: int  # of each
    n_trials: int
    n_baseline_trials: int
    n_prior_trials: int
    n_distinct_trials: int
    n_curves: int
    n_sweeps: int  # at most
    k_means_iterations: int  # at most
    lda_iterations: int
    points: Sequence[int]  # of Fig. 6: sweeps

    def n_iterations(self, method: str) -> int:
        """Of a method of Table 5, at most."""
        return {"K-means": self.k_means_iterations, "LDA": self.lda_iterations}.get(method, self.n_sweeps)


FULL = Extent(
    names=tuple(COLLECTIONS),
    n_ks=2,
    n_trials=20,
    n_baseline_trials=5,
    n_prior_trials=10,
    n_distinct_trials=5,
    n_curves=5,
    n_sweeps=100,
    k_means_iterations=300,
    lda_iterations=100,
    points=(*range(11), 12, 15, 20, 25, 30, 40, 50),
)
QUICK = Extent(
    names=("Reuters",),
    n_ks=1,
    n_trials=2,
    n_baseline_trials=2,
    n_prior_trials=2,
    n_distinct_trials=2,
    n_curves=2,
    n_sweeps=5,
    k_means_iterations=5,
    lda_iterations=10,
    points=(0, 1, 2, 3, 5, 8),
)


def plan(quick: bool) -> Sequence[Cell]:
    """All cells. A quick run has Reuters at the smaller K, few trials and few iterations."""
    extent = QUICK if quick else FULL
    chosen = [COLLECTIONS[name] for name in extent.names]
    cells = [Cell("data", {"collection": described.copy}, described.copy) for described in COLLECTIONS.values()]

    def add(part: str, described: Described, k: int, n_trials: int, n_iterations: int, **arguments: str) -> None:
        for seed in range(n_trials):
            named = {"collection": described.copy, **arguments, "k": k, "seed": seed, "n_iterations": n_iterations}
            cells.append(Cell(part, named, described.copy))

    for described in chosen:
        for k in described.ks[: extent.n_ks]:
            for method in (*BASELINES, *OURS):
                n_trials = extent.n_trials if method in OURS else extent.n_baseline_trials
                add("cluster", described, k, n_trials, extent.n_iterations(method), method=method)
            for method in OURS if described.has_repeats else ():
                add("distinct", described, k, extent.n_distinct_trials, extent.n_sweeps, method=method)
        add("asymmetric", described, described.ks[0], extent.n_prior_trials, extent.n_sweeps)
    for n_sweeps in extent.points:
        add("converge", COLLECTIONS[CURVES_OF], CURVES_K, extent.n_curves, n_sweeps)
    return cells


def shuffled(collection: str, seed: int) -> tuple[Any, NDArray[Any]]:
    """Counts and labels in an order of their own for each seed; copies may be sorted by label."""
    data = load(collection)
    order = np.random.default_rng(seed).permutation(data.labels.size)
    return data.counts[order], data.labels[order]


def mixture(
    method: str, k: int, seed: int, n_sweeps: int, beta: Any = BETA, **settings: Any
) -> DirichletMultinomialMixture:
    """One of the paper's four samplers; the last sample."""
    return DirichletMultinomialMixture(
        k,
        ALPHA,
        beta,
        **SETTINGS[method],
        **settings,
        n_sweeps=n_sweeps,
        polish=False,
        n_jobs=1,
        random_state=seed,
        progress=False,
    )


def cluster(collection: str, method: str, k: int, seed: int, n_iterations: int) -> Values:
    """A trial of Table 5."""
    counts, labels = shuffled(collection, seed)
    if method == "K-means":
        return {**scores(labels, baselines.k_means(counts, k, seed, n_init=1, max_iter=n_iterations))}
    if method == "LDA":
        return {**scores(labels, baselines.lda(counts, k, seed, alpha=50 / k, eta=0.1, n_iterations=n_iterations))}
    model = mixture(method, k, seed, n_iterations).fit(counts)
    return {**scores(labels, model.labels_), **describe_run(model)}


def cluster_distinct(collection: str, method: str, k: int, seed: int, n_iterations: int) -> Values:
    """The same with one copy of each text; its cluster then is that of all copies."""
    data = load(collection)
    numbers: dict[str, int] = {}
    text_of = np.array([numbers.setdefault(text, len(numbers)) for text in read(collection)[0]])
    rows = np.unique(text_of, return_index=True)[1]
    order = np.random.default_rng(seed).permutation(rows.size)
    model = mixture(method, k, seed, n_iterations).fit(data.counts[rows[order]])
    found = np.empty(rows.size, dtype=np.int64)
    found[order] = model.labels_
    return {**scores(data.labels, found[text_of]), **describe_run(model)}


def cluster_asymmetric(collection: str, k: int, seed: int, n_iterations: int) -> Values:
    """A trial of Fig. 4: X-DMM with β in proportion to the words' frequencies, and the same sum."""
    counts, labels = shuffled(collection, seed)
    totals = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    model = mixture("X-DMM", k, seed, n_iterations, beta=BETA * totals / totals.mean()).fit(counts)
    return {**scores(labels, model.labels_), **describe_run(model)}


def describe_run(model: DirichletMultinomialMixture) -> Values:
    """How a run ended."""
    return {
        "n_clusters": int(model.n_clusters_),
        "n_sweeps": int(model.n_iter_),
        "settled": bool(model.converged_),
    }


def converge(collection: str, k: int, seed: int, n_iterations: int) -> Values:
    """A point of Fig. 6: randomness goes by sweeps, so a run of n sweeps is the beginning of a longer one."""
    counts, labels = shuffled(collection, seed)
    model = mixture("GSDMM", k, seed, n_iterations, tol=0).fit(counts)
    return {"nmi": nmi(labels, model.labels_), "perplexity": float(model.perplexity())}


def describe_data(collection: str) -> Values:
    """The figures of Table 4, and how many texts differ."""
    data = load(collection)
    n_documents, n_words = data.counts.shape
    return {
        "n_documents": int(n_documents),
        "n_classes": data.n_classes,
        "n_words": int(n_words),
        "length": float(data.counts.data.sum() / n_documents),
        "n_distinct": len(set(read(collection)[0])),
    }

"""What the study of GSDPMM computes: comparison, convergence, scalability, outliers, α, β, words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.corpus import Corpus
from textmix.corpus.stemming import stem_words
from textmix_studies import baselines
from textmix_studies.collections import Collection, load, read
from textmix_studies.printed import read_printed
from textmix_studies.scores import count_clusters, nmi, scores
from textmix_studies.study import Cell, Values
from textmix_studies.timing import timed, timed_fit, timed_often

COLLECTIONS = ("20NG", "Tweet", "T", "S", "TS")
SHOWN = ("20NG", "Tweet", "T")  # in the figures
LIKE_T = ("S", "TS")  # not shown: "similar results"
KS = {"20NG": (10, 20, 50), "Tweet": (50, 89, 150), "T": (100, 152, 200), "S": (100, 152, 200), "TS": (100, 152, 200)}
TRUE_K = {name: ks[1] for name, ks in KS.items()}
METHODS = ("GSDPMM", "K-means", "LDA", "GSDMM")
OURS = ("GSDPMM", "GSDMM")
PRINTED_LDA, SMALL_LDA = "LDA, α = K/50", "LDA, α = 0.1"  # as printed; what the printed figures look like
LDAS = ("LDA", PRINTED_LDA, SMALL_LDA)  # the first with α = 50/K, which is usual
N_TRIALS, N_BASELINE_TRIALS, N_CURVES = 20, 5, 5
ALPHAS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # times the number of documents
BETAS = (0.01, 0.02, 0.05, 0.1, 0.2)
SWEEPS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50)
LDA_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
THRESHOLDS = (0, 1, 2, 3)  # clusters of more than so many documents
COPIES = (1, 2, 4, 6, 8, 10)
SCALED = {"LongSet": ("20NG", 50), "ShortSet": ("T", 200)}
LDA_TIMED = 10  # iterations, of 100
N_OUTLIERS, OUTLIER_LENGTH = 100, 138
N_SHOWN = 18  # clusters of Table IV
SHARE_SHOWN, PURITY = 0.863, {"rec.sport.hockey": 0.969, "rec.sport.baseball": 0.983}  # section V-G


def prepare(name: str) -> Collection:
    """20NG in lower case, without stop words, stemmed; the other sets are as their authors made them."""
    if name != "20NG":
        return load(name)
    texts, labels = read(name)
    corpus = Corpus.from_texts(texts, language="english", stem=True)
    return Collection(name, corpus.counts, labels, list(corpus.vocabulary))


def gsdpmm(seed: int, n_sweeps: int, alpha: float = 0.1, beta: float = 0.02) -> DirichletProcessMixture:
    """The paper's settings: one cluster to start from, the last sample."""
    return DirichletProcessMixture(
        f"{alpha}n", beta, n_start_clusters=1, n_sweeps=n_sweeps, tol=0, polish=False, random_state=seed, progress=False
    )


def gsdmm(k: int, seed: int, n_sweeps: int) -> DirichletMultinomialMixture:
    """The paper's settings, the last sample."""
    return DirichletMultinomialMixture(
        k, 0.1, 0.1, n_sweeps=n_sweeps, tol=0, polish=False, random_state=seed, progress=False
    )


def find_labels(method: str, counts: Any, k: int, seed: int, n_iterations: int) -> NDArray[Any]:
    """The labels that a method gives after so many iterations."""
    if method == "GSDPMM":
        return np.asarray(gsdpmm(seed, n_iterations).fit(counts).labels_)
    if method == "GSDMM":
        return np.asarray(gsdmm(k, seed, n_iterations).fit(counts).labels_)
    if method == "K-means":
        return baselines.k_means(counts, k, seed, max_iter=n_iterations)
    alpha = {"LDA": 50 / k, PRINTED_LDA: k / 50, SMALL_LDA: 0.1}[method]
    return baselines.lda(counts, k, seed, alpha=alpha, eta=0.1, n_iterations=n_iterations)


def compare(collection: str, method: str, k: int, seed: int) -> Values:
    """A cell of Table III."""
    data = load(collection, prepare)
    labels = find_labels(method, data.counts, k, seed, 10 if method in (*OURS, "K-means") else 100)
    return {"nmi": nmi(data.labels, labels), "n_clusters": count_clusters(labels)}


def describe_data(collection: str) -> Values:
    """The figures of Table II."""
    data = load(collection, prepare)
    n_documents, n_words = data.counts.shape
    return {
        "n_documents": n_documents,
        "n_classes": data.n_classes,
        "n_words": n_words,
        "length": float(data.counts.data.sum() / n_documents),
    }


def converge(collection: str, method: str, n_iterations: int, seed: int) -> Values:
    """A point of Fig. 2, 7 and 8: randomness goes by sweeps, so a run of n sweeps is the beginning of a longer one."""
    data = load(collection, prepare)
    if n_iterations == 0:
        labels = np.zeros(data.labels.size, dtype=np.int64)  # GSDPMM begins with one cluster
    elif method == "K-means":
        labels = baselines.k_means(data.counts, TRUE_K[collection], seed, n_init=1, max_iter=n_iterations)
    else:
        labels = find_labels(method, data.counts, TRUE_K[collection], seed, n_iterations)
    sizes = [count_clusters(labels, threshold) for threshold in THRESHOLDS]
    return {**scores(data.labels, labels), "clusters": sizes}


def converge_lda(collection: str, n_iterations: int, seed: int) -> Values:
    """The line of LDA in Fig. 2, after each of its steps up to so many iterations."""
    data = load(collection, prepare)
    k = TRUE_K[collection]
    model = baselines.LdaTopics(data.counts, k, seed, alpha=50 / k, eta=0.1)
    found = []
    for before, after in pairwise((0, *lda_steps(n_iterations))):
        model.train(after - before)
        found.append(nmi(data.labels, model.labels()))
    return {"nmi": found}


def lda_steps(n_iterations: int) -> list[int]:
    """After how many iterations LDA is looked at."""
    return [n for n in LDA_STEPS if n <= n_iterations]


def scale(set: str, method: str, copies: int) -> Values:
    """A point of Fig. 3: seconds for ten iterations, of LDA for a hundred; of short runs the shortest of several."""
    collection, k = SCALED[set]
    data = load(collection, prepare)
    counts = scipy.sparse.csr_array(scipy.sparse.vstack([data.counts] * copies, format="csr"))
    if method == "GSDPMM":
        seconds = timed_often(lambda: timed_fit(gsdpmm(0, 10), counts))
    elif method == "GSDMM":
        seconds = timed_often(lambda: timed_fit(gsdmm(k, 0, 10), counts))
    elif method == "K-means":
        vectors = baselines.unit_vectors(counts)
        seconds = timed_often(lambda: timed(lambda: baselines.k_means_of_vectors(vectors, k, 0, n_init=1, max_iter=10)))
    else:
        model = baselines.LdaTopics(counts, k, 0, alpha=50 / k, eta=0.1)
        seconds = timed_often(lambda: timed(lambda: model.train(LDA_TIMED))) * 100 / LDA_TIMED
    return {"n_documents": counts.shape[0], "fit_seconds": seconds}


def find_outliers(alpha: float, seed: int) -> Values:
    """A point of Fig. 4: a hundred documents of words of their own, mixed into 20NG."""
    counts = load("20NG", prepare).counts
    odd = scipy.sparse.kron(np.eye(N_OUTLIERS, dtype=np.int32), np.ones((1, OUTLIER_LENGTH), np.int32), format="csr")
    mixed = scipy.sparse.csr_array(scipy.sparse.block_diag([counts, odd], format="csr"))
    order = np.random.default_rng(seed).permutation(mixed.shape[0])
    is_odd = order >= counts.shape[0]
    model = gsdpmm(seed, 5, alpha).fit(mixed[order])
    found = int(model.outliers_[is_odd].sum())
    return {"found": found, "others": int(model.outliers_.sum()) - found}


def vary(collection: str, alpha: float, beta: float, seed: int) -> Values:
    """A point of Fig. 5, 6, 9 and 10: five iterations."""
    data = load(collection, prepare)
    labels = gsdpmm(seed, 5, alpha, beta).fit(data.counts).labels_
    return {**scores(data.labels, labels), **{f"above_{t}": count_clusters(labels, t) for t in THRESHOLDS}}


def show_words() -> Values:
    """Table IV: the largest clusters of 20NG with their words, their share, and the group most of them come from."""
    data = load("20NG", prepare)
    model = gsdpmm(0, 5).fit(data.counts)
    clusters: list[dict[str, Any]] = []
    for cluster in range(min(model.n_clusters_, N_SHOWN)):
        groups, sizes = np.unique(data.labels[model.labels_ == cluster], return_counts=True)
        row = np.asarray(model.cluster_word_counts_[[cluster]].todense()).ravel()
        clusters.append(
            {
                "size": int(sizes.sum()),
                "group": str(groups[sizes.argmax()]),
                "purity": float(sizes.max() / sizes.sum()),
                "words": [data.words[word] for word in np.argsort(-row, kind="stable")[:10]],
            }
        )
    share = sum(c["size"] for c in clusters) / data.labels.size
    stems = [stem_words(row["words"].split(), "english") for row in read_printed("gsdpmm_words")]
    return {"clusters": clusters, "n_clusters": int(model.n_clusters_), "share": float(share), "printed_stems": stems}


def plan(quick: bool) -> Sequence[Cell]:
    """All cells. A quick run has no 20NG but for what is shown of it alone, and two trials."""
    n_trials, n_baseline, n_curves = (2, 2, 2) if quick else (N_TRIALS, N_BASELINE_TRIALS, N_CURVES)
    compared = ("Tweet", "T") if quick else COLLECTIONS
    shown = ("Tweet", "T") if quick else SHOWN
    sweeps = SWEEPS[:7] if quick else SWEEPS
    cells = [Cell("data", {"collection": name}, name) for name in compared]
    for name in compared:
        for method in (*METHODS, *LDAS[1:]):
            for k in (1,) if method == "GSDPMM" else KS[name]:
                for seed in range(n_trials if method in OURS else n_baseline):
                    cells.append(Cell("compare", {"collection": name, "method": method, "k": k, "seed": seed}, name))
    for name in shown if quick else (*SHOWN, *LIKE_T):
        for seed in range(n_curves):
            for method in ("GSDPMM", "GSDMM", "K-means"):
                for n in sweeps if method == "GSDPMM" else sweeps[1:]:
                    arguments = {"collection": name, "method": method, "n_iterations": n, "seed": seed}
                    cells.append(Cell("converge", arguments, name))
            arguments = {"collection": name, "n_iterations": 100 if quick else LDA_STEPS[-1], "seed": seed}
            cells.append(Cell("converge-lda", arguments, name))
        for seed in range(n_trials):
            for alpha in ALPHAS if name in SHOWN else (0.1,):
                cells.append(Cell("vary", {"collection": name, "alpha": alpha, "beta": 0.02, "seed": seed}, name))
            for beta in BETAS:
                if beta != 0.02:
                    cells.append(Cell("vary", {"collection": name, "alpha": 0.1, "beta": beta, "seed": seed}, name))
    for alpha in ALPHAS[2:3] if quick else ALPHAS:
        cells += [Cell("outliers", {"alpha": alpha, "seed": seed}, "20NG") for seed in range(min(n_trials, 20))]
    cells.append(Cell("words", {}, "20NG"))
    for set, (name, _) in SCALED.items():
        if quick and name == "20NG":
            continue
        for copies in COPIES[:2] if quick else COPIES:
            for method in METHODS:
                cells.append(Cell("scale", {"set": set, "method": method, "copies": copies}, name, alone=True))
    return cells

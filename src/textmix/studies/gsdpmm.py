"""Yin and Wang's experiments with GSDPMM (section V): comparison, convergence, scalability, outliers, α, β, words."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textmix import DirichletMultinomialMixture, DirichletProcessMixture
from textmix.corpus import Corpus
from textmix.studies import baselines
from textmix.studies.collections import Collection, load, read
from textmix.studies.figures import Figure, Line, Panel, line_by
from textmix.studies.page import Compared, Page, Printed
from textmix.studies.printed import read_printed
from textmix.studies.scores import count_clusters, nmi, scores
from textmix.studies.study import Cell, Claim, Results, Study, Values, if_known
from textmix.studies.timing import timed_fit

COLLECTIONS = ("20NG", "Tweet", "T", "S", "TS")
THREE = ("20NG", "Tweet", "T")  # that the figures show
KS = {"20NG": (10, 20, 50), "Tweet": (50, 89, 150), "T": (100, 152, 200), "S": (100, 152, 200), "TS": (100, 152, 200)}
TRUE_K = {name: ks[1] for name, ks in KS.items()}
METHODS = ("GSDPMM", "K-means", "LDA", "GSDMM")
OURS = ("GSDPMM", "GSDMM")
OTHER_LDA = "LDA, α = 0.1"  # what the printed figures look like
N_TRIALS, N_BASELINE_TRIALS, N_CURVES = 20, 5, 5
ALPHAS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # times the number of documents
BETAS = (0.01, 0.02, 0.05, 0.1, 0.2)
SWEEPS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
LDA_STEPS = (1, 2, 3, 5, 10, 20, 50, 100)
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
    alpha = 0.1 if method == OTHER_LDA else 50 / k
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


def converge_lda(collection: str, seed: int) -> Values:
    """The line of LDA in Fig. 2."""
    data = load(collection, prepare)
    k = TRUE_K[collection]
    model = baselines.LdaTopics(data.counts, k, seed, alpha=50 / k, eta=0.1)
    found = []
    for before, after in pairwise((0, *LDA_STEPS)):
        model.train(after - before)
        found.append(nmi(data.labels, model.labels()))
    return {"nmi": found}


def scale(set: str, method: str, copies: int) -> Values:
    """A point of Fig. 3: seconds for ten iterations, of LDA for a hundred."""
    collection, k = SCALED[set]
    data = load(collection, prepare)
    counts = scipy.sparse.csr_array(scipy.sparse.vstack([data.counts] * copies, format="csr"))
    if method == "GSDPMM":
        seconds = timed_fit(gsdpmm(0, 10), counts)
    elif method == "GSDMM":
        seconds = timed_fit(gsdmm(k, 0, 10), counts)
    elif method == "K-means":
        vectors = baselines.unit_vectors(counts)
        started = time.perf_counter()
        baselines.k_means_of_vectors(vectors, k, 0, n_init=1, max_iter=10)
        seconds = time.perf_counter() - started
    else:
        model = baselines.LdaTopics(counts, k, 0, alpha=50 / k, eta=0.1)
        started = time.perf_counter()
        model.train(LDA_TIMED)
        seconds = (time.perf_counter() - started) * 100 / LDA_TIMED
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
    clusters = []
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
    share = sum(c["size"] for c in clusters) / data.labels.size  # type: ignore[misc]
    return {"clusters": clusters, "n_clusters": int(model.n_clusters_), "share": float(share)}


def plan(quick: bool) -> Sequence[Cell]:
    """All cells. A quick run has no 20NG but for what is shown of it alone, and two trials."""
    n_trials, n_baseline, n_curves = (2, 2, 2) if quick else (N_TRIALS, N_BASELINE_TRIALS, N_CURVES)
    compared = ("Tweet", "T") if quick else COLLECTIONS
    shown = ("Tweet", "T") if quick else THREE
    sweeps = SWEEPS[:7] if quick else SWEEPS
    cells = [Cell("data", {"collection": name}, name) for name in compared]
    for name in compared:
        for method in (*METHODS, OTHER_LDA):
            for k in (1,) if method == "GSDPMM" else KS[name]:
                for seed in range(n_trials if method in OURS else n_baseline):
                    cells.append(Cell("compare", {"collection": name, "method": method, "k": k, "seed": seed}, name))
    for name in shown:
        for seed in range(n_curves):
            for method in ("GSDPMM", "GSDMM", "K-means"):
                for n in sweeps if method == "GSDPMM" else sweeps[1:]:
                    arguments = {"collection": name, "method": method, "n_iterations": n, "seed": seed}
                    cells.append(Cell("converge", arguments, name))
            cells.append(Cell("converge-lda", {"collection": name, "seed": seed}, name))
        for seed in range(n_trials):
            for alpha in ALPHAS:
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


def make_page(results: Results) -> Page:
    """Tables II to IV and Fig. 2 to 10."""
    page = Page("GSDPMM (Yin and Wang 2016), computed again")
    n_trials = len(results.arguments("seed", "compare", method="GSDPMM"))
    n_baseline = len(results.arguments("seed", "compare", method="LDA"))
    page.add(
        "GSDPMM: α = 0.1 D, β = 0.02, one cluster to start from; GSDMM: α = β = 0.1; ten iterations each, the last "
        f"sample as in the paper, {n_trials} trials. K-means: scikit-learn's on TF-IDF vectors of unit length, ten "
        "random starts, ten iterations. LDA: tomotopy's, collapsed Gibbs sampling, 100 iterations, α = 50/K (the paper "
        "prints K/50, which gives far less) and β = 0.1, and once more with α = 0.1; a document belongs to its most "
        f"probable topic. Baselines from libraries: {n_baseline} trials.",
        "Tweet, T, S and TS are the paper's own files. 20NG has the paper's documents, but its preprocessing is not "
        "known: here lower case, textmix's English stop words left out, Snowball stems, header lines kept.",
    )
    _add_data(page, results)
    _add_table_3(page, results)
    _add_convergence(page, results)
    _add_scalability(page, results)
    _add_outliers(page, results)
    _add_alpha_and_beta(page, results)
    _add_words(page, results)
    page.add("## What the paper says")
    page.add_claims(claims(results))
    return page


PRINTED_DATA = {
    "20NG": (18846, 20, 181754, 137.85),
    "Tweet": (2472, 89, 5098, 8.56),
    "T": (11109, 152, 8111, 6.23),
    "S": (11109, 152, 18478, 22.20),
    "TS": (11109, 152, 19672, 28.43),
}
EXPLANATIONS: dict[tuple[str, ...], str] = {
    ("*", "LDA", "*"): "with α = 0.1 LDA comes near the printed figure, so that is perhaps what was used.",
    ("S", "GSDPMM", "*"): "see [why GSDPMM stays below on snippets](../decisions/gsdpmm-on-snippets.md).",
}


def _add_data(page: Page, results: Results) -> None:
    page.add("## Table II: the collections (paper / here)")
    rows = []
    for result in results.find("data"):
        name = result.cell.arguments["collection"]
        found = result.values
        here = ("", "", "", "") if found is None else (
            f"{found['n_documents']:,}", found["n_classes"], f"{found['n_words']:,}", f"{found['length']:.2f}"
        )  # fmt: skip
        paper = PRINTED_DATA[name]
        printed = (f"{paper[0]:,}", paper[1], f"{paper[2]:,}", paper[3])
        rows.append([name, *(f"{p} / {h}" for p, h in zip(printed, here, strict=True))])
    page.add_table(["collection", "documents", "classes", "words", "words a document"], rows, "table-ii")
    page.add("The words of T, S and TS are one fewer than printed: the paper's figure counts the empty string.")


def read_table_3() -> dict[tuple[str, str, int], Printed]:
    """Table III by collection, method and K (1 for GSDPMM)."""
    found = {}
    for row in read_printed("gsdpmm"):
        printed = Printed(float(row["mean"]), float(row["sd"]))
        for method in (row["method"], OTHER_LDA) if row["method"] == "LDA" else (row["method"],):
            found[row["collection"], method, int(row["k"])] = printed
    return found


def _add_table_3(page: Page, results: Results) -> None:
    page.add("## Table III: NMI")
    rows = []
    for (collection, method, k), printed in read_table_3().items():
        found = results.find("compare", collection=collection, method=method, k=k)
        rows.append(
            Compared(
                (collection, method, "" if method == "GSDPMM" else f"{k}"),
                printed,
                results.values("nmi", "compare", collection=collection, method=method, k=k),
                same_data=collection != "20NG",
                reason="" if any(r.values for r in found) else next((r.reason for r in found), "not in a quick run"),
            )
        )
    page.add_comparison("table-iii", ["collection", "method", "K"], rows, EXPLANATIONS)


def _add_convergence(page: Page, results: Results) -> None:
    shown = results.arguments("collection", "converge")
    panels = []
    for name in shown:
        lines = [
            line_by(results, method, "nmi", "converge", "n_iterations", collection=name, method=method)
            for method in ("GSDPMM", "GSDMM", "K-means")
        ]
        curves = results.values("nmi", "converge-lda", collection=name)
        if curves:
            lines.append(Line.of_trials("LDA", LDA_STEPS, [list(at) for at in zip(*curves, strict=True)]))
        panels.append(Panel(name, lines))
    page.add("## Fig. 2: convergence", f"K the number of classes; mean and deviation of {_n_curves(results)} runs.")
    page.add_figure("fig-2", Figure("NMI by iteration", "iteration", "NMI", panels, log_x=True))
    page.add("## Fig. 7: number of clusters by iteration", "Lines: clusters of more than so many documents.")
    panels = []
    for name in shown:
        iterations = results.arguments("n_iterations", "converge", collection=name, method="GSDPMM")
        found = [
            results.values("clusters", "converge", collection=name, method="GSDPMM", n_iterations=n) for n in iterations
        ]
        lines = [
            Line.of_trials(f"> {threshold}", iterations, [[run[i] for run in at] for at in found])
            for i, threshold in enumerate(THRESHOLDS)
        ]
        panels.append(Panel(name, lines))
    page.add_figure("fig-7", Figure("Number of clusters", "iteration", "clusters", panels))
    page.add("## Fig. 8: scores by iteration")
    panels = [
        Panel(
            name,
            [
                line_by(results, score, score, "converge", "n_iterations", collection=name, method="GSDPMM")
                for score in ("nmi", "homogeneity", "completeness")
            ],
        )
        for name in shown
    ]
    page.add_figure("fig-8", Figure("Scores of GSDPMM", "iteration", "score", panels))


def _n_curves(results: Results) -> int:
    return len(results.arguments("seed", "converge"))


def _add_scalability(page: Page, results: Results) -> None:
    page.add(
        "## Fig. 3: scalability",
        "Seconds on one core for ten iterations (LDA: a hundred, ten times the time of ten). LongSet: 20NG copied 1 to "
        "10 times, K = 50; ShortSet: T, K = 200. K-means from one start, its vectors made beforehand.",
    )
    panels = []
    for set in results.arguments("set", "scale"):
        lines = []
        for method in METHODS:
            points = [r.values for r in results.find("scale", set=set, method=method) if r.values is not None]
            lines.append(Line(method, [p["n_documents"] for p in points], [p["fit_seconds"] for p in points]))
        panels.append(Panel(set, lines))
    page.add_figure("fig-3", Figure("Running time", "documents", "seconds", panels, log_y=True))


def _add_outliers(page: Page, results: Results) -> None:
    page.add(
        "## Fig. 4: outliers",
        f"{N_OUTLIERS} documents of {OUTLIER_LENGTH} words that occur nowhere else, mixed into 20NG; clusters of one "
        "document are outliers. Five iterations, β = 0.02.",
    )
    rows = []
    for alpha in results.arguments("alpha", "outliers"):
        found, others = (results.values(name, "outliers", alpha=alpha) for name in ("found", "others"))
        rows.append([f"{alpha} D", _spread(found), _spread(others), len(found)])
    page.add_table(["α", "found of 100", "other documents", "trials"], rows, "fig-4")


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "not computed"
    deviation = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.1f} ± {deviation:.1f}"


def _add_alpha_and_beta(page: Page, results: Results) -> None:
    for argument, fixed, numbers, axis in (
        ("alpha", {"beta": 0.02}, (5, 6), "α / D"),
        ("beta", {"alpha": 0.1}, (9, 10), "β"),
    ):
        names = results.arguments("collection", "vary")
        panels = [
            Panel(
                name,
                [
                    _sorted(line_by(results, f"> {t}", f"above_{t}", "vary", argument, collection=name, **fixed))
                    for t in THRESHOLDS
                ],
            )
            for name in names
        ]
        page.add(
            f"## Fig. {numbers[0]}: number of clusters by {axis}", "Lines: clusters of more than so many documents."
        )
        page.add_figure(f"fig-{numbers[0]}", Figure(f"Clusters by {axis}", axis, "clusters", panels))
        panels = [
            Panel(
                name,
                [
                    _sorted(line_by(results, score, score, "vary", argument, collection=name, **fixed))
                    for score in ("nmi", "homogeneity", "completeness")
                ],
            )
            for name in names
        ]
        page.add(f"## Fig. {numbers[1]}: scores by {axis}")
        page.add_figure(f"fig-{numbers[1]}", Figure(f"Scores by {axis}", axis, "score", panels))


def _sorted(line: Line) -> Line:
    order = np.argsort(line.x)
    return Line(line.name, *([values[i] for i in order] for values in (line.x, line.means, line.deviations)))


def _add_words(page: Page, results: Results) -> None:
    page.add("## Table IV: words of the clusters of 20NG")
    [result] = results.find("words")
    if result.values is None:
        page.add(result.reason)
        return
    found = result.values
    page.add(
        f"Five iterations, seed 0. The {len(found['clusters'])} largest of {found['n_clusters']} clusters hold "
        f"{found['share']:.1%} of the documents (the paper's 18: {SHARE_SHOWN:.1%}). Words are stems."
    )
    rows = [[c["group"], c["size"], f"{c['purity']:.1%}", ", ".join(c["words"])] for c in found["clusters"]]
    page.add_table(["group of most", "documents", "of that group", "words"], rows, "table-iv")


def claims(results: Results) -> list[Claim]:
    """What the paper says of its figures."""
    results = results.computed()
    return [
        *_claims_of_comparison(results),
        *_claims_of_convergence(results),
        *_claims_of_scalability(results),
        *_claims_of_outliers(results),
        *_claims_of_alpha(results),
        *_claims_of_beta(results),
        *_claims_of_words(results),
    ]


def _mean(results: Results, collection: str, method: str, k: int) -> float:
    return results.mean("nmi", "compare", collection=collection, method=method, k=k)


def _claims_of_comparison(results: Results) -> list[Claim]:
    names = results.arguments("collection", "compare")
    best = {
        name: {m: [_mean(results, name, m, k) for k in KS[name]] for m in METHODS[1:]}
        | {"GSDPMM": [_mean(results, name, "GSDPMM", 1)] * 3}
        for name in names
    }
    losses = [
        f"{name} K={k}: {m} {best[name][m][i]:.3f}, GSDPMM {best[name]['GSDPMM'][i]:.3f}"
        for name in names
        for m in METHODS[1:]
        for i, k in enumerate(KS[name])
        if not best[name]["GSDPMM"][i] >= best[name][m][i]
    ]
    n_cells = 9 * len(names)
    deviations = {
        name: float(np.std(v, ddof=1))
        for name in names
        if len(v := results.values("nmi", "compare", collection=name, method="GSDPMM")) > 1
    }
    found = [
        Claim(
            "GSDPMM has the highest NMI of the four on every set, whatever K the others get",
            if_known(not losses, names),
            f"above in {n_cells - len(losses)} of {n_cells}" + ("; not: " + "; ".join(losses) if losses else ""),
        ),
        Claim(
            "the standard deviation of GSDPMM is small (up to .01)",
            if_known(max(deviations.values(), default=math.nan) <= 0.01, list(deviations)),
            ", ".join(f"{name} {value:.3f}" for name, value in deviations.items()),
        ),
    ]
    short = [name for name in names if name != "20NG"]
    if "20NG" in names:
        worse = [
            m for m in METHODS if not min(max(best[n][m]) for n in short) > max(best["20NG"][m])
        ]  # by the best K of each
        found.append(
            Claim(
                "all methods do better on the short texts than on 20NG",
                not worse,
                "all" if not worse else f"not {', '.join(worse)}",
            )
        )
    if {"S", "TS"} <= set(names):
        worse = [f"{m} on {n}" for m in METHODS for n in ("S", "TS") if not max(best[n][m]) > max(best["T"][m])]
        found.append(
            Claim("all methods do better on S and TS than on T", not worse, "all" if not worse else "; ".join(worse))
        )
    falls = [
        f"{m} on {n} ({best[n][m][1]:.3f} to {best[n][m][2]:.3f})"
        for n in names
        for m in METHODS[1:]
        if not best[n][m][2] > best[n][m][1]
    ]
    found.append(
        Claim(
            "K-means, LDA and GSDMM do better with a K above the number of classes",
            if_known(not falls, names),
            f"in {3 * len(names) - len(falls)} of {3 * len(names)}" + ("; not: " + "; ".join(falls) if falls else ""),
        )
    )
    return found


def _iterations_to_converge(results: Results, collection: str, method: str) -> int:
    """The first iteration with 98 % of the NMI of the last one."""
    if method == "LDA":
        curves = results.values("nmi", "converge-lda", collection=collection)
        means = np.mean(curves, axis=0) if curves else np.array([math.nan])
        steps: Sequence[int] = LDA_STEPS
    else:
        steps = [n for n in results.arguments("n_iterations", "converge", collection=collection, method=method) if n]
        means = np.array(
            [results.mean("nmi", "converge", collection=collection, method=method, n_iterations=n) for n in steps]
        )
    reached = np.flatnonzero(means >= 0.98 * means[-1])
    return steps[int(reached[0])] if reached.size else steps[-1]


def _claims_of_convergence(results: Results) -> list[Claim]:
    names = results.arguments("collection", "converge")
    speed = {name: {m: _iterations_to_converge(results, name, m) for m in METHODS} for name in names}
    listed = "; ".join(f"{n}: " + ", ".join(f"{m} {speed[n][m]}" for m in METHODS) for n in names)
    rule = "iterations to 98 % of the last NMI: "
    found = [
        Claim(
            "GSDPMM, K-means and GSDMM converge faster than LDA",
            if_known(all(speed[n][m] < speed[n]["LDA"] for n in names for m in ("GSDPMM", "GSDMM", "K-means")), names),
            rule + listed,
        )
    ]
    if "20NG" in names:
        found.append(
            Claim(
                "all methods converge faster on short texts than on 20NG",
                all(speed[n][m] <= speed["20NG"][m] for n in names for m in METHODS),
                rule + listed,
            )
        )

    def at(name: str, value: str, n: int) -> float:
        return results.mean(value, "converge", collection=name, method="GSDPMM", n_iterations=n)

    def clusters(name: str, n: int) -> float:
        runs = results.values("clusters", "converge", collection=name, method="GSDPMM", n_iterations=n)
        return float(np.mean([run[0] for run in runs])) if runs else math.nan

    last = max(results.arguments("n_iterations", "converge"), default=0)
    changes = {n: abs(at(n, "nmi", last) - at(n, "nmi", 5)) for n in names}
    found.append(
        Claim(
            "the scores of GSDPMM are stable after about five iterations",
            if_known(all(change <= 0.02 for change in changes.values()), names),
            f"NMI from the fifth to the {last}th: " + ", ".join(f"{n} {changes[n]:+.3f}" for n in names),
        )
    )
    found.append(
        Claim(
            "after the first iteration homogeneity has grown and completeness fallen",
            if_known(
                all(
                    at(n, "homogeneity", 1) > at(n, "homogeneity", 0)
                    and at(n, "completeness", 1) < at(n, "completeness", 0)
                    for n in names
                ),
                names,
            ),
            "; ".join(
                f"{n}: {at(n, 'homogeneity', 0):.2f} to {at(n, 'homogeneity', 1):.2f}, "
                f"{at(n, 'completeness', 0):.2f} to {at(n, 'completeness', 1):.2f}"
                for n in names
            )
            + " (the paper prints 1 for the homogeneity of one cluster; it is 0)",
        )
    )
    short = [n for n in names if n != "20NG"]
    found.append(
        Claim(
            "on Tweet and T the number of clusters jumps up in the first iteration, then falls",
            if_known(all(clusters(n, 1) > clusters(n, last) for n in short), short),
            ", ".join(f"{n} {clusters(n, 1):.0f}, at the end {clusters(n, last):.0f}" for n in short),
        )
    )
    stable = {n: abs(clusters(n, last) / clusters(n, 5) - 1) for n in names}
    found.append(
        Claim(
            "the number of clusters is stable after several iterations (within 15 % from the fifth on)",
            if_known(all(change <= 0.15 for change in stable.values()), names),
            ", ".join(f"{n} {clusters(n, 5):.0f} to {clusters(n, last):.0f}" for n in names),
        )
    )
    return found


def _claims_of_scalability(results: Results) -> list[Claim]:
    found = []
    times: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for r in results.find("scale"):
        if r.values is not None:
            key = (r.cell.arguments["set"], r.cell.arguments["method"])
            times.setdefault(key, []).append((r.values["n_documents"], r.values["fit_seconds"]))
    fits = {}
    for key, points in times.items():
        if len(points) > 2:
            x, y = np.array(points).T
            fits[key] = float(np.corrcoef(x, y)[0, 1] ** 2)
    found.append(
        Claim(
            "the running time of all four is linear in the number of documents (R² at least .97)",
            if_known(all(fit >= 0.97 for fit in fits.values()), list(fits)),
            ", ".join(f"{set} {method} {fit:.3f}" for (set, method), fit in fits.items()),
        )
    )
    last = {key: points[-1][1] for key, points in times.items()}
    sets = list(dict.fromkeys(set for set, _ in times))
    complete = [set for set in sets if all((set, m) in last for m in METHODS)]
    found.append(
        Claim(
            "LDA is much slower than GSDPMM (five times at least)",
            if_known(all(last[s, "LDA"] >= 5 * last[s, "GSDPMM"] for s in complete), complete),
            ", ".join(f"{s} {last[s, 'LDA'] / last[s, 'GSDPMM']:.0f} times" for s in complete),
        )
    )
    for set, text, low, high in (
        ("LongSet", "on LongSet GSDPMM takes about as long as GSDMM (within a factor of 1.5)", 1 / 1.5, 1.5),
        ("ShortSet", "on ShortSet GSDPMM is slower than GSDMM", 1.0, math.inf),
    ):
        ratio = last[set, "GSDPMM"] / last[set, "GSDMM"] if set in complete else math.nan
        found.append(
            Claim(text, if_known(low <= ratio <= high, [set] * (set in complete)), f"{ratio:.2f} times its time")
        )
    return found


def _claims_of_outliers(results: Results) -> list[Claim]:
    alphas = results.arguments("alpha", "outliers")
    found = {a: results.mean("found", "outliers", alpha=a) for a in alphas}
    others = {a: results.mean("others", "outliers", alpha=a) for a in alphas}
    computed = [a for a in alphas if not math.isnan(found[a])]
    return [
        Claim(
            "almost all of the 100 outliers are found (95 at least)",
            if_known(all(found[a] >= 95 for a in computed), computed),
            ", ".join(f"α = {a} D: {found[a]:.1f}" for a in computed),
        ),
        Claim(
            "fewer than ten other documents are taken for outliers",
            if_known(all(others[a] < 10 for a in computed), computed),
            ", ".join(f"α = {a} D: {others[a]:.1f}" for a in computed),
        ),
    ]


def _by(results: Results, collection: str, value: str, argument: str, values: Sequence[float]) -> list[float]:
    fixed = {"beta": 0.02} if argument == "alpha" else {"alpha": 0.1}
    return [results.mean(value, "vary", collection=collection, **{**fixed, argument: v}) for v in values]


def _growth(values: Sequence[float]) -> float:
    return values[-1] / values[0] - 1


def _claims_of_alpha(results: Results) -> list[Claim]:
    names = [n for n in results.arguments("collection", "vary") if results.values("nmi", "vary", collection=n)]
    short = [n for n in names if n != "20NG"]
    clusters = {n: _by(results, n, "above_0", "alpha", ALPHAS) for n in names}
    larger = {n: _by(results, n, "above_1", "alpha", ALPHAS) for n in names}
    nmis = {n: _by(results, n, "nmi", "alpha", ALPHAS) for n in names}

    def ends(values: dict[str, list[float]], chosen: Sequence[str], digits: int = 0) -> str:
        return ", ".join(f"{n} {values[n][0]:.{digits}f} to {values[n][-1]:.{digits}f}" for n in chosen)

    found = [
        Claim(
            "on Tweet and T the number of clusters grows with α",
            if_known(all(_rises(clusters[n]) for n in short), short),
            f"α = {ALPHAS[0]} D to {ALPHAS[-1]} D: " + ends(clusters, short),
        ),
        Claim(
            "on Tweet and T NMI is stable (within .02)",
            if_known(all(max(nmis[n]) - min(nmis[n]) <= 0.02 for n in short), short),
            ", ".join(f"{n} {min(nmis[n]):.3f} to {max(nmis[n]):.3f}" for n in short),
        ),
        Claim(
            "without clusters of one document the number of clusters is stable on all sets (within 15 %)",
            if_known(all(abs(_growth(larger[n])) <= 0.15 for n in names), names),
            ends(larger, names),
        ),
    ]
    if "20NG" in names:
        found.append(
            Claim(
                "on 20NG the number of clusters does not depend on α (within 15 %)",
                abs(_growth(clusters["20NG"])) <= 0.15,
                ends(clusters, ["20NG"]),
            )
        )
    return found


def _rises(values: Sequence[float]) -> bool:
    return all(after > before for before, after in pairwise(values))


def _claims_of_beta(results: Results) -> list[Claim]:
    names = [n for n in results.arguments("collection", "vary") if results.values("nmi", "vary", collection=n)]
    found = []
    for text, value, sign in (
        ("the number of clusters falls as β rises", "above_0", -1),
        ("completeness is larger with larger β", "completeness", 1),
        ("homogeneity is larger with smaller β", "homogeneity", -1),
    ):
        by_name = {n: _by(results, n, value, "beta", BETAS) for n in names}
        digits = 0 if value == "above_0" else 2
        found.append(
            Claim(
                text,
                if_known(all(_rises([sign * v for v in by_name[n]]) for n in names), names),
                "; ".join(f"{n} " + ", ".join(f"{v:.{digits}f}" for v in by_name[n]) for n in names),
            )
        )
    return found


def _claims_of_words(results: Results) -> list[Claim]:
    clusters: list[dict[str, Any]] = next(iter(results.values("clusters", "words")), [])
    share = results.mean("share", "words")
    found = [
        Claim(
            "the 18 clusters shown hold most of 20NG (the paper: 86.3 %)",
            if_known(share >= 0.8, clusters),
            f"{share:.1%} (80 % asked)",
        )
    ]
    for group, printed in PURITY.items():
        own = [c for c in clusters if c["group"] == group]
        largest = max(own, key=lambda c: c["size"], default=None)
        found.append(
            Claim(
                f"there is a cluster of {group}, nearly pure (the paper: {printed:.1%}; 90 % asked)",
                if_known(largest is not None and largest["purity"] >= 0.9, clusters),
                "none" if largest is None else f"{largest['size']:,} documents, {largest['purity']:.1%}",
            )
        )
    return found


STUDY = Study(
    "gsdpmm",
    "Yin, Wang: A Model-based Approach for Text Clustering with Outlier Detection (2016)",
    {
        "data": describe_data,
        "compare": compare,
        "converge": converge,
        "converge-lda": converge_lda,
        "scale": scale,
        "outliers": find_outliers,
        "vary": vary,
        "words": show_words,
    },
    plan,
    make_page,
)

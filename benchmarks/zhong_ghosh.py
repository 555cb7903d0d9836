"""Zhong and Ghosh's tables of NMI computed again: twelve algorithms, twelve collections, three selections of words."""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import statistics
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import textmix
from common import DATA, nmi, print_table
from textmix.metrics import ZHONG_GHOSH, t_test_table

COLLECTIONS = ("classic", "ohscal", "k1b", "hitech", "reviews", "la1", "la2", "la12", "tr11", "tr23", "tr41", "tr45")
MODELS = {
    "Bernoulli": ("kberns", "skberns", "mixberns", "daberns"),
    "multinomial": ("kmnls", "skmnls", "mixmnls", "damnls"),
    "vMF": ("kvmfs", "skvmfs", "softvmfs", "davmfs"),
}
ALGORITHMS = tuple(itertools.chain.from_iterable(MODELS.values()))
SELECTIONS = {
    "none": lambda: None,
    "frequency": textmix.FrequencySelector,
    "variance": textmix.VarianceSelector,
}
PAPERS = Path(__file__).resolve().parent / "papers"
TOLERANCE = 0.05  # in NMI
SIGNIFICANT = 0.05  # p

# The list of words that la1, la2 and la12 share has 31,472; not all occur. False: columns for all of them.
ONLY_WORDS_THAT_OCCUR = True
N_DECLARED = {"la1": 31472, "la2": 31472, "la12": 31472}


class Run(NamedTuple):
    """One fit."""

    selection: str
    collection: str
    algorithm: str
    run: int
    nmi: float
    seconds: float
    n_clusters: int


Cell = tuple[str, str, str]  # selection, collection, algorithm
Scores = dict[Cell, list[float]]  # by run


def load_counts(name: str) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Counts, documents × words, and labels. Words are columns in the order of their numbers, or of the alphabet."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    found = {word for document in documents for word in document["counts"]}
    words = sorted(found, key=int if all(word.isdecimal() for word in found) else str)
    columns = {word: column for column, word in enumerate(words)}
    n_columns = len(words) if ONLY_WORDS_THAT_OCCUR else max(len(words), N_DECLARED.get(name, 0))
    ends = np.cumsum([0] + [len(document["counts"]) for document in documents])
    ids = np.array([columns[word] for document in documents for word in document["counts"]], dtype=np.int32)
    data = np.array([n for document in documents for n in document["counts"].values()], dtype=np.int32)
    counts = scipy.sparse.csr_array((data, ids, ends), shape=(len(documents), n_columns))
    counts.sort_indices()
    return counts, np.array([document["label"] for document in documents])


def measure(collection: str, selection: str, algorithms: Sequence[str], n_runs: int) -> list[Run]:
    """All algorithms on one collection with one selection of words."""
    warnings.filterwarnings("ignore", message=".*the others hold no document")
    counts, labels = load_counts(collection)
    selector = SELECTIONS[selection]()
    if selector is not None:
        counts = selector.fit_transform(counts)
    n_classes = len(set(labels))
    runs = []
    for algorithm, run in itertools.product(algorithms, range(n_runs)):
        model = textmix.algorithm(algorithm, n_clusters=n_classes, random_state=run, progress=False)
        started = time.perf_counter()
        model.fit(counts)
        seconds = time.perf_counter() - started
        used = model.labels_ != -1  # the paper removes documents that have no words left
        score = nmi(labels[used], model.labels_[used])
        runs.append(Run(selection, collection, algorithm, run, score, seconds, model.n_clusters_))
    return runs


def measure_all(arguments: argparse.Namespace) -> list[Run]:
    """All collections with all selections, the largest first, some side by side."""
    by_size = sorted(arguments.only, key=lambda name: -(DATA / f"{name}.jsonl.gz").stat().st_size)
    runs: list[Run] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        jobs = [
            pool.submit(measure, collection, selection, arguments.algorithms, arguments.runs)
            for collection, selection in itertools.product(by_size, arguments.selections)
        ]
        for n_done, job in enumerate(as_completed(jobs), start=1):
            new = job.result()
            runs += new
            seconds = sum(run.seconds for run in new)
            mean = statistics.mean(run.nmi for run in new)
            name = f"{new[0].collection}, {new[0].selection}"
            print(f"{n_done}/{len(jobs)} {name}: {len(new)} fits in {seconds:.1f} s, mean NMI {mean:.3f}", flush=True)
            if arguments.out is not None:
                write_runs(arguments.out, runs)
    return runs


def write_runs(folder: Path, runs: Iterable[Run]) -> None:
    """A line for each fit."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "zhong_ghosh_runs.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Run._fields)
        for run in sorted(runs):
            writer.writerow(run._replace(nmi=round(run.nmi, 6), seconds=round(run.seconds, 4)))


def read_paper() -> dict[Cell, float]:
    """The means that the paper prints."""
    with open(PAPERS / "zhong_ghosh.csv", newline="", encoding="utf-8") as file:
        return {(r["selection"], r["collection"], r["algorithm"]): float(r["mean"]) for r in csv.DictReader(file)}


def read_paper_t_tests() -> dict[Cell, str]:
    """The p-values that the paper prints, by selection, collection and hypothesis."""
    with open(PAPERS / "zhong_ghosh_t_tests.csv", newline="", encoding="utf-8") as file:
        return {(r["selection"], r["collection"], r["hypothesis"]): r["p"] for r in csv.DictReader(file)}


def is_below(ours: float, paper: float) -> bool:
    """Whether a mean is too far below the paper's."""
    return ours < paper - TOLERANCE - 1e-9


def print_scores(means: dict[Cell, float], paper: dict[Cell, float], arguments: argparse.Namespace) -> None:
    """A table for each selection, and how many cells come out as in the paper."""
    for selection in arguments.selections:
        rows: list[list[object]] = []
        for collection in arguments.only:
            cells = [(selection, collection, algorithm) for algorithm in arguments.algorithms]
            texts = [f"{means[cell]:.3f} ({means[cell] - paper[cell]:+.3f})" for cell in cells]
            marked = [is_below(means[cell], paper[cell]) for cell in cells]
            rows.append(
                [collection, *(f"**{text}**" if mark else text for text, mark in zip(texts, marked, strict=True))]
            )
        title = f"NMI, selection of words: {selection}. Mean of {arguments.runs} runs (difference to the paper)"
        print_table(title, ["collection", *arguments.algorithms], rows)
    print(f"\nBold: more than {TOLERANCE} below the paper.\n")
    for selection in arguments.selections:
        print(f"{selection}: {_count([cell for cell in means if cell[0] == selection], means, paper)}")
    print(f"all: {_count(list(means), means, paper)}")
    below = [cell for cell in means if is_below(means[cell], paper[cell])]
    rows = [[*cell, means[cell], paper[cell], means[cell] - paper[cell]] for cell in below]
    header = ["selection", "collection", "algorithm", "ours", "paper", "difference"]
    print_table(f"Cells more than {TOLERANCE} below the paper: {len(below)}", header, rows)


def _count(cells: Sequence[Cell], means: dict[Cell, float], paper: dict[Cell, float]) -> str:
    n_good = sum(not is_below(means[cell], paper[cell]) for cell in cells)
    n_above = sum(means[cell] > paper[cell] + TOLERANCE + 1e-9 for cell in cells)
    return f"{n_good} of {len(cells)} cells within {TOLERANCE} or above, {n_above} of these more than {TOLERANCE} above"


def print_t_tests(scores: Scores, paper: dict[Cell, str], arguments: argparse.Namespace) -> None:
    """Table 5, and whether annealing helps where it helps in the paper."""
    there = set(arguments.algorithms)
    tests = [test for test in ZHONG_GHOSH if there.issuperset(test.better + test.worse)]
    if not tests or arguments.runs < 2:
        return
    by_collection = {
        collection: {algorithm: scores["none", collection, algorithm] for algorithm in arguments.algorithms}
        for collection in arguments.only
    }
    table = t_test_table(by_collection, tests)
    names = [test.name for test in tests]
    rows = [
        [r["collection"], *(f"{r[n]:.3f} ({paper['none', str(r['collection']), n]})" for n in names)] for r in table
    ]
    print_table("Paired t-tests without selection, p (the paper's)", ["collection", *names], rows)
    for test in tests:
        if test.name in ("dam>bm", "dav>bv"):
            _print_annealing(test, by_collection, {str(r["collection"]): r[test.name] for r in table}, paper)


def _print_annealing(test: Any, scores: dict[str, dict[str, list[float]]], ours: dict[str, Any], paper: Any) -> None:
    """The cases where the paper finds a hypothesis significant."""
    rows = []
    for collection, p in ours.items():
        printed = paper["none", collection, test.name]
        if float(printed.strip("<>")) >= SIGNIFICANT:
            continue
        better, plain = (
            max(statistics.mean(scores[collection][algorithm]) for algorithm in algorithms)
            for algorithms in (test.better, test.worse)
        )
        significant = better > plain and p < SIGNIFICANT
        rows.append([collection, better, plain, f"{p:.4f}", printed, _yes(better > plain), _yes(significant)])
    n_same, n_significant = (sum(row[column] == "yes" for row in rows) for column in (-2, -1))
    title = (
        f"{test.name} where the paper has p < {SIGNIFICANT}: {n_same} of {len(rows)} in the same direction, "
        f"{n_significant} of {len(rows)} significant"
    )
    print_table(title, ["collection", "annealed", "best plain", "p", "paper's p", "direction", "significant"], rows)


def print_bernoulli(means: dict[Cell, float], arguments: argparse.Namespace) -> None:
    """Whether the Bernoulli model is the worst of the three, by its best algorithm and by hard assignment."""
    if not set(arguments.algorithms).issuperset(ALGORITHMS):
        return
    rows: list[list[object]] = []
    for collection in arguments.only:
        best = [max(means["none", collection, name] for name in names) for names in MODELS.values()]
        hard = [means["none", collection, names[0]] for names in MODELS.values()]
        rows.append([collection, *best, _yes(best[0] < min(best[1:])), *hard, _yes(hard[0] < min(hard[1:]))])
    header = ["collection", *(f"best {name}" for name in MODELS), "Bernoulli worst"]
    header += [*(f"hard {name}" for name in MODELS), "Bernoulli worst"]
    print_table("Three models without selection", header, rows)
    others = [row for row in rows if row[0] != "ohscal"]
    for what, column in (("best algorithm", 4), ("hard assignment", 8)):
        n_worst = sum(row[column] == "yes" for row in others)
        answers = "".join(f"; on ohscal: {row[column]}" for row in rows if row[0] == "ohscal")
        print(f"\nBernoulli is the worst by {what} on {n_worst} of {len(others)} collections but ohscal{answers}")


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=COLLECTIONS, default=COLLECTIONS, metavar="COLLECTION")
    parser.add_argument("--selections", nargs="+", choices=list(SELECTIONS), default=list(SELECTIONS))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS, metavar="ALGORITHM")
    parser.add_argument("--jobs", type=int, default=2, help="collections that are worked on side by side")
    parser.add_argument("--out", type=Path, help="folder for the scores of all runs")
    arguments = parser.parse_args()
    for name in ("only", "selections", "algorithms"):
        setattr(arguments, name, list(dict.fromkeys(getattr(arguments, name))))
    return arguments


def main() -> None:
    arguments = parse_arguments()
    started = time.perf_counter()
    runs = measure_all(arguments)
    elapsed = time.perf_counter() - started
    cells = itertools.product(arguments.selections, arguments.only, arguments.algorithms)
    scores: Scores = {cell: [] for cell in cells}
    for run in sorted(runs):
        scores[run.selection, run.collection, run.algorithm].append(run.nmi)
    means = {cell: statistics.mean(values) for cell, values in scores.items()}
    print_scores(means, read_paper(), arguments)
    if "none" in arguments.selections:
        print_t_tests(scores, read_paper_t_tests(), arguments)
        print_bernoulli(means, arguments)
    print(f"\n{len(runs)} fits in {elapsed:.0f} s, {arguments.jobs} jobs side by side")


if __name__ == "__main__":
    main()

"""X-DMM's Tables 2, 3 and 6 and Fig. 2, 3 and 5, measured here: by the textbook and by each sampler of ours.

`python xdmm.py PART …` runs parts: index, sweeps, perplexity, threads, convergence, quality, priors. All: no part.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from common import Collection, csr_bytes, load, nmi, peak_growth, print_table, repeated
from textbook import Textbook
from textmix import DirichletMultinomialMixture
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import build_length_table, prepare_documents
from textmix.inference.metropolis import MetropolisSweeps
from textmix.inference.perplexity import log_predictive, perplexity, sum_log_betas
from textmix.inference.scoring import PartitionScorer
from textmix.inference.seeds import START, generator
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.finite_dirichlet import finite_dirichlet

ALPHA = BETA = 0.1
MANY_CLUSTERS = 1000  # from here on the textbook's sweep is timed on every twentieth document and multiplied
MOST_SECONDS = 600.0  # of sweeps, to reach a perplexity; one that does not takes longer, or for ever
WARM_UP = 6  # sweeps before a sweep is timed


def quietly(_: int) -> None:
    """No progress."""


def mixture(n_clusters: int, **settings: Any) -> DirichletMultinomialMixture:
    return DirichletMultinomialMixture(n_clusters, ALPHA, BETA, progress=False, **settings)


def gibbs_state(counts: scipy.sparse.csr_array, n_clusters: int, sampler: str, seed: int = 0) -> GibbsState:
    prepared = prepare_documents(counts, BETA, True)
    model = dirichlet_multinomial(BETA, counts.shape[1], prepared.unit, prepared.max_word_total)
    labels = generator(seed, START).integers(n_clusters, size=counts.shape[0], dtype=np.int32)
    labels[prepared.documents.lengths == 0] = -1
    return GibbsState(prepared, labels, model, finite_dirichlet(n_clusters, ALPHA), sampler)


def perplexity_of(state: GibbsState, counts: scipy.sparse.csr_array) -> float:
    model = dirichlet_multinomial(BETA, counts.shape[1], 1.0, state.prepared.max_word_total, at_mean=True)
    log_p = log_predictive(state.prepared.documents, state.clusters, model, state.prior)
    log_betas = sum_log_betas(counts.indices, counts.data, BETA)
    n = state.n_documents
    return perplexity(log_p, n, n - 1, float(counts.data.sum()), log_betas, model, state.prior)


def timed(work: Callable[..., Any], *arguments: Any) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


# Table 2


def index() -> None:
    """How long the tables take beside 50 sweeps."""
    rows = []
    for name, n_clusters in [("20NG", 20), ("ohsumed20000", 23), ("Reuters", 116)]:
        counts = load(name).counts
        state = gibbs_state(counts, n_clusters, "dense")
        state.sample(generator(0, 0), quietly)

        def tables(state: GibbsState = state, counts: scipy.sparse.csr_array = counts) -> None:
            dirichlet_multinomial(BETA, counts.shape[1], 1.0, state.prepared.max_word_total)
            build_length_table(state.prepared, state.clusters, state.model, state.prior)

        indexing = statistics.median(timed(tables) for _ in range(5))
        training = 50 * statistics.median(timed(state.sample, generator(0, sweep), quietly) for sweep in range(1, 6))
        rows.append([name, n_clusters, f"{1000 * indexing:.1f} ms", f"{training:.1f} s"])
    print_table("Table 2: making the tables, and 50 sweeps", ["collection", "K", "tables", "sweeps"], rows)


# Table 3 and Fig. 2


def median_sweep(sweep: Callable[[int], Any], n_timed: int) -> float:
    for number in range(WARM_UP):
        sweep(number)
    return statistics.median(timed(sweep, WARM_UP + number) for number in range(n_timed))


def textbook_sweep(counts: scipy.sparse.csr_array, n_clusters: int) -> float:
    every = 20 if n_clusters >= MANY_CLUSTERS else 1
    book = Textbook(counts[::every], n_clusters, ALPHA, BETA, 0)
    return every * statistics.median(timed(book.sweep) for _ in range(1 if n_clusters > 200 else 3))


def gibbs_sweep(counts: scipy.sparse.csr_array, n_clusters: int, sampler: str) -> float:
    state = gibbs_state(counts, n_clusters, sampler)
    return median_sweep(lambda number: state.sample(generator(0, number), quietly), 3)


def metropolis_sweep(counts: scipy.sparse.csr_array, n_clusters: int) -> float:
    """The mean over a period, so that every document is refreshed once, the log joint included as in a fit."""
    state = gibbs_state(counts, n_clusters, "auto")
    for number in range(12):
        state.sample(generator(0, number), quietly)
    period = state.n_clusters
    sweeps = MetropolisSweeps(state, period)
    for number in range(3):
        sweeps.sample(number, generator(1, number), quietly)
    n_timed = min(period, 120)

    def some() -> None:
        for number in range(n_timed):
            sweeps.sample(number, generator(2, number), quietly)
            state.log_joint()

    return timed(some) / n_timed


def parallel_sweep(counts: scipy.sparse.csr_array, n_clusters: int, **settings: Any) -> float:
    """The median over the sweeps of a run, as for Gibbs."""
    model = mixture(n_clusters, inference="parallel", n_sweeps=20, tol=0, polish=False, **settings).fit(counts)
    return float(np.median(model.trace_["seconds"][WARM_UP:]))


def sweeps() -> None:
    """Seconds a sweep by K, on ohsumed20000."""
    counts = load("ohsumed20000").counts
    for warm in ("dense", "auto"):
        gibbs_sweep(counts[:200], 10, warm)
    metropolis_sweep(counts[:500], 10)
    parallel_sweep(counts[:500], 10, n_jobs=1)
    Textbook(counts[:50], 5, ALPHA, BETA, 0).sweep()
    rows = []
    for n_clusters in (20, 80, 160, 240, 1000, 5000):
        times = [
            textbook_sweep(counts, n_clusters),
            gibbs_sweep(counts, n_clusters, "dense") if n_clusters < MANY_CLUSTERS else None,
            gibbs_sweep(counts, n_clusters, "auto"),
            metropolis_sweep(counts, n_clusters),
            parallel_sweep(counts, n_clusters, n_jobs=1),
            parallel_sweep(counts, n_clusters, n_jobs=2),
        ]
        rows.append([f"{n_clusters:,}", *("" if spent is None else f"{spent:.4f}" for spent in times)])
        print(rows[-1], flush=True)
    header = ["K", "textbook", "Gibbs, dense", "Gibbs", "Metropolis", "parallel, 1 thread", "2 threads"]
    print_table("Table 3: seconds a sweep on ohsumed20000", header, rows)


# Table 6


class Point(NamedTuple):
    """Where a run is: seconds of sampling so far, and the perplexity then."""

    seconds: float
    perplexity: float


def textbook_curve(counts: scipy.sparse.csr_array, n_clusters: int, seed: int) -> Iterator[Point]:
    spent = 0.0
    book = Textbook(counts, n_clusters, ALPHA, BETA, seed)
    while True:
        spent += timed(book.sweep)
        sums = scipy.sparse.csr_array(book.counts)
        scorer = PartitionScorer.from_statistics(book.sizes, sums, BETA, finite_dirichlet(n_clusters, ALPHA), 1.0)
        yield Point(spent, scorer.perplexity(counts, book.labels.astype(np.int32)))


def gibbs_curve(counts: scipy.sparse.csr_array, n_clusters: int, sampler: str, seed: int) -> Iterator[Point]:
    started = time.perf_counter()
    state = gibbs_state(counts, n_clusters, sampler, seed)
    spent, number = time.perf_counter() - started, 0
    while True:
        spent += timed(state.sample, generator(seed, number), quietly)
        number += 1
        yield Point(spent, perplexity_of(state, counts))


def metropolis_curve(counts: scipy.sparse.csr_array, n_clusters: int, seed: int) -> Iterator[Point]:
    started = time.perf_counter()
    state = gibbs_state(counts, n_clusters, "auto", seed)
    spent, number, sweeps = time.perf_counter() - started, 0, None
    while True:
        if number == 12:
            sweeps = MetropolisSweeps(state, state.n_clusters)
        rng = generator(seed, number)
        if sweeps is None:
            spent += timed(state.sample, rng, quietly)
        else:
            spent += timed(sweeps.sample, number, rng, quietly)
        number += 1
        if sweeps is None or number % 10 == 0:
            yield Point(spent, perplexity_of(state, counts))


def parallel_curve(counts: scipy.sparse.csr_array, n_clusters: int, n_jobs: int, seed: int) -> Iterator[Point]:
    """The trace has the perplexity of the clusters that a sweep began with: it belongs to the end of the one before."""
    started = time.perf_counter()
    model = mixture(
        n_clusters, inference="parallel", n_sweeps=40, tol=0, polish=False, n_jobs=n_jobs, random_state=seed
    ).fit(counts)
    seconds = model.trace_["seconds"]
    start = time.perf_counter() - started - seconds.sum()
    ends = start + np.cumsum(seconds) - seconds
    yield from (Point(*point) for point in zip(ends[1:], model.trace_["perplexity"][1:], strict=True))


def times_to_reach(curve: Iterator[Point], targets: list[float], most_seconds: float) -> list[float]:
    reached = [np.nan] * len(targets)
    for point in curve:
        for i, target in enumerate(targets):
            if point.perplexity <= target and np.isnan(reached[i]):
                reached[i] = point.seconds
        if not np.isnan(reached).any() or point.seconds > most_seconds:
            break
    return reached


def perplexity_table(times_over: int, n_clusters: int) -> None:
    """Time to come within 5, 2, 1 and 0.5 % of the median final perplexity of three dense Gibbs runs."""
    counts = repeated(load("20NG").counts, times_over)
    finals = []
    for seed in range(3):
        model = mixture(n_clusters, sampler="dense", random_state=seed, polish=False).fit(counts)
        finals.append(model.perplexity())
        print(f"dense Gibbs, seed {seed}: {model.n_iter_} sweeps, perplexity {finals[-1]:.1f}", flush=True)
    final = statistics.median(finals)
    shares = (0.05, 0.02, 0.01, 0.005)
    targets = [final * (1 + share) for share in shares]
    curves = {
        "textbook": lambda: textbook_curve(counts, n_clusters, 10),
        "Gibbs, dense": lambda: gibbs_curve(counts, n_clusters, "dense", 10),
        "Gibbs": lambda: gibbs_curve(counts, n_clusters, "auto", 10),
        "Metropolis": lambda: metropolis_curve(counts, n_clusters, 10),
        "parallel, 1 thread": lambda: parallel_curve(counts, n_clusters, 1, 10),
        "parallel, 2 threads": lambda: parallel_curve(counts, n_clusters, 2, 10),
    }
    rows, by_the_book = [], None
    for name, curve in curves.items():
        reached = times_to_reach(curve(), targets, MOST_SECONDS)
        by_the_book = by_the_book or (MOST_SECONDS if np.isnan(reached[-1]) else reached[-1])
        times = [f"> {MOST_SECONDS:.0f} s" if np.isnan(spent) else f"{spent:.1f} s" for spent in reached]
        rows.append([name, *times, "" if np.isnan(reached[-1]) else f"{by_the_book / reached[-1]:.1f} ×"])
        print(rows[-1], flush=True)
    started = time.perf_counter()
    model = mixture(n_clusters, inference="auto", random_state=10).fit(counts)
    spent = time.perf_counter() - started
    away = 100 * (model.perplexity() / final - 1)
    whole = f"{spent:.1f} s to the end, perplexity {model.perplexity():.1f}, {away:+.2f} %"
    rows.append([f"auto ({model.inference_}), polished", "", "", "", whole, f"{by_the_book / spent:.1f} ×"])
    header = [
        "sampler",
        *(f"{final * (1 + share):.0f} (+{100 * share:g} %)" for share in shares),
        "beside the textbook",
    ]
    print_table(f"Table 6: seconds to a perplexity, 20NG × {times_over}, K={n_clusters}", header, rows)


# Fig. 3 and 5


def threads() -> None:
    """A sweep on one and on two threads."""
    rows = []
    cases = [("T", 1, 300), ("T", 10, 300), ("TS", 1, 300), ("TS", 5, 300)]
    cases += [("20NG", 1, 50), ("20NG", 1, 200), ("ohsumed20000", 1, 240)]
    for name, times_over, n_clusters in cases:
        counts = repeated(load(name).counts, times_over)
        pairs = [[parallel_sweep(counts, n_clusters, n_jobs=n) for n in (1, 2)] for _ in range(7)]
        one, two = (min(pair[i] for pair in pairs) for i in (0, 1))  # the quietest of seven runs each
        label = name if times_over == 1 else f"{name} × {times_over}"
        rows.append([label, n_clusters, f"{one:.4f} s", f"{two:.4f} s", f"**{one / two:.2f}**"])
        print(rows[-1], flush=True)
    print_table("Fig. 3: a sweep on threads", ["collection", "K", "one", "two", "ratio"], rows)


def convergence() -> None:
    """Whole fits, and what memory they take."""
    rows = []
    for name, n_clusters in [("20NG", 40), ("ohsumed20000", 46), ("Reuters", 232), ("T", 300)]:
        collection = load(name)
        for settings in ({"inference": "gibbs"}, {"inference": "metropolis"}, {"inference": "parallel"}):
            mixture(5, n_sweeps=20, **settings).fit(collection.counts[:300])
            model = mixture(n_clusters, **settings)
            spent = timed(model.fit, collection.counts)
            growth = peak_growth(partial(mixture(n_clusters, n_sweeps=20, **settings).fit, collection.counts))
            rows.append(
                [
                    f"{name}, K={n_clusters}",
                    settings["inference"],
                    f"{spent:.2f} s",
                    model.n_iter_,
                    f"{model.perplexity():.0f}",
                    f"{nmi(collection.labels, model.labels_):.3f}",
                    f"{growth / csr_bytes(collection.counts):.1f} ×",
                ]
            )
            print(rows[-1], flush=True)
    header = ["collection", "inference", "fit", "sweeps", "perplexity", "NMI", "memory / counts"]
    print_table("Fig. 5: to the end of a fit", header, rows)


# Quality


def scores_of(collection: Collection, make: Callable[..., Any], n_seeds: int) -> list[float]:
    return [nmi(collection.labels, make(random_state=seed).fit(collection.counts).labels_) for seed in range(n_seeds)]


def quality(n_seeds: int) -> None:
    """Mean NMI of ten seeds."""
    rows = []
    for name, n_clusters in [("T", 300), ("TS", 300), ("20NG", 50), ("Reuters", 232)]:
        collection = load(name)
        scores = {}
        for inference in ("gibbs", "metropolis", "parallel"):
            found = [
                nmi(
                    collection.labels,
                    mixture(n_clusters, inference=inference, random_state=s).fit(collection.counts).labels_,
                )
                for s in range(n_seeds)
            ]
            scores[inference] = found
            print(name, inference, f"{np.mean(found):.4f} ± {np.std(found):.4f}", flush=True)
        means = {inference: float(np.mean(found)) for inference, found in scores.items()}
        deviations = {inference: float(np.std(found, ddof=1)) for inference, found in scores.items()}
        rows.append(
            [f"{name}, K={n_clusters}"]
            + [f"{means[i]:.4f} ± {deviations[i]:.4f}" for i in scores]
            + [f"{means[i] - means['gibbs']:+.4f}" for i in ("metropolis", "parallel")]
        )
    header = ["collection", "Gibbs", "Metropolis", "parallel", "Metropolis − Gibbs", "parallel − Gibbs"]
    print_table(f"NMI, mean of {n_seeds} seeds", header, rows)


def priors(n_seeds: int) -> None:
    """Fig. 4: β by the frequency of words, with the same sum as the symmetric one, beside the symmetric one."""
    rows = []
    for name, n_clusters in [("T", 300), ("20NG", 40), ("Reuters", 232)]:
        collection = load(name)
        totals = np.asarray(collection.counts.sum(axis=0)).ravel()
        for label, beta in [("0.1", BETA), ("by frequency", BETA * totals / totals.mean())]:
            make = partial(DirichletMultinomialMixture, n_clusters, ALPHA, beta, progress=False)
            found = scores_of(collection, make, n_seeds)
            rows.append([f"{name}, K={n_clusters}", label, f"{np.mean(found):.3f} ± {np.std(found, ddof=1):.3f}"])
            print(rows[-1], flush=True)
    print_table("Fig. 4: symmetric and asymmetric β", ["collection", "β", "NMI"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--times", type=int, default=5, help="copies of 20NG for Table 6")
    parser.add_argument("--clusters", type=int, default=200, help="K for Table 6")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "index": index,
        "sweeps": sweeps,
        "perplexity": lambda: perplexity_table(arguments.times, arguments.clusters),
        "threads": threads,
        "convergence": convergence,
        "quality": lambda: quality(arguments.seeds),
        "priors": lambda: priors(min(arguments.seeds, 5)),
    }
    for part in arguments.parts or parts:
        if part not in parts:
            parser.error(f"there is no part {part!r}; there are {', '.join(parts)}")
        parts[part]()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()

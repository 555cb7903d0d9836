"""How long the samplers of the paper on X-DMM take: its Tables 2, 3 and 6, Fig. 2, 3 and 5."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from textmix.engines.threads import count_threads
from textmix.inference.collapsed_gibbs import GibbsState
from textmix.inference.layout import build_length_table, prepare_documents
from textmix.inference.seeds import generator
from textmix.models.dirichlet_multinomial import dirichlet_multinomial
from textmix.priors.finite_dirichlet import finite_dirichlet
from textmix_studies.collections import load
from textmix_studies.figures import Figure, Line, Panel
from textmix_studies.page import Page
from textmix_studies.study import Cell, Claim, Results, Values, if_known
from textmix_studies.timing import timed, timed_fit
from textmix_studies.xdmm_cells import ALPHA, BETA, COLLECTIONS, OURS, mixture

MEAN, DRAWN = "X-DMM parallel, mean of φ", "X-DMM parallel, φ drawn"  # Algorithm 3 as printed
TABLE_3_OF, CURVES_K = "ohsumed", 200
TABLE_3 = {  # K: seconds of an iteration and iterations, of Gibbs sampling and of Metropolis-Hastings
    20: (2.04, 30, 0.456, 80),
    80: (7.60, 38, 0.493, 324),
    160: (16.32, 45, 0.534, 523),
    240: (23.5, 48, 0.54, 738),
}
TABLE_2 = {"20ng": (196.0, 43305.0), "ohsumed": (375.3, 70760.0), "QA": (391.0, 29147.0), "Reuters": (64.3, 12210.0)}
TABLE_6 = {  # seconds to a perplexity of 3981, 3941, 3901, 3881 on NYTimes
    "GSDMM": (440.6, 726.2, 1641.9, 4162.5),
    "FGSDMM+": (401.1, 703.3, 1811.6, 3423.3),
    "X-DMM": (268.6, 369.2, 565.8, 849.9),
    "X-DMM parallel": (78.9, 121.4, 170.4, 262.3),
}
TRAINING = 50  # sweeps, of Table 2
SCALED = ("20ng", "ohsumed")  # that Fig. 3 shows
NEAR_THE_END = 0.99  # of its change: a curve is there
MOST_SWEEPS, MOST_METROPOLIS = 300, 3000
NOT_AT_HAND = "NYTimes, which the figures are of, is not at hand; on 20NG × 5 see [performance](../performance.md)"


def measure_index(collection: str, k: int) -> Values:
    """A column of Table 2: what the tables of products take, and fifty sweeps."""
    counts = load(collection).counts
    prepared = prepare_documents(counts, BETA, whole=True)
    model = dirichlet_multinomial(BETA, counts.shape[1], prepared.unit, prepared.max_word_total)
    start = np.random.default_rng(0).integers(k, size=counts.shape[0], dtype=np.int32)
    start[prepared.documents.lengths == 0] = -1
    state = GibbsState(prepared, start, model, finite_dirichlet(k, ALPHA), "dense")

    def tables() -> None:
        dirichlet_multinomial(BETA, counts.shape[1], prepared.unit, prepared.max_word_total)
        build_length_table(prepared, state.clusters, model, state.prior)

    def sweep(number: int) -> None:
        state.sample(generator(0, number), lambda _: None)

    sweep(0)
    return {
        "index_seconds": statistics.median(timed(tables) for _ in range(5)),
        "training_seconds": TRAINING * statistics.median(timed(partial(sweep, number)) for number in range(1, 4)),
    }


def measure_run(collection: str, method: str, k: int, n_iterations: int, to_the_end: bool) -> Values:
    """A run until it has settled (to_the_end), or of so many iterations. Gibbs has a row of counts for each word."""
    as_printed = method in (MEAN, DRAWN)
    model = mixture("X-DMM parallel" if as_printed else method, k, 0, n_iterations)
    if method in ("GSDMM", "FGSDMM+"):
        model.set_params(sampler="dense")
    if as_printed or method == "X-DMM parallel":
        model.set_params(n_jobs=-1)
    if as_printed:
        model.set_params(word_probabilities="sampled" if method == DRAWN else "means", leave_out=False)
    if not to_the_end:
        model.set_params(tol=0)
    seconds = timed_fit(model, load(collection).counts)
    by_sweep = model.trace_["seconds"]
    refreshed = model.trace_.get("n_refreshed", np.zeros(0))
    usual = (refreshed > 0) & (refreshed < refreshed.max(initial=0))  # Metropolis-Hastings, before proposals are frozen
    return {
        "fit_seconds": seconds,
        "n_iterations": int(model.n_iter_),
        "settled": bool(model.converged_),
        "sweep_seconds": float(np.mean(by_sweep[usual] if usual.any() else by_sweep[by_sweep.size // 2 :])),
        "ends": [round(float(end), 4) for end in np.cumsum(by_sweep)],
        "log_joint": [round(float(value), 1) for value in model.trace_["log_joint"]],
    }


def measure_threads(collection: str, k: int, n_jobs: int) -> Values:
    """A point of Fig. 3: the shortest of fifteen parallel sweeps, after five."""
    model = mixture("X-DMM parallel", k, 0, 20).set_params(tol=0, n_jobs=n_jobs)
    timed_fit(model, load(collection).counts)
    return {"sweep_seconds": float(np.min(model.trace_["seconds"][5:]))}


PARTS: dict[str, Callable[..., Values]] = {"index": measure_index, "timed": measure_run, "threads": measure_threads}


def plan_times(names: Sequence[str], quick: bool) -> list[Cell]:
    """All timed cells; of a quick run those of few clusters and iterations."""
    cells = []

    def add(part: str, name: str, **arguments: str | int | bool) -> None:
        copy = COLLECTIONS[name].copy
        cells.append(Cell(part, {"collection": copy, **arguments}, copy, alone=True))

    most, most_metropolis = (10, 20) if quick else (MOST_SWEEPS, MOST_METROPOLIS)
    for name in names:
        k = COLLECTIONS[name].n_classes
        add("index", name, k=k)
        for method in OURS:
            add("timed", name, method=method, k=k, n_iterations=_most(method, most, most_metropolis), to_the_end=True)
    for k in [20] if quick else TABLE_3:
        for method in ("GSDMM", "X-DMM"):
            add(
                "timed",
                TABLE_3_OF,
                method=method,
                k=k,
                n_iterations=_most(method, most, most_metropolis),
                to_the_end=True,
            )
    if not quick:
        for method, n_iterations in (("GSDMM", 40), ("X-DMM", 1500)):
            add("timed", TABLE_3_OF, method=method, k=CURVES_K, n_iterations=n_iterations, to_the_end=False)
    k = COLLECTIONS[TABLE_3_OF].n_classes
    for method in (MEAN, DRAWN):
        add("timed", TABLE_3_OF, method=method, k=k, n_iterations=10 if quick else 40, to_the_end=False)
    for name in SCALED if not quick else SCALED[1:]:
        for n_jobs in thread_numbers():
            add("threads", name, k=50, n_jobs=n_jobs)
    return cells


def _most(method: str, most: int, most_metropolis: int) -> int:
    return most_metropolis if method == "X-DMM" else most


def thread_numbers() -> list[int]:
    """1, 2, 4, … up to the cores there are."""
    return [n for n in (1, 2, 4, 8, 16, 32) if n <= count_threads(-1)]


def add_times(page: Page, results: Results) -> None:
    """Tables 2, 3 and 6, Fig. 2, 3 and 5."""
    page.add(
        "## Time",
        "Seconds of one run on one core, nothing else running; X-DMM parallel on all cores (the paper: a GPU). Gibbs "
        "sampling is textmix's with a row of counts for each word and the tables of products, X-DMM its "
        "Metropolis-Hastings after Gibbs. The paper's seconds are of another machine: ratios are to be compared.",
        "### Table 2: making the tables of products, and 50 iterations of Gibbs sampling (paper / here)",
        "50 iterations here: fifty times the median of three.",
    )
    rows = []
    for name, printed in TABLE_2.items():
        at = {"collection": COLLECTIONS[name].copy}
        found = [results.mean(value, "index", **at) for value in ("index_seconds", "training_seconds")]
        shown = ["not computed" if np.isnan(value) else f"{1000 * value:,.1f} ms" for value in found]
        rows.append([name, *(f"{p:,.1f} ms / {value}" for p, value in zip(printed, shown, strict=True))])
    page.add_table(["collection", "tables", "50 iterations"], rows, "table-2")
    _add_table_3(page, results)
    _add_curves(page, results)
    _add_threads(page, results)
    _add_fits(page, results)
    page.add("### Table 6: seconds to a perplexity on NYTimes, K = 200, as printed", f"Not computed: {NOT_AT_HAND}.")
    page.add_table(["method", "3981", "3941", "3901", "3881"], [[m, *times] for m, times in TABLE_6.items()], "table-6")


def _run(results: Results, name: str, method: str, k: int, to_the_end: bool = True) -> Values:
    at = {"collection": COLLECTIONS[name].copy, "method": method, "k": k, "to_the_end": to_the_end}
    return next((r.values for r in results.find("timed", **at) if r.values is not None), {})


def _iterations(values: Mapping[str, object]) -> str:
    return f"{values['n_iterations']}" if values["settled"] else f"> {values['n_iterations']}"


def _add_table_3(page: Page, results: Results) -> None:
    page.add(f"### Table 3: Gibbs sampling and Metropolis-Hastings on {TABLE_3_OF} (paper / here)")
    rows = []
    for k, (gibbs_seconds, gibbs_n, seconds, n) in TABLE_3.items():
        gibbs, ours = (_run(results, TABLE_3_OF, method, k) for method in ("GSDMM", "X-DMM"))
        if not gibbs or not ours:
            rows.append([k, gibbs_seconds, gibbs_n, seconds, n, "not computed"])
            continue
        rows.append(
            [
                k,
                f"{gibbs_seconds} s / {gibbs['sweep_seconds']:.3f} s",
                f"{gibbs_n} / {_iterations(gibbs)}",
                f"{seconds} s / {ours['sweep_seconds']:.3f} s",
                f"{n} / {_iterations(ours)}",
                f"{gibbs_seconds / seconds:.1f} / {gibbs['sweep_seconds'] / ours['sweep_seconds']:.1f}",
            ]
        )
    page.add_table(
        ["K", "Gibbs iteration", "iterations", "MH iteration", "iterations", "times as fast"], rows, "table-3"
    )


def _add_curves(page: Page, results: Results) -> None:
    lines = []
    for method in ("GSDMM", "X-DMM"):
        values = _run(results, TABLE_3_OF, method, CURVES_K, to_the_end=False)
        if values:
            lines.append(Line(method, values["ends"], [value / 1e6 for value in values["log_joint"]]))
    if lines:
        page.add(f"### Fig. 2: convergence on {TABLE_3_OF}, K = {CURVES_K}")
        panel = Panel("", lines)
        page.add_figure("figure-2", Figure("Convergence", "seconds", "log joint, millions", [panel], log_x=True))


def _add_threads(page: Page, results: Results) -> None:
    lines = []
    for name in SCALED:
        speeds = _speeds(results, name)
        if speeds:
            lines.append(Line(name, list(speeds), list(speeds.values())))
    if lines:
        page.add("### Fig. 3: a parallel sweep on several cores, K = 50", "The shortest of fifteen.")
        page.add_figure("figure-3", Figure("Cores", "cores", "times as fast as one", [Panel("", lines)]))


def _speeds(results: Results, name: str) -> dict[int, float]:
    """By the number of threads, how many times as fast as one."""
    copy = COLLECTIONS[name].copy
    numbers = results.arguments("n_jobs", "threads", collection=copy)
    seconds = {n: results.mean("sweep_seconds", "threads", collection=copy, n_jobs=n) for n in numbers}
    one = seconds.get(1, float("nan"))
    return {n: one / value for n, value in seconds.items() if not np.isnan(one / value)}


def _add_fits(page: Page, results: Results) -> None:
    page.add("### Fig. 5: seconds until a run has settled, K of Table 4", "In brackets: iterations.")
    rows = []
    for name, described in COLLECTIONS.items():
        runs = [_run(results, name, method, described.n_classes) for method in OURS]
        shown = [f"{run['fit_seconds']:.2f} ({_iterations(run)})" if run else "not computed" for run in runs]
        rows.append([name, described.n_classes, *shown])
    page.add_table(["collection", "K", *OURS], rows, "figure-5")


def time_claims(results: Results) -> list[Claim]:
    """What the paper says of time."""
    return [
        _of_index(results),
        *_of_iterations(results),
        _of_curves(results),
        _of_threads(results),
        *_of_fits(results),
        _of_drawing(results),
        Claim("NYTimes: X-DMM reaches a perplexity of 3881 four to five times as fast", None, NOT_AT_HAND),
        Claim("NYTimes: X-DMM parallel reaches it more than ten times as fast", None, NOT_AT_HAND),
    ]


def _of_index(results: Results) -> Claim:
    shares = {
        result.cell.arguments["collection"]: result.values["index_seconds"] / result.values["training_seconds"]
        for result in results.find("index")
        if result.values is not None
    }
    return Claim(
        "making the tables takes next to nothing beside training (less than 2 %)",
        if_known(all(share < 0.02 for share in shares.values()), list(shares)),
        ", ".join(f"{name} {share:.2%}" for name, share in shares.items()),
    )


def _of_iterations(results: Results) -> list[Claim]:
    pairs = {k: tuple(_run(results, TABLE_3_OF, method, k) for method in ("GSDMM", "X-DMM")) for k in TABLE_3}
    pairs = {k: pair for k, pair in pairs.items() if all(pair)}
    known = list(pairs)
    ratio = {k: gibbs["sweep_seconds"] / ours["sweep_seconds"] for k, (gibbs, ours) in pairs.items()}
    ended = {k: pair for k, pair in pairs.items() if all(run["settled"] for run in pair)}  # others were cut short
    whole = {k: gibbs["fit_seconds"] / ours["fit_seconds"] for k, (gibbs, ours) in ended.items()}
    iterations = {k: ours["n_iterations"] / gibbs["n_iterations"] for k, (gibbs, ours) in ended.items()}
    cut = "".join(f"; K = {k} was cut short" for k in known if k not in ended)
    by_k = [ratio[k] / k for k in known]
    listed = ", ".join(f"K = {k}: {ratio[k]:.1f}" for k in known)
    return [
        Claim(
            f"{TABLE_3_OF}: Metropolis-Hastings makes an iteration drastically cheaper (four times at each K at least)",
            if_known(all(value >= 4.0 for value in ratio.values()), known),
            listed,
        ),
        Claim(
            "by a factor that is proportional to K (factor / K within a factor of two)",
            if_known(len(known) > 1 and max(by_k) <= 2.0 * min(by_k), known[1:]),
            listed,
        ),
        Claim(
            "but many more iterations are needed (twice as many at least)",
            if_known(all(value >= 2.0 for value in iterations.values()), list(ended)),
            ", ".join(f"K = {k}: {n:.1f} times as many" for k, n in iterations.items()) + cut,
        ),
        Claim(
            "so that convergence is sped up much less than an iteration (half as much at most)",
            if_known(all(gain <= 0.5 * ratio[k] for k, gain in whole.items()), list(ended)),
            ", ".join(f"K = {k}: {gain:.1f} times" for k, gain in whole.items()) + cut,
        ),
    ]


def _reached(values: Values, level: float) -> float:
    """Seconds until the log joint is at a level."""
    return next(
        (end for end, value in zip(values["ends"], values["log_joint"], strict=True) if value >= level), float("inf")
    )


def _level(values: Values) -> float:
    first, last = values["log_joint"][0], max(values["log_joint"])
    return float(first + NEAR_THE_END * (last - first))


def _of_curves(results: Results) -> Claim:
    gibbs, ours = (_run(results, TABLE_3_OF, method, CURVES_K, to_the_end=False) for method in ("GSDMM", "X-DMM"))
    text = f"{TABLE_3_OF}, K = {CURVES_K}: Metropolis-Hastings converges substantially faster (1.5 times at least)"
    if not gibbs or not ours:
        return Claim(text, None, "not computed")
    times = [_reached(run, _level(gibbs)) for run in (gibbs, ours)]
    after = [f"{seconds:.1f} s" if np.isfinite(seconds) else "never" for seconds in times]
    evidence = f"{NEAR_THE_END:.0%} of the rise of Gibbs sampling's log joint: {after[0]} and {after[1]}"
    return Claim(text, times[0] >= 1.5 * times[1], evidence)


def _of_threads(results: Results) -> Claim:
    speeds = {name: found for name in SCALED if len(found := _speeds(results, name)) > 1}
    return Claim(
        "parallel sweeps are sped up nearly in proportion to the processors (0.8 times their number at least)",
        if_known(all(speed >= 0.8 * n for found in speeds.values() for n, speed in found.items()), list(speeds)),
        "; ".join(
            f"{name}: " + ", ".join(f"{n} cores {speed:.2f} times" for n, speed in found.items() if n > 1)
            for name, found in speeds.items()
        ),
    )


def _of_fits(results: Results) -> list[Claim]:
    runs = {
        name: {method: _run(results, name, method, described.n_classes) for method in OURS}
        for name, described in COLLECTIONS.items()
    }
    times = {
        name: {method: float(run["fit_seconds"]) for method, run in found.items()}
        for name, found in runs.items()
        if all(run and run["settled"] for run in found.values())
    }
    known = list(times)
    cut = [name for name, found in runs.items() if all(found.values()) and name not in times]
    aside = f"; cut short: {', '.join(cut)}" if cut else ""
    gains = {name: min(times[name][m] for m in ("GSDMM", "FGSDMM+")) / times[name]["X-DMM"] for name in known}
    further = {name: times[name]["X-DMM"] / times[name]["X-DMM parallel"] for name in known}
    sizes = {
        name: results.mean("n_documents", "data", collection=COLLECTIONS[name].copy)
        * results.mean("length", "data", collection=COLLECTIONS[name].copy)
        for name in known
    }
    by_size = sorted(known, key=lambda name: sizes[name])
    two_or_more = list(sizes.values()) if len(known) > 1 else []
    return [
        Claim(
            "X-DMM settles much faster than GSDMM and FGSDMM+ (1.5 times at least)",
            if_known(all(gain >= 1.5 for gain in gains.values()), known),
            ", ".join(f"{name} {gain:.2f} times" for name, gain in gains.items()) + aside,
        ),
        Claim(
            "X-DMM parallel is faster still",
            if_known(all(gain > 1.0 for gain in further.values()), known),
            ", ".join(f"{name} {gain:.2f} times" for name, gain in further.items()) + " as fast as X-DMM",
        ),
        Claim(
            "X-DMM gains more on larger sets (the largest beside the smallest)",
            if_known(bool(two_or_more) and gains[by_size[-1]] > gains[by_size[0]], two_or_more),
            ", ".join(f"{name} {gains[name]:.2f}" for name in by_size) + " times, from the smallest to the largest",
        ),
    ]


def _of_drawing(results: Results) -> Claim:
    means, drawn = (
        _run(results, TABLE_3_OF, method, COLLECTIONS[TABLE_3_OF].n_classes, to_the_end=False)
        for method in (MEAN, DRAWN)
    )
    text = f"{TABLE_3_OF}: with the posterior mean of φ training converges faster than with φ drawn"
    if not means or not drawn:
        return Claim(text, None, "not computed")
    level = min(_level(means), _level(drawn))
    times = [_reached(run, level) for run in (means, drawn)]
    return Claim(text, times[0] < times[1], f"the same log joint after {times[0]:.2f} s and {times[1]:.2f} s")

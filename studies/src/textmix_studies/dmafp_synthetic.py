"""The page of DMAFP's study: synthetic data, Figures 7 to 9, what the partition of words finds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textmix_studies.dmafp_results import (
    CONTROLS,
    FORMS,
    N_TRUE_CLUSTERS,
    WAYS,
    best_start,
    mean_of,
    runs_of_synthetic,
    why_not,
    with_range,
)
from textmix_studies.figures import Figure, Line, Panel
from textmix_studies.page import Compared, Page, Printed
from textmix_studies.study import Results, Values

N_TRACES = 3  # runs that Figures 8 and 9 show


def add_synthetic(page: Page, results: Results) -> None:
    """Section 6.2 with Figures 7 to 9, and two controls."""
    _add_runs(page, results)
    _add_figures(page, results)
    _add_controls(page, results)


def _add_runs(page: Page, results: Results) -> None:
    n_sets = len(results.arguments("data_seed", "synthetic"))
    note = "the same recipe with other random numbers"
    page.add(
        "## Synthetic data (6.2)",
        "600 documents in six clusters, 2,000 words, of which 200 differ between clusters; N = 30, α = 1, ω = 0.01, "
        "λ = 0.02, β = 4, all held. The paper's distributions are random: it has one data set, here are "
        f"{n_sets} (seeds 0 to {n_sets - 1}). Variational inference: the start with the largest E_q[log f] on each; "
        "Gibbs: all runs, 400 sweeps, of which the last 100 count. Our own starts stand below the paper's.",
    )
    found = {way: runs_of_synthetic(results, *way) for way in WAYS}
    rows = [
        Compared(
            (way.name,),
            Printed(way.nmi) if way.nmi is not None else None,
            [run["nmi"] for run in found[key]],
            same_data=False,
            reason=why_not(results, "synthetic", inference=key[0], start=key[1]),
            note=note,
        )
        for key, way in WAYS.items()
    ]
    rows[1:1] = [
        Compared(
            (f"{WAYS['variational', 'paper'].name}, mean of all starts",),
            rows[0].printed,
            results.values("nmi", "synthetic", inference="variational", start="paper"),
            same_data=False,
            reason=rows[0].reason,
            note=note,
        )
    ]
    page.add_comparison("synthetic", ["NMI"], rows)
    joined = [
        mean_of([float(run["n_large"] < N_TRUE_CLUSTERS) for run in found["gibbs", start]])
        for start in ("paper", "textmix")
    ]
    if not any(map(math.isnan, joined)):
        page.add(
            "Gibbs sampling can stick with two or more true clusters in one (fewer than six clusters of more than 50 "
            f"documents): in {joined[0]:.0%} of the runs from the paper's start, in {joined[1]:.0%} with all words in."
        )
    page.add("Discriminative words found, mean (range):")
    page.add_table(
        ["", "paper: words", "words", "of the 200 true ones", "false ones", "clusters"],
        [_words_row(WAYS[key].name, WAYS[key].n_words, runs) for key, runs in found.items()],
        "synthetic-words",
    )
    page.add("Time for all runs on the first data set, one at a time on one core:")
    page.add_table(
        ["", "paper, 20 runs", "ours", "runs"],
        [_time_row(results, inference) for inference in ("variational", "gibbs")],
        "synthetic-time",
    )


def _words_row(name: str, printed: int | None, runs: Sequence[Values]) -> list[object]:
    columns = [
        [run["n_true"] + run["n_false"] for run in runs],
        [run["n_true"] for run in runs],
        [run["n_false"] for run in runs],
        [run["n_clusters"] for run in runs],
    ]
    return [name, "" if printed is None else printed, *(with_range(column) for column in columns)]


def _time_row(results: Results, inference: str) -> list[object]:
    seconds = results.values("fit_seconds", "synthetic", inference=inference, start="paper", data_seed=0)
    way = WAYS[inference, "paper"]
    return [way.name, f"{way.minutes} minutes", f"{sum(seconds):.1f} s" if seconds else "not computed", len(seconds)]


def _add_figures(page: Page, results: Results) -> None:
    page.add(
        "### Figure 7: labels of the documents",
        "Data set 0; clusters are numbered by size. The true ones are documents 1 to 100, 101 to 200, and so on.",
    )
    panels = []
    for key in (("variational", "paper"), ("variational", "textmix"), ("gibbs", "paper")):
        inference, start = key
        best = best_start(results.find("synthetic", inference=inference, start=start, data_seed=0))
        if best is not None:
            panels.append(Panel(WAYS[key].name, [_line_of_labels(best["labels"])]))
    if panels:
        page.add_figure("figure-7", Figure("Labels found", "document", "cluster", panels))
    else:
        page.add(why_not(results, "synthetic"))
    _add_trace(page, results, "figure-8", "Figure 8: number of clusters, Gibbs", "clusters_by_sweep", "clusters")
    _add_trace(page, results, "figure-9", "Figure 9: number of discriminative words, Gibbs", "words_by_sweep", "words")


def _line_of_labels(labels: Sequence[int]) -> Line:
    """The label of each document, with a gap wherever it changes."""
    x: list[float] = []
    y: list[float] = []
    for place, label in enumerate(labels):
        if place and label != labels[place - 1]:
            x.append(place + 0.5)
            y.append(math.nan)
        x.append(place + 1)
        y.append(label + 1)
    return Line("", x, y)


def _add_trace(page: Page, results: Results, name: str, title: str, value: str, unit: str) -> None:
    page.add(f"### {title}", f"Data set 0, the first {N_TRACES} runs.")
    panels = []
    for start in ("paper", "textmix"):
        curves = results.values(value, "synthetic", inference="gibbs", start=start, data_seed=0)[:N_TRACES]
        lines = [Line(f"run {run}", range(1, len(curve) + 1), curve) for run, curve in enumerate(curves)]
        if lines:
            panels.append(Panel(WAYS["gibbs", start].name.removeprefix("Gibbs, "), lines))
    if panels:
        page.add_figure(name, Figure(title, "sweep", unit, panels))
    else:
        page.add(why_not(results, "synthetic", inference="gibbs"))


def _add_controls(page: Page, results: Results) -> None:
    page.add(
        "### What the partition finds",
        "Two controls that the paper does not have. In eq. 10 both groups of words have a probability of 1 to share "
        "out, so that setting frequent words apart pays by itself. The normalised form of textmix is a distribution "
        "over all words; its hyperparameters are drawn, best of five runs. Gibbs sampling, data sets "
        f"0 to {len(results.arguments('data_seed', 'control')) - 1}, mean (range).",
    )
    rows = []
    for form in FORMS:
        for case, (_, max_clusters) in CONTROLS.items():
            values = {
                name: results.values(name, "control", form=form, case=case) for name in ("n_true", "n_false", "nmi")
            }
            nmi = with_range(values["nmi"], 3) if max_clusters > 1 else ""
            if not values["nmi"]:
                nmi = why_not(results, "control", form=form, case=case)
            rows.append([form, case, with_range(values["n_true"]), with_range(values["n_false"]), nmi])
    page.add_table(["form", "", "of the 200 true words", "false ones", "NMI"], rows, "controls")

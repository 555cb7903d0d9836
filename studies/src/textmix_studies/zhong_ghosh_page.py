"""The page of Zhong and Ghosh's study: its tables beside ours."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from textmix_studies.figures import Figure, Line, Panel
from textmix_studies.page import LEAST_DEVIATION, Compared, Page, Printed
from textmix_studies.study import Results
from textmix_studies.zhong_ghosh_claims import claims, gain
from textmix_studies.zhong_ghosh_numbers import (
    ALGORITHMS,
    BISECTING,
    CLUTO,
    CO_CLUSTER,
    COLUMNS,
    CUT_FROM_20NG,
    HYPOTHESES,
    METHODS,
    MODELS,
    NO_CLUTO,
    SELECTION_TESTED,
    SELECTIONS,
    Scores,
    as_number,
    contradicted,
    gains_contradicted,
    printed_collections,
    printed_nmi,
    printed_p_values,
    printed_times,
    selection_test,
    verdict,
)

NMI_TABLES = {"none": (2, 3, 4), "frequency": (9, 10, 11), "variance": (14, 15, 16)}
TEST_TABLES = {"none": 5, "frequency": 12, "variance": 17}
SELECTION_TEST_TABLES = {"frequency": 13, "variance": 18}
CLUTO_TESTS = {"none": "dav>cluto", "frequency": "dam>cluto", "variance": "dam>cluto"}
TITLES = {"none": "all words", "frequency": "words selected by frequency", "variance": "words selected by variance"}
NEWSGROUPS_NOTE = "NG20 and NG17-19 are cut from the 18,846 posts of the by-date release, of the paper's 20,000"
GAP = "–"  # the reason stands below the table

_TRIED = (
    "Tried: shaking by .1 and 50 %, a tolerance of 1e-5, a slower schedule (factor 1.05), one iteration a temperature, "
    "starting from documents, learned weights: "
)
EXPLANATIONS: dict[str, dict[tuple[str, ...], str]] = {
    "none": {
        ("tr11", "daberns"): f"open. {_TRIED}.05 to .07.",
        ("la2", "*"): "of the 31,472 words that the copy declares 19,692 occur; only these are used. With columns for "
        "all, multinomials come to .43 or .44 and Bernoullis fall to .03.",
    },
    "frequency": {
        ("tr11", "daberns"): f"open. {_TRIED}.06 to .07.",
        ("classic", "skberns"): "learned weights: with equal ones it is .919.",
    },
    "variance": {("*", "davmfs"): "open. Other shaking and tolerances change nothing."},
}


def make_page(results: Results) -> Page:
    """Tables 2 to 18."""
    page = Page("Generative models compared (Zhong and Ghosh 2005), computed again")
    scores = Scores(results)
    page.add(
        "Twelve algorithms, three models × four ways of assigning, with the paper's settings: K the number of classes, "
        f"{scores.n_runs(ALGORITHMS)} runs from random partitions. Two methods from libraries, "
        f"{scores.n_runs([CO_CLUSTER])} runs each: spectral co-clustering (SciPy's SVD and scikit-learn's KMeans, with "
        "the paper's change: K vectors, rows of unit length), and scikit-learn's bisecting k-means on TF-IDF vectors "
        "of unit length. The latter stands beside the figures that are printed for CLUTO's vcluster, which is closed "
        "software; it is not the same method.",
        "Scores are NMI by the geometric mean. Documents that have no words left are removed, as in the paper.",
    )
    _add_sizes(page, results)
    _add_overview(page, scores)
    for selection in SELECTIONS:
        _add_nmi(page, scores, results, selection)
    _add_shares(page, scores, results)
    page.add(
        "## t-tests: Tables 5, 12, 13, 17 and 18",
        "One-sided paired t-tests over runs of the same seed: p, in brackets the paper's. Up to 0.05 the hypothesis is "
        "significant, from 0.95 its reverse; these are **bold**. *bb>wb*: the best of kberns, skberns, mixberns is "
        "better than the worst of them; *bm>wm*, *bv>wv*: the same of multinomials and vMFs; *dam>bm*, *dav>bv*: the "
        "annealed algorithm is better than the best of the other three. *fs>nfs*: better with selected words than with "
        "all.",
    )
    for selection in SELECTIONS:
        _add_tests(page, scores, selection)
    for selection in SELECTION_TEST_TABLES:
        _add_selection_tests(page, scores, selection)
    _add_gains(page, scores, results)
    _add_times(page, results)
    page.add(
        "## Equations 12 to 15",
        "That kmnls is divisive KL clustering, and damnls the information bottleneck with β = 1/T, are tests of the "
        "package: tests/studies/test_zhong_ghosh.py.",
        "## What the paper says",
        "Where the paper counts sets of 15, a claim holds if ours are at least (or, where it says that they are few, "
        "at most) the same share of the sets at hand.",
    )
    page.add_claims(claims(scores, results))
    return page


def _add_sizes(page: Page, results: Results) -> None:
    page.add(
        "## The collections: Tables 1 and 8",
        f"{NEWSGROUPS_NOTE} (of which 19,949 had words). Preprocessing as the paper's: header lines up to the first "
        "empty line cut off, stop words removed (textmix's English list; the paper has Bow's), words of fewer than "
        "three documents removed, then documents without words. Words are runs of two or more letters, as Bow's lexer "
        "has them. NG17-19 are talk.politics.guns, .mideast and .misc. All other collections at hand agree with the "
        "paper's in every figure; of the words that la1, la12 and la2 declare (31,472, as printed) not all occur, and "
        "those that do not have no column here.",
    )
    header = ["collection", "K"]
    for selection in SELECTIONS:
        header += [f"{TITLES[selection]}: documents, paper", "ours", "words, paper", "ours"]
    rows: list[list[Any]] = []
    reasons: dict[str, str] = {}
    for collection in results.arguments("collection", "sizes"):
        printed = printed_collections()[collection]
        row: list[Any] = [collection, printed.n_classes]
        for selection in SELECTIONS:
            [found] = results.find("sizes", collection=collection, selection=selection)
            sizes = found.values
            if sizes is None:
                reasons[collection] = found.reason
            for name, paper in zip(("n_documents", "n_words"), printed.sizes[selection], strict=True):
                row += [f"{paper:,}", GAP if sizes is None else f"{sizes[name]:,}"]
        rows.append(row)
    page.add_table(header, rows, "table-8")
    _add_reasons(page, reasons)


def _add_overview(page: Page, scores: Scores) -> None:
    """How many figures come out as printed, and a diagram of all methods."""
    sets = scores.sets(ALGORITHMS, SELECTIONS)
    rows = []
    for selection in SELECTIONS:
        compared = [
            _compare(scores, selection, collection, method)
            for collection in scores.collections
            for method in (*ALGORITHMS, CO_CLUSTER)
        ]
        own = [row for row in compared if row.ours and row.same_data]
        n_below = sum(row.is_below for row in own)
        n_above = sum(
            row.difference > 2.0 * max(row.printed.deviation or 0.0, LEAST_DEVIATION) for row in own if row.printed
        )
        mean = statistics.fmean(row.difference for row in own) if own else math.nan
        rows.append(
            [TITLES[selection], len(own), n_below, len(own) - n_below - n_above, n_above, f"{mean:+.3f}" if own else ""]
        )
    page.add(
        "## NMI: summary",
        "Figures on the paper's own data, by their distance from the printed ones in the paper's standard deviations:",
    )
    header = ["", "figures", "lower by more than two", "within two", "higher by more than two", "mean difference"]
    page.add_table(header, rows, "summary")
    if not sets:
        return

    def line(selection: str, methods: Sequence[str], *, printed: bool) -> Line:
        means = [
            statistics.fmean(printed_nmi()[selection, name, method].mean for name in sets)
            if printed
            else scores.average(selection, sets, method)
            for method in methods
        ]
        return Line(TITLES[selection], range(1, len(methods) + 1), means)

    panels = [
        Panel(f"{model}, {whose}", [line(selection, methods, printed=whose == "paper") for selection in SELECTIONS])
        for whose in ("here", "paper")
        for model, methods in MODELS.items()
    ]
    axis = "1 hard, 2 stochastic, 3 soft, 4 annealed"
    page.add(f"Mean over {len(sets)} sets:")
    page.add_figure("nmi", Figure("NMI with and without selection of words", axis, "NMI", panels))


def _add_nmi(page: Page, scores: Scores, results: Results, selection: str) -> None:
    page.add(f"## Tables {_listed(NMI_TABLES[selection])}: NMI, {TITLES[selection]}")
    explanations = {**EXPLANATIONS[selection]}
    for collection in scores.collections:
        by_shares = results.mean("nmi", "shares", selection=selection, collection=collection)
        if not math.isnan(by_shares):
            explanations[collection, "damnls"] = f"{by_shares:.3f} by shares of words, see *damnls by shares of words*."
    for number, columns in zip(NMI_TABLES[selection], COLUMNS, strict=True):
        collections = [name for name in columns if name in scores.collections]
        if not collections:
            continue
        page.add(f"### Table {number}: {', '.join(collections)}")
        rows = [
            _compare(scores, selection, collection, method)
            for collection in collections
            for method in (*ALGORITHMS, CO_CLUSTER, CLUTO, BISECTING)
        ]
        page.add_comparison(f"table-{number}", ["collection", "method"], rows, explanations)


def _add_shares(page: Page, scores: Scores, results: Results) -> None:
    """What damnls comes to if long documents weigh no more than short ones."""
    page.add(
        "## damnls by shares of words",
        "Of the twelve algorithms damnls is most often too low. No other shaking, schedule, start or weights change "
        "that by more than .03. What does: eq. 11 estimates clusters from counts, so that long documents outweigh the "
        "others (one document of tr23 holds 15 % of its words), while eq. 10 assigns all documents alike, and "
        "temperatures end when the objective changes by less than a share of 1e-3 of itself. Here clusters are "
        "estimated from each document's shares of words (`normalized_counts=True`, smoothed by one word of an average "
        "document) and temperatures end at 1e-5.",
    )
    rows = [
        Compared(
            (collection, TITLES[selection]),
            printed_nmi()[selection, collection, "damnls"],
            results.values("nmi", "shares", selection=selection, collection=collection),
            reason=scores.reason(selection, collection, "damnls"),
        )
        for collection in results.arguments("collection", "shares")
        for selection in SELECTIONS
    ]
    page.add_comparison("damnls-by-shares", ["collection", "words"], rows)


def _compare(scores: Scores, selection: str, collection: str, method: str) -> Compared:
    reason = scores.reason(selection, collection, method)
    same_data = collection not in CUT_FROM_20NG
    return Compared(
        (collection, method),
        printed_nmi().get((selection, collection, method)),
        scores.nmi(selection, collection, method),
        same_data,
        NO_CLUTO if method == CLUTO else reason,
        "" if same_data else NEWSGROUPS_NOTE,
    )


def _add_tests(page: Page, scores: Scores, selection: str) -> None:
    p_values = {name: scores.p_values(selection, test) for name, test in HYPOTHESES.items()}
    names = {name: name for name in HYPOTHESES} | {CLUTO_TESTS[selection]: CLUTO_TESTS[selection]}
    page.add(f"### Table {TEST_TABLES[selection]}: {TITLES[selection]}")
    _add_p_values(page, scores, selection, TEST_TABLES[selection], names, p_values)


def _add_selection_tests(page: Page, scores: Scores, selection: str) -> None:
    p_values = {selection_test(m): scores.selection_p_values(selection, m) for m in SELECTION_TESTED}
    names = {method: selection_test(method) for method in (*SELECTION_TESTED[:-1], CLUTO, CO_CLUSTER)}
    number = SELECTION_TEST_TABLES[selection]
    page.add(f"### Table {number}: fs>nfs, {TITLES[selection]}")
    _add_p_values(page, scores, selection, number, names, p_values)


def _add_p_values(
    page: Page,
    scores: Scores,
    selection: str,
    number: int,
    columns: Mapping[str, str],
    p_values: Mapping[str, Mapping[str, float]],
) -> None:
    """A table of p-values: a column for each hypothesis, by its heading."""
    shown: list[list[str]] = []
    numbers: list[Sequence[Any]] = []
    agreeing: list[bool] = []
    reasons: dict[str, str] = {}
    for collection in scores.collections:
        row = [collection]
        for hypothesis in columns.values():
            printed = printed_p_values()[selection, collection, hypothesis]
            ours = p_values.get(hypothesis, {}).get(collection)
            row.append(f"{GAP if ours is None else _p_text(ours)} ({printed})")
            numbers.append([collection, hypothesis, printed, "" if ours is None else round(ours, 6)])
            if ours is not None:
                agreeing.append(verdict(ours) == verdict(as_number(printed)))
            elif hypothesis in p_values:
                reasons[collection] = scores.reason(selection, collection, "damnls") or "too few runs"
        shown.append(row)
    page.add_table(["collection", *columns], shown)
    page.tables[f"table-{number}"] = (["collection", "hypothesis", "paper", "ours"], numbers)
    cluto = next(heading for heading, hypothesis in columns.items() if hypothesis not in p_values)
    _add_reasons(page, {**reasons, cluto: f"CLUTO is {NO_CLUTO}"})
    if agreeing:
        page.add(
            f"The same as the paper's (significant, reverse significant, neither): {sum(agreeing)} of {len(agreeing)}."
        )
    slips = [
        f"{collection} {heading} (p {p}, {difference:+.2f})"
        for chosen, collection, hypothesis, p, difference in contradicted()
        for heading, name in columns.items()
        if chosen == selection and hypothesis == name
    ]
    if slips:
        page.add(
            "The paper's own p and means contradict each other (significant one way, the mean at least .01 the other): "
            f"{', '.join(slips)}."
        )


def _p_text(p: float) -> str:
    text = "<0.001" if p < 0.001 else ">0.999" if p > 0.999 else f"{p:.3f}"
    return f"**{text}**" if verdict(p) else text


def _add_gains(page: Page, scores: Scores, results: Results) -> None:
    page.add(
        "## Table 6: best algorithms, and gains by annealing",
        "All words. Gain: by how many per cent the mean NMI of damnls (davmfs) is above that of mixmnls (softvmfs). "
        f"Ours are the best of the twelve, {CO_CLUSTER} and {BISECTING}.",
    )
    rows: list[list[Any]] = []
    reasons: dict[str, str] = {}
    for collection in sorted(scores.collections, key=lambda name: -printed_collections()[name].sizes["none"][0]):
        printed = printed_collections()[collection]
        n_documents = results.values("n_documents", "sizes", collection=collection, selection="none")
        row: list[Any] = [collection, f"{n_documents[0]:,}" if n_documents else GAP, ", ".join(printed.best_three)]
        if collection in scores.sets(METHODS):
            ranked = sorted(METHODS, key=lambda method: -scores.mean("none", collection, method))
            row.append(", ".join(ranked[:3]))
        else:
            reasons[collection] = scores.reason("none", collection, "damnls") or "not all methods computed"
            row.append(GAP)
        for model, percent in printed.gains.items():
            ours = gain(scores, collection, model)
            row += [f"{percent:+.1f} %", GAP if math.isnan(ours) else f"{ours:+.1f} %"]
        rows.append(row)
    gains = ["gain multinomial, paper", "ours", "gain vMF, paper", "ours"]
    page.add_table(["collection", "documents", "best three, paper", "ours", *gains], rows, "table-6")
    _add_reasons(page, reasons)
    slips = [
        f"{collection} {model} ({printed:+.1f} % for {from_means:+.1f} %)"
        for collection, model, printed, from_means in gains_contradicted()
    ]
    page.add(f"Gains that do not follow from the paper's own means by more than two points: {', '.join(slips)}.")


def _add_times(page: Page, results: Results) -> None:
    n_clusters = results.arguments("n_clusters", "time")
    [collection] = results.arguments("collection", "time") or ["NG20"]
    page.add(
        "## Table 7: running time on NG20",
        f"Seconds without reading and preparing, all words of {collection}, one thread, no other cell running; "
        f"runs: {len(results.arguments('seed', 'time'))}. The paper's: Matlab on a PC of 2.4 GHz (CLUTO in C). † "
        f"{NEWSGROUPS_NOTE}.",
    )
    rows: list[list[Any]] = []
    numbers: list[Sequence[Any]] = []
    for method in (*ALGORITHMS, CO_CLUSTER, CLUTO, BISECTING):
        row: list[Any] = [method]
        for k in n_clusters:
            seconds = results.values("fit_seconds", "time", method=method, n_clusters=k)
            paper = printed_times().get((method, k))
            ours = Compared((), None, seconds)
            row += [
                "" if paper is None else f"{paper.mean} ± {paper.deviation}",
                (f"{ours.mean:.2f}" + (f" ± {ours.deviation:.2f}" if len(seconds) > 1 else "")) if seconds else GAP,
            ]
            means = (round(ours.mean, 4), round(ours.deviation, 4) if len(seconds) > 1 else "") if seconds else ("", "")
            numbers.append([method, k, *(paper or ("", "")), *means, len(seconds)])
        rows.append(row)
    header = [text for k in n_clusters for text in (f"K = {k}, paper", "ours †")]
    page.add_table(["method", *header], rows)
    page.tables["table-7"] = (["method", "n_clusters", "paper", "paper_sd", "ours", "ours_sd", "runs"], numbers)
    reasons = {r.cell.arguments["method"]: r.reason for r in results.find("time") if r.reason}
    _add_reasons(page, {**reasons, CLUTO: NO_CLUTO})
    if not results.values("fit_seconds", "time"):
        return
    panels = [
        Panel(f"{model}, {whose}", [_time_line(results, method, n_clusters, whose) for method in methods])
        for whose in ("here", "paper")
        for model, methods in MODELS.items()
    ]
    page.add_figure("time", Figure("Running time", "K", "seconds", panels, log_y=True))


def _time_line(results: Results, method: str, n_clusters: Sequence[int], whose: str) -> Line:
    if whose == "here":
        seconds = [results.values("fit_seconds", "time", method=method, n_clusters=k) for k in n_clusters]
        return Line.of_trials(method, n_clusters, seconds)
    printed = [printed_times().get((method, k), Printed(math.nan)) for k in n_clusters]
    return Line(method, n_clusters, [p.mean for p in printed], [p.deviation or 0.0 for p in printed])


def _add_reasons(page: Page, reasons: Mapping[str, str]) -> None:
    """Why cells of the table above are empty: all that have a reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        page.add(f"{GAP} {', '.join(names)}: {reason}.")


def _listed(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}"

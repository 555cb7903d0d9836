"""`textmix cluster`: read, cluster, save, show."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console

from textmix.cli.console import make_console, one_line, plural, say, say_briefly, show_clusters, show_scores
from textmix.cli.reading import GuidanceOptions, read_documents
from textmix.clustering import Clustering, TextClusterer
from textmix.corpus.readers import ReadReport
from textmix.corpus.times import parse_times
from textmix.kernels import jit
from textmix.report import REPORT_FILE
from textmix.results.clusters import count_clusters
from textmix.results.folder import check_destination
from textmix.results.run import describe_input


@dataclass(frozen=True)
class ClusterOutput:
    """Where results go and how much of them is shown."""

    folder: Path | None
    force: bool
    n_clusters: int
    quiet: bool
    as_json: bool = False
    report: bool = True
    escape_formulas: bool = True


def cluster_files(
    files: Sequence[str],
    columns: Mapping[str, str | None],
    time_column: str | None,
    settings: Mapping[str, Any],
    guidance: GuidanceOptions,
    output: ClusterOutput,
    started: float,
    *,
    vectors: str | None = None,
) -> None:
    """Cluster the texts of files, save the result if asked to, and show it.

    `started` is when the command did (time.perf_counter): the seconds reported are those the user waited. `vectors`: a
    .npy file or a column of lists.
    """
    n_seconds_starting = time.perf_counter() - started
    if output.folder is not None:
        check_destination(output.folder, force=output.force)
    progress = False if output.quiet else None
    clusterer = TextClusterer(**settings, progress=progress)
    guidance.check(clusterer)
    clusterer.check_settings()
    more = [*guidance.columns, *([time_column] if time_column is not None else [])]
    documents = read_documents(files, columns, more=list(dict.fromkeys(more)), vectors=vectors, progress=progress)
    with saying_warnings(quiet=output.quiet):
        times = None if time_column is None else parse_times(documents.more[time_column], f'column "{time_column}"')
    n_seconds_reading = time.perf_counter() - started - n_seconds_starting
    with saying_warnings(quiet=output.quiet):
        given = guidance.of(documents)
        kept = {"ids": documents.ids, "labels": documents.labels, "times": times}
        clusterer.fit(documents.texts, **given, **kept, vectors=documents.vectors)
    clustering = clusterer.clustering_
    clustering.seconds = {"starting": n_seconds_starting, "reading": n_seconds_reading, **clustering.seconds}
    if output.folder is not None:
        read = describe_input(documents.report, {**columns, "time": time_column, "vectors": vectors})
        notes = {"input": read, "guidance": guidance.describe(), "scores": clustering.agreement}
        _save(clustering, notes, output)
    clustering.seconds["all"] = time.perf_counter() - started
    show(clustering, documents.report, columns, clustering.agreement, output)


@contextmanager
def saying_warnings(*, quiet: bool) -> Iterator[None]:
    """Print warnings as the program's own lines; and why the first fit takes so long, if it may say anything."""
    with warnings.catch_warnings():
        warnings.showwarning = _print_warning  # restored at the end of the block
        if quiet:
            warnings.simplefilter("ignore")
        else:
            warnings.filterwarnings("always", module=r"textmix\.engines")  # workers may be lost again and again
            _announce_compilation()
        yield


def _announce_compilation() -> None:
    """Say on a terminal why the first run after an installation or an update takes so long."""
    folder = jit._CACHE_FOLDER
    is_compiled = folder is not None and any(Path(folder).rglob("gibbs.sweep-*.nbi"))
    if not is_compiled and sys.stderr.isatty():
        print("textmix: compiling for this machine; this takes half a minute, once", file=sys.stderr)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"textmix: {message}", file=sys.stderr)


def _save(clustering: Clustering, notes: Mapping[str, Any], output: ClusterOutput) -> None:
    assert output.folder is not None
    started = time.perf_counter()
    clustering.save(
        output.folder,
        force=output.force,
        notes=notes,
        report=output.report,
        escape_formulas=output.escape_formulas,
    )
    clustering.seconds["saving"] = time.perf_counter() - started


def show(
    clustering: Clustering,
    report: ReadReport,
    columns: Mapping[str, str | None],
    scores: dict[str, float] | None,
    output: ClusterOutput,
) -> None:
    """Print what was read and found, and how long it took."""
    if output.as_json:
        _print_json(clustering, report, scores)
        return
    console = make_console(quiet=output.quiet)
    _show_reading(console, clustering, report)
    console.print()
    _show_largest(console, clustering, output.n_clusters)
    _show_outliers(console, clustering)
    if clustering.n_without_words:
        belong = "belongs" if clustering.n_without_words == 1 else "belong"
        n_texts = plural(clustering.n_without_words, "text")
        say(console, f"{n_texts} without any words to cluster by {belong} to no cluster.")
    if scores is not None:
        console.print()
        show_scores(console, scores, f'column "{columns["label"]}"')
    console.print()
    if output.folder is not None:
        if output.report:
            say(console, f"To look at: {output.folder / REPORT_FILE}")
        say(console, f"Written to {output.folder}: assignments.csv, clusters.csv, run.json and more.")
    parts = [f"{name} {seconds:.1f}" for name, seconds in clustering.seconds.items() if name != "all"]
    say(console, f"Took {clustering.seconds['all']:.1f} s ({', '.join(parts)}).", style="dim")


def _show_reading(console: Console, clustering: Clustering, report: ReadReport) -> None:
    shown = ", ".join(report.files[:3]) + (f" and {len(report.files) - 3} more" if len(report.files) > 3 else "")
    column = f', column "{report.text_column}"' if report.text_column is not None else ""
    language = clustering.corpus.tokenizer.language if clustering.corpus.tokenizer else None
    words = f"{language.capitalize()} stop words left out" if language else "no stop words left out"
    views = f"Clustered by {clustering.view_sentence()}."
    say(console, f"Read {plural(report.n_rows, 'text')} from {shown}{column}; {words}. {views}")
    for sentence in [*report.describe(), *report.notes]:
        say(console, sentence, style="yellow")


N_WITHOUT_LEVELS = 25  # clusters; of more, the groups of the coarsest level are shown first
N_KNOWN = 12  # known clusters that are listed
_FOUND_BY = {
    "metropolis": ", found by the metropolis sampler",
    "parallel": ", found by the parallel sampler",
}


def _show_largest(console: Console, clustering: Clustering, n_shown: int) -> None:
    clusters, numbers = [cluster for cluster in clustering.clusters if cluster.size > 1], clustering.tally
    by = _FOUND_BY.get(getattr(clustering.estimator, "inference_", ""), "")
    n_runs = getattr(clustering.estimator, "n_runs_", None)
    if n_runs is not None:
        n_on_vectors = clustering.estimator.n_vector_runs_
        views = f" on words and {n_on_vectors:,} on vectors" if n_on_vectors else ""
        by = f", consensus of {plural(n_runs - n_on_vectors, 'run')}{views}"
    limits = clustering.n_clusters_range
    found = "" if limits is None else f" ({limits[0]:,} to {limits[1]:,})"
    alone = f"; {plural(numbers.n_single, 'text')} on {'its' if numbers.n_single == 1 else 'their'} own"
    others = alone if numbers.n_single else ""
    say(
        console,
        f"{plural(numbers.n_clusters, 'cluster')}{found}{by}{others}:" if clusters else "No clusters of several texts.",
    )
    if numbers.n_clusters > N_WITHOUT_LEVELS and n_shown and clustering.levels[:-1]:
        _show_groups(console, clustering)
    if clusters and n_shown:
        show_clusters(console, clusters[:n_shown])
    if len(clusters) > n_shown:
        say(console, f"… and {plural(len(clusters) - n_shown, 'more cluster')}")
    if clustering.known_clusters:
        say(console, f"Known before: {_list_known(clustering)}.", style="yellow")
    if clusters and clusters[0].stability is not None and n_shown:
        known = clustering.stability is not None and not np.isnan(clustering.stability)
        overall = f"; {clustering.stability:.0%} over all texts" if known else ""
        say(console, f"agreed: overlap with the most similar cluster of a run{overall}", style="dim")
    console.print()


def _show_groups(console: Console, clustering: Clustering) -> None:
    """The groups of the coarsest level, before the clusters that they are made of."""
    n_groups, *finer, _ = clustering.levels
    also = f" (finer levels: {', '.join(f'{n:,}' for n in finer)}; the report shows them)" if finer else ""
    say(console, f"They form {n_groups:,} groups{also}:")
    groups = clustering.groups(n_groups)
    width = max(len(f"{group.size:,}") for group in groups)
    for group in groups:
        n_several, n_single = count_clusters(clustering.clusters[label].size for label in group.clusters)
        clusters = plural(n_several, "cluster") if n_several else plural(n_single, "single text")
        say_briefly(console, f"  {group.size:>{width},} texts, {clusters:<12}  {one_line(group.name)}")
    say(console, "The largest clusters:")


def _list_known(clustering: Clustering) -> str:
    """Clusters that were known before, with how many texts each has now."""
    sizes = [
        (name, clustering.clusters[label].size if label >= 0 else 0)
        for name, label in clustering.known_clusters.items()
    ]
    shown = [f'"{name}" {plural(size, "text")}' for name, size in sizes[:N_KNOWN]]
    return "; ".join([*shown, *([f"and {len(sizes) - N_KNOWN} more"] if len(sizes) > N_KNOWN else [])])


def _show_outliers(console: Console, clustering: Clustering) -> None:
    n_outliers = clustering.tally.n_outliers
    if n_outliers == 0:
        return
    say(console, f"{plural(n_outliers, 'outlier')}, for example:")
    for document, text in clustering.strangest:
        say_briefly(console, f"  row {document + 1:,}: {one_line(text)}", style="dim")


def _print_json(clustering: Clustering, report: ReadReport, scores: Mapping[str, float] | None) -> None:
    """Print the clusters and numbers; the label of each text is in the files of --out."""
    print(json.dumps(_as_json(clustering, report, scores), indent=2, ensure_ascii=False, allow_nan=False))


def _as_json(clustering: Clustering, report: ReadReport, scores: Mapping[str, float] | None) -> dict[str, Any]:
    """What --json prints: null for what is not known."""
    return {
        "n_texts": int(clustering.labels.size),
        "n_clusters": clustering.n_clusters,
        "n_clusters_range": clustering.n_clusters_range,
        "n_of_several_texts": clustering.tally.n_clusters,
        "n_single": clustering.tally.n_single,
        "n_outliers": clustering.tally.n_outliers,
        "n_without_words": clustering.tally.n_without_words,
        "levels": [
            [{"name": group.name, "size": group.size, "clusters": group.clusters} for group in clustering.groups(n)]
            for n in clustering.levels[:-1]
        ],
        "stability": _known(clustering.stability),
        "views": clustering.view_sentence(),
        "clusters": [
            {
                "cluster": cluster.index,
                "name": cluster.name,
                "known": cluster.known,
                "size": cluster.size,
                "share": cluster.share,
                "stability": _known(cluster.stability),
                "words": [[str(word), score] for word, score in cluster.words],
                "examples": [{"row": row + 1, "text": text} for row, text in _examples(cluster)],
            }
            for cluster in clustering.clusters
        ],
        "known_clusters": clustering.known_clusters,
        "files": report.files,
        "n_skipped": report.n_skipped,
        "skipped": report.reasons,
        "scores": None if scores is None else {name: _known(value) for name, value in scores.items()},
        "seconds": clustering.seconds,
    }


def _examples(cluster: Any) -> zip[tuple[int, str]]:
    return zip(cluster.documents, cluster.examples, strict=True)


def _known(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else number

"""How things are printed: lines and tables for people, colours on a terminal only."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from textmix.metrics.comparison import SHOWN_SCORES
from textmix.results.clusters import Cluster

WORDS_WIDTH = 34
KNOWN_AS = "known as"
GAP = "  "


def make_console(*, quiet: bool = False) -> Console:
    """Where results are printed."""
    return Console(file=sys.stdout, highlight=False, quiet=quiet)


def printable(text: str) -> str:
    """A text without characters that a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def one_line(text: str) -> str:
    """A text on one line, without characters that a terminal would obey."""
    return printable(" ".join(text.split()))


def plural(number: int, noun: str) -> str:
    """ "1 text", "2,000 texts"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(console: Console, sentence: str, style: str = "") -> None:
    """Print a sentence as it is, nothing in it taken for markup; a terminal or file may break long ones."""
    console.print(Text(printable(sentence), style=style), soft_wrap=True)


def say_briefly(console: Console, sentence: str, style: str = "") -> None:
    """Print a sentence on one line, cut where the line ends."""
    console.print(Text(printable(sentence), style=style), no_wrap=True, overflow="ellipsis")


def show_clusters(console: Console, clusters: Sequence[Cluster]) -> None:
    """A line a cluster: numbers in full; the name it was known by, words and example cut to what the line holds."""
    width_of_size = max([4, *(len(f"{cluster.size:,}") for cluster in clusters)])
    has_stability = any(cluster.stability is not None for cluster in clusters)
    width_of_stability = len("agreed" + GAP) if has_stability else 0
    left = max(console.width - len("cluster") - width_of_size - width_of_stability - 3 * len(GAP), 20)
    names = [one_line(cluster.name) if cluster.known else "" for cluster in clusters]
    has_names = any(names)
    width_of_names = min(max(len(KNOWN_AS), *map(len, names)), left // 3) if has_names else 0
    left -= width_of_names + len(GAP) if has_names else 0
    width_of_words = min(WORDS_WIDTH, left // 2)
    table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    table.add_column("cluster", justify="right", width=len("cluster"), no_wrap=True)
    table.add_column("size", justify="right", width=width_of_size, no_wrap=True)
    if has_stability:
        table.add_column("agreed", justify="right", width=len("agreed"), no_wrap=True)
    if has_names:
        table.add_column(KNOWN_AS, width=width_of_names, no_wrap=True, overflow="ellipsis")
    table.add_column("words", width=width_of_words, no_wrap=True, overflow="ellipsis")
    table.add_column("example", width=left - width_of_words, no_wrap=True, overflow="ellipsis", style="dim")
    for cluster, name in zip(clusters, names, strict=True):
        table.add_row(
            str(cluster.index),
            f"{cluster.size:,}",
            *([_percent(cluster.stability)] if has_stability else []),
            *([Text(name)] if has_names else []),
            Text(one_line(", ".join(cluster.terms) if name else cluster.list_terms())),
            Text(one_line(next(iter(cluster.examples), ""))),
        )
    console.print(table)


def _percent(share: float | None) -> str:
    return "" if share is None or math.isnan(share) else f"{share:.0%}"


def show_scores(console: Console, scores: Mapping[str, float], source: str) -> None:
    """The scores of a comparison with labels, and what was left out of it."""
    texts, clusters = plural(int(scores["n_documents"]), "text"), plural(int(scores["n_clusters"]), "cluster")
    say(console, f"Compared with {source}: {texts}, {plural(int(scores['n_labels']), 'label')}, {clusters}.")
    left_out = {"words": int(scores["n_without_words"]), "label": int(scores["n_without_label"])}
    for what, number in left_out.items():
        if number:
            say(
                console,
                f"Left out: {plural(number, 'text')} without {what if what == 'words' else 'a label'}.",
            )
    width = max(len(score.title) for score in SHOWN_SCORES)
    for score in SHOWN_SCORES:
        say(console, f"  {score.title:<{width}}  {scores[score.name]:.3f}".rstrip())

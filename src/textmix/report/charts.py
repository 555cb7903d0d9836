"""Charts as plain Plotly figures: data and layout, without fonts and backgrounds, which a page or notebook sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram

from textmix.corpus.times import Times
from textmix.results.clusters import Cluster

Figure = dict[str, Any]

# Ten colours that differ from each other, and from white as from black.
PALETTE = (
    "#4c78c8", "#e07b39", "#3b9e77", "#c4568f", "#8a6fc4", "#a8862b", "#3a9fb5", "#cc5555", "#7a9a3a", "#8c7a6b",
)  # fmt: skip
OTHERS = "#8a8f98"
N_OVER_TIME = 10  # clusters with a line of their own
MOST_BINS = 60
MAX_LEAVES = 300  # of a dendrogram
_TO_MONDAY = 3 * 24 * 3600  # seconds: NumPy's weeks begin on Thursdays
_UNITS = (
    ("hour", "datetime64[h]"),
    ("day", "datetime64[D]"),
    ("week", "datetime64[W]"),
    ("month", "datetime64[M]"),
    ("year", "datetime64[Y]"),
)


def cluster_colours(groups: NDArray[Any]) -> list[str]:
    """A colour for each cluster, by falling size: its group's; the largest clusters have shades of it, no two alike."""
    ranks = [int(np.count_nonzero(groups[:place] == group)) for place, group in enumerate(groups[:N_OVER_TIME])]
    shades = [_shade(PALETTE[group], rank) for group, rank in zip(groups, ranks, strict=False)]
    return shades + [PALETTE[group] for group in groups[N_OVER_TIME:]]


def _shade(colour: str, rank: int) -> str:
    """The colour itself, then lighter and darker ones in turn."""
    towards, part = (255 if rank % 2 else 0), 1.0 - 0.65 ** ((rank + 1) // 2)
    channels = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(channel + part * (towards - channel)):02x}" for channel in channels)


def hierarchy_chart(linkage: NDArray[np.float64], names: Sequence[str]) -> Figure:
    """The dendrogram of the clusters, from left to right; each line is a merge at its cost.

    Of more than MAX_LEAVES clusters the last merges are drawn; a leaf may then stand for several clusters.
    """
    n_leaves, n_clusters = min(MAX_LEAVES, len(names)), len(names)
    drawn = dendrogram(linkage, n_leaves, "lastp" if n_leaves < n_clusters else None, no_plot=True)
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": heights,
            "y": [place / 10.0 - 0.5 for place in places],  # SciPy puts leaf i at 10 i + 5
            "line": {"color": PALETTE[0], "width": 1},
            "hoverinfo": "x",
            "showlegend": False,
        }
        for places, heights in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    ]
    leaves = [
        plain(names[leaf]) if leaf < n_clusters else f"{int(linkage[leaf - n_clusters, 3]):,} clusters"
        for leaf in drawn["leaves"] or ()
    ]
    layout = {
        "xaxis": {"title": {"text": "cost of merging"}, "rangemode": "tozero"},
        "yaxis": {"tickmode": "array", "tickvals": [*range(len(leaves))], "ticktext": leaves, "automargin": True},
        "height": max(300, 18 * len(leaves) + 80),
        "showlegend": False,
    }
    return {"data": lines, "layout": layout}


def map_chart(clusters: Sequence[Cluster], points: NDArray[np.float64], colours: Sequence[str]) -> Figure:
    """A bubble for each cluster, its area by its size, near those that have words in common."""
    sizes = np.array([cluster.size for cluster in clusters], dtype=float)
    data = {
        "type": "scatter",
        "mode": "markers",
        "x": points[:, 0].round(4).tolist(),
        "y": points[:, 1].round(4).tolist(),
        "customdata": [cluster.index for cluster in clusters],
        "text": [plain(f"{cluster.name}: {cluster.size:,} texts") for cluster in clusters],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": sizes.tolist(),
            "sizemode": "area",
            "sizeref": 2.0 * float(sizes.max(initial=1.0)) / 46.0**2,
            "sizemin": 4,
            "color": list(colours),
            "opacity": 0.8,
            "line": {"width": 0},
        },
    }
    axes = {
        name: {"visible": False, "range": [-extent, extent]}
        for name, extent in zip(("xaxis", "yaxis"), 1.15 * np.abs(points).max(axis=0, initial=0.5), strict=True)
    }
    layout = {**axes, "showlegend": False, "hovermode": "closest", "dragmode": False}
    return {"data": [data], "layout": {**layout, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}}}


def trace_chart(trace: Mapping[str, NDArray[Any]]) -> Figure | None:
    """Clusters, documents that moved and the log joint by sweep, one above the other; None without sweeps."""
    shown = [(name, title) for name, title in _TRACED if len(trace.get(name, ())) > 0]
    if not shown:
        return None
    data, layout = (
        [],
        {"showlegend": False, "grid": {"rows": len(shown), "columns": 1, "pattern": "independent"}, "hovermode": "x"},
    )
    for place, (name, title) in enumerate(shown, start=1):
        values = np.asarray(trace[name], dtype=float)
        number = "" if place == 1 else str(place)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": title,
                "x": list(range(1, values.size + 1)),
                "y": [None if value != value else float(f"{value:.8g}") for value in values],
                "xaxis": f"x{number}",
                "yaxis": f"y{number}",
            }
        )
        layout[f"yaxis{number}"] = {"title": {"text": title}}
        layout[f"xaxis{number}"] = {"title": {"text": "sweep"}} if place == len(shown) else {}
    return {"data": data, "layout": layout}


_TRACED = (("n_clusters", "clusters"), ("n_moved", "texts moved"), ("log_joint", "log joint"))


def time_chart(
    clusters: Sequence[Cluster], colours: Sequence[str], labels: NDArray[np.int32], times: Times
) -> Figure | None:
    """How many texts each of the first clusters has by hour, day, week, month or year; None without times."""
    known = ~np.isnat(times) & (labels >= 0)
    if not known.any():
        return None
    name, bins, starts = _periods(times[known])
    n_bins = len(starts)
    leading = clusters[:N_OVER_TIME]
    data = []
    for cluster, colour in zip(leading, colours, strict=False):
        counts = np.bincount(bins[labels[known] == cluster.index], minlength=n_bins)
        data.append(_bars(plain(cluster.name), starts, counts, colour))
    rest = np.bincount(bins[~np.isin(labels[known], [cluster.index for cluster in leading])], minlength=n_bins)
    if rest.any():
        data.append(_bars("all others", starts, rest, OTHERS))
    layout = {"barmode": "stack", "xaxis": {"title": {"text": f"by {name}"}}, "yaxis": {"title": {"text": "texts"}}}
    return {
        "data": data,
        "layout": {**layout, "legend": {"orientation": "h", "y": -0.25, "traceorder": "normal"}, "bargap": 0.1},
    }


def _periods(times: Times) -> tuple[str, NDArray[Any], list[str]]:
    """The finest unit of which times span no more than sixty, the place of each time, and where each place begins."""
    for name, unit in _UNITS:
        shift = _TO_MONDAY if name == "week" else 0
        periods = (times + shift).astype(unit)
        first, n_bins = periods.min(), int((periods.max() - periods.min()).astype(int)) + 1
        width = 1 if name != _UNITS[-1][0] else -(-n_bins // MOST_BINS)  # of years
        if n_bins <= MOST_BINS * width:
            starts = (first + width * np.arange(-(-n_bins // width))).astype("datetime64[s]") - shift
            written = np.datetime_as_string(starts, unit="h" if name == "hour" else "D").tolist()
            return name if width == 1 else f"{width} years", (periods - first).astype(int) // width, written
    raise AssertionError("any number of years will do")


def _bars(name: str, starts: list[str], counts: NDArray[Any], colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": starts,
        "y": counts.tolist(),
        "marker": {"color": colour},
        "hovertemplate": "%{fullData.name}: %{y:,} from %{x} on<extra></extra>",
    }


def confusion_chart(rows: Sequence[str], columns: Sequence[str], counts: NDArray[Any]) -> Figure:
    """Clusters against labels: the share of each cluster's texts that have a label."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    data = {
        "type": "heatmap",
        "x": [plain(name) for name in columns],
        "y": [plain(name) for name in rows],
        "z": shares.round(4).tolist(),
        "customdata": counts.tolist(),
        "hovertemplate": "%{y}<br>%{x}: %{customdata:,} texts<extra></extra>",
        "colorscale": [[0.0, "rgba(76,120,200,0.04)"], [1.0, "rgba(76,120,200,1)"]],
        "showscale": False,
    }
    layout = {"yaxis": {"autorange": "reversed", "type": "category"}, "xaxis": {"type": "category"}}
    return {"data": [data], "layout": layout}


def plain(text: str) -> str:
    """A text in which Plotly finds no markup."""
    return escape(text, quote=False)


def as_figure(chart: Figure) -> Any:
    """The chart as a `plotly.graph_objects.Figure`, for notebooks."""
    from plotly import graph_objects  # takes its time to import; pages need its JavaScript alone

    return graph_objects.Figure(chart)

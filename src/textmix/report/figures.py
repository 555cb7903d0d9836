"""Charts as objects of Plotly's Python package, for notebooks."""

from __future__ import annotations

from typing import Any

from textmix.report.charts import Figure


def as_figure(chart: Figure) -> Any:
    """The chart as a `plotly.graph_objects.Figure`."""
    from plotly import graph_objects  # takes its time to import; pages need its JavaScript alone

    return graph_objects.Figure(chart)

"""The report of a clustering: summarised to plain data, then one HTML file."""

from textmix.report.charts import as_figure, hierarchy_chart
from textmix.report.source import Source
from textmix.report.summary import summarise as summarise_report
from textmix.report.write import write_report
from textmix.results.folder import REPORT_FILE

__all__ = ["REPORT_FILE", "Source", "as_figure", "hierarchy_chart", "summarise_report", "write_report"]

"""The page as a file that is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from textmix.corpus.files import replacing
from textmix.report.page import render_page
from textmix.report.source import Source
from textmix.report.summary import summarise
from textmix.results.folder import REPORT_FILE


def write_report(path: str | os.PathLike[str], source: Source) -> None:
    """Write the report of a clustering; a page that is there is replaced when all is written."""
    target = Path(path)
    if target.is_dir():
        raise ValueError(f'"{target}" is a folder; name a file, such as "{target / REPORT_FILE}"')
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f'"{target}" is no name for a page; let it end in .html')
    if not target.parent.is_dir():
        raise ValueError(f'there is no folder "{target.parent}" to write "{target.name}" to')
    page = render_page(summarise(source))
    with replacing(target) as file:
        file.write(page.encode())

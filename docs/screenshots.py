"""Screenshots of the report on the example tickets, for the guide: `make docs-screenshots` makes them anew.

Needs the packages playwright and pillow, and Chromium: the one in CHROMIUM, or `chromium` on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "_static" / "screenshots"
COLUMNS = ["--text", "text", "--label", "topic", "--time", "created", "--id", "id"]
VIEWS = ("overview", "clusters", "cluster-0", "outliers", "hierarchy", "course", "labels", "times")
WIDTH, TALLEST = 1280, 900
COLOURS = 256
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def make_report(folder: Path) -> Path:
    """Cluster the tickets with the program, as the guide says."""
    program = Path(sys.executable).with_name("textmix")
    command = [program, "cluster", "examples/tickets.csv", *COLUMNS, "--out", folder, "--quiet"]
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True)
    return folder / "report.html"


def take(page: Page, address: str, view: str) -> bytes:
    """One view of the page, from its top to at most TALLEST pixels."""
    page.set_viewport_size({"width": WIDTH, "height": TALLEST})
    page.goto(f"{address}#{view}")
    page.reload()
    page.wait_for_selector(".view:not([hidden])")
    for chart in page.query_selector_all(".view:not([hidden]) .chart"):
        chart.wait_for_selector(".main-svg")
    page.wait_for_timeout(300)  # until what moves has come to rest
    height = page.evaluate("document.querySelector('main').getBoundingClientRect().bottom + window.scrollY")
    page.set_viewport_size({"width": WIDTH, "height": min(TALLEST, int(height) + 1)})
    page.wait_for_timeout(300)
    return page.screenshot()


def reduce(png: bytes) -> Image.Image:
    """The same with a palette; the rare colours of charts and dots stay."""
    return (
        Image.open(BytesIO(png)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )


def main() -> None:
    """Write a PNG for each view."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium on the path; name one in CHROMIUM")
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        address = make_report(Path(folder) / "run").as_uri()
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(color_scheme="light", reduced_motion="reduce")
        for view in VIEWS:
            path = TARGET / f"{view}.png"
            reduce(take(page, address, view)).save(path, optimize=True)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} KB")
        browser.close()


if __name__ == "__main__":
    main()

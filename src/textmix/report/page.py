"""The report's page: the summary as plain data and the templates become one HTML file that needs nothing else.

A stream's live page is made by the same functions.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

REPORT = "textmix.report"  # the package whose templates these are

# Joined in this order into one script; each file says in its first line what it is for.
SCRIPTS = (
    "elements.js",
    "words.js",
    "documents.js",
    "charts.js",
    "overview.js",
    "clusters.js",
    "cluster.js",
    "outliers.js",
    "hierarchy.js",
    "labels.js",
    "views.js",
)

# What ends a script element or, in old browsers, a line of JavaScript.
_ESCAPED = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}

# Browsers show a control character as nothing at all; ␀ and its like can be seen. Tabs and line ends stay.
_NOT_SHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def render_page(data: Mapping[str, Any]) -> str:
    """The page of a report's data (report/README.md has the schema), as text to be written in UTF-8."""
    plain = plain_data(data)
    script = _script()
    plotly = _plotly() if any((plain.get("charts") or {}).values()) else ""
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=plain,
            style=Markup(template_text(REPORT, "report.css")),
            script=Markup(script),
            plotly=Markup(plotly),
            data=Markup(script_json(plain)),
            policy=content_policy(
                filter(None, (script, plotly)), "style-src 'unsafe-inline'", "img-src data: blob:", "font-src data:"
            ),
        )
        + "\n"
    )


def plain_data(value: Any) -> Any:
    """The data without what a page cannot show: NaN becomes None, a control character ␀ …, a lone surrogate �."""
    if isinstance(value, str):
        return _NOT_SHOWN.sub(_visible, value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {plain_data(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    return value


def _visible(character: re.Match[str]) -> str:
    code = ord(character[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element, whatever the texts contain."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda match: _ESCAPED[match[0]], text)


@cache
def _environment() -> Environment:
    environment = template_environment(REPORT)
    environment.filters["number"] = _number
    environment.filters["percent"] = _percent
    return environment


def template_environment(package: str) -> Environment:
    """Jinja with the templates of a package; everything is escaped."""
    return Environment(loader=PackageLoader(package), autoescape=True, trim_blocks=True, lstrip_blocks=True)


def _number(value: float) -> str:
    """12,345."""
    return f"{value:,}"


def _percent(value: float) -> str:
    """41%."""
    return f"{value:.0%}"


def template_text(package: str, name: str) -> str:
    """A file of a package's templates."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return join_scripts(template_text(REPORT, f"script/{name}") for name in SCRIPTS)


def join_scripts(scripts: Iterable[str]) -> str:
    """A page's own script; the function around it keeps its names from those of Plotly."""
    parts = "\n".join(scripts)
    return f'\n(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def _plotly() -> str:
    """Plotly's script from the Python package, which is not imported: that would take longer than all the rest."""
    package = find_spec("plotly")
    if package is None or not package.submodule_search_locations:
        raise ImportError("a report's charts need the package plotly: pip install plotly")
    path = Path(package.submodule_search_locations[0], "package_data", "plotly.min.js")
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def content_policy(scripts: Iterable[str], *directives: str) -> str:
    """The content security policy: these scripts and no others, what the directives allow, and nothing else."""
    hashes = " ".join(map(source_hash, scripts))
    fixed = ("base-uri 'none'", "form-action 'none'")
    return "; ".join(("default-src 'none'", f"script-src {hashes}", *directives, *fixed))


def source_hash(text: str) -> str:
    """A script or style by which a content security policy allows it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

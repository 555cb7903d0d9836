"""The live page: one HTML file in the style of the report, with its own scripts and no others."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from textmix.stream.server.writer import N_RECENT

# Joined in this order into one script; each file says in its first line what it is for.
SCRIPTS = (
    ("textmix.report", "script/elements.js"),
    ("textmix.stream.server", "script/connection.js"),
    ("textmix.stream.server", "script/clusters.js"),
    ("textmix.stream.server", "script/feeds.js"),
    ("textmix.stream.server", "script/live.js"),
)
STYLES = (("textmix.report", "report.css"), ("textmix.stream.server", "live.css"))


class LivePage(NamedTuple):
    """The page, and the policy that lets it run its own script and ask its own server, nothing else."""

    html: str
    policy: str


@cache
def live_page(*, token_needed: bool) -> LivePage:
    """The page; where a token is needed it asks for that first."""
    parts = "\n".join(_template_text(*name) for name in SCRIPTS)
    script = f'\n(() => {{\n"use strict";\n{parts}}})();\n'
    style = "\n" + "\n".join(_template_text(*name) for name in STYLES)
    environment = Environment(
        loader=PackageLoader("textmix.stream.server"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.get_template("live.html.j2")
    html = template.render(script=Markup(script), style=Markup(style), token_needed=token_needed, n_recent=N_RECENT)
    return LivePage(html + "\n", _policy(script, style))


def _template_text(package: str, name: str) -> str:
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

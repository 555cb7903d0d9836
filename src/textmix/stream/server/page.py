"""The live page: one HTML file in the style of the report, with its own scripts and no others."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from markupsafe import Markup

from textmix.report.page import (
    REPORT,
    content_policy,
    join_scripts,
    source_hash,
    template_environment,
    template_text,
)
from textmix.stream.server.writer import N_RECENT

LIVE = "textmix.stream.server"
# Joined in this order into one script; each file says in its first line what it is for.
SCRIPTS = (
    (REPORT, "script/elements.js"),
    (LIVE, "script/connection.js"),
    (LIVE, "script/clusters.js"),
    (LIVE, "script/feeds.js"),
    (LIVE, "script/live.js"),
)
STYLES = ((REPORT, "report.css"), (LIVE, "live.css"))


class LivePage(NamedTuple):
    """The page, and the policy that lets it run its own script and ask its own server, nothing else."""

    html: str
    policy: str


@cache
def live_page(*, token_needed: bool) -> LivePage:
    """The page; where a token is needed it asks for that first."""
    script = join_scripts(template_text(*name) for name in SCRIPTS)
    style = "\n" + "\n".join(template_text(*name) for name in STYLES)
    template = template_environment(LIVE).get_template("live.html.j2")
    html = template.render(script=Markup(script), style=Markup(style), token_needed=token_needed, n_recent=N_RECENT)
    allowed = (f"style-src {source_hash(style)}", "connect-src 'self'", "img-src data:", "frame-ancestors 'none'")
    return LivePage(html + "\n", content_policy([script], *allowed))

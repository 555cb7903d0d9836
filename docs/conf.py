"""Settings of the documentation site: `make docs` builds it with Sphinx; it asks no server for anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from textmix import __version__

project = "textmix"
author = "the authors of textmix"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "plain_docstrings",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "command_line",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext", "_static"]
nitpicky = True

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
math_number_all = False

default_role = "literal"
smartquotes = False  # --out is no dash
add_module_names = False
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = f"textmix {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "github-dark"


DECISIONS = "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def _list_decisions(app: Any, name: str, source: list[str]) -> None:
    """Put the pages on decisions under their list, which is read on its own too and so has no directives."""
    if name == "decisions/README":
        source[0] += DECISIONS


def setup(app: Any) -> None:
    """Listen to Sphinx."""
    app.connect("source-read", _list_decisions)

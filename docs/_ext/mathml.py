r"""Equations as MathML, made when the site is built: browsers show it without scripts, fonts or a network.

``\tag{IV.29}`` at the end of a displayed equation is the number it has in its source; it stands at the right.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

_TAG = re.compile(r"\\tag\{([^}]*)\}\s*$")


def visit_math(translator: Any, node: nodes.math) -> None:
    """An equation within a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    """An equation of its own, with its number if it has one."""
    tex = node.astext().strip()
    tag = _TAG.search(tex)
    number = f'<span class="equation-number">({escape(tag[1])})</span>' if tag else ""
    mathml = convert(_TAG.sub("", tex), display="block")
    translator.body.append(f'<div class="equation" role="group">{mathml}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer; conf.py chooses it by html_math_renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

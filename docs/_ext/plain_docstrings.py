"""Docstrings are plain text: what reStructuredText would take for markup is escaped, and what is not ours left out."""

from __future__ import annotations

import inspect
import re
from typing import Any

_LITERAL = re.compile(r"(``.+?``|`[^`]+`)")
_NAME = re.compile(r"([^\W_])_(?!\w)")  # labels_, which would be a link
_MARKUP = re.compile(r"([*|])")
_HYPHENS = re.compile(r"(\*\*|\*\)) -- ")
_UNDERLINE = re.compile(r"-{3,}")


def _escape(text: str) -> str:
    """A part of a line outside of backticks."""
    return _NAME.sub(r"\1\\_", _MARKUP.sub(r"\\\1", text))


def escape_lines(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape a docstring in place, before napoleon reads its sections."""
    in_fields = False
    for number, line in enumerate(lines):
        if lines[number + 1 : number + 2] and _UNDERLINE.fullmatch(lines[number + 1]):
            in_fields = line.strip() in ("Parameters", "Attributes")
        elif in_fields and line[:1].strip():  # the names of parameters; napoleon escapes the last one
            lines[number] = line.replace("_,", "\\_,")
        else:
            parts = _LITERAL.split(line)
            lines[number] = "".join(part if place % 2 else _escape(part) for place, part in enumerate(parts))
    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]  # napoleon would take what stands before the first colon for a type


def put_dashes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A dash between a parameter and what is said of it, where napoleon has two hyphens."""
    lines[:] = [_HYPHENS.sub("\\1 – ", line) for line in lines]


def skip_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that come from scikit-learn or the language."""
    if isinstance(obj, property):
        obj = obj.fget
    function = inspect.unwrap(getattr(obj, "func", getattr(obj, "__func__", obj)))
    home = getattr(function, "__module__", None)
    if not str(home).startswith("textmix") or name.startswith("set_"):
        return True
    return None


def setup(app: Any) -> dict[str, Any]:
    """Listen to autodoc, before napoleon does."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", escape_lines, priority=400)
    app.connect("autodoc-process-docstring", put_dashes, priority=600)
    app.connect("autodoc-skip-member", skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

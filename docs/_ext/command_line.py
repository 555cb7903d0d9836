"""The directive `command-line`: every command and option of the program, read from the program itself."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from textmix.cli.main import app as program

_BOLD = re.compile(r"\[/?bold\]")


def describe(name: str, command: Any) -> list[str]:
    """A command in Markdown: usage, help, examples, a table for each group of options."""
    context = command.make_context(name, [], resilient_parsing=True)
    usage = re.sub(r"\{(.+?)\}(\.\.\.)?", r"\1", " ".join(command.collect_usage_pieces(context)))
    lines = [f"## {name}", "", "```text", f"{name} {usage}", "```", "", *_help(command.help or "")]
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        plain = "Options" if parameter.param_type_name == "option" else "Arguments"
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or plain, []).append(parameter)
    for panel, parameters in panels.items():
        lines += [f"| {panel} | |", "|---|---|", *map(_row, parameters), ""]
    return lines


def _help(text: str) -> list[str]:
    """Its paragraphs; commands that are shown as examples as code."""
    lines: list[str] = []
    for paragraph in _BOLD.sub("", text).replace("\\[", "[").split("\n\n"):
        joined = " ".join(paragraph.split())
        if joined in ("Example", "Examples"):
            continue
        if joined.startswith("textmix ") or "| textmix" in joined:
            lines += ["```sh", joined, "```", ""]
        else:
            lines += [joined, ""]
    return lines


def _row(parameter: Any) -> str:
    """An option or argument with its help, and its default where the help does not say it."""
    names = ", ".join(parameter.opts) if parameter.param_type_name == "option" else parameter.metavar
    metavar = "" if getattr(parameter, "is_flag", False) or parameter.param_type_name != "option" else parameter.metavar
    text = (parameter.help or "").replace("\\[", "[").replace("|", "\\|")
    default = getattr(parameter.default, "value", parameter.default)
    if default not in (None, False, "") and not callable(default) and parameter.param_type_name == "option":
        text += f" [{default}]"
    return f"| `{names}{' ' if metavar else ''}{metavar or ''}` | {_plain(text)} |"


def _plain(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return re.sub(r"([\[\]<>*_])", r"\\\1", text)


class CommandLine(SphinxDirective):
    """All commands in the order of `textmix --help`."""

    def run(self) -> list[nodes.Node]:
        """The nodes of the sections."""
        group: Any = get_command(program)
        lines = [line for name, command in group.commands.items() for line in describe(f"textmix {name}", command)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

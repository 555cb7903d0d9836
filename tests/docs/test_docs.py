"""The pages of the guide say what is so: their examples run, their commands parse, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

import textmix
from textmix.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md"))]
ALL_PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
MAX_SCREENSHOT = 200_000  # bytes

_BLOCK = re.compile(r"^```(\S+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_IMAGE = re.compile(r"^```\{image\} (\S+)$", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def blocks(path: Path, language: str) -> Iterator[tuple[int, str]]:
    """The code of a page in one language, each block with the line before its first."""
    text = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)), match[2]


def commands(path: Path) -> list[list[str]]:
    """The arguments of each textmix command of a page, without what the shell does with its output."""
    lines = [line for _, block in blocks(path, "sh") for line in block.splitlines()]
    return [shlex.split(line.split(">")[0])[1:] for line in lines if line.startswith("textmix ")]


def anchors(path: Path) -> set[str]:
    """What headings are linked by: lower case, hyphens for blanks, no punctuation."""
    headings = _HEADING.findall(_CODE.sub(lambda match: match[0].strip("`"), path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder with the examples, as in a clone of the project."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", [path for path in PAGES if any(blocks(path, "python"))], ids=name_of)
def test_python_examples_run(path, clone):
    namespace: dict[str, object] = {"__name__": "example"}
    for line, block in blocks(path, "python"):
        exec(compile("\n" * line + block, str(path), "exec"), namespace)


@pytest.mark.parametrize("path", [path for path in PAGES if commands(path)], ids=name_of)
def test_commands_parse(path):
    program = get_command(main.app)
    for name, *arguments in commands(path):
        program.commands[name].make_context(name, arguments)


def test_the_first_commands_run(clone, monkeypatch, capsys):
    for arguments in commands(DOCS / "guide" / "start.md"):
        monkeypatch.setattr("sys.argv", ["textmix", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main.run()
        assert not stopped.value.code, f"textmix {' '.join(arguments)}: {capsys.readouterr().err}"
    assert (clone / "run" / "report.html").exists()


def test_what_a_run_writes_is_listed():
    listed = (DOCS / "guide" / "start.md").read_text(encoding="utf-8")
    for name in ("report.html", "assignments.csv", "assignments.parquet", "clusters.csv", "run.json", "trace.csv"):
        assert f"`{name}`" in listed


def test_every_public_name_is_in_the_reference():
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"^\.\. \S+:: (textmix[\w.]*)$", reference, re.MULTILINE))
    names = {f"textmix.{name}" for name in textmix.__all__} - {"textmix.datasets", "textmix.metrics"}
    names |= {f"textmix.metrics.{name}" for name in textmix.metrics.__all__}
    names |= {"textmix.datasets.make_partitioned"}
    assert names <= documented, sorted(names - documented)


@pytest.mark.parametrize("path", ALL_PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    targets = [*_LINK.findall(_CODE.sub("", text)), *_IMAGE.findall(text)]
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.is_file(), f"{target} is not there"
        assert not anchor or anchor in anchors(page), f"{target}: no such heading"


def test_pages_are_in_the_contents():
    listed = {DOCS / "index.md", *(DOCS / "decisions").glob("*.md")}  # conf.py lists the decisions
    for path in ALL_PAGES:
        for contents in _TOCTREE.findall(path.read_text(encoding="utf-8")):
            entries = [line for line in contents.splitlines() if line and not line.startswith(":")]
            for entry in entries:
                name = re.sub(r".*<(.*)>", r"\1", entry)
                listed.add((path.parent / f"{name}.md").resolve())
    assert not set(ALL_PAGES) - listed, sorted(map(name_of, set(ALL_PAGES) - listed))


def test_screenshots_are_small_and_shown():
    shown = {(path.parent / image).resolve() for path in PAGES for image in _IMAGE.findall(path.read_text("utf-8"))}
    there = set((DOCS / "_static" / "screenshots").glob("*.png"))
    assert there == shown
    assert all(path.stat().st_size < MAX_SCREENSHOT for path in there)


def test_the_dangers_of_a_dask_cluster_are_documented_where_its_address_is():
    many = (ROOT / "README.md").read_text().partition("## Many texts")[2].partition("\n## ")[0]
    assert "--scheduler" in many
    for word in ("unpickled", "neither encrypted nor authenticated", "tls://"):
        assert word in many

"""How modules of the package are imported, where import-linter does not look."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "textmix"


def test_no_module_imports_from_the_root_of_the_package():
    """The root has all public names: whoever takes one from there looks past the layers."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_root = isinstance(node, ast.ImportFrom) and node.module == "textmix" and node.level == 0
            is_whole = isinstance(node, ast.Import) and any(alias.name == "textmix" for alias in node.names)
            if is_root or is_whole:
                found.append(str(path.relative_to(PACKAGE)))
    assert found == []


def test_the_package_can_be_imported_from_a_zip_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "textmix.zip", "w") as archive:
        for path in PACKAGE.rglob("*.py*"):
            if path.suffix in (".py", ".pyi"):
                archive.write(path, Path("textmix", path.relative_to(PACKAGE)))
    script = "import textmix, sys; print(textmix.__file__, textmix.Tokenizer.__name__, 'cluster' in dir(textmix))"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'textmix.zip')!r}); {script}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(tmp_path / "textmix.zip" / "textmix" / "__init__.py"), "Tokenizer", "True"]

"""The names of a package, each imported when it is first used.

The package's __init__.pyi is the one list of them, for type checkers as for Python: lines of the form
`from MODULE import NAME as NAME`.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module


def lazy_names(package: str, folder: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """__getattr__, __dir__ and __all__ for the package whose __init__.pyi is in a folder."""
    with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as stub:
        lines = [line.split() for line in stub]
    homes = {words[3]: words[1] for words in lines if words[:1] == ["from"]}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *homes}), sorted(homes)

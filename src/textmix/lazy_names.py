"""The names of a package, each imported when it is first used.

The package's __init__.pyi is the one list of them, for type checkers as for Python: lines of the form
`from MODULE import NAME as NAME`.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec


def lazy_names(spec: ModuleSpec) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """__getattr__, __dir__ and __all__ for a package."""
    package, loader = spec.name, spec.loader
    assert spec.origin is not None
    stub = loader.get_data(f"{spec.origin}i")  # type: ignore[union-attr]  # the package may be in a zip file
    lines = [line.split() for line in stub.decode().splitlines()]
    homes = {words[3]: words[1] for words in lines if words[:1] == ["from"]}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *homes}), sorted(homes)

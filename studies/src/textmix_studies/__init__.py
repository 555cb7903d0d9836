"""The papers' tables and figures, computed again."""

from __future__ import annotations

from importlib import import_module

from textmix_studies.study import Study

MODULES = {
    "gsdpmm": "gsdpmm",
    "gsdmm-study": "gsdmm_study",
    "xdmm": "xdmm",
    "zhong-ghosh": "zhong_ghosh",
    "dmafp": "dmafp",
}


def find_study(name: str) -> Study:
    """A study by its name."""
    if name not in MODULES:
        raise ValueError(f"there is no study {name!r}; there are {', '.join(MODULES)}")
    study: Study = import_module(f"textmix_studies.{MODULES[name]}").STUDY
    return study

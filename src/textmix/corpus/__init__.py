"""Texts become a sparse matrix of word counts here, and nowhere else."""

from textmix.lazy_names import lazy_names

# So that `textmix --help` can list the formats of files without what it takes to read them.
__getattr__, __dir__, __all__ = lazy_names(__spec__)

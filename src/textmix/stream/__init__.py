"""Documents come and go: clusters that keep their ids while texts are added and taken out, in memory or on disk."""

from textmix.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__spec__)

"""How well a clustering agrees with labels."""

from textmix.metrics.comparison import agreement

__all__ = ["agreement"]

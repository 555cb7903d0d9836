"""How well a clustering agrees with labels, and how coherent its words are."""

from textmix.metrics.coherence import npmi_coherence
from textmix.metrics.comparison import agreement
from textmix.metrics.matching import ConfusionTable, accuracy_score, confusion_table, entropy_score, purity_score

__all__ = [
    "ConfusionTable",
    "accuracy_score",
    "agreement",
    "confusion_table",
    "entropy_score",
    "npmi_coherence",
    "purity_score",
]

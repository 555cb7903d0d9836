"""How well a clustering agrees with labels, whether one algorithm does so better than another, coherence of words."""

from textmix.metrics.coherence import npmi_coherence
from textmix.metrics.comparison import agreement
from textmix.metrics.matching import ConfusionTable, accuracy_score, confusion_table, entropy_score, purity_score
from textmix.metrics.t_tests import ZHONG_GHOSH, Hypothesis, format_t_tests, paired_t_test, t_test_table

__all__ = [
    "ZHONG_GHOSH",
    "ConfusionTable",
    "Hypothesis",
    "accuracy_score",
    "agreement",
    "confusion_table",
    "entropy_score",
    "format_t_tests",
    "npmi_coherence",
    "paired_t_test",
    "purity_score",
    "t_test_table",
]

"""Texts in, a clustering out: `cluster`, `TextClusterer`, `Clustering`, `load`."""

from textmix.clustering.clustering import Clustering
from textmix.clustering.saved_runs import load
from textmix.clustering.text_clusterer import TextClusterer, cluster

__all__ = ["Clustering", "TextClusterer", "cluster", "load"]

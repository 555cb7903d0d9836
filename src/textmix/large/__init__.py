"""Clustering texts that do not fit in memory: counts on disk, a work folder to resume from, results written as read."""

from textmix.large.disk_corpus import DiskCorpus

__all__ = ["DiskCorpus"]

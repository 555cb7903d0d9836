"""Texts and the clusters found among them: what `textmix.cluster` and `textmix.load` return."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from textmix.clustered_texts import ClusteredTexts
from textmix.estimators import ConsensusMixture, DirichletMultinomialMixture, DirichletProcessMixture
from textmix.estimators.partition_mixture import PartitionMixture
from textmix.inference.ordering import order_by_size, renumber
from textmix.report import REPORT_FILE, Source, as_figure, summarise_report, write_report
from textmix.results.clusters import Cluster
from textmix.results.folder import write_run
from textmix.results.mixture import plain_parameters
from textmix.results.run import Run, count_documents, describe_run

MODELS: dict[str, type[PartitionMixture]] = {
    "consensus": ConsensusMixture,
    "dirichlet-multinomial": DirichletMultinomialMixture,
    "dirichlet-process": DirichletProcessMixture,
}
_OF_THE_FIT = ("input", "guidance", "versions")  # parts of run.json that stay when a clustering is saved again
MAX_NAME = 200  # characters


class Clustering(ClusteredTexts):
    """Texts and the clusters found among them; what `textmix.cluster` and `textmix.load` return.

    `estimator` is the fitted mixture, `corpus` the counts it was fitted to, `seconds` what took how long,
    `info` the contents of run.json if this was loaded, `names` those that were given to clusters, by label. Methods
    that change something return a new Clustering; this one stays as it is.
    """

    def with_n_clusters(self, n_clusters: int) -> Clustering:
        """The same texts in fewer clusters: those found, merged so that little is lost; nothing is fitted again."""
        if not isinstance(self.estimator, ConsensusMixture):
            raise ValueError(
                f"the clusters of {type(self.estimator).__name__} cannot be merged; those of a consensus can"
            )
        if not isinstance(n_clusters, Integral):
            raise ValueError(f"n_clusters must be a whole number, not {n_clusters!r}")
        return self._with(self.estimator.merged(int(n_clusters)))

    def merge(self, *clusters: int | str | Cluster) -> Clustering:
        """The same with some clusters, by label or name, taken together."""
        labels = sorted({self._find(cluster) for cluster in clusters})
        if len(labels) < 2:
            raise ValueError("merging takes two clusters or more")
        merged = np.where(np.isin(self.labels, labels), np.int32(labels[0]), self.labels)
        return self._with(self._partition_of("merged").relabelled(order_by_size(merged)))

    def split(self, cluster: int | str | Cluster, n_clusters: int = 2) -> Clustering:
        """The same with one cluster, by label or name, in several: its texts alone are clustered anew.

        Texts whose cluster was given may part.
        """
        estimator, own = self._partition_of("split"), self._find(cluster)
        if not isinstance(n_clusters, Integral) or n_clusters < 2:
            raise ValueError(f"a cluster is split into two or more, not into {n_clusters!r}")
        members = np.flatnonzero(self.labels == own)
        consensus = clone(estimator) if isinstance(estimator, ConsensusMixture) else ConsensusMixture()
        consensus.set_params(n_clusters=int(n_clusters), progress=False)
        try:
            parts = consensus.fit(self.corpus.counts[members]).labels_
        except ValueError as error:
            raise ValueError(f"cluster {own} cannot be split: {error}") from error
        labels = self.labels.copy()
        labels[members] = np.where(parts == 0, own, self.n_clusters + parts - 1)
        return self._with(estimator.relabelled(order_by_size(labels)))

    def rename(self, cluster: int | str | Cluster, name: str) -> Clustering:
        """The same with another name for a cluster; it stays with the cluster when others are merged or split."""
        if not isinstance(name, str):
            raise ValueError(f"the name of a cluster must be a text, not {name!r}")
        label, name = self._find(cluster), " ".join(name.split())
        if not 0 < len(name) <= MAX_NAME:
            raise ValueError(f"the name of a cluster must have 1 to {MAX_NAME} characters, not {len(name):,}")
        if any(other.name == name and other.index != label for other in self.clusters):
            raise ValueError(f"another cluster is called {name!r} already")
        renamed = self._with(self.estimator)
        renamed._names = {**self._names, label: name}
        return renamed

    def _partition_of(self, done: str) -> PartitionMixture:
        if not isinstance(self.estimator, PartitionMixture):
            known = ", ".join(model.__name__ for model in MODELS.values())
            raise ValueError(f"clusters of {type(self.estimator).__name__} cannot be {done}; those of {known} can")
        return self.estimator

    def with_outlier_threshold(self, threshold: float) -> Clustering:
        """The same clustering with other outliers: texts whose score is above this, or that are alone in a cluster."""
        if not isinstance(self.estimator, ConsensusMixture):
            raise ValueError(
                f"{type(self.estimator).__name__} has no outlier_threshold; fit it with another outlier_size"
            )
        if not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
            raise ValueError(f"the outlier threshold must be a finite number, not {threshold!r}")
        return self._with(copy(self.estimator).set_params(outlier_threshold=float(threshold)))

    def _with(self, estimator: Any) -> Clustering:
        """The same texts in the clusters of another estimator; names follow most of the texts of a cluster."""
        other = Clustering(
            estimator, self.corpus, self._texts, seconds=self.seconds, folder=self._folder, info=self.info
        )
        named = np.array(sorted(self._names), dtype=np.int32)
        _, now = renumber(self.labels, other.labels, named)
        _, largest_parts = renumber(other.labels, self.labels, now)
        # Of clusters that were merged the largest one's name stays, if it has any.
        other._names = {
            int(label): self._names[int(before)]
            for before, label, part in zip(named, now, largest_parts, strict=True)
            if label >= 0 and part == before
        }
        return other

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write a page on the clusters to a file: one HTML file that needs no other and no network."""
        write_report(path, self._report_source(title))

    def chart(self, name: str) -> Any:
        """A chart of the report as a Plotly figure: "map", "trace", "times" or "confusion"."""
        charts = summarise_report(self._report_source(None))["charts"]
        if name not in charts:
            raise ValueError(f"there is no chart {name!r} of this clustering; there are: {', '.join(charts)}")
        return as_figure(charts[name])

    def _report_source(self, title: str | None) -> Source:
        estimator, consensus = self.estimator, isinstance(self.estimator, ConsensusMixture)
        files = self.info.get("input", {}).get("files", [])
        with ThreadPoolExecutor(1) as pool:  # merging takes as long as all the rest, and another core
            merges = pool.submit(lambda: estimator.merges_ if consensus else None)
            return Source(
                clusters=list(self.clusters),
                labels=self.labels,
                corpus=self.corpus,
                word_counts=self._word_counts,
                beta=self._beta,
                texts=self.texts if self._has_texts else None,
                typicality=self._typicality if self._has_texts else None,
                outliers=self.outliers,
                outlier_scores=self.outlier_scores if self._has_texts else None,
                outlier_threshold=estimator.outlier_threshold if consensus else 0.0,
                outliers_at=estimator.outliers_at if consensus else None,
                strangest=self.strangest,
                trace=self.trace,
                stability=self.stability,
                n_without_words=self.n_without_words,
                run={**self._manifest(), **self.info, "seconds": self.seconds},
                title=title or ", ".join(Path(file).name for file in files[:3]) or None,
                merges=merges.result(),
            )

    def _manifest(self) -> dict[str, Any]:
        """What there is to say about the clustering itself."""
        if isinstance(self.estimator, PartitionMixture):
            mixture, corpus = self.estimator.mixture_, self.corpus
            return describe_run(mixture, corpus.tokenizer, count_documents(corpus), self.outliers)
        parameters = plain_parameters(self.estimator)
        return {"settings": {"model": type(self.estimator).__name__, "parameters": parameters}}

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        force: bool = False,
        notes: Mapping[str, Any] | None = None,
        report: bool = False,
        escape_formulas: bool = True,
    ) -> None:
        """Save everything to a folder, as tables, JSON and arrays; `textmix.load` reads it again.

        A folder with an earlier run is only overwritten with `force`. `notes` are kept in run.json. With `report` the
        page goes there too, as report.html. Without `escape_formulas` texts stand in CSV as they are, also those that a
        spreadsheet would take for formulas.
        """
        self._check_saving()
        mixture = self.estimator.mixture_
        run = Run(mixture, self.corpus, self.texts, list(self.clusters), self.outliers, self._scores)
        kept: dict[str, Any] = {name: self.info[name] for name in _OF_THE_FIT if name in self.info}
        names = {str(label): name for label, name in self._names.items()}
        described = {**run.manifest(), "names": names, "seconds": self.seconds}
        manifest: dict[str, Any] = {**described, **kept, **(notes or {})}
        if taken := (described.keys() | {"format", "version"}) & (notes or {}).keys():
            raise ValueError(f"notes cannot be called {', '.join(sorted(taken))}: textmix uses these names itself")
        write_run(folder, partial(run.write_files, escape_formulas=escape_formulas), manifest, force=force)
        self.info = {**self.info, **manifest}
        if report:
            self.report(Path(folder) / REPORT_FILE)

    def _check_saving(self) -> None:
        """Raise ValueError if this cannot be saved."""
        if not isinstance(self.estimator, tuple(MODELS.values())):
            known = " and ".join(model.__name__ for model in MODELS.values())
            raise ValueError(f"a clustering by {type(self.estimator).__name__} cannot be saved; those by {known} can")

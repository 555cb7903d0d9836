"""Texts and the clusters found among them: what `textmix.cluster` and `textmix.load` return."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, partial
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmix.clustering.fitted_model import wrap
from textmix.clustering.second_view import GIVEN, WORDS_ALONE, CorpusEncoder, SecondView
from textmix.clustering.text_store import TextsInMemory, TextStore
from textmix.corpus import Corpus, Tokenizer
from textmix.corpus.counting import is_missing
from textmix.estimators import ConsensusMixture
from textmix.estimators.two_view_mixture import as_source
from textmix.inference.ordering import renumber, renumber_by_size
from textmix.metrics import agreement
from textmix.report import REPORT_FILE, Source, as_figure, hierarchy_chart, summarise_report, write_report
from textmix.results.assignments import Assignments
from textmix.results.clusters import Cluster, Clusters, Tally, summarise, tally
from textmix.results.folder import write_run
from textmix.results.frames import Frame
from textmix.results.levels import Group, Level, describe_levels
from textmix.results.mixture import DocumentScores
from textmix.results.run import COUNTS, Run, cluster_columns, document_columns
from textmix.results.tables import Column
from textmix.results.typical import Example, Typicality
from textmix.results.words import ScoredWord
from textmix.vectors import check_vectors
from textmix.vectors.source import blocks

_OF_THE_FIT = ("input", "guidance", "versions")  # parts of run.json that stay when a clustering is saved again
MAX_NAME = 200  # characters
MAX_ENCODED = 50_000  # new texts whose vectors are in memory at a time


class Clustering:
    """Texts and the clusters found among them; what `textmix.cluster` and `textmix.load` return.

    `estimator` is the fitted mixture, `corpus` the counts it was fitted to, `seconds` what took how long,
    `info` the contents of run.json if this was loaded, `names` those that were given to clusters, by label. Methods
    that change something return a new Clustering; this one stays as it is.
    """

    def __init__(
        self,
        estimator: Any,
        corpus: Corpus,
        texts: TextStore | Sequence[str],
        *,
        seconds: Mapping[str, float] | None = None,
        info: Mapping[str, Any] | None = None,
        names: Mapping[int, str] | None = None,
        view: SecondView = WORDS_ALONE,
    ) -> None:
        self.estimator = estimator
        self.corpus = corpus
        self.seconds = dict(seconds or {})
        self.info = dict(info or {})
        self.view = view
        self.model = wrap(estimator, corpus)
        self._store = texts if isinstance(texts, TextStore) else TextsInMemory(texts, len(texts))
        self._names = dict(names or {})

    @classmethod
    def from_labels(
        cls,
        texts: Iterable[str | None],
        labels: Iterable[Any],
        *,
        vectors: Any = None,
        ids: Iterable[Any] | None = None,
        times: Iterable[Any] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> Clustering:
        """A clustering with labels of any origin: names, examples, outliers, a report, all methods of a Clustering.

        One label per text. Labels that are not numbers become the names of the clusters. A text whose label is −1, None
        or "" belongs to none: it is a cluster of its own, an outlier. `vectors`: embeddings of the texts, which new
        texts are then assigned by too.
        """
        listed, given = [text if isinstance(text, str) else "" for text in texts], list(labels)
        if len(listed) != len(given):
            raise ValueError(f"there are {len(given):,} labels for {len(listed):,} texts; give one label per text")
        corpus = Corpus.from_texts(listed, tokenizer or Tokenizer(), ids=ids, times=times)
        if corpus.empty_documents.all():
            raise ValueError("none of the texts has any words, once stop words are left out")
        numbers, of_label = np.empty(len(given), np.int32), dict[Any, int]()
        belongs = np.array([not (is_missing(label) or str(label).strip() in ("", "-1")) for label in given], dtype=bool)
        if not all(isinstance(label, Hashable) for label in given):
            raise ValueError("labels must be numbers or names, one per text")
        for place, label in enumerate(given):
            if belongs[place]:
                numbers[place] = of_label.setdefault(label, len(of_label))
        numbers[~belongs] = len(of_label) + np.arange(np.count_nonzero(~belongs))
        source = None if vectors is None else check_vectors(vectors, len(listed))
        estimator = ConsensusMixture().fit_labels(corpus, numbers, vectors=source)
        view = WORDS_ALONE
        if source is not None:
            view = SecondView(GIVEN, None, {"name": GIVEN, "dimensions": source.n_dimensions})
        found = estimator.labels_.tolist()
        named = {
            label: given[place]
            for place, label in enumerate(found)
            if label >= 0 and belongs[place] and isinstance(given[place], str)
        }
        names = {label: " ".join(name.split())[:MAX_NAME] for label, name in named.items()}
        return cls(estimator, corpus, listed, names=names, view=view)

    @property
    def has_texts(self) -> bool:
        """Whether the texts are at hand; those of a run with its counts on disk are not."""
        return self._store.in_memory

    @property
    def texts(self) -> Sequence[str]:
        """The texts; those of a saved clustering are read when they are first asked for."""
        return self._store.texts()

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each text: 0, 1, … by falling size; −1 for texts without words.

        Also −1 for what an estimator of another package takes for noise; `estimator.labels_` has its own numbers.
        """
        return self.model.labels.copy()  # whoever writes to it changes neither the estimator nor another Clustering

    @property
    def n_clusters(self) -> int:
        """The number of clusters, those of a single text included; `tally` counts them apart."""
        return self.model.n_clusters

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Each text's probability of each cluster and, in the last column, of a new one; made on request.

        Given all other texts. By a consensus the label is always the most probable cluster.
        """
        self._store.check_at_hand("probabilities")
        return self.model.probabilities

    @cached_property
    def outliers(self) -> NDArray[np.bool_]:
        """Whether a text fits nowhere.

        By the consensus: its cluster was not given, and it is alone in it or its outlier score is above the threshold
        (0.25); by one run: its cluster has no more texts than the setting outlier_size (1). Outliers keep their labels,
        and count in the sizes of clusters.
        """
        return self.model.outliers

    @property
    def outlier_scores(self) -> NDArray[np.float64]:
        """How much less probable a text is in its cluster: NaN for texts without words.

        By the consensus: than in the collection at large, as the mean of the logarithm over its words; by one run: than
        in a new cluster, as the logarithm of the odds.
        """
        self._store.check_at_hand("outlier scores")
        return self.model.outlier_scores

    @property
    def strangest(self) -> list[Example]:
        """Of the texts that fit nowhere those with the highest outlier scores."""
        return self._store.strangest(self)

    @property
    def stability(self) -> float | None:
        """How well the runs agree on the clusters, the mean over texts of `Cluster.stability`; None of a single run."""
        return self.model.stability

    @property
    def trace(self) -> dict[str, NDArray[Any]]:
        """One array a name (n_clusters, n_moved, log_joint, seconds), one entry a sweep."""
        return self.model.trace

    @property
    def n_without_words(self) -> int:
        """The number of texts that have no words left, which belong to no cluster."""
        return self.model.n_without_words

    @property
    def known_clusters(self) -> dict[str, int]:
        """The label of each cluster that was known by y, seed words or frozen clusters; −1 if no text is in it."""
        return dict(self.model.known_clusters)

    @cached_property
    def agreement(self) -> dict[str, float] | None:
        """How well the clusters agree with the labels beside the texts, by score; None without such labels."""
        if not self.has_texts:
            return self.info.get("scores")
        return None if self.corpus.labels is None else agreement(self.corpus.labels, self.labels)

    @cached_property
    def typicality(self) -> NDArray[np.float32]:
        """How typical each text is of its cluster."""
        self._store.check_at_hand("typicalities")
        return Typicality(self.model.words).score(self.corpus.counts, self.labels)

    @cached_property
    def clusters(self) -> Clusters:
        """Size, words and examples of each cluster, by label; also a table, with `to_pandas()`, `to_csv()`, …."""
        names: dict[int, str] = {}
        for place, (name, label) in enumerate(self.known_clusters.items()):
            label = label if label >= 0 else -1 - place  # of no cluster here, but no other is to have this name
            names[label] = f"{names[label]} / {name}" if label in names else name
        described = self._store.describe_clusters(self, {**names, **self._names})
        return Clusters(described, cluster_columns(described, self._levels))

    @cached_property
    def _levels(self) -> list[Level]:
        """The levels above the clusters; none where the texts are not at hand."""
        levels = self.model.levels if self.has_texts else ()
        return describe_levels(levels, np.bincount(self.labels[self.labels >= 0]), self.model.words) if levels else []

    @property
    def levels(self) -> list[int]:
        """Numbers of clusters worth reading, coarse to fine; the last is that of the clustering itself.

        `with_n_clusters` gives the clustering at a level; `groups` has the groups of a level, with their names.
        """
        return [*(level.n_groups for level in self._levels), self.n_clusters]

    def groups(self, n_clusters: int) -> tuple[Group, ...]:
        """The groups at a level: name, size and labels of the clusters of each; at the last one the clusters."""
        if n_clusters == self.n_clusters:
            return tuple(Group(one.index, one.name, one.size, (one.index,)) for one in self.clusters)
        for level in self._levels:
            if level.n_groups == n_clusters:
                return level.groups
        raise ValueError(f"there is no level of {n_clusters} groups; there are {self.levels}")

    @property
    def n_clusters_range(self) -> tuple[int, int] | None:
        """What the runs say of the number of clusters of two texts or more, 5 % to 95 %; None if that is not known."""
        return self.model.n_clusters_range

    @cached_property
    def tally(self) -> Tally:
        """How many texts, clusters of two texts or more, clusters of one text, outliers, and texts without words."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)
        return tally(sizes.tolist(), self.labels.size, self.outliers, self.n_without_words)

    def linkage(self) -> NDArray[np.float64]:
        """How the clusters are merged one by one, as SciPy's hierarchy functions take it; clusters by label.

        Within the groups of each level first. Heights are the costs of merging, never lower than the one before.
        """
        merges = self.model.merges
        if merges is None:
            raise ValueError(f"the clusters of {self.model.name} have no hierarchy; those of a consensus have")
        return merges.linkage()

    @property
    def documents(self) -> Frame:
        """A table with a row a text: position, id, label, time, cluster and its name, probability, outlier, text."""
        return self._table(np.arange(self.labels.size))

    def documents_of(self, cluster: int | str | Cluster) -> Frame:
        """The same of the texts of one cluster, by label or name, the most typical first."""
        self._store.check_at_hand("rows")
        members = np.flatnonzero(self.labels == self._find(cluster))
        return self._table(members[np.argsort(-self.typicality[members], kind="stable")])

    def _table(self, documents: NDArray[Any]) -> Frame:
        self._store.check_at_hand("rows")
        corpus, names = self.corpus, [cluster.name for cluster in self.clusters]
        columns = document_columns(
            None if corpus.ids is None else [corpus.ids[i] for i in documents],
            None if corpus.labels is None else [corpus.labels[i] for i in documents],
            self.labels[documents],
            self.outliers[documents],
            DocumentScores(*(scores[documents] for scores in self.model.scores)),
            [self.texts[i] for i in documents],
            names,
            None if corpus.times is None else corpus.times[documents],
            levels=self._levels,
        )
        return Frame([Column("document", "BIGINT", documents), *columns])

    def top_words(self, n: int = 10, *, order: str = "telling") -> list[list[ScoredWord]]:
        """The n leading words of each cluster, by label, with their scores: the most "telling", or "probable" ones."""
        return self.model.words.top(n, order)

    def _find(self, cluster: int | str | Cluster) -> int:
        """The label of a cluster."""
        if isinstance(cluster, Cluster):
            cluster = cluster.index
        if isinstance(cluster, str):
            named = [one.index for one in self.clusters if one.name == cluster]
            if not named:
                nearest = get_close_matches(cluster, [one.name for one in self.clusters], n=1)
                hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
                raise ValueError(f"there is no cluster called {cluster!r}{hint}")
            return named[0]
        if not isinstance(cluster, Integral) or isinstance(cluster, bool) or not 0 <= cluster < self.n_clusters:
            raise ValueError(f"there is no cluster {cluster!r}; labels go from 0 to {self.n_clusters - 1}")
        return int(cluster)

    def texts_by_name(self) -> dict[str, list[str]]:
        """The texts of each cluster of several, by its name."""
        members = np.split(np.argsort(self.labels, kind="stable"), np.cumsum(np.bincount(self.labels + 1)))[1:]
        return {
            cluster.name: [self.texts[i] for i in members[cluster.index]]
            for cluster in self.clusters
            if cluster.size > 1
        }

    def vectors_by_name(self) -> dict[str, NDArray[np.float32]]:
        """The vectors of the texts of `texts_by_name`, in the same order, where the clustering holds them."""
        members = np.split(np.argsort(self.labels, kind="stable"), np.cumsum(np.bincount(self.labels + 1)))[1:]
        return {
            cluster.name: self.model.vectors_of(members[cluster.index]) for cluster in self.clusters if cluster.size > 1
        }

    def describe_views(self) -> dict[str, Any]:
        """What documents were seen by: words, and vectors with the encoder's name, version and hash of weights."""
        return {"words": True, "vectors": self.view.describe()}

    def view_sentence(self) -> str:
        """What documents were seen by, in words."""
        return self.view.sentence

    def predict(self, texts: Iterable[str | None], *, vectors: Any = None) -> NDArray[np.int32]:
        """The most probable cluster of each new text; −1 if nothing is known about it."""
        return self.assign(texts, vectors=vectors).labels

    def predict_proba(self, texts: Iterable[str | None], *, vectors: Any = None) -> NDArray[np.float64]:
        """New texts' probability of each cluster and, in the last column, of a new one."""
        return self.model.predict_proba(*self._read_new(texts, vectors))

    def assign(self, texts: Iterable[str | None], *, vectors: Any = None) -> Assignments:
        """Put new texts into the clusters, which stay as they are.

        By words and vectors, as they were clustered. `vectors`: those of the new texts, one row per text, if the
        clustering was made with vectors of your own.
        """
        listed = texts if isinstance(texts, str | bytes) else list(texts)
        if self.view.name is None or len(listed) <= MAX_ENCODED:
            return self.model.assign(*self._read_new(listed, vectors))
        given = None if vectors is None else as_source(vectors, len(listed), some=False)
        parts = []
        for rows in blocks(len(listed), MAX_ENCODED):
            own = None if given is None else given.rows(np.arange(rows.start, rows.stop))
            parts.append(self.model.assign(*self._read_new(listed[rows], own)))
        return Assignments(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _read_new(self, texts: Iterable[str | None], vectors: Any) -> tuple[Any, Any]:
        """The counts of new texts, and their vectors if there is a second view."""
        listed = texts if isinstance(texts, str | bytes) else list(texts)
        counts = self.corpus.count(listed)  # it refuses what is not a list of texts
        return counts, self.view.encode([text if isinstance(text, str) else "" for text in listed], vectors)

    def to_frame(self) -> Any:
        """`documents` as a data frame of pandas, or of polars if there is no pandas."""
        return self.documents.to_frame()

    def with_n_clusters(self, n_clusters: int) -> Clustering:
        """The same texts in fewer clusters: those found, in this many groups; nothing is fitted again.

        Clusters stay whole. At the numbers of `levels` groups are made of those of the next level.
        """
        if not isinstance(n_clusters, Integral):
            raise ValueError(f"n_clusters must be a whole number, not {n_clusters!r}")
        return self._with(self.model.merged(int(n_clusters)))

    def merge(self, *clusters: int | str | Cluster) -> Clustering:
        """The same with some clusters, by label or name, taken together."""
        labels = sorted({self._find(cluster) for cluster in clusters})
        if len(labels) < 2:
            raise ValueError("merging takes two clusters or more")
        merged = np.where(np.isin(self.labels, labels), np.int32(labels[0]), self.labels)
        self._store.check_relabelling(self.model, "merged")
        return self._with(self.model.relabelled(renumber_by_size(merged)))

    def split(self, cluster: int | str | Cluster, n_clusters: int = 2) -> Clustering:
        """The same with one cluster, by label or name, in several: its texts alone are clustered anew.

        Texts whose cluster was given may part.
        """
        self._store.check_relabelling(self.model, "split")
        own = self._find(cluster)
        if not isinstance(n_clusters, Integral) or n_clusters < 2:
            raise ValueError(f"a cluster is split into two or more, not into {n_clusters!r}")
        members = np.flatnonzero(self.labels == own)
        consensus = self.model.new_consensus().set_params(n_clusters=int(n_clusters), progress=False)
        vectors = self.model.vectors_of(members)
        if vectors is not None and not vectors.any():
            vectors = None  # none of these texts has one
        try:
            parts = consensus.fit(self.corpus.counts[members], vectors=vectors).labels_
        except ValueError as error:
            raise ValueError(f"cluster {own} cannot be split: {error}") from error
        labels = self.labels.copy()
        labels[members] = np.where(parts == 0, own, self.n_clusters + parts - 1)
        return self._with(self.model.relabelled(renumber_by_size(labels)))

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

    def with_outlier_threshold(self, threshold: float) -> Clustering:
        """The same clustering with other outliers: texts whose score is above this, or that are alone in a cluster."""
        if not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
            raise ValueError(f"the outlier threshold must be a finite number, not {threshold!r}")
        return self._with(self.model.with_outlier_threshold(float(threshold)))

    def _with(self, estimator: Any) -> Clustering:
        """The same texts in the clusters of another estimator; names follow most of the texts of a cluster."""
        other = Clustering(estimator, self.corpus, self._store, seconds=self.seconds, info=self.info, view=self.view)
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
        """A chart as a Plotly figure: "map", "hierarchy" (a dendrogram), "trace", "times" or "confusion"."""
        if name == "hierarchy" and self.n_clusters > 1:
            return as_figure(hierarchy_chart(self.linkage(), [cluster.name for cluster in self.clusters]))
        charts = summarise_report(self._report_source(None))["charts"]
        if name not in charts:
            raise ValueError(f"there is no chart {name!r} of this clustering; there are: {', '.join(charts)}")
        return as_figure(charts[name])

    def _report_source(self, title: str | None) -> Source:
        model, has_texts = self.model, self.has_texts
        files = self.info.get("input", {}).get("files", [])
        levels = self._levels  # merging needs them too
        with ThreadPoolExecutor(1) as pool:  # merging takes as long as all the rest, and another core
            merges = pool.submit(lambda: model.merges)
            return Source(
                clusters=list(self.clusters),
                labels=self.labels,
                corpus=self.corpus,
                words=model.words,
                texts=self.texts if has_texts else None,
                typicality=self.typicality if has_texts else None,
                outliers=self.outliers,
                outlier_scores=self.outlier_scores if has_texts else None,
                outlier_threshold=model.outlier_threshold,
                outliers_at=model.outliers_at,
                strangest=self.strangest,
                trace=self.trace,
                stability=self.stability,
                agreement=self.agreement,
                n_without_words=self.n_without_words,
                directions=model.directions,
                run={
                    **model.describe(),
                    **self.info,
                    "views": self.describe_views(),
                    "seen_by": self.view_sentence(),
                    "seconds": self.seconds,
                },
                title=title or ", ".join(Path(file).name for file in files[:3]) or None,
                merges=merges.result(),
                levels=levels,
                tally=self.tally,
                n_clusters_range=self.n_clusters_range,
            )

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
        self._store.check_saving()
        model = self.model
        names = {str(label): name for label, name in self._names.items()}
        described = {**model.describe(), "views": self.describe_views(), "names": names, "seconds": self.seconds}
        if taken := (described.keys() | {"format", "version", COUNTS}) & (notes or {}).keys():
            raise ValueError(f"notes cannot be called {', '.join(sorted(taken))}: textmix uses these names itself")
        own = self.view.encoder.own if isinstance(self.view.encoder, CorpusEncoder) else None
        mixture = replace(model.mixture, levels=model.levels)
        run = Run(mixture, self.corpus, self.texts, list(self.clusters), self.outliers, model.scores, own, self._levels)
        kept: dict[str, Any] = {name: self.info[name] for name in _OF_THE_FIT if name in self.info}
        manifest: dict[str, Any] = {**described, **kept, **(notes or {})}
        write_run(folder, partial(run.write_files, escape_formulas=escape_formulas), manifest, force=force)
        self.info = {**self.info, **manifest}
        if report:
            self.report(Path(folder) / REPORT_FILE)

    def __repr__(self) -> str:
        return summarise(list(self.clusters), self.tally)

    def _repr_html_(self) -> str:
        """The clusters as a table, in a notebook."""
        return f"<p>{escape(repr(self).splitlines()[0])}</p>{self.clusters._repr_html_()}"

"""Clusters of documents that come and go: `StreamClusterer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from textmix.corpus import Corpus, Tokenizer
from textmix.estimators.dirichlet_process_mixture import concentration
from textmix.inference.seeds import generator, seed_from
from textmix.results.assignments import Assignments
from textmix.results.words import ScoredWord
from textmix.stream.batch import (
    BatchCounter,
    as_batch,
    as_ids,
    as_seconds,
    compare_words,
    complete_ids,
    known_words,
    take_rows,
)
from textmix.stream.continuing import (
    KeptDocument,
    Snapshot,
    apply_labels,
    events_of_new_fit,
    match_clusters,
    put_back,
    take_snapshot,
)
from textmix.stream.events import BORN, DIED, MERGED, Event, GrowthWatch
from textmix.stream.moves import Merge, StreamMoves
from textmix.stream.policy import Lots, find_due
from textmix.stream.reading import StreamReader
from textmix.stream.statistics import StreamStatistics


class StreamClusterer(ClusterMixin, BaseEstimator):
    """Clusters that keep their ids while documents come and go (GSDPMM, as its conclusion has it for streams).

    Each document of a batch is classified given all documents that are kept, into a cluster that is there or a new one
    (eq. IV.29 and IV.44), then the batch alone is swept over; documents of earlier batches stay where they are. Then
    clusters that have grown are compared with all others and become one where that makes the partition more probable.
    V, the number of words in these equations, is that of the words now present; the tables follow it once it has
    changed by 1 %.

    Parameters
    ----------
    alpha : float or str, default="0.1n"
        Concentration: a number, or one followed by n, which stands for the number of documents that are kept.
    beta : float, default=0.02
        Pseudo-count of each word in each cluster.
    n_sweeps : int, default=10
        Sweeps over each batch, which greedy passes to a fixed point follow; 0: each document is placed once.
    merge : bool, default=True
        Whether clusters may become one.
    growth_window : int, default=1000
        Number of documents over which it is told which clusters grow fast.
    tokenizer : Tokenizer or None, default=None
        How texts are split into words. A language that is to be recognised is so by the first texts.
    random_state : int, Generator or None, default=0
        Seed. The same calls in the same order give the same clusters. A stream that was restored in between goes on
        with the same clusters, but may come to other ones later.

    Attributes
    ----------
    labels_, probabilities_, outlier_scores_, is_new_, ids_
        Of each document of the last batch: the id of its cluster (−1: it has no words), the probability of that cluster
        given all others, the logarithm of the odds that it belongs to a new one instead, whether the cluster was born
        in this batch, and its id.
    events_
        What happened to clusters in the last call: born, grows, merged, died.
    n_documents_, n_clusters_, cluster_ids_, cluster_sizes_, cluster_totals_
        Of all documents kept: their number, that of their clusters, and of each of these by rising id the id, the
        number of documents, and of words.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither"), str],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "n_sweeps": [Interval(Integral, 0, None, closed="left")],
        "merge": ["boolean"],
        "growth_window": [Interval(Integral, 1, None, closed="left")],
        "tokenizer": [Tokenizer, None],
        "random_state": [Integral, np.random.Generator, None],
    }

    events_: list[Event]
    _statistics: StreamStatistics  # the documents kept and the counts of their clusters
    _moves: StreamMoves
    _reader: StreamReader
    _counter: BatchCounter
    _watch: GrowthWatch
    _lots: Lots
    _seed: int
    _n_batches: int
    _next_number: int  # to be given out as an id

    def __init__(
        self,
        alpha: float | str = "0.1n",
        beta: float = 0.02,
        *,
        n_sweeps: int = 10,
        merge: bool = True,
        growth_window: int = 1000,
        tokenizer: Tokenizer | None = None,
        random_state: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.n_sweeps = n_sweeps
        self.merge = merge
        self.growth_window = growth_window
        self.tokenizer = tokenizer
        self.random_state = random_state

    # ------------------------------------------------------------------ documents come

    def fit(self, X: Any, y: Any = None, *, ids: Iterable[Any] | None = None, timestamps: Any = None) -> Self:
        """Forget all there is and begin anew with a batch."""
        self.__dict__.pop("_statistics", None)
        return self.partial_fit(X, ids, timestamps)

    def partial_fit(self, X: Any, ids: Iterable[Any] | None = None, timestamps: Any = None) -> Self:
        """Take in a batch: a list of texts, a matrix of whole counts (one row per document), or a Corpus.

        An id that is there already, or is given twice, names one document: the last text wins; sent again with the same
        words, it stays where it is. Without ids numbers are given out. Documents without a timestamp have that of now.
        """
        self._begin()
        X, n_documents = as_batch(X)
        if isinstance(X, Corpus):
            ids, timestamps = X.ids if ids is None else ids, X.times if timestamps is None else timestamps
        documents = self._statistics.documents
        names, next_number = complete_ids(ids, n_documents, self._next_number, documents.find)
        times = as_seconds(timestamps, n_documents)
        last_place = {name: place for place, name in enumerate(names)}
        matrix, words = self._counter.count(X, learn=True)
        there = list(documents.find(last_place.keys()))
        replaced = compare_words(there, self._reader.word_counts_of(there), last_place, matrix, words)
        places = np.array(
            sorted(last_place.values(), key=lambda place: (names[place] not in replaced.same, place)), dtype=np.int64
        )
        batch = take_rows(matrix, words, places)
        self._statistics.check_room(batch.words, batch.totals(), batch.columns.size)
        events = self._remove_rows(self._rows_of(replaced.other))[1]
        self._statistics.append([names[place] for place in places], times[places], batch, len(replaced.same))
        self._next_number = next_number
        events += self._place(places.size - len(replaced.same))
        self._describe(names, places, {event.cluster for event in events if event.kind == BORN})
        self.events_ = events
        return self

    def _place(self, n_new: int) -> list[Event]:
        """Give the last documents clusters; returns what happened to these."""
        merges = self._sample(n_new, merge=bool(self.merge))
        rows = self._statistics.documents.last_rows(n_new)
        born = self._moves.number_new_clusters(rows).tolist()
        sizes = self._reader.sizes()
        labels = self._statistics.ids_of(self._statistics.documents.slots[rows])
        self._reader.forget_names(merge.cluster for merge in merges)
        for merge in merges:
            self._watch.merge(merge.cluster, merge.into)
        return [
            *(Event(MERGED, merge.cluster, merge.into, merge.size) for merge in merges),
            *(Event(BORN, cluster, None, sizes[cluster]) for cluster in born),
            *self._watch.notice(Counter(labels[labels >= 0].tolist()), sizes),
        ]

    def _sample(self, n_new: int, *, merge: bool) -> list[Merge]:
        """Give the last documents clusters, which may be without ids yet."""
        self._set_concentration()
        self._n_batches += 1
        rng = generator(self._seed, self._n_batches)
        return self._moves.place_last(n_new, int(self.n_sweeps), merge, rng)

    def _set_concentration(self) -> None:
        """Set α by the documents that are kept now."""
        documents = self._statistics.documents
        n_documents = int(np.count_nonzero(documents.lengths[documents.is_kept]))
        self._statistics.set_concentration(concentration(self.alpha, n_documents))

    def _describe(self, names: list[str], places: NDArray[np.int64], born: set[int]) -> None:
        """Set the attributes that speak of each document of the batch."""
        rows = self._statistics.documents.last_rows(places.size)
        odds = self._reader.odds_of_rows(rows)
        row_of = {names[place]: row for row, place in enumerate(places.tolist())}
        of_input = np.array([row_of[name] for name in names], dtype=np.int64)
        self.ids_ = names
        self.labels_ = self._statistics.ids_of(odds.slots)[of_input]
        self.probabilities_ = odds.probabilities[of_input]
        self.outlier_scores_ = odds.log_odds_new[of_input]
        self.is_new_ = np.isin(self.labels_, list(born))

    # ------------------------------------------------------------------ documents go

    def remove(self, ids: Iterable[Any]) -> list[str]:
        """Take documents out, as if they had never been counted; returns the ids of those that were there."""
        self._begin()
        removed, self.events_ = self._remove_rows(
            self._rows_of(id for id in dict.fromkeys(as_ids(ids)) if id is not None)
        )
        return removed

    def forget(
        self, *, before: Any = None, keep: int | None = None, half_life: Any = None, now: Any = None
    ) -> list[str]:
        """Let old documents go; returns their ids.

        before: those of an earlier time. keep: all but so many that came last. half_life: each with the probability
        1 − 2^(−age / half_life); an age counts from the time of the newest document, or from `now`. Whether a document
        is still there at a certain age depends on its id and the seed alone, not on how often it is asked.
        """
        rows = self.rows_to_forget(before=before, keep=keep, half_life=half_life, now=now)
        removed, self.events_ = self._remove_rows(rows)
        return removed

    def rows_to_forget(
        self, *, before: Any = None, keep: int | None = None, half_life: Any = None, now: Any = None
    ) -> NDArray[np.int64]:
        """The rows of the documents that `forget` removes, rising; nothing changes."""
        self._begin()
        documents = self._statistics.documents
        return find_due(documents, self._lots, before=before, keep=keep, half_life=half_life, now=now)

    def _rows_of(self, ids: Iterable[str | None]) -> NDArray[np.int64]:
        rows = self._statistics.documents.rows_of(ids)
        return np.sort(rows[rows >= 0])

    def _remove_rows(self, rows: NDArray[np.int64]) -> tuple[list[str], list[Event]]:
        if rows.size == 0:
            return [], []
        removed, gone = self._moves.remove(rows)
        self._lots.discard(removed)
        self._reader.forget_names(gone)
        if self._statistics.documents.n_kept == 0:  # as new, but for the ids
            self._start_anew()
        return removed, [Event(DIED, cluster, None, 0) for cluster in gone]

    # ------------------------------------------------------------------ what is not learned from

    def assign(self, X: Any) -> Assignments:
        """Put documents into the clusters, which stay as they are; labels are cluster ids, −1: no known word.

        An outlier is a document that would rather be in a new cluster.
        """
        self._begin()
        self._set_concentration()
        matrix, words = self._counter.count(as_batch(X)[0], learn=False)
        columns = self._statistics.words.find(words)[matrix.indices]
        documents = known_words(matrix, columns)
        odds = self._reader.odds_of(documents, np.full(documents.lengths.size, -1, np.int32))
        labels = self._statistics.ids_of(odds.slots)
        return Assignments(labels, odds.probabilities, odds.log_odds_new > 0.0, odds.log_odds_new)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable cluster of each document, by its id; −1 if no word of it is known. Nothing is learned."""
        return self.assign(X).labels

    # ------------------------------------------------------------------ what there is

    @property
    def n_documents_(self) -> int:
        """How many documents are kept, those without words included."""
        return self.statistics.documents.n_kept

    @property
    def n_clusters_(self) -> int:
        """How many clusters there are."""
        return self.statistics.n_clusters

    @property
    def cluster_ids_(self) -> NDArray[np.int64]:
        """The ids of all clusters, rising."""
        return self.statistics.cluster_ids[self.statistics.slots()]

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        """The number of documents of each cluster."""
        return self.statistics.clusters.sizes[self.statistics.slots()]

    @property
    def cluster_totals_(self) -> NDArray[np.int64]:
        """The number of words of each cluster."""
        return self.statistics.clusters.totals[self.statistics.slots()]

    def sizes(self) -> dict[int, int]:
        """The number of documents of each cluster, by its id."""
        return self.reader.sizes()

    def words_of(self, cluster: int, n: int = 10) -> list[ScoredWord]:
        """The words that tell a cluster from the others, with their scores."""
        return self.reader.words_of(cluster, n)

    def name_of(self, cluster: int) -> str:
        """A cluster's most distinctive words; made anew when it has grown or shrunk by a tenth."""
        return self.reader.name_of(cluster)

    def ids(self) -> list[str]:
        """The ids of all documents kept, in the order in which they came."""
        return self.reader.ids()

    def newest(self) -> int | None:
        """The latest time of a document kept, in seconds since 1970; None if there is no document."""
        return self.reader.newest()

    def n_before_last(self, rows: NDArray[np.int64], n_last: int) -> int:
        """How many of some rows are before those of the last documents."""
        return self.reader.n_before_last(rows, n_last)

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """Ids of documents that are kept in the order in which they came."""
        return self.reader.in_order(ids)

    def labels_of(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """The cluster of each document by its id; −1: it is not kept, or has no words."""
        return self.reader.labels_of(ids)

    def times_of(self, ids: Iterable[Any]) -> NDArray[np.datetime64]:
        """The time of each document by its id; NaT: it is not kept."""
        return self.reader.times_of(ids)

    def word_counts_of(self, ids: Iterable[Any]) -> list[dict[str, int]]:
        """How often each word occurs in each document by its id; nothing if it is not kept."""
        return self.reader.word_counts_of(ids)

    # ------------------------------------------------------------------ going on with known labels

    def snapshot(self) -> Snapshot:
        """The documents kept, for a fit elsewhere while the stream goes on; `relabel` takes its labels."""
        return take_snapshot(self.statistics)

    def relabel(self, snapshot: Snapshot, labels: NDArray[Any]) -> Self:
        """Take over the labels that a fit of a snapshot found; later documents are classified anew.

        Then a cluster has the id of the one before with which it shares more than half of the documents of both. Others
        get new ids. An id that is given up is told as merged if most of its documents are in one cluster now.
        """
        statistics = self.statistics
        if snapshot.statistics is not statistics:
            raise ValueError("the documents were read anew since this snapshot; make another one")
        before, n_new = apply_labels(snapshot, labels, self._moves)
        self._sample(n_new, merge=False)
        slots = statistics.documents.slots.astype(np.int64)
        self._moves.set_cluster_ids(match_clusters(before, slots, statistics.next_cluster))
        sizes = self._reader.sizes()
        self.events_ = events_of_new_fit(before, statistics.ids_of(slots), sizes)
        self._reader = StreamReader(statistics)  # without the names of before
        self._watch.begin(sizes)
        return self

    def state(self) -> dict[str, Any]:
        """All that is not in the settings or in the documents, as JSON can hold it."""
        statistics = self.statistics
        return {
            "seed": self._seed,
            "next_number": self._next_number,
            "language_evidence": self._counter.language_evidence(),
            "n_batches": self._n_batches,
            "next_cluster": statistics.next_cluster,
            "next_sequence": statistics.documents.next_sequence,
            "tokenizer": self._counter.tokenizer.settings(),
        }

    def restore(self, state: Mapping[str, Any], documents: Iterable[KeptDocument]) -> Self:
        """Go on where another clusterer with the same settings was, with the documents that it had, in their order."""
        self.__dict__.pop("_statistics", None)
        self._begin()
        own = None if self.tokenizer is None else self.tokenizer.tokenizer
        self._counter = BatchCounter(Tokenizer.from_settings(state["tokenizer"], own))
        self._counter.restore_language_evidence(state["language_evidence"])
        self._seed, self._n_batches, self._next_number = (
            int(state[key]) for key in ("seed", "n_batches", "next_number")
        )
        self._lots = Lots(self._seed)
        put_back(list(documents), self._statistics, self._moves)
        self._statistics.next_cluster = int(state["next_cluster"])
        self._statistics.documents.next_sequence = int(state["next_sequence"])
        return self

    # ------------------------------------------------------------------ the first call

    @property
    def reader(self) -> StreamReader:
        """The documents kept and their clusters, to be read."""
        self._begin()
        return self._reader

    @property
    def statistics(self) -> StreamStatistics:
        """The documents kept and the counts of their clusters."""
        self._begin()
        return self._statistics

    def _begin(self) -> None:
        """Make what is needed at the first call."""
        if "_statistics" in vars(self):
            return
        validate_parameter_constraints(self._parameter_constraints, self.get_params(deep=False), type(self).__name__)
        concentration(self.alpha, 1)
        self._statistics = StreamStatistics(float(self.beta))
        self._seed = seed_from(self.random_state)
        self._next_number = 0
        self.events_ = []
        self._start_anew()

    def _start_anew(self) -> None:
        self._moves = StreamMoves(self._statistics)
        self._reader = StreamReader(self._statistics)
        self._counter = BatchCounter(self.tokenizer)
        self._watch = GrowthWatch(int(self.growth_window))
        self._lots = Lots(self._seed)
        self._n_batches = 0

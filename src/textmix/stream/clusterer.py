"""Clusters of documents that come and go: `StreamClusterer`."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from textmix.corpus import Tokenizer
from textmix.corpus.times import parse_times
from textmix.estimators.dirichlet_process_mixture import concentration
from textmix.inference.seeds import generator, seed_from
from textmix.kernels.state import Documents
from textmix.results.assignments import Assignments
from textmix.stream.batch import BatchCounter, take_rows
from textmix.stream.durations import in_seconds
from textmix.stream.events import BORN, DIED, MERGED, Event, GrowthWatch
from textmix.stream.matching import name_clusters, what_became_of
from textmix.stream.partition import StreamPartition
from textmix.stream.reading import ReadableStream, as_ids
from textmix.stream.statistics import NO_CLUSTER


class KeptDocument(NamedTuple):
    """A document as it is put back into a stream."""

    id: str
    time: int  # seconds since 1970
    cluster: int
    counts: Mapping[str, int]


class Snapshot(NamedTuple):
    """The documents that a stream had at some time, told by their sequence numbers, and their counts."""

    partition: StreamPartition  # whose numbers these are
    sequences: NDArray[np.int64]
    counts: scipy.sparse.csr_array


class StreamClusterer(ReadableStream, ClusterMixin, BaseEstimator):
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
        Seed. The same batches in the same order give the same clusters.

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
    _born: set[int]

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
        self.__dict__.pop("_partition", None)
        return self.partial_fit(X, ids, timestamps)

    def partial_fit(self, X: Any, ids: Iterable[Any] | None = None, timestamps: Any = None) -> Self:
        """Take in a batch: a list of texts, a matrix of whole counts (a row a document), or a Corpus.

        An id that is there already, or is given twice, names one document: the last text wins. Without ids numbers are
        given out. Documents without a timestamp have that of now.
        """
        self._begin()
        matrix, words = self._counter.count(X, learn=True)
        n_documents = matrix.shape[0]
        names = self._make_ids(getattr(X, "ids", None) if ids is None else ids, n_documents)
        times = _as_seconds(getattr(X, "times", None) if timestamps is None else timestamps, n_documents)
        last_place = {name: place for place, name in enumerate(names)}
        places = np.array(sorted(last_place.values()), dtype=np.int64)
        events = self._remove_rows(self._rows_of(names[place] for place in places))[1]
        batch = take_rows(matrix, words, places)
        columns = self._partition.words.take_in(batch.words, batch.totals())[batch.columns]
        self._partition.kept.append(
            [names[place] for place in places], times[places], batch.row_starts, columns, batch.counts
        )
        events += self._place(places.size)
        self._describe(names, last_place, places)
        self.events_ = events
        return self

    def _place(self, n_new: int) -> list[Event]:
        """Give the last documents clusters; returns what happened to these."""
        partition = self._partition
        n_documents = int(np.count_nonzero(partition.kept.lengths[partition.kept.kept]))
        rng = generator(self._seed, self._n_batches)
        alpha = concentration(self.alpha, n_documents)
        merges = partition.add(n_new, alpha, int(self.n_sweeps), bool(self.merge), rng)
        born = partition.name_new_clusters(partition.last_rows(n_new))
        self._n_batches += 1
        events = [Event(MERGED, merge.cluster, merge.into, merge.size) for merge in merges]
        sizes = self.sizes()
        events += [Event(BORN, cluster, None, sizes[cluster]) for cluster in born.tolist()]
        labels = partition.ids_of(partition.kept.labels[partition.last_rows(n_new)])
        arrived = Counter(labels[labels >= 0].tolist())
        self._born = set(born.tolist())
        for merge in merges:
            self._names.pop(merge.cluster, None)
        return events + self._watch.notice(arrived, sizes)

    def _describe(self, names: list[str], last_place: Mapping[str, int], places: NDArray[np.int64]) -> None:
        """Set the attributes that speak of each document of the batch."""
        rows = self._partition.last_rows(places.size)
        described = self._partition.describe_rows(rows)
        labels = self._partition.ids_of(self._partition.kept.labels[rows])
        of_input = np.searchsorted(places, [last_place[name] for name in names])
        self.ids_ = names
        self.labels_ = labels[of_input]
        self.probabilities_ = described.probabilities[of_input]
        self.outlier_scores_ = described.log_odds_new[of_input]
        self.is_new_ = np.isin(self.labels_, list(self._born))

    def _make_ids(self, ids: Iterable[Any] | None, n_documents: int) -> list[str]:
        if ids is None:
            kept = self._partition.kept
            free = (str(number) for number in count(kept.next_sequence) if str(number) not in kept)
            return list(islice(free, n_documents))
        names = as_ids(ids)
        if len(names) != n_documents:
            raise ValueError(f"there are {len(names)} ids, but {n_documents} documents")
        return names

    # ------------------------------------------------------------------ documents go

    def remove(self, ids: Iterable[Any]) -> list[str]:
        """Take documents out, as if they had never been counted; returns the ids of those that were there."""
        self._begin()
        removed, self.events_ = self._remove_rows(self._rows_of(dict.fromkeys(as_ids(ids))))
        return removed

    def forget(
        self, *, before: Any = None, keep: int | None = None, half_life: Any = None, now: Any = None
    ) -> list[str]:
        """Let old documents go; returns their ids.

        before: those of an earlier time. keep: all but so many that came last. half_life: each with the probability
        1 − 2^(−age / half_life); an age counts from the time of the newest document, or from `now`. Whether a document
        is still there at a certain age depends on its id and the seed alone, not on how often it is asked.
        """
        self._begin()
        kept = self._partition.kept
        rows = np.flatnonzero(kept.kept)
        going = np.zeros(rows.size, bool)
        if before is not None:
            going |= kept.times[rows] < _as_seconds([before], 1)[0]
        if keep is not None:
            if not isinstance(keep, Integral) or keep < 0:
                raise ValueError(f"keep must be a number of documents, not {keep!r}")
            going[: max(rows.size - int(keep), 0)] = True
        if half_life is not None and rows.size:
            newest = _as_seconds([now], 1)[0] if now is not None else kept.times[rows].max()
            ages = np.maximum(newest - kept.times[rows], 0)
            going |= np.exp2(-ages / in_seconds(half_life, "half_life")) < self._lots(rows)
        removed, self.events_ = self._remove_rows(rows[going])
        return removed

    def _lots(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """A number between 0 and 1 for each document, by its id and the seed."""
        lots, ids = np.empty(rows.size), self._partition.kept.ids
        key = self._seed.to_bytes(16, "little", signed=True)
        for place, row in enumerate(rows.tolist()):
            name = ids[row]
            if name not in self._lot_of:
                digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
                self._lot_of[name] = (int.from_bytes(digest, "little") + 0.5) / 2.0**64
            lots[place] = self._lot_of[name]
        return lots

    def _rows_of(self, ids: Iterable[str]) -> NDArray[np.int64]:
        rows = self._partition.kept.rows_of(ids)
        return np.sort(rows[rows >= 0])

    def _remove_rows(self, rows: NDArray[np.int64]) -> tuple[list[str], list[Event]]:
        if rows.size == 0:
            return [], []
        removed, gone = self._partition.remove(rows)
        for id in removed:
            self._lot_of.pop(id, None)
        for cluster in gone:
            self._names.pop(cluster, None)
        if self._partition.kept.n_kept == 0:  # as new, but for the ids
            self._start_anew()
        return removed, [Event(DIED, cluster, None, 0) for cluster in gone]

    # ------------------------------------------------------------------ what is not learned from

    def assign(self, X: Any) -> Assignments:
        """Put documents into the clusters, which stay as they are; labels are cluster ids, −1: no known word.

        An outlier is a document that would rather be in a new cluster.
        """
        self._begin()
        matrix, words = self._counter.count(X, learn=False)
        columns = self._partition.words.find(words)[matrix.indices]
        known = columns >= 0
        n_known = np.append(0, np.cumsum(known, dtype=np.int32))
        starts = n_known[matrix.indptr].astype(np.int32)
        counts = matrix.data[known].astype(np.int32)
        sums = np.append(0, np.cumsum(matrix.data, dtype=np.int64))
        lengths = (sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]).astype(np.int32)
        lengths[starts[1:] == starts[:-1]] = 0
        documents = Documents(starts, columns[known].astype(np.uint32), counts, lengths)
        described = self._partition.describe(documents, np.full(lengths.size, -1, np.int32))
        return Assignments(
            self._partition.ids_of(described.slots),
            described.probabilities,
            described.log_odds_new > 0.0,
            described.log_odds_new,
        )

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable cluster of each document, by its id; −1 if no word of it is known. Nothing is learned."""
        return self.assign(X).labels

    # ------------------------------------------------------------------ a new fit of what there is

    def snapshot(self) -> Snapshot:
        """The documents kept, for a fit elsewhere while the stream goes on; `relabel` takes its labels."""
        self._begin()
        kept = self._partition.kept
        rows = np.flatnonzero(kept.kept)
        columns, counts = kept.entries(rows)
        starts = np.append(0, np.cumsum(kept.n_words_of(rows)))
        matrix = scipy.sparse.csr_array((counts, columns, starts), shape=(rows.size, self._partition.words.n_columns))
        matrix.sort_indices()
        return Snapshot(self._partition, kept.sequences[rows].copy(), matrix)

    def relabel(self, snapshot: Snapshot, labels: NDArray[Any]) -> Self:
        """Take over the labels that a fit of a snapshot found; later documents are classified anew.

        A cluster of the fit has the id of the one with which it shares more than half of the documents of both. Others
        get new ids. An id that is given up is told as merged if most of its documents are in one cluster now.
        """
        self._begin()
        if snapshot.partition is not self._partition:
            raise ValueError("the documents were read anew since this snapshot; make another one")
        if (
            len(labels) != snapshot.sequences.size
            or (np.asarray(labels)[np.diff(snapshot.counts.indptr) > 0] < 0).any()
        ):
            raise ValueError("labels must name a cluster, 0 or more, for each document of the snapshot that has words")
        kept = self._partition.kept
        kept.compact()
        before = self._partition.ids_of(kept.labels)
        after = np.full(kept.n_rows, NO_CLUSTER, np.int64)
        places = np.searchsorted(snapshot.sequences, kept.sequences)
        old = places < snapshot.sequences.size
        old[old] = snapshot.sequences[places[old]] == kept.sequences[old]
        after[old] = np.where(kept.lengths[old] > 0, np.asarray(labels, dtype=np.int64)[places[old]], NO_CLUSTER)
        n_new = int(np.count_nonzero(~old))
        after = name_clusters(before, after, self._partition.next_cluster)
        gone = what_became_of(before, after)
        self._partition.take_labels(after)
        events = self._place(n_new) if n_new else []
        sizes = self.sizes()
        told = {event.cluster for event in events}
        born = sorted(set(sizes) - set(before.tolist()) - told)
        self.events_ = [
            *(Event(MERGED, cluster, into, size) for cluster, (into, size) in gone.items() if into in sizes),
            *(Event(DIED, cluster, None, 0) for cluster, (into, _) in gone.items() if into not in sizes),
            *(Event(BORN, cluster, None, sizes[cluster]) for cluster in born),
            *events,
        ]
        self._names.clear()
        return self

    # ------------------------------------------------------------------ state

    @property
    def _fitted(self) -> StreamPartition:
        self._begin()
        return self._partition

    def _begin(self) -> None:
        """Make what is needed at the first call."""
        if "_partition" in self.__dict__:
            return
        validate_parameter_constraints(self._parameter_constraints, self.get_params(deep=False), type(self).__name__)
        concentration(self.alpha, 1)
        self._counter = BatchCounter(self.tokenizer)
        self._partition = StreamPartition(float(self.beta))
        self._seed = seed_from(self.random_state)
        self.events_ = []
        self._start_anew()

    def _start_anew(self) -> None:
        self._n_batches = 0
        self._watch = GrowthWatch(int(self.growth_window))
        self._names = {}
        self._lot_of: dict[str, float] = {}
        self._born = set()

    def state(self) -> dict[str, Any]:
        """All that is not in the settings or in the documents, as JSON can hold it."""
        self._begin()
        return {
            "seed": self._seed,
            "n_batches": self._n_batches,
            "next_cluster": self._partition.next_cluster,
            "next_sequence": self._partition.kept.next_sequence,
            "tokenizer": self._counter.tokenizer.settings(),
        }

    def restore(self, state: Mapping[str, Any], documents: Iterable[KeptDocument]) -> Self:
        """Go on where another clusterer with the same settings was, with the documents that it had, in their order."""
        self.__dict__.pop("_partition", None)
        self._begin()
        own = None if self.tokenizer is None else self.tokenizer.tokenizer
        self._counter = BatchCounter(Tokenizer.from_settings(state["tokenizer"], own))
        self._seed, self._n_batches = int(state["seed"]), int(state["n_batches"])
        self._put_back(list(documents))
        self._partition.next_cluster = int(state["next_cluster"])
        self._partition.kept.next_sequence = int(state["next_sequence"])
        return self

    def _put_back(self, documents: Sequence[KeptDocument]) -> None:
        """Count documents whose clusters are known."""
        if not documents:
            return
        partition, n_words = self._partition, [len(document.counts) for document in documents]
        totals: Counter[str] = Counter()
        for document in documents:
            totals.update(document.counts)
        columns = partition.words.take_in(list(totals), np.fromiter(totals.values(), np.int64, len(totals)))
        column_of = dict(zip(totals, columns.tolist(), strict=True))
        words = np.array([column_of[word] for document in documents for word in document.counts], dtype=np.uint32)
        counts = np.array([n for document in documents for n in document.counts.values()], dtype=np.int32)
        partition.kept.append(
            [document.id for document in documents],
            np.array([document.time for document in documents], dtype=np.int64),
            np.append(0, np.cumsum(n_words)),
            words,
            counts,
        )
        partition.take_labels(np.array([document.cluster for document in documents], dtype=np.int64))


def _as_seconds(timestamps: Any, n_documents: int) -> NDArray[np.int64]:
    """Times in seconds since 1970; now where there is none."""
    now = np.int64(time.time())
    if timestamps is None:
        return np.full(n_documents, now)
    times = parse_times(timestamps, "timestamps")
    if times.size != n_documents:
        raise ValueError(f"there are {times.size} timestamps, but {n_documents} documents")
    return np.where(np.isnat(times), now, times.astype(np.int64))

"""Clusters of documents that come and go: `StreamClusterer`."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from textmix.corpus import Corpus, Tokenizer
from textmix.corpus.times import parse_times
from textmix.estimators.dirichlet_process_mixture import concentration
from textmix.inference.seeds import generator, seed_from
from textmix.kernels.state import Documents
from textmix.results.assignments import Assignments
from textmix.stream.batch import BatchCounter, BatchCounts, as_batch, take_rows
from textmix.stream.continuing import ContinuedStream
from textmix.stream.durations import in_seconds
from textmix.stream.events import BORN, DIED, MERGED, Event, GrowthWatch
from textmix.stream.partition import Merge, StreamPartition
from textmix.stream.reading import as_ids


class Replaced(NamedTuple):
    """Ids of a batch that are there already, with the same words and with others."""

    same: set[str]
    other: set[str]


class StreamClusterer(ContinuedStream, ClusterMixin, BaseEstimator):
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

        An id that is there already, or is given twice, names one document: the last text wins; sent again with the same
        words, it stays where it is. Without ids numbers are given out. Documents without a timestamp have that of now.
        """
        self._begin()
        X, n_documents = as_batch(X)
        if isinstance(X, Corpus):
            ids, timestamps = X.ids if ids is None else ids, X.times if timestamps is None else timestamps
        names, next_number = self._make_ids(ids, n_documents)
        times = _as_seconds(timestamps, n_documents)
        last_place = {name: place for place, name in enumerate(names)}
        matrix, words = self._counter.count(X, learn=True)
        replaced = self._find_replaced(last_place, matrix, words)
        places = np.array(
            sorted(last_place.values(), key=lambda place: (names[place] not in replaced.same, place)), dtype=np.int64
        )
        batch = take_rows(matrix, words, places)
        self._partition.check_room(batch.words, batch.totals(), batch.columns.size)
        events = self._remove_rows(self._rows_of(replaced.other))[1]
        self._append([names[place] for place in places], times[places], batch, len(replaced.same))
        self._next_number = next_number
        events += self._place(places.size - len(replaced.same))
        self._describe(names, places)
        self.events_ = events
        return self

    def _find_replaced(
        self, last_place: Mapping[str, int], matrix: scipy.sparse.csr_array, words: list[str]
    ) -> Replaced:
        """Which ids of a batch are there already, with the same words or with others."""
        there = list(self._partition.kept.find(last_place.keys()))
        replaced = Replaced(set(), set())
        for name, counts in zip(there, self.word_counts_of(there), strict=True):
            entries = slice(*matrix.indptr[last_place[name] : last_place[name] + 2])
            new = zip(matrix.indices[entries].tolist(), matrix.data[entries].tolist(), strict=True)
            is_same = counts == {words[column]: n for column, n in new}
            (replaced.same if is_same else replaced.other).add(name)
        return replaced

    def _append(self, names: list[str], times: NDArray[np.int64], batch: BatchCounts, n_same: int) -> None:
        """Add documents, of which the first ones take the places of those that have their ids and words."""
        partition, kept = self._partition, self._partition.kept
        columns = partition.words.take_in(batch.words, batch.totals())[batch.columns]
        old_rows = kept.rows_of(names[:n_same])
        kept.let_go(old_rows)
        rows = kept.append(names, times, batch.row_starts, columns, batch.counts)
        partition.stay(old_rows, np.arange(rows.start, rows.start + n_same))

    def _place(self, n_new: int) -> list[Event]:
        """Give the last documents clusters; returns what happened to these."""
        partition = self._partition
        merges = self._sample(n_new, merge=bool(self.merge))
        born = partition.name_new_clusters(partition.last_rows(n_new)).tolist()
        sizes = self.sizes()
        labels = partition.ids_of(partition.kept.labels[partition.last_rows(n_new)])
        self._born = set(born)
        for merge in merges:
            self._names.pop(merge.cluster, None)
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
        return self._partition.add(n_new, int(self.n_sweeps), merge, rng)

    def _set_concentration(self) -> None:
        """α, by the documents that are kept now."""
        kept = self._partition.kept
        n_documents = int(np.count_nonzero(kept.lengths[kept.kept]))
        self._partition.set_concentration(concentration(self.alpha, n_documents))

    def _describe(self, names: list[str], places: NDArray[np.int64]) -> None:
        """Set the attributes that speak of each document of the batch."""
        rows = self._partition.last_rows(places.size)
        described = self._partition.describe_rows(rows)
        labels = self._partition.ids_of(self._partition.kept.labels[rows])
        row_of = {names[place]: row for row, place in enumerate(places.tolist())}
        of_input = np.array([row_of[name] for name in names], dtype=np.int64)
        self.ids_ = names
        self.labels_ = labels[of_input]
        self.probabilities_ = described.probabilities[of_input]
        self.outlier_scores_ = described.log_odds_new[of_input]
        self.is_new_ = np.isin(self.labels_, list(self._born))

    def _make_ids(self, ids: Iterable[Any] | None, n_documents: int) -> tuple[list[str], int]:
        """The ids given, numbers where there are none, and the next number."""
        names: list[str | None] = [None] * n_documents if ids is None else as_ids(ids)
        if len(names) != n_documents:
            raise ValueError(f"there are {len(names)} ids, but {n_documents} documents")
        number, missing = self._next_number, [place for place, name in enumerate(names) if name is None]
        while missing:
            made = [str(number + offset) for offset in range(len(missing))]
            taken = self._partition.kept.find(made) | (set(names) & set(made))
            free = [name for name in made if name not in taken]
            for place, name in zip(missing, free, strict=False):
                names[place] = name
            number, missing = number + len(made), missing[len(free) :]
        return cast("list[str]", names), number

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
        """The rows of the documents that `forget` lets go, rising; nothing changes."""
        self._begin()
        kept = self._partition.kept
        rows = np.flatnonzero(kept.kept)
        going = np.zeros(rows.size, bool)
        if before is not None:
            going |= kept.times[rows] < _moment(before, "before")
        if keep is not None:
            if not isinstance(keep, Integral) or isinstance(keep, bool) or keep < 0:
                raise ValueError(f"keep must be a number of documents, not {keep!r}")
            going[: max(rows.size - int(keep), 0)] = True
        if half_life is not None and rows.size:
            newest = _moment(now, "now") if now is not None else kept.times[rows].max()
            ages = np.maximum(newest - kept.times[rows], 0)
            going |= np.exp2(-ages / in_seconds(half_life, "half_life")) < self._lots(rows)
        return rows[going]

    def _lots(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """A number between 0 and 1 for each document, by its id and the seed."""
        lots, ids = np.empty(rows.size), self._partition.kept.ids
        for place, row in enumerate(rows.tolist()):
            name = ids[row]
            if name not in self._lot_of:
                keyed = f"{self._seed} {name}".encode("utf-8", "surrogatepass")
                digest = hashlib.blake2b(keyed, digest_size=8).digest()
                self._lot_of[name] = (int.from_bytes(digest, "little") + 0.5) / 2.0**64
            lots[place] = self._lot_of[name]
        return lots

    def _rows_of(self, ids: Iterable[str | None]) -> NDArray[np.int64]:
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
        self._set_concentration()
        matrix, words = self._counter.count(as_batch(X)[0], learn=False)
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
        self._partition = StreamPartition(float(self.beta))
        self._seed = seed_from(self.random_state)
        self._next_number = 0  # to be given out as an id
        self.events_ = []
        self._start_anew()

    def _start_anew(self) -> None:
        self._counter = BatchCounter(self.tokenizer)
        self._n_batches = 0
        self._watch = GrowthWatch(int(self.growth_window))
        self._names = {}
        self._lot_of: dict[str, float] = {}
        self._born = set()


def _as_seconds(timestamps: Any, n_documents: int) -> NDArray[np.int64]:
    """Times in seconds since 1970; now where there is none."""
    now = np.int64(time.time())
    if timestamps is None:
        return np.full(n_documents, now)
    times = parse_times(timestamps, "timestamps")
    if times.size != n_documents:
        raise ValueError(f"there are {times.size} timestamps, but {n_documents} documents")
    return np.where(np.isnat(times), now, times.astype(np.int64))


def _moment(value: Any, what: str) -> int:
    """A time in seconds since 1970."""
    moment = parse_times([value], what)[0]
    if np.isnat(moment):
        raise ValueError(f"{what} must be a time such as 2024-03-04, not {value!r}")
    return int(moment.astype(np.int64))

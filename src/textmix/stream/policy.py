"""What a stream forgets: which documents are due, how many it keeps by itself, and how many go at once."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmix.corpus.times import parse_times
from textmix.stream.documents import KeptDocuments

if TYPE_CHECKING:
    from textmix.stream.clusterer import StreamClusterer

log = logging.getLogger("textmix.stream")

MAX_KEEP = 10**12
STEPS = 1000  # of a half-life: the documents of one step, 0.07 % of all, may stay for so much longer
SHORTEST, LONGEST = 0.001, 10_000 * 365.25 * 86400  # seconds: a millisecond, 10,000 years

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smhdw])\s*")


@dataclass(frozen=True)
class Policy:
    """What is forgotten after each batch; None: nothing for that reason.

    Parameters
    ----------
    keep
        The number of documents that stay, the last to come.
    max_age
        Documents that are older go: "30d", "12h", "90m", "45s", or a number of seconds. Kept as seconds.
    half_life
        The age at which half of the documents have gone, by chance; written the same way.
    """

    keep: int | None = None
    max_age: Any = None
    half_life: Any = None

    def __post_init__(self) -> None:
        if self.keep is not None:
            is_number = isinstance(self.keep, Integral) and not isinstance(self.keep, bool)
            if not is_number or not 1 <= self.keep <= MAX_KEEP:
                raise ValueError(f"keep must be a number of documents, 1 to {MAX_KEEP:,}, not {str(self.keep)[:40]!r}")
            object.__setattr__(self, "keep", int(self.keep))
        for name in ("max_age", "half_life"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else in_seconds(value, name))


def in_seconds(duration: str | float | timedelta | np.timedelta64, what: str) -> float:
    """A duration in seconds; `what` names it in the error message. What is written needs a unit."""
    seconds = float("nan")
    if isinstance(duration, str):
        match = _WRITTEN.fullmatch(duration)
        seconds = float(match.group(1)) * _UNITS[match.group(2)] if match else seconds
    elif isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, np.timedelta64):
        seconds = float(duration / np.timedelta64(1, "s"))
    elif isinstance(duration, Real) and not isinstance(duration, bool):
        seconds = float(duration)
    if not SHORTEST <= seconds <= LONGEST:
        number = "" if isinstance(duration, str) else ", or a number of seconds"
        raise ValueError(
            f'{what} must be a time such as "30d" or "12h" (units: w, d, h, m, s), from 0.001 s to 10,000 years'
            f"{number}; not {str(duration)[:40]!r}"
        )
    return seconds


class Lots:
    """A number between 0 and 1 for each document, by its id and the seed: which documents outlive a half-life."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lot_of: dict[str, float] = {}

    def draw(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """The numbers of documents."""
        for id in ids:
            if id not in self._lot_of:
                keyed = f"{self._seed} {id}".encode("utf-8", "surrogatepass")
                digest = hashlib.blake2b(keyed, digest_size=8).digest()
                self._lot_of[id] = (int.from_bytes(digest, "little") + 0.5) / 2.0**64
        return np.array([self._lot_of[id] for id in ids], dtype=np.float64)

    def discard(self, ids: Iterable[str]) -> None:
        """Forget the numbers of documents that are gone."""
        for id in ids:
            self._lot_of.pop(id, None)


def find_due(
    documents: KeptDocuments, lots: Lots, *, before: Any, keep: int | None, half_life: Any, now: Any
) -> NDArray[np.int64]:
    """The rows of the documents that are to be forgotten, rising; see `StreamClusterer.forget`."""
    rows = documents.kept_rows()
    is_due = np.zeros(rows.size, bool)
    if before is not None:
        is_due |= documents.times[rows] < _moment(before, "before")
    if keep is not None:
        if not isinstance(keep, Integral) or isinstance(keep, bool) or keep < 0:
            raise ValueError(f"keep must be a number of documents, not {keep!r}")
        is_due[: max(rows.size - int(keep), 0)] = True
    if half_life is not None and rows.size:
        newest = _moment(now, "now") if now is not None else documents.times[rows].max()
        ages = np.maximum(newest - documents.times[rows], 0)
        ids = [documents.ids[row] for row in rows.tolist()]
        is_due |= np.exp2(-ages / in_seconds(half_life, "half_life")) < lots.draw(ids)
    return rows[is_due]


def _moment(value: Any, what: str) -> int:
    """A time in seconds since 1970."""
    moment = parse_times([value], what)[0]
    if np.isnat(moment):
        raise ValueError(f"{what} must be a time such as 2024-03-04, not {value!r}")
    return int(moment.astype(np.int64))


class HeldBack(NamedTuple):
    """Documents that are due to be forgotten by their age, and were kept because they are too many."""

    n_due: int
    n_documents: int

    def __str__(self) -> str:
        return (
            f"{self.n_due:,} of {self.n_documents:,} texts are old enough to be forgotten, more than half of those "
            "that were there, so they were kept; check the clock and the times of the texts. To forget them: "
            "textmix stream STATE --yes < /dev/null"
        )


def is_more_than_half(n_due: int, n_documents: int) -> bool:
    """Whether so many documents are more than may go at once."""
    return 2 * n_due > n_documents


def check_at_most_half(clusterer: StreamClusterer, due: Mapping[str, Any]) -> None:
    """ValueError if more documents would be forgotten than may go at once; arguments of `forget` say which."""
    n_due, n_documents = clusterer.rows_to_forget(**due).size, clusterer.n_documents_
    if is_more_than_half(n_due, n_documents):
        raise ValueError(
            f"{n_due:,} of {n_documents:,} texts would be forgotten, more than half at once; nothing was changed. "
            "If that is right, confirm it: --yes, in Python confirmed=True"
        )


def check_new_policy(policy: Policy, stored: Policy | None, clusterer: StreamClusterer, now: int) -> None:
    """ValueError if a policy would forget more than may go at once, and more than the stored one does."""
    due = policy_due(policy, clusterer, now)
    if stored is not None:
        new, old = (clusterer.rows_to_forget(**each).size for each in (due, policy_due(stored, clusterer, now)))
        if new <= old:
            return
    check_at_most_half(clusterer, due)


def policy_due(policy: Policy, clusterer: StreamClusterer, now: int) -> dict[str, Any]:
    """What a policy forgets without a new batch, as arguments of `forget`; ages count from the newest document."""
    newest = clusterer.reader.newest()
    return {} if newest is None else Forgetting(policy).due(clusterer.n_documents_, min(newest, now))


class Forgetting:
    """A policy at work. Which documents outlive a half-life is drawn in steps of it, since all are looked at then."""

    def __init__(self, policy: Policy, *, confirmed: bool = False) -> None:
        self.policy = policy
        self.held_back: HeldBack | None = None
        self.n_forgotten = 0  # documents so far
        self._confirmed = confirmed
        self._drawn_at: int | None = None
        self._has_warned = False

    def apply(self, clusterer: StreamClusterer, moment: int, n_new: int) -> list[str]:
        """Forget what is due after a batch of so many documents; returns the ids.

        `keep` forgets no more than have come. By age no more than half go at once, of all documents and of those that
        were there before the batch: the clock or a time may be wrong. Others are held back.
        """
        n_documents = clusterer.n_documents_
        due = self.due(n_documents, moment)
        if not due:
            return []
        rows = clusterer.rows_to_forget(**{name: due[name] for name in due if name != "keep"})
        n_old = clusterer.reader.n_before_last(rows, n_new)
        is_too_much = is_more_than_half(rows.size, n_documents) or is_more_than_half(n_old, n_documents - n_new)
        self.held_back = HeldBack(rows.size, n_documents) if is_too_much and not self._confirmed else None
        if self.held_back is not None:
            self._hold_back(self.held_back)
            due = {"keep": due.get("keep")}
        forgotten = clusterer.forget(**due)
        self.n_forgotten += len(forgotten)
        return forgotten

    def _hold_back(self, documents: HeldBack) -> None:
        self._drawn_at = None  # the next batch may forget them
        if not self._has_warned:
            log.warning("%s", documents)
            self._has_warned = True

    def due(self, n_documents: int, moment: int) -> dict[str, Any]:
        """What a clusterer with so many documents is to forget at a moment, as arguments of `forget`; {}: nothing."""
        policy = self.policy
        due: dict[str, Any] = {}
        if policy.keep is not None and n_documents > policy.keep:
            due["keep"] = policy.keep
        if policy.max_age is not None:
            due["before"] = np.datetime64(moment - int(policy.max_age), "s")
        if policy.half_life is not None and self._is_next_step(moment, policy.half_life):
            self._drawn_at = moment
            due |= {"half_life": policy.half_life, "now": np.datetime64(moment, "s")}
        return due

    def _is_next_step(self, moment: int, half_life: float) -> bool:
        return self._drawn_at is None or abs(moment - self._drawn_at) >= half_life / STEPS

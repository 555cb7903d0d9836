"""What happens to clusters while documents come and go."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

BORN, GROWS, MERGED, DIED = "born", "grows", "merged", "died"

FEWEST_TO_GROW = 10  # texts that a cluster must have got to be called fast-growing
DEVIATIONS = 5.0  # how many standard deviations more than it would get at its share of the texts before


class Event(NamedTuple):
    """Something that happened to a cluster."""

    kind: str  # "born", "grows", "merged", "died"
    cluster: int
    into: int | None  # of "merged": the cluster that it is part of now
    size: int  # texts of the cluster now; of "merged" those that it brought along; of "died" 0


class GrowthWatch:
    """Tells which clusters get many more documents than their share, in windows of so many documents.

    A cluster that had a share s of the documents when the window began expects e = s n of the next n. It grows fast
    when it gets ten or more and exceeds e by more than five times √(e + 1): the standard deviation of a Poisson number,
    and one more so that a cluster that was not there does not count at its first document. Told once a window.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._before: dict[int, float] = {}  # shares when the window began; none before the first one
        self._arrived: Counter[int] = Counter()
        self._told: set[int] = set()

    def notice(self, arrived: Mapping[int, int], sizes: Mapping[int, int]) -> list[Event]:
        """The clusters that grow fast, now that so many documents have come to each; sizes are those of all now."""
        self._arrived.update(arrived)
        n_arrived = self._arrived.total()
        growing = []
        for cluster in arrived if self._before else ():
            count = self._arrived[cluster]
            expected = self._before.get(cluster, 0.0) * n_arrived
            fast = count >= FEWEST_TO_GROW and count > expected + DEVIATIONS * math.sqrt(expected + 1.0)
            if fast and cluster not in self._told:
                self._told.add(cluster)
                growing.append(Event(GROWS, cluster, None, sizes[cluster]))
        if n_arrived >= self._window:
            self.begin(sizes)
        return growing

    def merge(self, cluster: int, into: int) -> None:
        """A cluster is part of another one now: so are its share and what came to it."""
        self._before[into] = self._before.get(into, 0.0) + self._before.pop(cluster, 0.0)
        self._arrived[into] += self._arrived.pop(cluster, 0)

    def begin(self, sizes: Mapping[int, int]) -> None:
        """Begin a window. Before the first one, of as many documents, nothing is told: everything is new then."""
        total = sum(sizes.values())
        self._before = {cluster: size / total for cluster, size in sizes.items()}
        self._arrived.clear()
        self._told.clear()

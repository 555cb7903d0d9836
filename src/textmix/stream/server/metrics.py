"""Numbers for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from textmix.stream.server.writer import Writer

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0)
_METHODS = frozenset({"GET", "POST", "DELETE"})


class Metrics:
    """A registry of our own, so that several servers can be in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "textmix_requests", "Requests answered.", ["method", "route", "code"], registry=self._registry
        )
        self._batch_seconds = Histogram(
            "textmix_batch_seconds", "Time of a transaction, waiting aside.", buckets=SECONDS, registry=self._registry
        )
        self._documents = Gauge("textmix_documents", "Documents kept.", registry=self._registry)
        self._clusters = Gauge("textmix_clusters", "Clusters there are.", registry=self._registry)
        self._queue = Gauge("textmix_queue_length", "Requests that wait.", registry=self._registry)

    def watch(self, writer: Writer) -> None:
        """Take the stream's numbers from its writer whenever they are asked for."""
        self._documents.set_function(lambda: writer.state.n_documents)
        self._clusters.set_function(lambda: writer.state.n_clusters)
        self._queue.set_function(lambda: writer.n_waiting)

    def count_request(self, method: str, route: str | None, code: int) -> None:
        """Count an answer; only routes that there are become labels, so that there are few."""
        self._requests.labels(method if method in _METHODS else "other", route or "other", str(code)).inc()

    def measure_batch(self, seconds: float) -> None:
        """Count a transaction with its time."""
        self._batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """All numbers as Prometheus reads them."""
        return generate_latest(self._registry)

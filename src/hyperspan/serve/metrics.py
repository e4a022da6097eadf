"""Counters and timings of a server, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


class Metrics:
    """The metrics of one server, and of its process; a program may have several servers."""

    def __init__(self) -> None:
        disable_created_metrics()  # a time for each counter, which nothing reads
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = self._counter("hyperspan_requests_total", "Requests answered.", "route", "status")
        self.seconds = self._histogram("hyperspan_request_seconds", "Seconds from request to answer.", SECONDS, "route")
        self.shed = self._counter("hyperspan_shed_total", "Requests turned away because of too much work.", "reason")
        self.texts = self._counter("hyperspan_texts_total", "Texts annotated.", "model")
        self.words = self._counter("hyperspan_words_total", "Words annotated.", "model")
        self.batch_jobs = self._histogram("hyperspan_batch_requests", "Requests computed together.", SIZES)
        self.batch_words = self._histogram("hyperspan_batch_words", "Words computed together.", SIZES)
        self.batch_seconds = self._histogram("hyperspan_batch_seconds", "Seconds that computing them took.", SECONDS)

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a number that is computed whenever it is read."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)

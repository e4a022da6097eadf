"""Counters and timings of a server, in the text format of Prometheus."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
Labels = tuple[str, ...]


class Counter:
    """A number that only grows, for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()):
        self.name, self.text, self.labels = name, text, tuple(labels)
        self.values: defaultdict[Labels, float] = defaultdict(float)
        self.lock = threading.Lock()
        if not labels:
            self.values[()] = 0.0

    def add(self, amount: float = 1.0, *labels: str) -> None:
        with self.lock:
            self.values[labels] += amount

    def lines(self) -> Iterator[str]:
        with self.lock:
            values = dict(self.values)
        for labels, value in sorted(values.items()):
            yield f"{self.name}{_labelled(self.labels, labels)} {_number(value)}"


class Gauge:
    """A number that is computed on request."""

    kind = "gauge"

    def __init__(self, name: str, text: str, value: Callable[[], float]):
        self.name, self.text, self.value = name, text, value

    def lines(self) -> Iterator[str]:
        yield f"{self.name} {_number(self.value())}"


class Histogram:
    """The number of values up to each bound, for each combination of labels."""

    kind = "histogram"

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()):
        self.name, self.text, self.bounds, self.labels = name, text, tuple(bounds), tuple(labels)
        self.counts: defaultdict[Labels, list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
        self.sums: defaultdict[Labels, float] = defaultdict(float)
        self.lock = threading.Lock()

    def observe(self, value: float, *labels: str) -> None:
        with self.lock:
            self.counts[labels][bisect_left(self.bounds, value)] += 1
            self.sums[labels] += value

    def lines(self) -> Iterator[str]:
        with self.lock:
            counted = [(labels, list(counts), self.sums[labels]) for labels, counts in sorted(self.counts.items())]
        for labels, counts, total in counted:
            reached = 0
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), counts, strict=True):
                reached += count
                yield f"{self.name}_bucket{_labelled((*self.labels, 'le'), (*labels, bound))} {reached}"
            yield f"{self.name}_sum{_labelled(self.labels, labels)} {_number(total)}"
            yield f"{self.name}_count{_labelled(self.labels, labels)} {reached}"


class Metrics:
    """All metrics of a server."""

    def __init__(self) -> None:
        self.requests = Counter("hyperspan_requests_total", "Requests answered.", ("route", "status"))
        self.seconds = Histogram("hyperspan_request_seconds", "Seconds from request to answer.", SECONDS, ("route",))
        self.shed = Counter("hyperspan_shed_total", "Requests turned away because of too much work.", ("reason",))
        self.texts = Counter("hyperspan_texts_total", "Texts annotated.", ("model",))
        self.words = Counter("hyperspan_words_total", "Words annotated.", ("model",))
        self.batch_jobs = Histogram("hyperspan_batch_requests", "Requests computed together.", SIZES)
        self.batch_words = Histogram("hyperspan_batch_words", "Words computed together.", SIZES)
        self.batch_seconds = Histogram("hyperspan_batch_seconds", "Seconds that computing them took.", SECONDS)
        self.gauges = [Gauge("process_resident_memory_bytes", "Memory that the process holds.", resident_bytes)]

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        self.gauges.append(Gauge(name, text, value))

    def render(self) -> str:
        """All metrics in the text format of Prometheus."""
        own = [value for value in vars(self).values() if isinstance(value, (Counter, Histogram))]
        lines: list[str] = []
        for metric in (*own, *self.gauges):
            lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(lines) + "\n"


def resident_bytes() -> float:
    """The current memory use of this process; 0 if the system does not report it."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0.0


def _labelled(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = zip(names, values, strict=True)
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))

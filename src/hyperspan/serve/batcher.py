"""Batch sentences of all requests.

One thread computes. Whenever it becomes free, it takes waiting work up to a fixed amount and computes it together: a
lone request never waits for others, and under load many are computed together. Requests that got least so far come
first, so that a short request does not wait for a long one. A sentence too long for a round is computed alone, and
never two of them in a row while shorter ones wait.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hyperspan.errors import EXIT_EXCEPTIONS
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.decoding import predict
from hyperspan.serve.errors import overloaded, shutting_down
from hyperspan.serve.metrics import Metrics
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from hyperspan.runtime.documents import SentencePrediction
    from hyperspan.runtime.options import DecodingOptions

ROUND = 4_000
"""The amount of work per round: enough to fill the kernels, and short."""
MAX_SLICE = 1_000
"""The share of a round for one request while others wait; a sentence that needs more is computed alone."""
USUAL_WIDTH = 25
"""The unit of work is a word of a sentence of this length; in longer sentences a word begins more spans."""
SETS_A_SENTENCE = 50
"""This many best sets of a sentence take as long as its mentions alone."""


@dataclass(eq=False)
class BatchJob:
    """The sentences of one request, and the predictions so far."""

    name: str
    """The name of the model, for metrics."""
    annotator: Annotator
    sentences: Sequence[Sentence]
    options: DecodingOptions
    constraints: Mapping[int, Constraints] = field(default_factory=dict)
    done: Future[list[SentencePrediction]] = field(default_factory=Future)
    found: list[SentencePrediction] = field(default_factory=list)

    def __post_init__(self) -> None:
        factor = 1 + self.options.top_k / SETS_A_SENTENCE
        self.work = [factor * self._work(len(sentence)) for sentence in self.sentences]
        self.size = self.left = sum(self.work)

    @property
    def is_heavy(self) -> bool:
        """Whether the next sentence is too long to be computed with others."""
        return self.work[len(self.found)] > MAX_SLICE

    def _work(self, words: int) -> float:
        return words * max(1.0, min(words, self.annotator.model.max_width or words) / USUAL_WIDTH)


@dataclass
class JobSlice:
    """The sentences [first, last) of a job, computed in one round."""

    job: BatchJob
    first: int
    last: int

    @property
    def work(self) -> float:
        return sum(self.job.work[self.first : self.last])

    @property
    def finishes(self) -> bool:
        return self.last == len(self.job.sentences)

    def extend(self, budget: float) -> float:
        """Add sentences until the budget is used up or one is too long; return the amount of work added."""
        taken = 0.0
        while not self.finishes and taken < budget and self.job.work[self.last] <= MAX_SLICE:
            taken += self.job.work[self.last]
            self.last += 1
        return taken


class Batcher:
    """The waiting jobs, and the thread that computes them."""

    def __init__(self, max_queued: int, metrics: Metrics):
        self.max_queued, self.metrics = max_queued, metrics
        self.speed = 10_000.0
        """Recent words per second."""
        self._waiting: deque[BatchJob] = deque()
        self._computing: list[JobSlice] = []
        self._accepted: set[BatchJob] = set()
        self._was_heavy = False
        self._changed = threading.Condition()
        self._closed = False
        context = copy_context()  # so that kernels.only holds in the thread too
        self._thread = threading.Thread(target=context.run, args=(self._work,), name="hyperspan-batcher", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def jobs(self) -> int:
        return len(self._waiting)

    @property
    def queued(self) -> float:
        """The number of words that wait or are being computed; long sentences and best sets count for more."""
        return sum(job.left for job in list(self._accepted))

    def ahead(self, size: float) -> float:
        """The work done before a job of this size: as much of each other request, since those that got least come
        first.
        """
        most = max(size, MAX_SLICE)
        return sum(min(job.left, most) for job in list(self._accepted))

    def is_full(self, size: float) -> bool:
        """Whether a job of this size would wait longer than the limit."""
        return self.ahead(size) >= self.max_queued

    def check_capacity(self, size: float) -> None:
        """Raise an error if the queue has no capacity for a job of this size."""
        if self.is_full(size):
            self.metrics.shed.labels("queue").inc()
            ahead = self.ahead(size)
            raise overloaded(
                f"{ahead:,.0f} words are waiting already, and the limit is {self.max_queued:,}; send the request again later",
                ahead / self.speed,
            )

    def submit(self, job: BatchJob) -> Future[list[SentencePrediction]]:
        """Put a job into the queue, or raise an error if there is no capacity."""
        if not job.sentences:
            job.done.set_result([])
            return job.done
        with self._changed:
            if self._closed:
                raise shutting_down()
            self.check_capacity(job.size)
            self._accepted.add(job)
            self._waiting.append(job)
            self._changed.notify()
        return job.done

    def cancel(self, job: BatchJob) -> None:
        """Remove a job from the queue; computations in progress are discarded."""
        with self._changed:
            job.done.cancel()
            if job in self._waiting:
                self._waiting.remove(job)
                self._accepted.discard(job)

    def abort(self) -> None:
        """Accept nothing new and abandon the rest; computations in progress are discarded."""
        with self._changed:
            self._closed = True
            given_up = [*self._waiting, *(part.job for part in self._computing)]
            self._waiting.clear()
            self._changed.notify()
        for job in given_up:
            with suppress(InvalidStateError):  # done or cancelled meanwhile
                job.done.set_exception(shutting_down())

    def join(self, seconds: float) -> None:
        """Wait for the thread to end after it is closed, at most this many seconds."""
        self._thread.join(seconds)

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                parts = self._computing = self._take()
            start = time.perf_counter()
            for group in _group_by_options(parts):
                self._compute(group)
            self._observe(parts, time.perf_counter() - start)

    def _take(self) -> list[JobSlice]:
        """Take the next work; its jobs leave the queue."""
        first, light = self._waiting[0], [job for job in self._waiting if not job.is_heavy]
        self._was_heavy = first.is_heavy and not (light and self._was_heavy)
        parts = [JobSlice(first, len(first.found), len(first.found) + 1)] if self._was_heavy else _round(light)
        taken = {part.job for part in parts}
        self._waiting = deque(job for job in self._waiting if job not in taken)
        return parts

    def _compute(self, parts: Sequence[JobSlice]) -> None:
        """Compute several slices together; if that fails, each alone, so that no request fails because of another."""
        try:
            found = self._find(parts)
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:  # native code raises more than Exception
            if len(parts) > 1:
                for part in parts:
                    self._compute([part])
            else:
                self._complete(parts[0], [], error)
            return
        for part in parts:
            self._complete(part, [next(found) for _ in range(part.first, part.last)])

    def _find(self, parts: Sequence[JobSlice]):
        sentences = [sentence for part in parts for sentence in part.job.sentences[part.first : part.last]]
        job = parts[0].job
        constraints = {
            index - parts[0].first: known
            for index, known in job.constraints.items()
            if parts[0].first <= index < parts[0].last
        }
        return iter(predict(job.annotator.model, sentences, job.options, constraints))

    def _complete(self, part: JobSlice, found: list[SentencePrediction], error: BaseException | None = None) -> None:
        """Store the predictions, complete the job's future, or put the job at the end of the queue."""
        job = part.job
        job.found += found
        with self._changed:
            over = error is not None or part.finishes or job.done.done()
            job.left -= part.work
            if over:
                self._accepted.discard(job)
            else:
                self._waiting.append(job)
        if over:
            with suppress(InvalidStateError):  # cancelled or abandoned meanwhile
                job.done.set_result(job.found) if error is None else job.done.set_exception(error)

    def _observe(self, parts: Sequence[JobSlice], seconds: float) -> None:
        words = sum(len(sentence) for part in parts for sentence in part.job.sentences[part.first : part.last])
        self.metrics.batch_jobs.observe(len(parts))
        self.metrics.batch_words.observe(words)
        self.metrics.batch_seconds.observe(seconds)
        self.metrics.words.labels(parts[0].job.name).inc(words)
        now = sum(part.work for part in parts) / max(seconds, 1e-6)
        self.speed = 0.8 * self.speed + 0.2 * now


def _round(jobs: Sequence[BatchJob]) -> list[JobSlice]:
    """Slices of the job that has waited longest, and of those with the same model that got least so far."""
    first, *others = (job for job in jobs if job.annotator is jobs[0].annotator)
    others.sort(key=lambda job: job.size - job.left)
    parts = [JobSlice(job, len(job.found), len(job.found)) for job in (first, *others)]
    budget, taken = float(ROUND), 1.0
    while budget > 0 and taken:
        taken = 0.0
        for part in parts:
            taken += part.extend(min(MAX_SLICE, budget - taken))
        budget -= taken
    return [part for part in parts if part.last > part.first]


def _group_by_options(parts: Sequence[JobSlice]) -> list[list[JobSlice]]:
    """Group slices with the same options. Constraints apply to a single text."""
    groups: dict[object, list[JobSlice]] = {}
    for part in parts:
        groups.setdefault((part.job.options, id(part.job) if part.job.constraints else None), []).append(part)
    return list(groups.values())

"""Sentences of all callers, computed together.

One thread computes. Whenever it becomes free it takes what waits, up to a fixed amount of work, and computes that at
once: a lone request is never held back for others to come, and under load many are computed together. Those who got
least so far come first, so that a short request does not wait until a long one is done. A sentence that is too long for
a round is computed alone, and never two of them while shorter ones wait.
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
from hyperspan.inference.annotator import Annotator
from hyperspan.inference.constraints import Constraints
from hyperspan.serve.metrics import Metrics
from hyperspan.serve.problems import overloaded, shutting_down
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from hyperspan.inference.assembly import SentencePrediction
    from hyperspan.inference.options import DecodingOptions

ROUND = 4_000
"""The work that is done at a time: enough to fill the kernels, and soon over."""
MAX_SLICE = 1_000
"""What one request gets of a round while others wait; a sentence that is more work is computed alone."""
USUAL_WIDTH = 25
"""The unit of work is a word of a sentence of this length; in longer sentences a word begins more spans."""
SETS_A_SENTENCE = 50
"""This many best sets of a sentence take as long as its mentions alone."""


@dataclass(eq=False)
class BatchJob:
    """The sentences of one request, and what was found in them."""

    model: str
    sentences: Sequence[Sentence]
    options: DecodingOptions
    constraints: Mapping[int, Constraints]
    max_width: int | None = None
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
        return words * max(1.0, min(words, self.max_width or words) / USUAL_WIDTH)


@dataclass
class JobSlice:
    """The sentences of a job that are computed in a round: those from `first` to before `last`."""

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
        """Takes on more sentences until the budget is used up or one is too long; returns how much was taken."""
        taken = 0.0
        while not self.finishes and taken < budget and self.job.work[self.last] <= MAX_SLICE:
            taken += self.job.work[self.last]
            self.last += 1
        return taken


class Batcher:
    """The jobs that wait, and the thread that works on them."""

    def __init__(self, annotators: Mapping[str, Annotator], max_queued: int, metrics: Metrics):
        self.annotators, self.max_queued, self.metrics = annotators, max_queued, metrics
        self.speed = 10_000.0
        """Words a second, of late."""
        self._waiting: deque[BatchJob] = deque()
        self._computing: list[JobSlice] = []
        self._accepted: set[BatchJob] = set()
        self._was_heavy = False
        self._changed = threading.Condition()
        self._closed = False
        context = copy_context()  # so that kernels.only holds there, too
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
        """Words that wait or are being computed; long sentences and best sets count for more."""
        return sum(job.left for job in list(self._accepted))

    def ahead(self, size: float) -> float:
        """The work that is done before a job of this size: of every other request as much, since those who got least
        come first."""
        most = max(size, MAX_SLICE)
        return sum(min(job.left, most) for job in list(self._accepted))

    def is_full(self, size: float) -> bool:
        """Whether a job of this size would have to wait for more than the limit."""
        return self.ahead(size) >= self.max_queued

    def check_capacity(self, size: float) -> None:
        """Raises an error if the queue has no place for a job of this size."""
        if self.is_full(size):
            self.metrics.shed.add(1, "queue")
            ahead = self.ahead(size)
            raise overloaded(
                f"{ahead:,.0f} words are waiting already, and the limit is {self.max_queued:,}; send the request again later",
                ahead / self.speed,
            )

    def submit(self, job: BatchJob) -> Future[list[SentencePrediction]]:
        """Puts a job into the queue, or raises an error if there is no place."""
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
        """Takes a job out of the queue if it is there; what is being computed of it is thrown away."""
        with self._changed:
            job.done.cancel()
            if job in self._waiting:
                self._waiting.remove(job)
                self._accepted.discard(job)

    def abort(self) -> None:
        """Takes nothing new and gives up the rest; what is being computed is thrown away."""
        with self._changed:
            self._closed = True
            given_up = [*self._waiting, *(part.job for part in self._computing)]
            self._waiting.clear()
            self._changed.notify()
        for job in given_up:
            with suppress(InvalidStateError):  # done or cancelled meanwhile
                job.done.set_exception(shutting_down())

    def join(self, seconds: float) -> None:
        """Waits for the thread to end, which it does when it is closed, for at most these seconds."""
        self._thread.join(seconds)

    # -- in the thread
    # ---------------------------------------------------------------------------------------------------

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
        """What is computed next; those jobs leave the queue."""
        first, light = self._waiting[0], [job for job in self._waiting if not job.is_heavy]
        self._was_heavy = first.is_heavy and not (light and self._was_heavy)
        parts = [JobSlice(first, len(first.found), len(first.found) + 1)] if self._was_heavy else _round(light)
        taken = {part.job for part in parts}
        self._waiting = deque(job for job in self._waiting if job not in taken)
        return parts

    def _compute(self, parts: Sequence[JobSlice]) -> None:
        """Computes some parts together; if that fails, each alone, so that nobody suffers from what others sent."""
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
        return iter(self.annotators[job.model].find(sentences, job.options, constraints))

    def _complete(self, part: JobSlice, found: list[SentencePrediction], error: BaseException | None = None) -> None:
        """Keeps what was found, answers whoever waits for it, or puts the job at the end of the queue."""
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
            with suppress(InvalidStateError):  # cancelled or given up meanwhile
                job.done.set_result(job.found) if error is None else job.done.set_exception(error)

    def _observe(self, parts: Sequence[JobSlice], seconds: float) -> None:
        words = sum(len(sentence) for part in parts for sentence in part.job.sentences[part.first : part.last])
        self.metrics.batch_jobs.observe(len(parts))
        self.metrics.batch_words.observe(words)
        self.metrics.batch_seconds.observe(seconds)
        self.metrics.words.add(words, parts[0].job.model)
        now = sum(part.work for part in parts) / max(seconds, 1e-6)
        self.speed = 0.8 * self.speed + 0.2 * now


def _round(jobs: Sequence[BatchJob]) -> list[JobSlice]:
    """Shares of the job that has waited longest, and of those with the same model that got least so far."""
    first, *others = (job for job in jobs if job.model == jobs[0].model)
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
    """The parts in groups of which the same is wanted. What is known of a text concerns it alone."""
    groups: dict[object, list[JobSlice]] = {}
    for part in parts:
        groups.setdefault((part.job.options, id(part.job) if part.job.constraints else None), []).append(part)
    return list(groups.values())

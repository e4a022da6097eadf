"""The plain engine with several processes: workers split texts, make batches and write shards; this process computes.

This keeps one GPU busy. A worker that dies is replaced, and its shard is repeated; if this process dies, its workers
end without committing anything.
"""

from __future__ import annotations

import contextvars
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from hyperspan.bulk.compute import ModelComputer, computer_of
from hyperspan.bulk.engine import Backlog
from hyperspan.bulk.job import Job
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.remote import WINDOW, Seconds
from hyperspan.bulk.requests import Answer, BatchRequest
from hyperspan.bulk.shards import JobSettings, ShardResult
from hyperspan.bulk.worker import Finished, ShardTask, WorkerStart
from hyperspan.errors import HyperspanError, InputError, JobError
from hyperspan.runtime.folders import folder_of

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator

GPU_THREADS = 4
"""The number of computing threads per GPU, each with its own stream: an LSTM over few rows leaves most of it idle."""
PATIENCE = 0.5
"""The number of seconds without a message after which failures of computing threads are checked."""


def cpu_count() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class PoolStatistics:
    """The time spent by all workers and all computing threads, in seconds."""

    begun: float = 0.0
    """When the first worker was given a shard, by `time.perf_counter`."""
    ended: float = 0.0
    """When the last shard was done."""
    batches: int = 0
    words: int = 0
    computing: float = 0.0
    launching: float = 0.0
    """The part of computing spent on launching work on a GPU."""
    idle: float = 0.0
    """The time that threads waited for requests."""
    answering: float = 0.0
    workers: Seconds = field(default_factory=Seconds)


def threads_on(device: str) -> int:
    """The number of computing threads for a device."""
    return GPU_THREADS if device.startswith("cuda") else 1


def computer_and_start(
    annotator: Annotator, device: str, folder: str, settings: JobSettings, output: str, job: str
) -> tuple[ModelComputer, WorkerStart]:
    """The computer for workers, and the data they start with. `folder` is that of the model."""
    computer = computer_of(annotator.model, annotator.options(**settings.annotator_options))
    window = WINDOW if device.startswith("cuda") else annotator.window
    return computer, WorkerStart(computer.facts(folder), settings, output, job, window)


class PoolEngine:
    """This process with the model, and workers without one."""

    def __init__(self, device: str = "cpu", workers: int | None = None):
        if workers is not None and workers < 1:
            raise InputError(f"there are {workers} workers to annotate with; ask for at least 1")
        self.device = device
        self.workers = workers or max(cpu_count() - 1, 1)
        self.threads = threads_on(device)
        self.statistics = PoolStatistics()

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[ShardResult]:
        folder = str(folder_of(job.model["name"]))
        computer, start = computer_and_start(annotator, self.device, folder, job.settings, job.output.name, job.id)
        pool = _Pool(job, start, ComputingThreads(computer, self.threads, self.statistics))
        pool.fill(self.workers)
        try:
            computer.warm_up()
            yield from pool.run(self.workers)
        finally:
            pool.close()


class WorkerProcess:
    """A worker, and its current shard."""

    def __init__(self, start: WorkerStart):
        if os.name != "posix":
            raise InputError(
                "several processes for one model need Linux or macOS; use the device cpu, without --workers"
            )
        ours, theirs = Pipe()
        start_worker = "from hyperspan.bulk.worker import main; main()"
        command = [sys.executable, "-c", start_worker, str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self.connection: Connection = ours
        self.started = False
        self.shard: Shard | None = None
        self._closing = threading.Lock()  # so that no answer goes to a new owner of the same descriptor
        with suppress(OSError):  # it has died; reading from it will show that
            ours.send(start)

    def give(self, task: ShardTask) -> None:
        self.shard = task.shard
        with suppress(OSError):
            self.connection.send(task)

    def answer(self, answer: Answer) -> None:
        with self._closing, suppress(OSError):
            self.connection.send(answer)

    def close(self) -> None:
        """End the worker, which commits nothing more."""
        self.process.kill()
        self.process.wait()
        with self._closing:
            self.connection.close()


class ComputingThreads:
    """Threads that compute the requests of workers."""

    def __init__(self, computer: ModelComputer, threads: int, statistics: PoolStatistics):
        self.computer, self.statistics = computer, statistics
        self.failed: BaseException | None = None
        self._asked: SimpleQueue[tuple[WorkerProcess, BatchRequest] | None] = SimpleQueue()
        self._counting = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._compute,), daemon=True)
            for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, member: WorkerProcess, request: BatchRequest) -> None:
        self._asked.put((member, request))

    def serve(self, member: WorkerProcess) -> Any:
        """Compute the requests of a worker until it sends another message; return that, or one of `LOST` if it has
        died.
        """
        while True:
            while not member.connection.poll(PATIENCE):
                if self.failed is not None:
                    raise self.failed
            message = member.connection.recv()
            if not isinstance(message, BatchRequest):
                return message
            self.ask(member, message)

    def _compute(self) -> None:
        while True:
            begun = time.perf_counter()
            asked = self._asked.get()
            if asked is None or self._closed:
                return
            member, request = asked
            ready = time.perf_counter()
            try:
                answer = self.computer.answer(request)
            except BaseException as error:
                self.failed = error
                return
            computed = time.perf_counter()
            member.answer(answer)
            self._count(request.words, ready - begun, computed - ready, time.perf_counter() - computed)

    def _count(self, words: int, idle: float, computing: float, answering: float) -> None:
        with self._counting:
            counts = self.statistics
            counts.batches, counts.words = counts.batches + 1, counts.words + words
            counts.idle, counts.computing = counts.idle + idle, counts.computing + computing
            counts.launching = self.computer.launching
            counts.answering += answering

    def close(self) -> None:
        self._closed = True
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            thread.join()


@dataclass
class _Pool:
    """Workers and their shards."""

    job: Job
    start: WorkerStart
    computing: ComputingThreads
    members: dict[Connection, WorkerProcess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.backlog = Backlog(deque(self.job.missing()))

    def run(self, workers: int) -> Iterator[ShardResult]:
        while self.backlog.waiting or any(member.shard for member in self.members.values()):
            for connection in wait(list(self.members), PATIENCE):
                assert isinstance(connection, Connection)
                done = self._heard(self.members[connection])
                self.fill(workers)
                if done is not None:
                    yield done
            if self.computing.failed is not None:
                raise self.computing.failed
        self.backlog.check()

    def fill(self, workers: int) -> None:
        """Give shards to idle workers, and start workers while there are shards for them."""
        counts = self.computing.statistics
        for member in self.members.values():
            if self.backlog.waiting and member.started and member.shard is None:
                shard = self.backlog.waiting.popleft()
                counts.begun = counts.begun or time.perf_counter()
                member.give(ShardTask(shard))
        starting = sum(not member.started for member in self.members.values())
        for _ in range(min(workers - len(self.members), len(self.backlog.waiting) - starting)):
            member = WorkerProcess(self.start)
            self.members[member.connection] = member

    def _heard(self, member: WorkerProcess) -> ShardResult | None:
        """Handle a message of a worker: it has started, a request, or the result of its shard."""
        try:
            message = member.connection.recv()
        except (EOFError, OSError):
            self._remove(member)
            return None
        if isinstance(message, BatchRequest):
            self.computing.ask(member, message)
            return None
        done = None
        if isinstance(message, Finished):
            done = message.done
            counts = self.computing.statistics
            counts.ended, total = time.perf_counter(), counts.workers
            for name, seconds in asdict(message.seconds).items():
                setattr(total, name, getattr(total, name) + seconds)
        elif isinstance(message, BaseException):
            self.backlog.fail(cause_of(message))
        else:
            member.started = True
            self.backlog.failed_starts = 0
        member.shard = None
        return done

    def _remove(self, member: WorkerProcess) -> None:
        """Remove a worker that has died; its shard is repeated."""
        del self.members[member.connection]
        member.close()
        if member.shard is not None or not member.started:
            self.backlog.lose(member.shard, f"exit status {member.process.returncode}")

    def close(self) -> None:
        for member in self.members.values():
            member.close()
        self.computing.close()


def cause_of(error: BaseException) -> Exception:
    if isinstance(error, (HyperspanError, OSError)):
        return error
    return JobError(f"a worker failed: {type(error).__name__}: {error}")

"""Processes of this machine that annotate shards, each with a model of its own and, on a GPU, its own CUDA context.

The parent sends shards to their standard input and reads results from their standard output, as pickles.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from hyperspan.bulk.plan import Shard
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.shards import JobSettings, ShardResult, WorkerDiedError
from hyperspan.bulk.workers import OnWords, annotating, annotator_on
from hyperspan.errors import EXIT_EXCEPTIONS, HyperspanError, InputError, JobError, require_torch
from hyperspan.kernels.choice import environment
from hyperspan.kernels.threads import cpu_count, thread_count, use_threads
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import folder_of
from hyperspan.runtime.loading import check_device

if TYPE_CHECKING:
    from hyperspan.bulk.job import Job

STARTS = 4
"""The maximum attempts for a worker that does not start."""
GPU_BYTES = 6 * 2**30
"""The memory of a GPU for each process: its CUDA context and a large batch."""
GOODBYE = 10.0
"""The seconds that an idle worker has to end by itself."""
LOST = (EOFError, OSError, pickle.UnpicklingError)
"""Errors of a stream whose other end is gone."""
_log = logging.getLogger("hyperspan")


@dataclass(frozen=True)
class WorkerStart:
    """What a worker process needs to know."""

    path: list[str]
    """Where Python looks for modules."""
    model: str
    device: str
    threads: int
    settings: JobSettings
    output: str
    job: str


class Processes:
    """Worker processes, which start when there are shards for them."""

    device = "cpu"  # the process of the job only checks options

    def __init__(self, device: str = "cpu", workers: int | None = None):
        if workers is not None and workers < 0:
            raise InputError(f"there are {workers} workers to annotate with; ask for at least 0")
        most = _most_on(device)
        self.count, self.worker_device = workers or most, device
        if device.startswith("cuda") and self.count > 1 and not is_mps_on():
            _log.warning(
                f"hyperspan: {self.count} processes share the GPU, which computes for one at a time; NVIDIA's MPS, "
                "switched on with nvidia-cuda-mps-control -d, is up to twice as fast"
            )
        self._idle: list[WorkerProcess] = []
        self._all: list[WorkerProcess] = []
        self._changing = threading.Lock()
        self._closed = False

    def start(self, job: Job, annotator: Annotator) -> None:
        self._start = WorkerStart(
            sys.path,
            str(folder_of(job.model["name"]).resolve()),
            self.worker_device,
            max(min(thread_count(), cpu_count()) // self.count, 1),
            job.settings,
            job.output.name,
            job.id,
        )
        self._inherited, self._environment = job.output.inherited, os.environ | environment()

    def annotate(self, shard: Shard, on_words: OnWords) -> ShardResult:
        worker = self._take()
        try:
            return worker.annotate(shard, on_words)
        finally:
            if worker.is_alive:
                self._idle.append(worker)
            else:
                worker.close()

    def _take(self) -> WorkerProcess:
        """A worker that has started: an idle one or a new one."""
        with suppress(IndexError):
            return self._idle.pop()
        reason = ""
        for _ in range(STARTS):
            with self._changing:
                if self._closed:
                    raise WorkerDiedError("the job has ended")
                worker = WorkerProcess(self._start, self._inherited, self._environment)
                self._all.append(worker)
            try:
                worker.wait_until_started()
            except WorkerDiedError as error:
                worker.close()
                reason = str(error)
            else:
                return worker
        raise JobError(f"workers cannot start ({reason}); see that hyperspan is installed well, or ask for 0 workers")

    def close(self) -> None:
        with self._changing:
            self._closed = True
        for worker in self._all:
            worker.end(at_once=worker not in self._idle)
        for worker in self._all:
            worker.close()


def _most_on(device: str) -> int:
    """The number of workers by default; an error if there is no such device."""
    if device == "cpu":
        return 1
    require_torch(f"the device {device!r}")
    if device.startswith("cuda"):
        return processes_for(_gpu_memory(device), cpu_count())
    check_device(device)
    return 1


def processes_for(memory: int, cpus: int) -> int:
    """The number of processes for a GPU with so many bytes of memory on a machine with so many CPUs.

    >>> processes_for(139 * 2**30, 16), processes_for(24 * 2**30, 16), processes_for(4 * 2**30, 2)
    (15, 4, 1)
    """
    return max(min(memory // GPU_BYTES, cpus - 1), 1)


def _gpu_memory(device: str) -> int:
    """The memory of a GPU in bytes, found without a CUDA context in this process; an error if there is no such GPU."""
    import torch

    try:
        return torch.cuda.get_device_properties(device).total_memory
    except (RuntimeError, AssertionError, ValueError):
        check_device(device)
        raise


def is_mps_on() -> bool:
    """Whether NVIDIA's Multi-Process Service runs, which lets a GPU compute for several processes at a time."""
    return Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), "control").exists()


class WorkerProcess:
    """A worker process as its parent sees it: shards go to its standard input, results come from its output."""

    def __init__(self, start: WorkerStart, inherited: tuple[int, ...], environment: dict[str, str]):
        command = [sys.executable, "-P", "-c", _CODE]
        options: dict[str, Any] = {"pass_fds": inherited} if os.name == "posix" else {}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, **options
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._tasks: IO[bytes] = self.process.stdin
        self._answers: IO[bytes] = self.process.stdout
        self.is_alive = True
        with suppress(*LOST):  # it has died; reading from it will show that
            self._send(start.path)
            self._send(start)

    def wait_until_started(self) -> None:
        """Wait until its model is loaded."""
        answer = self._receive()
        if answer is not None:
            raise JobError(f"workers cannot start ({answer})")

    def annotate(self, shard: Shard, on_words: OnWords) -> ShardResult:
        try:
            self._send(shard)
        except LOST:
            self._lose()
        while isinstance(answer := self._receive(), int):
            on_words(answer)
        if isinstance(answer, ShardResult):
            return answer
        self.is_alive = not isinstance(answer, WorkerDiedError)
        if isinstance(answer, (HyperspanError, OSError)):
            raise answer
        raise JobError(f"a worker failed: {type(answer).__name__}: {answer}")

    def _send(self, message: Any) -> None:
        pickle.dump(message, self._tasks)
        self._tasks.flush()

    def _receive(self) -> Any:
        try:
            return pickle.load(self._answers)
        except LOST:
            self._lose()

    def _lose(self) -> None:
        self.is_alive = False
        with suppress(subprocess.TimeoutExpired):  # what has closed its output is about to end
            self.process.wait(GOODBYE)
        raise WorkerDiedError(ending(self.process.returncode)) from None

    def end(self, at_once: bool) -> None:
        """Ask the process to end, or kill it; nothing more is committed."""
        if at_once:
            self.process.kill()
        with suppress(OSError):
            self._tasks.close()

    def close(self) -> None:
        """Wait until the process has ended."""
        self.end(at_once=not self.is_alive)
        try:
            self.process.wait(GOODBYE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._answers.close()


def ending(status: int | None) -> str:
    """How a process has ended, from its status as Python's subprocess gives it.

    >>> ending(3), ending(None), ending(-9)
    ('exit status 3', 'no answer', 'killed by SIGKILL')
    """
    if status is None:
        return "no answer"
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):  # real-time signals have no names
        return f"killed by {signal.Signals(-status).name}"
    return f"killed by signal {-status}"


# -- in a worker process -----------------------------------------------------------------------------------------------

_CODE = """
import os, pickle, sys
tasks = os.fdopen(os.dup(0), "rb")
with open(os.devnull) as nothing:
    os.dup2(nothing.fileno(), 0)  # whatever reads standard input must not wait for the tasks, or take them
sys.path[:] = pickle.load(tasks)
from hyperspan.bulk.processes import main
main(tasks)
"""


def main(stream: IO[bytes]) -> None:
    """Annotate the shards that a stream brings, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed must not be among the answers
    start: WorkerStart = pickle.load(stream)
    tasks: SimpleQueue[Shard | None] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(stream, tasks, busy), daemon=True).start()

    def answer(message: ShardResult | BaseException | int | None) -> None:
        try:
            pickle.dump(message, answers)
            answers.flush()
        except OSError:  # the parent has gone, and nobody reads of it
            os._exit(1)

    try:
        annotate = annotating(_load(start), start.settings, start.output, start.job)
    except Exception as error:
        answer(portable(error))
        return
    answer(None)
    while (shard := tasks.get()) is not None:
        busy.set()
        try:
            answer(annotate(shard, answer))
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:
            answer(portable(error))
        busy.clear()
    close_inputs()


def _load(start: WorkerStart) -> Annotator:
    use_threads(start.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parent has loaded the same model, and has warned
        return annotator_on(start.model, start.device, start.settings.dtype)


def _listen(stream: IO[bytes], tasks: SimpleQueue[Shard | None], busy: threading.Event) -> None:
    """Pass on what the parent sends. When it has gone, a worker in the middle of a shard ends at once."""
    with suppress(*LOST):
        while True:
            tasks.put(pickle.load(stream))
    if busy.is_set():
        os._exit(1)
    tasks.put(None)


def portable(error: BaseException) -> BaseException:
    """The error, or an equivalent one if another process could not unpickle it."""
    try:
        copy: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = None
    return error if type(copy) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")

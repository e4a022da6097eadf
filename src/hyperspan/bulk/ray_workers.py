"""An actor of the engine ``ray``: it holds a model, and annotates shards itself or with feeders.

Feeders are processes on its machine without a model (:mod:`hyperspan.bulk.worker`). Each prepares the batches of one
shard and commits it, which keeps a GPU busy. Nothing here imports ray.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from hyperspan import __version__
from hyperspan.bulk.engine import TRIES, WorkerDiedError, cannot_start
from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.pool import (
    ComputingThreads,
    PoolStatistics,
    WorkerProcess,
    cause_of,
    computer_and_start,
    threads_on,
)
from hyperspan.bulk.shards import JobSettings, ShardResult, annotate_shard
from hyperspan.bulk.worker import LOST, Finished, ShardTask
from hyperspan.kernels.threads import use_threads
from hyperspan.runtime.loading import load

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator


@contextmanager
def folder_with(files: dict[str, bytes]) -> Iterator[str]:
    """A temporary folder with these files."""
    with tempfile.TemporaryDirectory(prefix="hyperspan-") as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        yield folder


def annotator_of(files: dict[str, bytes], device: str) -> Annotator:
    """An annotator from the files of its model, with one CPU thread: there are as many workers as CPUs."""
    if not device.startswith("cuda"):
        use_threads(1)
    with folder_with(files) as folder:
        return load(folder, device)


class Worker:
    """An actor that annotates one shard after the other."""

    def __init__(self, settings: JobSettings, output: str, job: str):
        self.settings, self.output, self.job = settings, output, job

    def start(self, files: dict[str, bytes], device: str) -> str:
        """Load the model; return the local version of hyperspan."""
        self.annotator = annotator_of(files, device)
        return __version__

    def annotate(self, shard: Shard) -> ShardResult:
        return annotate_shard(self.annotator, shard, self.settings, folder_at(self.output), self.job)


class FedWorker(Worker):
    """An actor that computes for feeders, one per concurrent shard, each served by its own thread."""

    def start(self, files: dict[str, bytes], device: str) -> str:
        version = super().start(files, device)
        self._files = {name: content for name, content in files.items() if name != "model.safetensors"}
        computer, self._start = computer_and_start(
            self.annotator, device, "", self.settings, folder_at(self.output).name, self.job
        )
        computer.warm_up()
        self._computing = ComputingThreads(computer, threads_on(device), PoolStatistics())
        self._idle: SimpleQueue[WorkerProcess] = SimpleQueue()
        return version

    def annotate(self, shard: Shard) -> ShardResult:
        feeder = self._feeder()
        feeder.give(ShardTask(shard))
        try:
            message = self._computing.serve(feeder)
        except LOST:
            feeder.close()
            raise WorkerDiedError(f"exit status {feeder.process.returncode}") from None
        self._idle.put(feeder)
        if isinstance(message, Finished):
            return message.done
        raise cause_of(message)

    def _feeder(self) -> WorkerProcess:
        """An idle feeder, or a new one."""
        with suppress(Empty):
            return self._idle.get_nowait()
        status: int | None = None
        for _ in range(TRIES):
            with folder_with(self._files) as folder:
                feeder = WorkerProcess(replace(self._start, facts=replace(self._start.facts, folder=folder)))
                with suppress(*LOST):
                    self._computing.serve(feeder)  # it has started, and read what it needs
                    return feeder
            feeder.close()
            status = feeder.process.returncode
        raise cannot_start(f"exit status {status}")

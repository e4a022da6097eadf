"""A process of a bulk job that annotates shards, but requests the model's computations from another process.

Its only argument is the descriptor of a connection, over which it receives tasks and sends requests.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.remote import RemoteAnnotator, Seconds
from hyperspan.bulk.requests import Answer, BatchRequest, ModelFacts, portable
from hyperspan.bulk.shards import JobSettings, ShardResult, annotate_shard
from hyperspan.errors import EXIT_EXCEPTIONS

LOST = (EOFError, OSError)
"""Errors of a connection whose other end is gone; within a message it is an OSError of no number."""


@dataclass(frozen=True)
class WorkerStart:
    """The data that a worker starts with."""

    facts: ModelFacts
    settings: JobSettings
    output: str
    job: str
    window: int


@dataclass(frozen=True)
class ShardTask:
    """A shard to annotate."""

    shard: Shard


@dataclass(frozen=True)
class Finished:
    """A committed shard, and the time it took."""

    done: ShardResult
    seconds: Seconds


class ConnectedComputer:
    """The model behind a connection. Without it nothing may be committed, so its loss ends the process."""

    def __init__(self, connection: Connection):
        self.connection = connection

    def send(self, request: BatchRequest) -> None:
        try:
            self.connection.send(request)
        except LOST:
            raise SystemExit(1) from None

    def receive(self) -> Answer:
        try:
            return self.connection.recv()
        except LOST:
            raise SystemExit(1) from None


def work(connection: Connection) -> None:
    """Annotate shards until the connection is closed."""
    start: WorkerStart = connection.recv()
    annotator = RemoteAnnotator(start.facts, ConnectedComputer(connection), window=start.window)
    if start.facts.reads_ids:
        annotator.vocabulary.look_up(["a"])
    output = folder_at(start.output)
    connection.send(None)
    while True:
        task: ShardTask = connection.recv()
        annotator.seconds, begun, before = Seconds(), time.perf_counter(), time.process_time()
        try:
            done = annotate_shard(annotator, task.shard, start.settings, output, start.job)
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:
            connection.send(portable(error))
        else:
            total, cpu = time.perf_counter() - begun, time.process_time() - before
            connection.send(Finished(done, replace(annotator.seconds, total=total, cpu=cpu)))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and closes the connection
    try:
        work(Connection(int(sys.argv[1])))
    except LOST:
        pass
    finally:
        close_inputs()

"""A process of a bulk job that annotates shards, but for what the model computes: it asks another process for that.

Started with the descriptor of a connection as its only argument. It is given what to do there, and asks there.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.remote import RemoteAnnotator, Seconds
from hyperspan.bulk.requests import Answer, BatchRequest, ModelFacts, portable
from hyperspan.bulk.shards import Done, JobSettings, annotate_shard
from hyperspan.errors import EXIT_EXCEPTIONS

LOST = (EOFError, ConnectionError)
"""What a connection raises whose other end is gone."""


@dataclass(frozen=True)
class WorkerStart:
    """What a worker starts with."""

    facts: ModelFacts
    settings: JobSettings
    output: str
    job: str
    window: int


@dataclass(frozen=True)
class ShardTask:
    """A shard to annotate, and its inputs."""

    shard: Shard
    inputs: dict[int, Input]


@dataclass(frozen=True)
class Finished:
    """A shard that is committed, and what it took."""

    done: Done
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
    """Annotates shards until the connection is closed."""
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
            done = annotate_shard(annotator, task.inputs, task.shard, start.settings, output, start.job)
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:
            connection.send(portable(error))
        else:
            total, cpu = time.perf_counter() - begun, time.process_time() - before
            connection.send(Finished(done, replace(annotator.seconds, total=total, cpu=cpu)))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it is interrupted, too, and closes the connection
    try:
        work(Connection(int(sys.argv[1])))
    except LOST:
        pass
    finally:
        close_inputs()

"""Engines annotate the shards of a job: in this process, in local workers or on a cluster.

Local workers are in :mod:`hyperspan.bulk.pool`, those of a cluster in :mod:`hyperspan.bulk.ray`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hyperspan.bulk.plan import Shard
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.shards import ShardResult, annotate_shard
from hyperspan.errors import InputError, JobError

if TYPE_CHECKING:
    from hyperspan.bulk.job import Job
    from hyperspan.runtime.annotator import Annotator


TRIES = 4
"""The maximum attempts for a shard whose worker dies, and for a worker that does not start."""


class WorkerDiedError(JobError):
    """A worker has died; its shard must be repeated."""


def cannot_start(reason: str) -> JobError:
    return JobError(f"workers cannot start ({reason}); see that hyperspan is installed on all machines")


class Engine(Protocol):
    """Annotate shards, in any order; each is reported once, when it is done."""

    device: str
    """The device of this process's annotator, which an engine may use."""

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[ShardResult]:
        """Annotate the missing shards of a job.

        An unreadable input is an error at the end, when all shards without it are done. An engine may call `on_words`
        with words that are annotated before their shard is done.
        """
        ...


class PlainEngine:
    """Annotate in this process, one shard after the other."""

    def __init__(self, device: str = "cpu"):
        self.device = device

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[ShardResult]:
        failed: InputError | None = None
        try:
            for shard in job.missing():
                try:
                    done = annotate_shard(annotator, shard, job.settings, job.output, job.id, on_words)
                except InputError as error:  # the shards of other inputs continue
                    failed = failed or error
                else:
                    yield done
        finally:
            close_inputs()
        if failed is not None:
            raise failed


@dataclass
class Backlog:
    """The shards that wait for a worker, and the failures so far."""

    waiting: deque[Shard]
    died: Counter[int] = field(default_factory=Counter)
    """How many workers each shard has killed."""
    given_up: list[Shard] = field(default_factory=list)
    unread: InputError | None = None
    """The error of the first shard whose input could not be read."""
    failed_starts: int = 0
    """Consecutive failures of workers to start."""

    def fail(self, cause: Exception) -> None:
        """Record a failed shard: if its input cannot be read, the others continue."""
        if not isinstance(cause, InputError):
            raise cause
        self.unread = self.unread or cause

    def lose(self, shard: Shard | None, reason: str) -> None:
        """Record the death of a worker during a shard, or (None) before it had started."""
        if shard is not None:
            self.died[shard.number] += 1
            (self.given_up if self.died[shard.number] >= TRIES else self.waiting).append(shard)
            return
        self.failed_starts += 1
        if self.failed_starts >= TRIES:
            raise cannot_start(reason)

    def is_suspect(self, shard: Shard) -> bool:
        """Whether it has killed half the allowed workers, though another shard in the same worker may be the cause."""
        return self.died[shard.number] >= TRIES // 2

    def check(self) -> None:
        """Raise an error unless all shards are done."""
        if self.unread is not None:
            raise self.unread
        if self.given_up:
            names = ", ".join(shard.name for shard in self.given_up[:5])
            raise JobError(
                f"the shards {names} ended their workers {TRIES} times each, perhaps out of memory; "
                "try smaller shards or fewer workers"
            )

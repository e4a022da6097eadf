"""Who annotates the shards of a job: this process, workers on this machine (:mod:`hyperspan.bulk.pool`), or those of a
cluster (:mod:`hyperspan.bulk.ray`)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hyperspan.bulk.job import Job
from hyperspan.bulk.plan import Shard, Sized
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.shards import Done, annotate_shard
from hyperspan.errors import InputError, JobError

if TYPE_CHECKING:
    from hyperspan.inference.annotator import Annotator


TRIES = 4
"""So often a shard is begun whose worker dies, and a worker that does not start."""


class WorkerDiedError(JobError):
    """A worker has died; its shard is to be done again."""


def cannot_start(reason: str) -> JobError:
    return JobError(f"workers cannot start ({reason}); see that hyperspan is installed on all machines")


class Engine(Protocol):
    """Annotates shards, in any order; each is reported once, when it is done."""

    device: str
    """Where the annotator of this process is, with which an engine may work."""

    def each(self, cut: Callable[[Any], list[Sized]], items: Iterable[Any]) -> Iterable[list[Sized]]:
        """What `map` does, for the planning."""
        ...

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[Done]:
        """Annotates the missing shards of a job.

        An input that cannot be read is an error at the end, when all shards without it are done. An engine may call
        `on_words` with words that are annotated before their shard is done.
        """
        ...


class PlainEngine:
    """This process, one shard after the other."""

    def __init__(self, device: str = "cpu"):
        self.device = device

    def each(self, cut: Callable[[Any], list[Sized]], items: Iterable[Any]) -> Iterable[list[Sized]]:
        return map(cut, items)

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[Done]:
        failed: InputError | None = None
        try:
            for shard in job.missing:
                try:
                    inputs = job.plan.inputs_of(shard)
                    done = annotate_shard(annotator, inputs, shard, job.settings, job.output, job.id, on_words)
                except InputError as error:  # the shards of other inputs go on
                    failed = failed or error
                else:
                    yield done
        finally:
            close_inputs()
        if failed is not None:
            raise failed


@dataclass
class Backlog:
    """The shards that wait for a worker, and what became of those that could not be done."""

    waiting: deque[Shard]
    died: Counter[int] = field(default_factory=Counter)
    """How often each shard has ended its worker."""
    given_up: list[Shard] = field(default_factory=list)
    unread: InputError | None = None
    """Why the first shard failed whose input could not be read."""
    failed_starts: int = 0
    """One after the other."""

    def fail(self, cause: Exception) -> None:
        """A shard has failed: if its input cannot be read, the others go on."""
        if not isinstance(cause, InputError):
            raise cause
        self.unread = self.unread or cause

    def lose(self, shard: Shard | None, reason: str) -> None:
        """A worker has died, of a shard or (None) before it had started."""
        if shard is not None:
            self.died[shard.number] += 1
            (self.given_up if self.died[shard.number] >= TRIES else self.waiting).append(shard)
            return
        self.failed_starts += 1
        if self.failed_starts >= TRIES:
            raise cannot_start(reason)

    def is_suspect(self, shard: Shard) -> bool:
        """Whether it has ended half as many workers as it may, though others may be at fault that were done beside
        it."""
        return self.died[shard.number] >= TRIES // 2

    def check(self) -> None:
        """Raises unless all shards are done."""
        if self.unread is not None:
            raise self.unread
        if self.given_up:
            names = ", ".join(shard.name for shard in self.given_up[:5])
            raise JobError(
                f"the shards {names} ended their workers {TRIES} times each, perhaps for want of memory; "
                "try smaller shards or fewer workers"
            )

"""The loop of a bulk job: shards are annotated by an engine, several at a time, and repeated when a worker dies.

A shard is committed as a unit, and annotating it twice writes the same files. So the death of a worker, whatever its
cause, needs no bookkeeping: its shard is done again, and given up after some tries.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.shards import JobSettings, ShardResult, WorkerDiedError, annotate_shard
from hyperspan.errors import EXIT_EXCEPTIONS, InputError, JobError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.loading import load

if TYPE_CHECKING:
    from hyperspan.bulk.job import Job

TRIES = 4
"""The maximum attempts for a shard whose worker dies."""
GPU_WINDOW = 80_000
"""The number of words read ahead on a GPU, for large batches."""
OnWords = Callable[[int], None]
Outcome = ShardResult | BaseException
"""The counts of a shard, or why it is not done."""


class Engine(Protocol):
    """Where the shards of a job are annotated."""

    device: str
    """The device of the annotator that this process loads."""
    count: int
    """The number of shards at a time; 0 for one after the other in this thread."""

    def start(self, job: Job, annotator: Annotator) -> None:
        """Prepare for a job. The annotator is that of this process."""
        ...

    def annotate(self, shard: Shard, on_words: OnWords) -> ShardResult:
        """Annotate and commit a shard. Raises WorkerDiedError if it must be repeated. Called by several threads."""
        ...

    def close(self) -> None:
        """End all workers, whatever they do."""
        ...


def run_shards(shards: Iterable[Shard], engine: Engine, on_words: OnWords) -> Generator[ShardResult, None, None]:
    """Annotate shards and yield the result of each when it is done. Workers end with the iterator.

    Shards whose input cannot be read, and those that end their workers, are an error at the end, when all others are
    done. Any other error ends the job. `on_words` is called in this thread with the numbers of words just annotated;
    they are negative when a worker has died.
    """
    unread: InputError | None = None
    given_up: list[tuple[Shard, WorkerDiedError]] = []
    try:
        for shard, outcome in (_in_threads if engine.count else _one_by_one)(shards, engine, on_words):
            if isinstance(outcome, ShardResult):
                yield outcome
            elif isinstance(outcome, WorkerDiedError):
                given_up.append((shard, outcome))
            elif isinstance(outcome, InputError):
                unread = unread or outcome
            else:
                raise outcome
    finally:
        engine.close()
    if unread is not None:
        raise unread
    if given_up:
        raise _given_up(given_up)


def _given_up(shards: list[tuple[Shard, WorkerDiedError]]) -> JobError:
    """The error for shards whose workers die: where their records are, how the last worker ended, and what may help."""
    shown = sorted(shards, key=lambda one: one[0].number)[:5]
    which = ", ".join(f"{shard.name} ({shard.place}; {error})" for shard, error in shown)
    more = f" and {len(shards) - len(shown):,} more" if len(shards) > len(shown) else ""
    return JobError(
        f"the shards {which}{more} ended their workers {TRIES} times each; fewer workers need less memory, and resume the "
        "job, but without these records or in smaller shards it starts over (--force)"
    )


def _one_by_one(shards: Iterable[Shard], engine: Engine, on_words: OnWords) -> Iterator[tuple[Shard, Outcome]]:
    """Annotate shards in this thread, so that an interrupt acts at once."""
    return ((shard, _outcome(engine, shard, on_words)) for shard in shards)


def _in_threads(shards: Iterable[Shard], engine: Engine, on_words: OnWords) -> Iterator[tuple[Shard, Outcome]]:
    """Annotate several shards at a time, each in a thread that waits for a worker."""
    waiting = iter(shards)
    events: SimpleQueue[tuple[Shard, Outcome] | int] = SimpleQueue()
    threads = ThreadPoolExecutor(engine.count)

    def begin(most: int) -> int:
        some = list(islice(waiting, most))
        for shard in some:
            threads.submit(lambda shard=shard: events.put((shard, _outcome(engine, shard, events.put))))
        return len(some)

    try:
        running = begin(engine.count)
        while running:
            event = events.get()
            if isinstance(event, int):
                on_words(event)
            else:
                running += begin(1) - 1
                yield event
    finally:
        engine.close()  # which ends what the threads wait for
        threads.shutdown()


def _outcome(engine: Engine, shard: Shard, on_words: OnWords) -> Outcome:
    """The outcome of a shard, which is repeated while its workers die."""
    counted = tries = 0

    def count(words: int) -> None:
        nonlocal counted
        counted += words
        on_words(words)

    while True:
        try:
            done = engine.annotate(shard, count)
        except WorkerDiedError as error:
            count(-counted)
            tries += 1
            if tries == TRIES:
                return error
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:
            return error
        else:
            count(done.words - counted)  # not all engines count meanwhile
            return done


class ThisProcess:
    """No workers: shards are annotated one after the other where the job runs."""

    count = 0

    def __init__(self, device: str = "cpu"):
        self.device = device

    def start(self, job: Job, annotator: Annotator) -> None:
        self._annotate = annotating(annotator, job.settings, job.output.name, job.id)

    def annotate(self, shard: Shard, on_words: OnWords) -> ShardResult:
        return self._annotate(shard, on_words)

    def close(self) -> None:
        close_inputs()


def annotating(
    annotator: Annotator, settings: JobSettings, output: str, job: str
) -> Callable[[Shard, OnWords], ShardResult]:
    """A function that annotates and commits a shard of a job."""
    folder = folder_at(output)
    return lambda shard, on_words: annotate_shard(annotator, shard, settings, folder, job, on_words)


def annotator_on(model: str, device: str, dtype: str) -> Annotator:
    """The annotator of a worker, which reads further ahead on a GPU."""
    loaded = load(model, device, dtype)
    return Annotator(loaded.model, card=loaded.card, window=GPU_WINDOW) if device.startswith("cuda") else loaded

"""Who annotates the shards of a job: this process, or the workers of a cluster (:mod:`hyperspan.bulk.ray`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from hyperspan.bulk.job import Job
from hyperspan.bulk.plan import Sized
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.shards import Done, annotate_shard
from hyperspan.errors import InputError

if TYPE_CHECKING:
    from hyperspan.inference.annotator import Annotator


class Engine(Protocol):
    """Annotates shards, in any order; each is reported once, when it is done."""

    device: str
    """Where the annotator of this process is, with which an engine may work."""

    def each(self, cut: Callable[[Any], list[Sized]], items: Iterable[Any]) -> Iterable[list[Sized]]:
        """What `map` does, for the planning."""
        ...

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[Done]:
        """Annotates the missing shards of a job.

        An input that cannot be read is an error at the end, when all shards without it are done. An engine may call `on_words`
        with words that are annotated before their shard is done.
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

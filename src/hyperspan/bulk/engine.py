"""What an engine is given, and what it must do. `plain` is this process, `ray` a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hyperspan.bulk.folder import Folder, RemoteFolder
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.plan import Shard, Sized
from hyperspan.bulk.shards import Done, JobSettings

if TYPE_CHECKING:
    from hyperspan.inference.annotator import Annotator


@dataclass(frozen=True)
class Task:
    """What an engine is given: shards, and all that they need."""

    annotator: Annotator
    model: str
    """Its name or folder, for workers that need one of their own."""
    job: str
    inputs: Sequence[Input]
    shards: Sequence[Shard]
    settings: JobSettings
    output: Folder | RemoteFolder
    on_words: Callable[[int], None] = field(compare=False)
    """To be called with words that are done, before their shard is; an engine need not."""

    def inputs_of(self, shard: Shard) -> dict[int, Input]:
        """Those of a shard, by their index."""
        return {piece.input: self.inputs[piece.input] for piece in shard.pieces}


class Engine(Protocol):
    """Does shards, in any order; each is reported once, when it is done."""

    device: str
    """Where the annotator of this process is, with which an engine may work."""

    def each(self, cut: Callable[[Any], list[Sized]], items: Iterable[Any]) -> Iterable[list[Sized]]:
        """What `map` does, for the planning."""
        ...

    def run(self, task: Task) -> Iterator[Done]:
        """An input that cannot be read is an error at the end, when all shards without it are done."""
        ...

"""The engine ``plain``: this process does one shard after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hyperspan.bulk.engine import Task
from hyperspan.bulk.plan import Sized
from hyperspan.bulk.records import close_inputs
from hyperspan.bulk.shards import Done, annotate_shard
from hyperspan.errors import InputError


class PlainEngine:
    """This process, one shard after the other."""

    def __init__(self, device: str = "cpu"):
        self.device = device

    def each(self, cut: Callable[[Any], list[Sized]], items: Iterable[Any]) -> Iterable[list[Sized]]:
        return map(cut, items)

    def run(self, task: Task) -> Iterator[Done]:
        failed: InputError | None = None
        try:
            for shard in task.shards:
                try:
                    done = annotate_shard(
                        task.annotator,
                        task.inputs_of(shard),
                        shard,
                        task.settings,
                        task.output,
                        task.job,
                        task.on_words,
                    )
                except InputError as error:  # which the shards of other inputs need not suffer from
                    failed = failed or error
                else:
                    yield done
        finally:
            close_inputs()
        if failed is not None:
            raise failed

"""Runs every target with its share of inputs, in several processes."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.target import Target, Workplace
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import SECONDS, Failure, Worker, generator

CHUNK = 50
"""So many inputs of a target are used before the next target has its turn."""


@dataclass
class Result:
    """What a run has done."""

    seed: int
    seconds: float = 0.0
    tried: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    """Milliseconds by target."""
    failures: dict[tuple[str, str], list[Failure]] = field(default_factory=dict)
    """By target and kind."""
    missing: int = 0
    """Inputs for which there was no time."""

    def add(self, failure: Failure) -> None:
        self.failures.setdefault((failure.target, failure.kind), []).append(failure)


def shares(inputs: int, names: Sequence[str]) -> dict[str, int]:
    """How many inputs each target gets of so many: at least one, and as many as its share of a full run."""
    total = sum(TARGETS[name].inputs for name in names)
    return {name: max(1, -(-inputs * TARGETS[name].inputs // total)) for name in names}


def orders(counts: dict[str, int]) -> Iterator[tuple[str, range]]:
    """Chunks of inputs, the targets in turns, so that all of them have been run when time is up."""
    chunks = {name: [range(first, min(first + CHUNK, n)) for first in range(0, n, CHUNK)] for name, n in counts.items()}
    spread = [((place + 0.5) / len(rows), name, row) for name, rows in chunks.items() for place, row in enumerate(rows)]
    yield from ((name, row) for _, name, row in sorted(spread, key=lambda entry: entry[:2]))


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Where workers put their files: in memory, if the system has such a folder."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def fuzz(
    counts: dict[str, int],
    *,
    seed: int,
    seconds: float,
    workers: int = 2,
    limit: float = SECONDS,
    targets: Mapping[str, Target] = TARGETS,
    on_progress: Callable[[Result], None] = lambda result: None,
) -> Result:
    """Uses so many inputs of each target, or as many as there is time for; one that takes longer than `limit` hangs."""
    with shared_folder() as shared:
        Workplace(shared, shared).tiny_model()
        waiting = list(orders(counts))[::-1]
        result, lock, start = Result(seed), threading.Lock(), time.monotonic()

        def work() -> None:
            with Worker(shared, limit) as worker:
                while True:
                    with lock:
                        if not waiting or time.monotonic() - start > seconds:
                            return
                        target, indices = waiting.pop()
                    begun = time.monotonic()
                    failures = worker.run(targets[target], seed, indices)
                    with lock:
                        result.spent[target] += round(1_000 * (time.monotonic() - begun))
                        result.tried[target] += len(indices)
                        result.seconds = time.monotonic() - start
                        for failure in failures:
                            result.add(failure)
                        on_progress(result)

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            with lock:
                waiting.clear()
            raise
        result.missing = sum(len(indices) for _, indices in waiting)
    return result


def repeat(
    name: str, seed: int, index: int, folder: Path, targets: Mapping[str, Target] = TARGETS
) -> tuple[Path, list[Failure]]:
    """Uses one input again, which the seed, its target and its index decide on: the folder with its parts, and what
    fails."""
    target = targets[name]
    place = Workplace(folder / f"{name}-{index}", folder)
    place.write(target.mutated(generator(seed, name, index)))
    with shared_folder() as shared, Worker(shared) as worker:
        Workplace(shared, shared).tiny_model()
        return place.folder, worker.run(target, seed, [index])

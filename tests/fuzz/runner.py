"""Runs every target with its share of inputs, in several processes, and writes down what fails in as few bytes as it
can."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.fuzz.shrink import shrink
from tests.fuzz.target import Input, Target, Workplace
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import SECONDS, Failure, Worker, generator

KEPT = 20
"""Of failures of one kind, so many inputs are kept, to begin with the smallest."""
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
        same = self.failures.setdefault((failure.target, failure.kind), [])
        same.append(failure if len(same) < KEPT else replace(failure, given=None))


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
        result, lock, start = Result(seed), threading.Lock(), time.monotonic()
        waiting = list(orders(counts))[::-1]

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


def input_of(failure: Failure, seed: int, target: Target) -> Input:
    """What failed; made again where the process did not live to send it."""
    return failure.given or target.mutated(generator(seed, failure.target, failure.index))


def reproduce(
    failures: Sequence[Failure],
    seed: int,
    folder: Path,
    *,
    seconds: float = 15.0,
    limit: float = SECONDS,
    targets: Mapping[str, Target] = TARGETS,
) -> tuple[Path, bool]:
    """Writes the smallest input found that fails like the given ones; its folder, and whether it failed again."""
    first, target = failures[0], targets[failures[0].target]
    inputs = [input_of(failure, seed, target) for failure in failures[:KEPT]]
    smallest = min(inputs, key=lambda given: sum(map(len, given.values())))
    patience = min(limit, 5.0) if first.kind == "hangs" else limit  # a smaller input also hangs for less
    with shared_folder() as shared, Worker(shared, patience) as worker:
        Workplace(shared, shared).tiny_model()

        def still_fails(given: Input) -> bool:
            return any(failure.kind == first.kind for failure in worker.run(target, seed, [0], given))

        fails_again = still_fails(smallest)
        small = shrink(smallest, still_fails, seconds=seconds) if fails_again else smallest
    name = hashlib.sha256(repr((first.target, first.kind)).encode()).hexdigest()[:8]
    place = folder / f"{first.target}-{name}"
    if place.exists():
        shutil.rmtree(place)
    for part, data in small.items():
        (place / "input" / part).parent.mkdir(parents=True, exist_ok=True)
        (place / "input" / part).write_bytes(data)
    about = {
        "target": first.target,
        "kind": first.kind,
        "seed": seed,
        "indices": [one.index for one in failures[:KEPT]],
    }
    (place / "failure.json").write_text(json.dumps(about | {"details": first.details}, indent=2), encoding="utf-8")
    return place, fails_again


def replay(place: Path, targets: Mapping[str, Target] = TARGETS) -> list[Failure]:
    """Uses a reproduction again."""
    target = json.loads((place / "failure.json").read_text(encoding="utf-8"))["target"]
    files = [file for file in (place / "input").rglob("*") if file.is_file()]
    given = {str(file.relative_to(place / "input")): file.read_bytes() for file in files}
    with shared_folder() as shared, Worker(shared) as worker:
        Workplace(shared, shared).tiny_model()
        return worker.run(targets[target], 0, [0], given)

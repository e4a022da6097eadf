"""``python -m tests.fuzz.kills``: kills training runs and bulk jobs at random moments and resumes them.

Each must end with the same bits as one that nobody disturbed, and a job with every document once. ``make kills`` runs
it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.bulk.fakes import contents, lines_in, write_jsonl
from tests.fuzz.samples import TEXTS
from tests.fuzz.target import Workplace
from tests.fuzz.worker import CONTEXT
from tests.support.runs import CONFIG, same_result

DOCUMENTS = 400


@dataclass
class Count:
    """What became of runs of one kind."""

    kills: int = 0
    runs: int = 0
    different: int = 0
    """Runs that ended with other bits than the undisturbed one."""
    lost: int = 0
    doubled: int = 0

    @property
    def is_good(self) -> bool:
        return not (self.different or self.lost or self.doubled)


def _command(arguments: list[str], folder: Path) -> None:
    """The command in a process of its own; what it says goes to a file."""
    stream = (folder / "said.txt").open("a")
    for number in (1, 2):
        os.dup2(stream.fileno(), number)
    sys.argv = ["hyperspan", *arguments]
    from hyperspan.cli import main
    from hyperspan.training import loop

    loop.CHECKPOINT_SECONDS = 0.0  # so that kills often meet one being written
    main()


def run(arguments: list[str], folder: Path, seconds: float | None = None) -> bool:
    """Runs the command, and kills it after so many seconds; whether it got to its end."""
    process = CONTEXT.Process(target=_command, args=(arguments, folder))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return False
    if process.exitcode != 0:
        said = (folder / "said.txt").read_text(errors="replace")
        raise SystemExit(f"hyperspan {' '.join(arguments)} ended with {process.exitcode}: {said[-2_000:]}")
    return True


def kill_training(kills: int, chance: random.Random, folder: Path) -> Count:
    """Trains a small model; a checkpoint is written after every step, so that kills often meet one being written."""
    config = folder / "harbour.toml"
    config.write_text(CONFIG, encoding="utf-8")
    train = ["train", str(config), "--device", "cpu", "--threads", "1", "--output"]
    begun = time.monotonic()
    run([*train, str(folder / "whole")], folder)
    whole, count = time.monotonic() - begun, Count()
    while count.kills < kills:
        out = folder / f"run-{count.runs}"
        count.runs += 1
        while True:
            resumable = (out / "checkpoint.safetensors").is_file()
            if run(
                [*train, str(out), "--resume" if resumable else "--force"], folder, chance.uniform(0.05, 0.7) * whole
            ):
                break
            count.kills += 1
        count.different += not same_result(folder / "whole", out)
    return count


def kill_jobs(kills: int, chance: random.Random, folder: Path) -> Count:
    """Annotates invented documents in many shards; some records are none."""
    model = Workplace(folder, folder).tiny_model()
    records = [{"id": n, "text": " ".join(chance.choices(TEXTS, k=4))} for n in range(DOCUMENTS)]
    texts = write_jsonl(folder / "texts.jsonl", [*records, {"txet": "typo"}, {"text": 3}])
    bulk = ["bulk", str(texts), "-m", str(model), "--shard-records", "9", "-o"]
    begun = time.monotonic()
    run([*bulk, str(folder / "found")], folder)
    whole, count = time.monotonic() - begun, Count()
    while count.kills < kills:
        out = folder / f"found-{count.runs}"
        count.runs += 1
        while not run([*bulk, str(out)], folder, chance.uniform(0.05, 0.7) * whole):
            count.kills += 1
        count.different += contents(out) != contents(folder / "found")
        found = Counter(record["id"] for record in lines_in(out / "documents"))
        count.lost += sum(str(n) not in found for n in range(DOCUMENTS))
        count.doubled += sum(times - 1 for times in found.values())
    return count


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each kind (%(default)s)")
    parser.add_argument("--seed", type=int, default=16, help="decides on the moments (%(default)s)")
    given = parser.parse_args()
    counts: dict[str, Count] = {}
    begun = time.monotonic()
    for name, kill in (("training", kill_training), ("bulk", kill_jobs)):
        with tempfile.TemporaryDirectory() as folder:
            counts[name] = kill(given.kills, random.Random(f"{given.seed}/{name}"), Path(folder))
    print(f"{'':<10}{'kills':>7}{'runs':>6}{'other bits':>12}{'lost':>6}{'doubled':>9}")
    for name, count in counts.items():
        print(f"{name:<10}{count.kills:>7}{count.runs:>6}{count.different:>12}{count.lost:>6}{count.doubled:>9}")
    print(f"\nseed {given.seed}, {time.monotonic() - begun:.0f} s")
    return int(not all(count.is_good for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())

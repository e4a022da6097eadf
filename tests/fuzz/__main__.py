"""``python -m tests.fuzz``: mutated inputs for everything that reads untrusted data. ``make fuzz`` runs it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.runner import Result, fuzz, repeat, shares
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import check_platform

FOLDER = Path("runs/fuzz")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=16, help="decides on all inputs (%(default)s)")
    parser.add_argument("--inputs", type=int, default=100_000, help="of all targets together (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1_800, help="no input is begun after so many (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument(
        "--target", action="append", metavar="NAME", choices=list(TARGETS), help="only this; repeatable"
    )
    parser.add_argument("--index", type=int, help="use this input of the target again, and nothing else")
    parser.add_argument("--output", type=Path, default=FOLDER, help="where --index writes the input (%(default)s)")
    given = parser.parse_args()
    check_platform()
    if given.index is not None:
        if len(given.target or ()) != 1:
            parser.error("--index needs one --target")
        place, failures = repeat(given.target[0], given.seed, given.index, given.output)
        for failure in failures:
            print(failure.kind, failure.details, sep="\n\n")
        print(f"{place}: it fails" if failures else f"{place}: it does not fail")
        return int(bool(failures))
    counts = shares(given.inputs, given.target or list(TARGETS))
    show = _Progress(sum(counts.values()))
    result = fuzz(counts, seed=given.seed, seconds=given.seconds, workers=given.workers, on_progress=show)
    return report(result)


class _Progress:
    """A line every ten seconds."""

    def __init__(self, total: int):
        self.total, self.last = total, time.monotonic()

    def __call__(self, result: Result) -> None:
        if time.monotonic() - self.last > 10:
            self.last = time.monotonic()
            done, failed = sum(result.tried.values()), len(result.failures)
            print(
                f"{result.seconds:6.0f} s  {done:7,} of {self.total:,} inputs  {failed} kinds of failure",
                file=sys.stderr,
            )


def report(result: Result) -> int:
    """Prints the counts by target, and each kind of failure with the command that uses its first input again."""
    print(f"\n{'target':<20}{'inputs':>9}{'failures':>10}{'seconds':>9}")
    for name, tried in sorted(result.tried.items()):
        failed = sum(len(found) for (target, _), found in result.failures.items() if target == name)
        print(f"{name:<20}{tried:>9,}{failed:>10,}{result.spent[name] / 1_000:>9.1f}")
    total = sum(result.tried.values())
    failed = sum(map(len, result.failures.values()))
    kinds = len(result.failures)
    print(
        f"{'all':<20}{total:>9,}{failed:>10,}\n\nseed {result.seed}, {result.seconds:.0f} s, {kinds} kinds of failure"
    )
    if result.missing:
        print(f"{result.missing:,} inputs were not used: time was up; give more with --seconds")
    for (target, kind), failures in sorted(result.failures.items()):
        again = f"--target {target} --seed {result.seed} --index {failures[0].index}"
        print(f"\n{target}: {kind} ({len(failures)} times)\n  {sys.executable} -m tests.fuzz {again}")
    return int(bool(result.failures))


if __name__ == "__main__":
    sys.exit(main())

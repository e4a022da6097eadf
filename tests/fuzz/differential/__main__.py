"""``python -m tests.fuzz.differential OTHER``: whether another checkout reads and writes corpora as this one does."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.differential.compare import Comparison, Difference, compare, explain, read_intended, shown
from tests.fuzz.differential.side import MESSAGES

SHOWN = 8
"""Kinds of differences that are shown, of results and of messages each."""


def report(result: Comparison, seed: int, other: Path) -> int:
    """Prints differences by kind, changed results before changed messages; 1 if one is not intended."""
    sides: dict[str, list[Difference]] = {"results": [], "messages": []}
    for one in result.found:
        sides["messages" if one.part in MESSAGES else "results"].append(one)
    for what, found in sides.items():
        kinds = Counter((one.kind, one.part) for one in found)
        inputs = len({one.index for one in found})
        print(f"{what}: {f'{inputs:,} inputs differ, in {len(kinds)} ways' if found else 'equal'}")
        for (kind, part), count in kinds.most_common(SHOWN):
            first = next(one for one in found if (one.kind, one.part) == (kind, part))
            print(f"\n  {kind}, {part}: {count:,} inputs, such as --index {first.index}")
            print(*(f"    {line}" for line in shown(first.lines)), sep="\n")
        if len(kinds) > SHOWN:
            print(f"\n  and {len(kinds) - SHOWN} ways more")
        if found:
            print()
    for intended, times in result.intended.items():
        print(f"intended: {times:,} times {intended.reason}{'' if times else '; is it still needed?'}")
    print(f"{result.inputs:,} inputs with seed {seed}, of which {len(result.different):,} differ")
    if result.found:
        print(f"one of them again: {sys.executable} -m tests.fuzz.differential {other} --seed {seed} --index N")
    return int(bool(result.found))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.differential", description=__doc__)
    parser.add_argument("other", type=Path, metavar="OTHER", help="the other checkout")
    parser.add_argument("--inputs", type=int, default=20_000, help="so many (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="decides on all inputs (%(default)s)")
    parser.add_argument("--index", type=int, metavar="N", help="show one input and what both make of it")
    given = parser.parse_args()
    if given.index is not None:
        found = explain(given.other, given.index, given.seed)
        for one in found:
            print(f"\n{one.part}: - here, + in {given.other}", *shown(one.lines, 40), sep="\n  ")
        return int(bool(found))
    begun = time.monotonic()
    result = compare(given.other, given.inputs, given.seed)
    result.set_aside(read_intended())
    status = report(result, given.seed, given.other)
    print(f"{time.monotonic() - begun:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())

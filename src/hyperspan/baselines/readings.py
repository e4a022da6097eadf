"""Structural ambiguity: what remains of mentions when only their starts, ends and insides are marked.

The mention hypergraph and the mention separators mark, separately for each type, where *some* mention starts, where
some mention ends, and where some mention continues. That is a :class:`Structure`. Several sets of mentions may have the
same one, so a structure must be *read*:

- ``"all"``: pair every start with every end that it reaches without an uncrossed gap. This is the largest set with
  that structure; a set that is read as itself is *closed*.
- ``"nested"``: no two mentions of a type cross. In each stretch of words that mentions connect, the first start takes
  the last end; from left to right, each other end takes the nearest free start before it, or else the first start;
  each remaining free start then takes the last end.

Both use every start, every end and every crossing, so either reading of a structure has that same structure.

>>> mentions = {(1, 3, 0), (0, 4, 0)}  # B C and A B C D, in the paper's example
>>> is_ambiguous(mentions)
True
>>> sorted(closure(mentions))  # A B C and B C D would leave the same marks
[(0, 3, 0), (0, 4, 0), (1, 3, 0), (1, 4, 0)]
>>> sorted(read(structure_of(closure(mentions)), "nested"))
[(0, 4, 0), (1, 3, 0)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from hyperspan.structures import Mention, MentionSet

Reading = Literal["all", "nested"]


@dataclass(frozen=True)
class Structure:
    """Marks at gaps, as pairs (gap, type). Gap g is the one before word g, so a mention (i, j, k) goes from gap i to
    gap j."""

    starts: frozenset[tuple[int, int]]
    """A mention starts with the word after the gap."""
    ends: frozenset[tuple[int, int]]
    """A mention ends with the word before the gap."""
    continues: frozenset[tuple[int, int]]
    """A mention contains both the word before the gap and the word after it."""


def structure_of(mentions: Iterable[Mention]) -> Structure:
    """The structure of a set of mentions."""
    pool = list(mentions)
    return Structure(
        starts=frozenset((start, kind) for start, _, kind in pool),
        ends=frozenset((end, kind) for _, end, kind in pool),
        continues=frozenset((gap, kind) for start, end, kind in pool for gap in range(start + 1, end)),
    )


def read(structure: Structure, reading: Reading = "all") -> MentionSet:
    """The mentions that a structure stands for under a reading."""
    check_reading(reading)
    stretches = _stretches(structure)
    found = frozenset(
        (start, end, kind) for kind, starts, ends in stretches for start, end in pairs_of(starts, ends, reading)
    )
    if structure_of(found) != structure:
        raise ValueError(
            f"expected every start to reach an end, and every end and every gap inside to be reached, got {structure}"
        )
    return found


def check_reading(reading: str) -> None:
    if reading not in get_args(Reading):
        raise ValueError(f"expected the reading to be one of {', '.join(get_args(Reading))}, got {reading!r}")


def closure(mentions: Iterable[Mention]) -> MentionSet:
    """The largest set with the same structure."""
    return read(structure_of(mentions), "all")


def is_ambiguous(mentions: Iterable[Mention]) -> bool:
    """Whether another set of mentions has the same structure.

    >>> is_ambiguous({(0, 3, 0), (0, 2, 0)}), is_ambiguous({(0, 2, 0), (2, 3, 0)}), is_ambiguous({(0, 2, 0), (1, 3, 0)})
    (False, False, True)
    """
    # All sets with the structure are subsets of the largest. A set between two of them has it too, so if there is a
    # second one, there is one with a single mention less.
    structure = structure_of(mentions)
    largest = read(structure, "all")
    return any(structure_of(largest - {mention}) == structure for mention in largest)


def _stretches(structure: Structure) -> Iterator[tuple[int, list[int], list[int]]]:
    """(type, its starts, its ends) for each longest stretch of words that mentions of a type connect."""
    by_stretch: dict[tuple[int, int], list[int]] = {}  # (last gap, type) -> starts
    for start, kind in sorted(structure.starts):
        last = start + 1
        while (last, kind) in structure.continues:
            last += 1
        by_stretch.setdefault((last, kind), []).append(start)
    for (last, kind), starts in by_stretch.items():
        yield kind, starts, [gap for gap in range(starts[0] + 1, last + 1) if (gap, kind) in structure.ends]


def pairs_of(starts: list[int], ends: list[int], reading: Reading) -> Iterator[tuple[int, int]]:
    """Pair the starts and ends of a stretch, each in ascending order, according to a reading.

    >>> list(pairs_of([0, 1], [3, 4], "nested"))
    [(0, 4), (1, 3)]
    """
    return (_all_pairs if reading == "all" else _nested_pairs)(starts, ends)


def _all_pairs(starts: list[int], ends: list[int]) -> Iterator[tuple[int, int]]:
    return ((start, end) for start in starts for end in ends if start < end)


def _nested_pairs(starts: list[int], ends: list[int]) -> Iterator[tuple[int, int]]:
    if not ends:
        return
    yield starts[0], ends[-1]
    free: list[int] = []
    waiting = starts[:0:-1]  # all but the first, the leftmost last
    for end in ends[:-1]:
        while waiting and waiting[-1] < end:
            free.append(waiting.pop())
        yield (free.pop() if free else starts[0]), end
    for start in (*free, *waiting):
        yield start, ends[-1]

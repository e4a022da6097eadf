"""The mention sets that share a structure of starts, ends and insides: what an ambiguous picture may also mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal

from hyperspan.structures import MentionSet, read, structure_of
from hyperspan.structures.scores import Mention


def sets_with_structure_of(
    mentions: Iterable[Mention],
) -> Iterator[tuple[Literal["all", "nested", "other"], MentionSet]]:
    """Every set of mentions that leaves the same marks: the two readings, then the others, the largest first.

    >>> nested = {(1, 3, 0), (0, 4, 0)}  # B C and A B C D, to which A B C, B C D or both can be added, and more
    >>> [(name, len(others)) for name, others in sets_with_structure_of(nested)][:4]
    [('all', 4), ('nested', 2), ('other', 3), ('other', 3)]
    """
    structure = structure_of(mentions)
    largest, nested = read(structure, "all"), read(structure, "nested")
    yield "all", largest
    if nested != largest:
        yield "nested", nested
    # What lies between two sets with the structure has it too, so leaving out one mention at a time leads to all.
    seen = {largest}
    waiting = deque(seen)
    while waiting:
        here = waiting.popleft()
        for mention in sorted(here):
            smaller = here - {mention}
            if smaller not in seen and structure_of(smaller) == structure:
                seen.add(smaller)
                waiting.append(smaller)
                if smaller != nested:
                    yield "other", smaller

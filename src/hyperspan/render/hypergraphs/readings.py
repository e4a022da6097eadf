"""The mention sets that share one hyperpath of an ambiguous structure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal

from hyperspan.structures import MentionSet, read, structure_of
from hyperspan.structures.mentions import Mention


def sets_with_structure_of(
    mentions: Iterable[Mention],
) -> Iterator[tuple[Literal["all", "nested", "other"], MentionSet]]:
    """Every mention set with the same structure: the two readings, then the others, the largest first.

    >>> nested = {(1, 3, 0), (0, 4, 0)}  # B C and A B C D, to which A B C, B C D or both can be added, and more
    >>> [(name, len(others)) for name, others in sets_with_structure_of(nested)][:4]
    [('all', 4), ('nested', 2), ('other', 3), ('other', 3)]
    """
    structure = structure_of(mentions)
    largest, nested = read(structure, "all"), read(structure, "nested")
    yield "all", largest
    if nested != largest:
        yield "nested", nested
    # Any set between two sets with this structure has it too, so removing one mention at a time reaches all of them.
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

"""The mention sets that share one hyperpath of an ambiguous structure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal

from hyperspan.baselines.readings import read, structure_of
from hyperspan.structures import MentionSet
from hyperspan.structures.mentions import Mention as Triple
from hyperspan.types import Mention


def sets_with_structure_of(
    mentions: Iterable[Triple],
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


def other_readings(mentions: Iterable[Mention]) -> Iterator[tuple[str, list[Mention]]]:
    """The other mention sets with the same hyperpath in an ambiguous structure.

    Each comes with a name: the reading "all" or "nested" (see :mod:`hyperspan.baselines.readings`), or "other".

    >>> mentions = [Mention(0, 2, "X"), Mention(0, 3, "X"), Mention(1, 3, "X")]
    >>> for name, others in other_readings(mentions):
    ...     print(name, [mention.span for mention in others])
    all [(0, 2), (0, 3), (1, 2), (1, 3)]
    nested [(0, 3), (1, 2)]
    other [(0, 3), (1, 2), (1, 3)]
    other [(0, 2), (1, 2), (1, 3)]
    other [(0, 2), (0, 3), (1, 2)]
    other [(0, 2), (1, 3)]
    """
    found = set(mentions)
    labels = sorted({mention.label for mention in found})
    given = frozenset((mention.start, mention.end, labels.index(mention.label)) for mention in found)
    for name, alike in sets_with_structure_of(given):
        if alike != given:
            yield name, [Mention(start, end, labels[kind]) for start, end, kind in sorted(alike)]

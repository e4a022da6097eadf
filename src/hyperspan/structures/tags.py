"""The tags of words: outside, or beginning, inside, last word or only word (unit) of a mention of one of m types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from hyperspan.structures.mentions import Mention, MentionSet, check_mentions

Tags = tuple[int, ...]
OUTSIDE = 0
BEGIN, INSIDE, LAST, UNIT = range(1, 5)
"""The tags of type 0; those of type k are 4 k higher."""


def tags_of(mentions: Iterable[Mention], length: int, types: int) -> Tags:
    """The tags of a sentence with these mentions, which must not overlap.

    >>> tags_of({(0, 3, 0), (4, 5, 1)}, length=6, types=2)
    (1, 2, 3, 0, 8, 0)
    """
    (wanted,) = check_mentions([mentions], [length], types)
    if outermost(wanted)[1]:
        raise ValueError(f"expected mentions that do not overlap, got {sorted(wanted)}: choose some with outermost()")
    tags = [OUTSIDE] * length
    for start, end, kind in wanted:
        inner = [BEGIN, *[INSIDE] * (end - start - 2), LAST] if end - start > 1 else [UNIT]
        tags[start:end] = [tag + 4 * kind for tag in inner]
    return tuple(tags)


def mentions_of_tags(tags: Sequence[int]) -> MentionSet:
    """The mentions of a tag sequence in which every mention that begins also ends.

    >>> sorted(mentions_of_tags((1, 2, 3, 0, 8, 0)))
    [(0, 3, 0), (4, 5, 1)]
    """
    mentions: set[Mention] = set()
    start = 0
    for position, tag in enumerate(tags):
        if tag % 4 in (BEGIN, UNIT % 4):
            start = position
        if tag % 4 in (LAST, UNIT % 4) and tag != OUTSIDE:
            mentions.add((start, position + 1, (tag - 1) // 4))
    return frozenset(mentions)


def outermost(mentions: Iterable[Mention]) -> tuple[MentionSet, MentionSet]:
    """Select non-overlapping mentions; return them and the dropped ones.

    From left to right: for each start the longest mention is kept (for each span the first type), and a mention that
    starts inside the last kept one is dropped, even if it ends outside.

    >>> outermost({(0, 2, 0), (0, 4, 1), (3, 6, 0), (5, 7, 0)})[0] == {(0, 4, 1), (5, 7, 0)}
    True
    """
    pool = set(mentions)
    kept: list[Mention] = []
    for start, end, kind in sorted(pool, key=lambda mention: (mention[0], -mention[1], mention[2])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, kind))
    return frozenset(kept), frozenset(pool.difference(kept))


class LegalTags(NamedTuple):
    """The tag sequences that are mention sets: every mention that begins continues with its type until it ends."""

    step: np.ndarray  # (t, t): whether the second may follow the first
    first: np.ndarray  # (t,): whether a sentence may begin with it
    last: np.ndarray  # (t,): whether a sentence may end with it


def legal_tags(types: int) -> LegalTags:
    """The rules of the tags of `types` types."""
    tags = np.arange(4 * types + 1)
    place, kind = tags % 4, (tags - 1) // 4  # modulo 4, outside is as good as a unit
    first = (place == BEGIN) | (place == UNIT % 4)
    last = (place == LAST) | (place == UNIT % 4)
    goes_on = (kind[:, None] == kind) & ~first
    return LegalTags(np.where(last[:, None], first, goes_on), first, last)

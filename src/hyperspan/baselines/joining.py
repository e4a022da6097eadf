"""Convert mentions to segments and pairs of segments, which a two-step model learns, and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from hyperspan.structures import Mention
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.mentions import AnyMention, Parts, fragments_of, with_parts

Span = tuple[int, int]
Pair = tuple[Span, Span]


def segments_of(mentions: Iterable[AnyMention], types: int) -> set[Mention]:
    """Contiguous mentions, and the parts of discontinuous ones, which have separate types: `types` + k for type k.

    >>> sorted(segments_of({(0, 1, 1), (0, 4, 1, ((0, 1), (3, 4)))}, types=2))
    [(0, 1, 1), (0, 1, 3), (3, 4, 3)]
    """
    found: set[Mention] = set()
    for mention in mentions:
        parts = fragments_of(mention)
        found |= {(start, end, types + mention[2]) for start, end in parts} or {(mention[0], mention[1], mention[2])}
    return found


def pairs_of(mentions: Iterable[AnyMention]) -> set[tuple[int, Pair]]:
    """The type and both segments of each pair of parts of one mention.

    >>> len(pairs_of({(0, 6, 1, ((0, 1), (2, 3), (5, 6))), (0, 3, 1)}))
    3
    """
    return {(one[2], pair) for one in mentions for pair in itertools.combinations(fragments_of(one), 2)}


def joined_mentions(pairs: Mapping[Pair, float], kind: int, limits: Limits) -> dict[AnyMention, float]:
    """The mentions of one type whose segments are all joined pairwise, with the probability of the least probable pair.

    Only maximal mentions within the limits count: a mention that is part of another is left out.

    >>> limits = Limits(parts=3, width=9, gap=4, later_width=9)
    >>> a, b, c = (0, 1), (2, 3), (4, 5)
    >>> list(joined_mentions({(a, c): 0.9, (b, c): 0.8}, 0, limits))
    [(0, 5, 0, ((0, 1), (4, 5))), (2, 5, 0, ((2, 3), (4, 5)))]
    >>> joined_mentions({(a, b): 0.9, (b, c): 0.8, (a, c): 0.7}, 0, limits)
    {(0, 5, 0, ((0, 1), (2, 3), (4, 5))): 0.7}
    """
    after: dict[Span, set[Span]] = {}
    for first, second in pairs:
        after.setdefault(first, set()).add(second)
    every: list[Parts] = []
    growing: list[Parts] = [(first, second) for first, second in pairs]
    while growing:
        every += growing
        growing = [
            (*parts, further)
            for parts in growing
            if len(parts) < limits.parts
            for further in sorted(set.intersection(*(after.get(part, set()) for part in parts)))
        ]
    allowed = [parts for parts in every if limits.allow(with_parts(parts, kind))]
    inner = {some for parts in allowed for size in range(2, len(parts)) for some in itertools.combinations(parts, size)}
    return {
        with_parts(parts, kind): min(pairs[pair] for pair in itertools.combinations(parts, 2))
        for parts in sorted(allowed)
        if parts not in inner
    }

"""Lanes for overlapping spans, and colours for labels."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hyperspan.types import Mention, Sentence

PALETTE = ("#1b6ac9", "#c4421a", "#23834a", "#8a3fb0", "#a36800", "#0f7d86", "#b02a6b", "#5b6b1f", "#5a5a5a", "#6c4ad1")
"""Dark enough for text on white, and distinct in hue and lightness; labels are always written out as well."""


def lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each half-open span the first lane in which it overlaps no earlier span.

    A span costs one binary search for each lane tried, so thousands of spans that overlap a few deep are quick.

    >>> lanes([(0, 3), (1, 2), (3, 4), (0, 4)])
    [0, 1, 0, 2]
    """
    taken: list[list[tuple[int, int]]] = []  # the spans of a lane, from left to right
    chosen: list[int] = []
    for span in spans:
        lane = next((lane for lane, others in enumerate(taken) if _has_room(others, span)), len(taken))
        if lane == len(taken):
            taken.append([])
        insort(taken[lane], span)
        chosen.append(lane)
    return chosen


def _has_room(others: list[tuple[int, int]], span: tuple[int, int]) -> bool:
    place = bisect_right(others, span)
    return (place == 0 or others[place - 1][1] <= span[0]) and (place == len(others) or span[1] <= others[place][0])


def shortest_first(mentions: Iterable[Mention]) -> list[Mention]:
    """The order in which mentions take lanes: nested mentions are nearer to the text than those around them."""
    return sorted(mentions, key=lambda mention: (mention.end - mention.start, mention))


def colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, independent of their order.

    >>> colours(["PER", "ORG"])
    {'ORG': '#1b6ac9', 'PER': '#c4421a'}
    """
    return {label: PALETTE[index % len(PALETTE)] for index, label in enumerate(sorted(set(labels)))}


def spaces_before(sentence: Sentence) -> list[bool]:
    """Whether a space precedes each token: by the offsets, or before all but the first if the sentence has none.

    >>> spaces_before(Sentence(["zoo", "."], offsets=[(0, 3), (3, 4)])), spaces_before(Sentence(["zoo", "."]))
    ([False, False], [False, True])
    """
    gaps = [before[1] < after[0] for before, after in pairwise(sentence.offsets)] or [True] * (len(sentence) - 1)
    return [False, *gaps][: len(sentence)]

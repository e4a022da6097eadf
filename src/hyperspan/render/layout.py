"""Who stands where: lanes for overlapping spans, and colours for labels."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence

from hyperspan.types import Mention

PALETTE = ("#1b6ac9", "#c4421a", "#23834a", "#8a3fb0", "#a36800", "#0f7d86", "#b02a6b", "#5b6b1f", "#5a5a5a", "#6c4ad1")
"""Dark enough for text on white, apart in hue and lightness; labels are always written out as well."""


def lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each half-open span the first lane in which it meets none of the spans before it.

    A span costs as many searches as lanes are tried, so thousands that overlap a few deep are quick.

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
    """The order in which mentions choose their lanes: what is inside stands nearer to the text than what is around it."""
    return sorted(mentions, key=lambda mention: (mention.end - mention.start, mention))


def colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, the same whatever order they come in.

    >>> colours(["PER", "ORG"])
    {'ORG': '#1b6ac9', 'PER': '#c4421a'}
    """
    return {label: PALETTE[index % len(PALETTE)] for index, label in enumerate(sorted(set(labels)))}

"""Lanes for overlapping spans, and colours for labels."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from hyperspan.render.style import PALETTE
from hyperspan.types import MENTION_ORDER, Mention, Sentence

DEEP = 8
"""A stack of more lanes than this is drawn in thin lanes, except its most probable mentions."""
MOST = 40
"""The number of bars that a page draws over any character; those left out are less probable."""
NAMED = 5
"""The number of lanes of a deep stack that keep their full height, with labels."""
SURE = 0.5
"""The minimum probability of mentions that keep their labels in a deep stack."""
_THIN = (0.12, 0.3)
"""The minimum and maximum height of a thin lane, relative to a full one."""


class Colours:
    """The number of each label, which decides its colour and, beyond the size of the palette, its dash pattern.

    They are numbered in their order, so that a label that comes later changes no colour. Terminals and pages share it.
    Labels of a text that are all new, as those of another model, begin the palette anew where they would exceed it.

    >>> colours = Colours(["PER", "ORG"])
    >>> colours.add(["GPE", "PER"])
    >>> colours.styles
    {'PER': '#1b6ac9', 'ORG': '#c4421a', 'GPE': '#23834a'}
    >>> colours.add("abcdefgh")
    >>> colours.numbers["a"], colours.numbers["h"]
    (0, 7)
    """

    def __init__(self, labels: Iterable[str] = ()):
        self.numbers: dict[str, int] = {}
        self._next = 0
        self.add(labels)

    def add(self, labels: Iterable[str]) -> None:
        given = dict.fromkeys(labels)
        new = [label for label in given if label not in self.numbers]
        if len(new) == len(given) and self._next + len(new) > len(PALETTE):
            self._next = 0
        for label in new:
            self.numbers[label] = self._next
            self._next += 1

    @property
    def styles(self) -> dict[str, str]:
        """The colour of each label on white."""
        return {label: PALETTE[number % len(PALETTE)] for label, number in self.numbers.items()}

    def name(self, label: str) -> str:
        """The CSS variable of the label's colour."""
        return f"--c{self.numbers[label] % len(PALETTE)}"

    def image(self, label: str, strength: float = 1.0) -> str:
        """The CSS image of a bar: the weaker, the paler."""
        colour = f"var({self.name(label)})"
        if strength < 0.995:
            # Mixed with the page colour instead of transparent: in print, neighbouring segments may overlap slightly.
            colour = f"color-mix(in srgb,{colour} {25 + 75 * max(strength, 0.0):.0f}%,var(--page))"
        dash = self.numbers[label] // len(PALETTE)
        if not dash:
            return f"linear-gradient({colour} 0 0)"
        long = max(8 // dash, 1)
        return f"repeating-linear-gradient(90deg,{colour} 0 {long}px,transparent {long}px {long + 3}px)"


class BarPlace(NamedTuple):
    """The position of a bar below its words: the top and the height of its lane, in full lanes."""

    top: float
    height: float


def not_too_deep(spans: Sequence[tuple[int, int]], probabilities: Sequence[float], most: int) -> list[int]:
    """The indices of the spans to draw: at most `most` over any place, the more probable and then the earlier ones.

    Nobody can read thousands of bars over one word, and all of them over each word would be quadratic.

    >>> not_too_deep([(0, 9), (1, 3), (2, 4), (6, 8)], [0.9, 0.2, 0.5, 0.1], 2)
    [0, 2, 3]
    """
    left_out: set[int] = set()
    reaching: list[int] = []  # what is drawn so far and ends after the next one begins
    for index in sorted(range(len(spans)), key=lambda index: spans[index][0]):
        reaching = [*(other for other in reaching if spans[other][1] > spans[index][0]), index]
        if len(reaching) > most:
            least = max(reaching, key=lambda other: (-probabilities[other], other))
            reaching.remove(least)
            left_out.add(least)
    return [index for index in range(len(spans)) if index not in left_out]


def lanes(spans: Sequence[tuple[int, int]], most: float = math.inf) -> list[int]:
    """For each half-open span, the first lane in which it overlaps no earlier span; `most` if it finds none before it.

    A span costs one binary search for each lane tried, so thousands of spans that overlap a few deep are quick.

    >>> lanes([(0, 3), (1, 2), (3, 4), (0, 4)]), lanes([(0, 3), (0, 2), (0, 4), (3, 4)], most=1)
    ([0, 1, 0, 2], [0, 1, 1, 0])
    """
    taken: list[list[tuple[int, int]]] = []  # the spans of a lane, from left to right
    chosen: list[int] = []
    for span in spans:
        lane = next((lane for lane, others in enumerate(taken) if _has_room(others, span)), len(taken))
        if lane == len(taken) < most:
            taken.append([])
        if lane < most:
            insort(taken[lane], span)
        chosen.append(lane)
    return chosen


def _has_room(others: list[tuple[int, int]], span: tuple[int, int]) -> bool:
    place = bisect_right(others, span)
    return (place == 0 or others[place - 1][1] <= span[0]) and (place == len(others) or span[1] <= others[place][0])


def stack(
    spans: Sequence[tuple[int, int]], room: Sequence[tuple[int, int]], probabilities: Sequence[float]
) -> list[BarPlace]:
    """Places for spans whose labels need `room`: one lane each, and thin lanes below if the overlap is too deep.

    >>> stack([(0, 9), (2, 9)], [(0, 9), (2, 9)], [1, 1])
    [BarPlace(top=0, height=1), BarPlace(top=1, height=1)]
    """
    rows = lanes(room, DEEP)
    groups = _overlapping(spans)
    in_deep = {index for group in groups if any(rows[index] == DEEP for index in group) for index in group}
    if not in_deep:
        return [BarPlace(row, 1) for row in rows]
    named = [index for index in range(len(spans)) if index not in in_deep or probabilities[index] >= SURE]
    rows = lanes([room[index] for index in named], DEEP)
    places = {
        index: BarPlace(row, 1)
        for index, row in zip(named, rows, strict=True)
        if row < (NAMED if index in in_deep else DEEP)
    }
    full = sorted((room[index], places[index].top + 1) for index in places)
    longest = max(
        (reach - start for (start, end), (_, reach) in zip(spans, room, strict=True) if reach > end), default=0
    )
    for group in groups:
        thin = sorted(set(group) - places.keys(), key=lambda index: (spans[index][0], -spans[index][1], index))
        if not thin:
            continue
        start, end = min(spans[index][0] for index in group), max(spans[index][1] for index in group)
        near = full[bisect_left(full, ((start - longest, 0), 0)) : bisect_left(full, ((end, 0), 0))]
        top = max((bottom for (_, reach), bottom in near if start < reach), default=0)
        rows = lanes([spans[index] for index in thin])
        height = min(max(NAMED / (max(rows) + 1), _THIN[0]), _THIN[1])
        places |= {index: BarPlace(top + row * height, height) for index, row in zip(thin, rows, strict=True)}
    return [places[index] for index in range(len(spans))]


def _overlapping(spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The indices of the spans in groups that overlap, directly or indirectly."""
    groups: list[list[int]] = []
    reach = -1
    for index in sorted(range(len(spans)), key=lambda index: spans[index]):
        if spans[index][0] >= reach:
            groups.append([])
        groups[-1].append(index)
        reach = max(reach, spans[index][1])
    return groups


def shortest_first(mentions: Iterable[Mention]) -> list[Mention]:
    """The order in which mentions take lanes: inner mentions are nearer to the text than outer ones."""
    return sorted(mentions, key=lambda mention: (mention.end - mention.start, MENTION_ORDER(mention)))


def certain(mention: Mention) -> float:
    """The probability of a mention; one without a probability is certain."""
    return 1.0 if mention.probability is None else mention.probability


def words_of(mention: Mention) -> str:
    """The words of a document's mention on one line, with … between the parts of a discontinuous one.

    >>> words_of(Mention(2, 22, "ORGAN", ((2, 6), (17, 22)), text="left and right lungs"))
    'left … lungs'
    """
    parts = (mention.text[start - mention.start : end - mention.start] for start, end in mention.parts)
    return " ".join(" … ".join(parts).split())


def spaces_before(sentence: Sentence) -> list[bool]:
    """Whether a space precedes each token: by the offsets or, without them, before all but the first.

    >>> spaces_before(Sentence(["zoo", "."], offsets=[(0, 3), (3, 4)])), spaces_before(Sentence(["zoo", "."]))
    ([False, False], [False, True])
    """
    gaps = [before[1] < after[0] for before, after in pairwise(sentence.offsets)] or [True] * (len(sentence) - 1)
    return [False, *gaps][: len(sentence)]


def spaced_text(sentence: Sentence) -> tuple[str, list[tuple[int, int]]]:
    """The tokens as text, separated by spaces unless their offsets show none, with the span of each token in it.

    >>> spaced_text(Sentence(["zoo", "."], offsets=[(7, 10), (10, 11)]))
    ('zoo.', [(0, 3), (3, 4)])
    """
    offsets: list[tuple[int, int]] = []
    text = ""
    for token, gap in zip(sentence.tokens, spaces_before(sentence), strict=True):
        text += " " * gap
        offsets.append((len(text), len(text) + len(token)))
        text += token
    return text, offsets

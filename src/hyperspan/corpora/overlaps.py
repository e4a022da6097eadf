"""The relation of a mention to the others of its set: inside, around, crossing, on the same words.

Two mentions overlap if they share a word. Words in the gaps of a discontinuous mention do not belong to it. Statistics,
scores and views all use these definitions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Literal

from hyperspan.types import MENTION_ORDER, Mention, Span, longest_first

Relation = Literal["same_span", "inside", "crossing"]

KINDS = {
    "none": "shares no word with another mention",
    "any": "shares a word with another mention",
    "inside": "all its words, and more, are in another mention",
    "contains": "all words of another mention, and more, are in it",
    "crossing": "shares some words with another mention, and each has words of its own",
    "same_span": "has exactly the words of another mention, which is of another type",
    "same_type": "shares a word with another mention of the same type",
    "same_type_and_start": "shares a word with another mention of the same type that begins at the same word",
}
"""The relations of a mention to the others of its set.

All but "none" can hold together: a mention in the middle of three is "inside" and "contains".
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a mention among the others of its set."""

    depth: int
    """The length of the longest chain of nested mentions that ends here; 1 is outermost.

    Mentions on the same words are equally deep.
    """
    kinds: frozenset[str]
    """The KINDS that hold for it."""


ALONE = Place(1, frozenset({"none"}))


def words_of(mention: Mention) -> int:
    """The words of a mention as bits of an integer, without those in gaps.

    >>> bin(words_of(Mention(1, 3, "A"))), bin(words_of(Mention(0, 4, "A", ((0, 1), (3, 4)))))
    ('0b110', '0b1001')
    """
    return sum((1 << end) - (1 << start) for start, end in mention.parts)


def overlaps(mentions: Iterable[Mention]) -> bool:
    """Whether any two of the mentions share a word.

    >>> overlaps({Mention(0, 3, "FAC"), Mention(1, 2, "GPE")}), overlaps({Mention(0, 1, "FAC"), Mention(1, 2, "GPE")})
    (True, False)
    """
    covered = 0
    for mention in mentions:
        words = words_of(mention)
        if covered & words:
            return True
        covered |= words
    return False


def without_overlaps(mentions: Iterable[Mention], innermost: bool = False) -> list[Mention]:
    """The mentions that share no word with another one that is kept; long ones are kept first, or short ones.

    >>> zoo, seattle, ada = Mention(0, 3, "FAC"), Mention(1, 2, "GPE"), Mention(3, 4, "PER")
    >>> [mention.span for mention in without_overlaps([zoo, seattle, ada])]
    [(0, 3), (3, 4)]
    """
    sign = 1 if innermost else -1
    kept: list[Mention] = []
    taken: list[Span] = []
    for mention in sorted(mentions, key=lambda one: (sign * (one.end - one.start), MENTION_ORDER(one))):
        places = [bisect_left(taken, part) for part in mention.parts]
        if all(
            (place == 0 or taken[place - 1][1] <= start) and (place == len(taken) or end <= taken[place][0])
            for place, (start, end) in zip(places, mention.parts, strict=True)
        ):
            kept.append(mention)
            for part in mention.parts:
                insort(taken, part)
    return kept


def without_crossings(mentions: Iterable[Mention]) -> list[Mention]:
    """The mentions that are nested or apart; of two that cross, the later one is left out.

    >>> [mention.span for mention in without_crossings([Mention(0, 3, "A"), Mention(1, 2, "B"), Mention(1, 4, "C")])]
    [(0, 3), (1, 2)]
    """
    kept: list[Mention] = []
    around: list[Mention] = []
    for mention in sorted(mentions, key=longest_first):
        while around and around[-1].end <= mention.start:
            around.pop()
        if not around or mention.end <= around[-1].end:
            kept.append(mention)
            around.append(mention)
    return kept


def places(mentions: Iterable[Mention]) -> dict[Mention, Place]:
    """The place of every mention of a set among the others; one that is listed twice overlaps itself.

    >>> found = places({Mention(0, 3, "PER"), Mention(0, 4, "PER"), Mention(1, 2, "ORG")})
    >>> [(mention.span, place.depth) for mention, place in sorted(found.items())]
    [((0, 3), 2), ((0, 4), 1), ((1, 2), 3)]
    >>> sorted(found[Mention(0, 3, "PER")].kinds)
    ['any', 'contains', 'inside', 'same_type', 'same_type_and_start']
    """
    ordered = sorted(mentions, key=_outer_first)
    if all(one.end <= other.start for one, other in pairwise(ordered)):  # most sentences
        return dict.fromkeys(ordered, ALONE)
    kinds = _kinds_of_contiguous(ordered)
    around: dict[int, list[int]] = {}
    for outer, inner, relation in _discontinuous_pairs(ordered):
        if relation == "inside":
            around.setdefault(inner, []).append(outer)
        same_type = {"same_type"} if ordered[inner].label == ordered[outer].label else set()
        kinds[inner] |= same_type | {relation}
        kinds[outer] |= same_type | {"contains" if relation == "inside" else relation}
    beginning = Counter([(mention.label, mention.start) for mention in ordered])
    for mention, found in zip(ordered, kinds, strict=True):
        if beginning[mention.label, mention.start] > 1:
            found.add("same_type_and_start")
        found.add("any" if found else "none")
    return {
        mention: Place(depth, frozenset(found))
        for mention, depth, found in zip(ordered, _depths(ordered, around), kinds, strict=True)
    }


def crossing_pairs(mentions: Iterable[Mention]) -> int:
    """The number of pairs of mentions that share words, of which each has words of its own.

    >>> crossing_pairs([Mention(0, 2, "A"), Mention(1, 3, "B"), Mention(1, 3, "C"), Mention(1, 2, "D")])
    2
    """
    ordered = sorted(mentions, key=_outer_first)
    contiguous = sum(_crossed([mention.span for mention in ordered if not mention.fragments]))
    return contiguous + sum(relation == "crossing" for *_, relation in _discontinuous_pairs(ordered))


def _kinds_of_contiguous(ordered: Sequence[Mention]) -> list[set[str]]:
    """The kinds that hold for contiguous mentions among themselves, without "any" and those of the same start."""
    kinds: list[set[str]] = [set() for _ in ordered]
    contiguous = [(one, found) for one, found in zip(ordered, kinds, strict=True) if not one.fragments]
    _add_from_earlier(contiguous)
    _add_from_later(contiguous)
    if any(_crossed([mention.span for mention, _ in contiguous])):
        _add_crossing([(mention.span, found) for mention, found in contiguous])
    return kinds


def _add_from_earlier(contiguous: Iterable[tuple[Mention, set[str]]]) -> None:
    """Add what follows from the mentions before each in this order: it is inside one, or shares words or type."""
    reach, last = 0, (0, 0)  # `reach` is the last end of other spans
    ends: dict[str, int] = {}  # the last one of each label
    for mention, kinds in contiguous:
        start, end = span = mention.span
        if span == last:
            kinds.add("same_span")
        else:
            reach, last = max(reach, last[1]), span
        if end <= reach:
            kinds.add("inside")
        before = ends.get(mention.label, 0)
        if start < before:
            kinds.add("same_type")
        ends[mention.label] = max(before, end)


def _add_from_later(contiguous: Sequence[tuple[Mention, set[str]]]) -> None:
    """Add what follows from the mentions after each in this order: it contains one, or shares words or type."""
    least, last = inf, (inf, inf)  # `least` is the first end of other spans
    starts: dict[str, int] = {}  # the first one of each label
    for mention, kinds in reversed(contiguous):
        start, end = span = mention.span
        if span == last:
            kinds.add("same_span")
        else:
            least, last = min(least, last[1]), span
        if least <= end:
            kinds.add("contains")
        if starts.get(mention.label, inf) < end:
            kinds.add("same_type")
        starts[mention.label] = start


def _add_crossing(contiguous: Iterable[tuple[Span, set[str]]]) -> None:
    """Add this kind to mentions that another crosses from the left or, seen in a mirror, from the right."""
    for _ in range(2):
        placed = sorted(contiguous, key=lambda one: (one[0][0], -one[0][1]))
        for (_span, kinds), count in zip(placed, _crossed([span for span, _ in placed]), strict=True):
            if count:
                kinds.add("crossing")
        contiguous = [((-end, -start), kinds) for (start, end), kinds in placed]


def _crossed(ordered: Iterable[Span]) -> list[int]:
    """For each span, the number of those that begin before it and end inside it; the outer of two comes first."""
    ends: list[int] = []
    counts: list[int] = []
    for start, end in ordered:
        counts.append(bisect_left(ends, end) - bisect_right(ends, start))
        insort(ends, end)
    return counts


def _depths(ordered: Sequence[Mention], around: Mapping[int, Iterable[int]]) -> list[int]:
    """The depth of every mention; `around` lists at least the discontinuous ones around a mention."""
    depths: list[int] = []
    of_span: dict[Span, int] = {}
    nearest: list[int] = []  # minus the last end of the contiguous mentions so far at depth 1, 2, … or deeper: it rises
    for index, mention in enumerate(ordered):
        end = -mention.end
        depth = 1 + bisect_right(nearest, end)
        if index in around:
            depth = max(depth, 1 + max(depths[outer] for outer in around[index]))
        if not mention.fragments:
            depth = level = of_span.setdefault(mention.span, depth)
            nearest += [0] * (depth - len(nearest))
            while level and nearest[level - 1] > end:
                level -= 1
                nearest[level] = end
        depths.append(depth)
    return depths


def _discontinuous_pairs(ordered: Sequence[Mention]) -> Iterator[tuple[int, int, Relation]]:
    """Yield pairs of mentions that share words as indices, with their relation; one or both are discontinuous."""
    if not any(mention.fragments for mention in ordered):
        return
    reaching: list[int] = []  # earlier mentions that end after the next one begins
    parted: list[int] = []  # the discontinuous ones of them
    for inner, mention in enumerate(ordered):
        parted = [outer for outer in parted if ordered[outer].end > mention.start]
        if mention.fragments:
            reaching = [outer for outer in reaching if ordered[outer].end > mention.start]
        for outer in reaching if mention.fragments else parted:
            relation = _relation(mention, ordered[outer])
            if relation is not None:
                yield outer, inner, relation
        reaching.append(inner)
        if mention.fragments:
            parted.append(inner)


def _outer_first(mention: Mention) -> tuple[int, int, int, str]:
    words = mention.end - mention.start
    if mention.fragments:
        words = sum(end - start for start, end in mention.fragments)
    return mention.start, -mention.end, -words, mention.label


def _relation(inner: Mention, outer: Mention) -> Relation | None:
    """The relation of a mention to one that precedes it in this order; None if they share no word."""
    words, around = words_of(inner), words_of(outer)
    if not words & around:  # one lies in a gap of the other
        return None
    if words == around:
        return "same_span"
    return "inside" if words & around == words else "crossing"


def widest_gap(mention: Mention) -> int:
    """The number of words in the widest gap of a mention; 0 for a contiguous one.

    >>> widest_gap(Mention(0, 9, "cell", [(0, 1), (2, 4), (7, 9)]))
    3
    """
    return max((later[0] - part[1] for part, later in pairwise(mention.parts)), default=0)


def widest_later(mention: Mention) -> int:
    """The number of words in the widest part after the first; 0 for a contiguous mention.

    >>> widest_later(Mention(0, 9, "cell", [(0, 3), (4, 5), (7, 9)]))
    2
    """
    return max((end - start for start, end in mention.parts[1:]), default=0)

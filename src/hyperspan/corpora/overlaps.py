"""The relation of a mention to the others of its set: inside, around, crossing, on the same words.

Two mentions overlap if they share a word. Words in the gaps of a discontinuous mention do not belong to it. Statistics,
scores and views all use these definitions.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hyperspan.types import MENTION_ORDER, Mention, Span

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
    for mention in sorted(mentions, key=lambda one: (one.start, -one.end, one.label, one.fragments)):
        while around and around[-1].end <= mention.start:
            around.pop()
        if not around or mention.end <= around[-1].end:
            kept.append(mention)
            around.append(mention)
    return kept


def overlapping_pairs(mentions: Sequence[Mention]) -> Iterator[tuple[int, int, Relation]]:
    """Yield pairs of mentions that share words as indices, outer or earlier one first, with their relation.

    An outer mention is an inner one only in earlier pairs, so everything about it is known when it comes up.

    >>> list(overlapping_pairs([Mention(1, 2, "ORG"), Mention(0, 3, "PER"), Mention(2, 4, "PER")]))
    [(1, 0, 'inside'), (1, 2, 'crossing')]
    """
    # A mention comes before those that it contains.
    order = sorted(range(len(mentions)), key=lambda index: _outer_first(mentions[index]))
    reaching: list[int] = []  # earlier mentions that end after the next one begins
    for inner in order:
        reaching = [index for index in reaching if mentions[index].end > mentions[inner].start]
        for outer in reaching:
            relation = _relation(mentions[inner], mentions[outer])
            if relation is not None:
                yield outer, inner, relation
        reaching.append(inner)


def places(mentions: Iterable[Mention]) -> dict[Mention, Place]:
    """The place of every mention of a set among the others.

    >>> found = places({Mention(0, 3, "PER"), Mention(0, 4, "PER"), Mention(1, 2, "ORG")})
    >>> [(mention.span, place.depth) for mention, place in sorted(found.items())]
    [((0, 3), 2), ((0, 4), 1), ((1, 2), 3)]
    >>> sorted(found[Mention(0, 3, "PER")].kinds)
    ['any', 'contains', 'inside', 'same_type', 'same_type_and_start']
    """
    listed = list(mentions)
    depths = [1] * len(listed)
    kinds: list[set[str]] = [set() for _ in listed]
    for outer, inner, relation in overlapping_pairs(listed):
        if relation == "inside":
            depths[inner] = max(depths[inner], 1 + depths[outer])
        both = _type_kinds(listed[inner], listed[outer])
        kinds[inner] |= both | {relation}
        kinds[outer] |= both | {"contains" if relation == "inside" else relation}
    return {
        mention: Place(depth, frozenset(found or {"none"}))
        for mention, depth, found in zip(listed, depths, kinds, strict=True)
    }


def _outer_first(mention: Mention) -> tuple[int, int, int, str]:
    words = sum(end - start for start, end in mention.fragments) or mention.end - mention.start
    return mention.start, -mention.end, -words, mention.label


def _relation(inner: Mention, outer: Mention) -> Relation | None:
    """The relation of a mention to one that precedes it in this order; None if they share no word."""
    if not inner.fragments and not outer.fragments:
        if inner.span == outer.span:
            return "same_span"
        return "inside" if inner.end <= outer.end else "crossing"
    words, around = words_of(inner), words_of(outer)
    if not words & around:  # one lies in a gap of the other
        return None
    if words == around:
        return "same_span"
    return "inside" if words & around == words else "crossing"


def _type_kinds(one: Mention, other: Mention) -> set[str]:
    """The kinds that hold for both of two mentions that share a word."""
    if one.label != other.label:
        return {"any"}
    return {"any", "same_type"} | ({"same_type_and_start"} if one.start == other.start else set())


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

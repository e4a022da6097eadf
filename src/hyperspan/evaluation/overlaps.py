"""How a mention lies among the others of its set: inside, around, across, on the same words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hyperspan.types import Mention

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
"""What a mention may be to the others of its set. All but "none" may hold together: one in the middle is inside and contains."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mention is among the others of its set."""

    depth: int
    """1 for a mention that no other contains, 2 for one inside of that, and so on; one on the same words is as deep."""
    kinds: frozenset[str]
    """Those of KINDS that hold for it."""


def words_of(mention: Mention) -> int:
    """The words of a mention as the bits of a number; those in the gaps of a discontinuous one are not its words.

    >>> bin(words_of(Mention(1, 3, "A"))), bin(words_of(Mention(0, 4, "A", ((0, 1), (3, 4)))))
    ('0b110', '0b1001')
    """
    return sum((1 << end) - (1 << start) for start, end in mention.fragments or (mention.span,))


def overlaps(mentions: Iterable[Mention]) -> bool:
    """Whether two of the mentions share a word.

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


def places(mentions: Iterable[Mention]) -> dict[Mention, Place]:
    """The place of every mention of a set among the others.

    >>> found = places({Mention(0, 3, "PER"), Mention(0, 4, "PER"), Mention(1, 2, "ORG")})
    >>> [(mention.span, place.depth) for mention, place in sorted(found.items())]
    [((0, 3), 2), ((0, 4), 1), ((1, 2), 3)]
    >>> sorted(found[Mention(0, 3, "PER")].kinds)
    ['any', 'contains', 'inside', 'same_type', 'same_type_and_start']
    """
    # A mention that contains another comes before it, so that its depth is known by then.
    ordered = sorted(((mention, words_of(mention)) for mention in mentions), key=_outer_first)
    depths: dict[Mention, int] = {}
    kinds: dict[Mention, set[str]] = {mention: set() for mention, _ in ordered}
    reaching: list[tuple[Mention, int]] = []  # earlier mentions that end after the next one begins
    for inner, inner_words in ordered:
        reaching = [(mention, words) for mention, words in reaching if mention.end > inner.start]
        depths[inner] = 1
        for outer, outer_words in reaching:
            shared = inner_words & outer_words
            if not shared:  # one lies in a gap of the other
                continue
            if inner_words == outer_words:
                relation = ("same_span", "same_span")
            elif shared == inner_words:
                relation = ("inside", "contains")
                depths[inner] = max(depths[inner], 1 + depths[outer])
            else:
                relation = ("crossing", "crossing")
            both = _type_kinds(inner, outer)
            kinds[inner] |= both | {relation[0]}
            kinds[outer] |= both | {relation[1]}
        reaching.append((inner, inner_words))
    return {mention: Place(depths[mention], frozenset(kinds[mention] or {"none"})) for mention, _ in ordered}


def _outer_first(mention_and_words: tuple[Mention, int]) -> tuple[int, int, int, str]:
    mention, words = mention_and_words
    return mention.start, -mention.end, -words.bit_count(), mention.label


def _type_kinds(one: Mention, other: Mention) -> set[str]:
    """What holds for both of two mentions that share a word."""
    if one.label != other.label:
        return {"any"}
    return {"any", "same_type"} | ({"same_type_and_start"} if one.start == other.start else set())

"""BIOHD tags (Tang et al. 2013; Metke-Jimenez & Karimi 2015): discontinuous mentions and those that overlap them, in
one tag per word.

B and I are the words of a contiguous mention. BD and ID are words of a segment that belongs to one mention with a gap,
or to one that shares words with such a mention. BH and IH are words of a segment that several of these share: their
head. This describes one type; each type has its own tags, so types may overlap.

*From tags to mentions.* A segment of B and I is a mention. A D segment belongs to the nearest head, if there are no
more words between them than a gap may have, and both are a mention: of one part, if no word is between them. D segments
without a head are joined with the next ones in order, as far as gaps allow: up to P of them are one mention, more are
pairs. A segment with nothing to join is not a mention.

*From mentions to tags.* Not every set can be encoded. Three encodings are tried, and the one that decodes to the set
with the fewest errors is used: all mentions as above; without contiguous mentions that share words with a discontinuous
one; and only contiguous mentions. In each, only the outermost of overlapping contiguous mentions is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hyperspan.baselines.linear_chain import outermost
from hyperspan.structures import Mention
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.mentions import AnyMention, Parts, fragments_of, parts_of, with_parts

TAGS = ("O", "B", "I", "BD", "ID", "BH", "IH")
OUTSIDE, BEGIN, BEGIN_D, BEGIN_H = 0, 1, 3, 5
"""A continuing tag is one higher than its beginning tag."""
OF_PARTS = range(BEGIN_D, len(TAGS))
"""The tags of discontinuous mentions, and of mentions that share words with them."""
Span = tuple[int, int]


def may_follow(tag: int, following: int) -> bool:
    """Whether a tag may follow another; a continuing tag needs its beginning tag before it.

    >>> may_follow(BEGIN_D, BEGIN_D + 1), may_follow(OUTSIDE, BEGIN_D + 1)
    (True, False)
    """
    return following in (OUTSIDE, BEGIN, BEGIN_D, BEGIN_H) or tag in (following, following - 1)


def tags_of_parts(mentions: Iterable[AnyMention], length: int, limits: Limits) -> list[int]:
    """The tags of a sentence that best encode these mentions of one type.

    >>> limits = Limits(parts=2, width=9, gap=3, later_width=9)
    >>> both = {(0, 4, 0, ((0, 1), (3, 4))), (2, 4, 0)}  # left … ventricle, right ventricle
    >>> [TAGS[tag] for tag in tags_of_parts(both, 4, limits)]
    ['BD', 'O', 'BD', 'BH']
    """
    given = {with_parts(parts_of(one), 0) for one in mentions}
    longer = [one for one in given if fragments_of(one)]
    alone = {(one[0], one[1], 0) for one in given if not fragments_of(one)}
    if not longer:
        return _tags((), alone, length)
    words = {word for one in longer for word in _words(one)}
    beside = {one for one in alone if not words.isdisjoint(_words(one))}
    ways = [
        _tags([*longer, *beside], alone - beside, length),
        _tags(longer, alone - beside, length),
        _tags((), alone, length),
    ]
    return min(ways, key=lambda tags: len(given ^ mentions_of_parts(tags, 0, limits)))


def _words(mention: AnyMention) -> Iterator[int]:
    return (word for start, end in parts_of(mention) for word in range(start, end))


def _tags(together: Sequence[AnyMention], alone: Iterable[Mention], length: int) -> list[int]:
    """The tags with some mentions as D and H, and those of the others that overlap nothing."""
    tags = [OUTSIDE] * length
    owners: list[set[int]] = [set() for _ in range(length)]
    starts: set[int] = set()
    for number, mention in enumerate(together):
        starts |= {start for start, _ in parts_of(mention)}
        for word in _words(mention):
            owners[word].add(number)
    for word, own in enumerate(owners):
        if own:
            begins = word == 0 or word in starts or own != owners[word - 1]
            tags[word] = (BEGIN_H if len(own) > 1 else BEGIN_D) + (not begins)
    for start, end, _ in outermost(alone)[0]:
        if not any(owners[start:end]):
            tags[start:end] = [BEGIN, *[BEGIN + 1] * (end - start - 1)]
    return tags


def segments_of_tags(tags: Sequence[int]) -> dict[int, list[Span]]:
    """The segments by the tag that they begin with, in order.

    >>> segments_of_tags((0, 3, 4, 1, 3))
    {1: [(3, 4)], 3: [(1, 3), (4, 5)], 5: []}
    """
    found: dict[int, list[Span]] = {BEGIN: [], BEGIN_D: [], BEGIN_H: []}
    for word, tag in enumerate(tags):
        if tag in found:
            found[tag].append((word, word + 1))
        elif tag != OUTSIDE:
            found[tag - 1][-1] = (found[tag - 1][-1][0], word + 1)
    return found


def mentions_of_parts(tags: Sequence[int], kind: int, limits: Limits) -> set[AnyMention]:
    """The mentions of a type that a valid tag sequence encodes.

    >>> sorted(mentions_of_parts((3, 0, 3, 5), 1, Limits(parts=2, width=9, gap=3, later_width=9)))
    [(0, 4, 1, ((0, 1), (3, 4))), (2, 4, 1)]
    """
    found = segments_of_tags(tags)
    mentions: set[AnyMention] = {(start, end, kind) for start, end in found[BEGIN]}
    heads, apart = found[BEGIN_H], list[Span]()
    for part in found[BEGIN_D]:
        nearest = min(heads, key=lambda head: _between(part, head), default=None)
        if nearest is None or _between(part, nearest) > limits.gap:
            apart.append(part)
        else:
            mentions.add(_joined([part, nearest], kind))
    return mentions | {_joined(parts, kind) for parts in _in_order(apart, limits)}


def _between(one: Span, other: Span) -> int:
    """The words between two segments that share none."""
    return max(one[0] - other[1], other[0] - one[1])


def _joined(parts: Sequence[Span], kind: int) -> AnyMention:
    """The mention of these segments; those without a word between them are one part."""
    merged: list[Span] = []
    for start, end in sorted(parts):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    whole: Parts = tuple(merged)
    return with_parts(whole, kind)


def _in_order(segments: Sequence[Span], limits: Limits) -> Iterator[list[Span]]:
    """Segments with no more words between them than a gap may have, in groups of up to P; longer runs in pairs."""
    near: list[list[Span]] = []
    for segment in segments:
        if near and _between(near[-1][-1], segment) <= limits.gap:
            near[-1].append(segment)
        else:
            near.append([segment])
    for run in near:
        if len(run) <= limits.parts:
            yield from [run] if len(run) > 1 else []
        else:
            yield from (run[place : place + 2] for place in range(0, len(run) - 1, 2))

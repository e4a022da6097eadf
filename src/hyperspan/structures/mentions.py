"""Sets of mentions as structures represent them, spans of words with a type index, and the limits on them. Needs
neither torch nor NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

Mention = tuple[int, int, int]
"""(start, end, type index) in words, `end` exclusive."""
Parts = tuple[tuple[int, int], ...]
"""The parts of a mention as (start, end), in order, with words between them."""
DiscontinuousMention = tuple[int, int, int, Parts]
"""(start, end, type index, parts), from the start of the first part to the end of the last."""
AnyMention = Mention | DiscontinuousMention
MentionSet = frozenset[Mention]
MentionSets = Sequence[Iterable[Mention]]
"""One collection of mentions for each sentence of a batch."""


def parts_of(mention: AnyMention) -> Parts:
    """The parts of a mention: one, or several if it is discontinuous.

    >>> parts_of((0, 2, 5)), parts_of((0, 4, 5, ((0, 1), (3, 4))))
    (((0, 2),), ((0, 1), (3, 4)))
    """
    return mention[3] if len(mention) == 4 else ((mention[0], mention[1]),)


def fragments_of(mention: AnyMention) -> Parts:
    """The parts of a discontinuous mention; an empty tuple for a contiguous one.

    >>> fragments_of((0, 2, 5)), fragments_of((0, 4, 5, ((0, 1), (3, 4))))
    ((), ((0, 1), (3, 4)))
    """
    return mention[3] if len(mention) == 4 else ()


def with_parts(parts: Parts, kind: int) -> AnyMention:
    """Build the mention that has these parts.

    >>> with_parts(((0, 1), (3, 4)), 5), with_parts(((0, 1),), 5)
    ((0, 4, 5, ((0, 1), (3, 4))), (0, 1, 5))
    """
    start, end = parts[0][0], parts[-1][1]
    return (start, end, kind) if len(parts) == 1 else (start, end, kind, parts)


class TooManyMentionsError(ValueError):
    """Mentions of so little probability are requested that there are too many of them."""


class NotSupportedError(ValueError):
    """Raised when a distribution cannot compute exactly what was asked for."""


def check_mentions(mention_sets: MentionSets | None, lengths: Sequence[int], types: int) -> list[set[Mention]]:
    """Return one set of mentions per sentence (empty for None); raise an error that names the first invalid mention."""
    if mention_sets is None:
        return [set() for _ in lengths]
    if len(mention_sets) != len(lengths):
        raise ValueError(f"expected one mention set a sentence, {len(lengths)} in all, got {len(mention_sets)}")
    checked: list[set[Mention]] = []
    for sentence, (mentions, length) in enumerate(zip(mention_sets, lengths, strict=True)):
        try:
            checked.append({(start, end, kind) for start, end, kind in mentions})
        except TypeError:
            raise ValueError(
                f"expected a collection of mentions (start, end, type) for sentence {sentence}, got {mentions!r}: "
                "give a list with one such collection a sentence"
            ) from None
        for start, end, kind in checked[-1]:
            if not 0 <= start < end <= length:
                raise ValueError(
                    f"expected a mention (start, end, type) with 0 <= start < end <= {length}, the length of sentence {sentence}, "
                    f"got {(start, end, kind)}"
                )
            if not 0 <= kind < types:
                raise ValueError(
                    f"expected a type index from 0 to {types - 1} in sentence {sentence}, got {(start, end, kind)}"
                )
    return checked


def check_discontinuous(
    mention_sets: Sequence[Iterable[AnyMention]] | None, lengths: Sequence[int], types: int
) -> list[set[AnyMention]]:
    """Return one set of mentions per sentence, with or without parts; raise an error that names the first invalid
    mention."""
    given = [list(some) for some in mention_sets] if mention_sets is not None else None
    if given is None:
        return [set() for _ in lengths]
    check_mentions([[mention[:3] for mention in some] for some in given], lengths, types)
    for sentence, some in enumerate(given):
        for mention in some:
            ends = [position for part in parts_of(mention) for position in part]
            if ends != sorted(set(ends)) or (ends[0], ends[-1]) != mention[:2] or len(ends) % 2:
                raise ValueError(
                    f"expected a mention (start, end, type, parts) whose parts are in order, with words between them, and begin and end "
                    f"where it does, got {mention} in sentence {sentence}"
                )
    return [{with_parts(parts_of(mention), mention[2]) for mention in some} for some in given]


# -- limits -----------------------------------------------------------------------------------------------------------


CONTIGUOUS_ALONE = "is discontinuous, and the model finds contiguous mentions; give one span, or use a model of kind discontinuous, such as craft"


class Limits(NamedTuple):
    """Limits on the parts, widths and gaps of mentions."""

    parts: int
    """P: the maximum number of parts."""
    width: int
    """c: the maximum number of words of a first part."""
    gap: int
    """g: the maximum number of words of a gap."""
    later_width: int
    """c': the maximum number of words of a later part."""

    def __str__(self) -> str:
        return f"at most {self.parts} parts, {self.width} words in the first, {self.later_width} in each other, and {self.gap} in each gap"

    @property
    def hull(self) -> int:
        """The maximum number of words from the first word of a mention to its last."""
        return self.width + (self.parts - 1) * (self.gap + self.later_width)

    def shared(self, other: Limits) -> Limits:
        """The limits that allow what both allow."""
        return Limits(*map(min, self, other))

    def allow(self, mention: AnyMention) -> bool:
        """Whether a mention is possible.

        >>> Limits(parts=2, width=3, gap=1, later_width=1).allow((0, 3, 0, ((0, 1), (2, 3))))
        True
        """
        (start, end), *later = parts = parts_of(mention)
        gaps = [second[0] - first[1] for first, second in pairwise(parts)]
        return (
            len(parts) <= self.parts
            and end - start <= self.width
            and max(gaps, default=0) <= self.gap
            and max((end - start for start, end in later), default=0) <= self.later_width
        )


class PartLimits(Protocol):
    """What :class:`Limits` and the configuration of a model say about parts and gaps."""

    @property
    def parts(self) -> int: ...

    @property
    def gap(self) -> int: ...

    @property
    def later_width(self) -> int: ...


def too_large(parts: Sequence[tuple[int, int]], max_width: int | None, discontinuous: PartLimits | None) -> str:
    """Explain why a model cannot find a mention of these parts, in tokens, and what to do; "" if it can.

    >>> too_large([(0, 1), (6, 7)], 3, Limits(parts=2, width=3, gap=4, later_width=3))
    'has a gap of 5 words, and this model finds gaps of up to 4; choose parts with a narrower gap'
    """
    if len(parts) > 1 and discontinuous is None:
        return CONTIGUOUS_ALONE
    widest = parts[0][1] - parts[0][0]
    if max_width is not None and widest > max_width:
        whole, shorter = ("", "one") if len(parts) == 1 else ("in its first part ", "first part")
        return (
            f"has {whole}{widest} words, and this model finds mentions of up to {max_width}; choose a shorter {shorter}"
        )
    if len(parts) == 1 or discontinuous is None:
        return ""
    if len(parts) > discontinuous.parts:
        return (
            f"has {len(parts)} parts, and this model finds mentions of up to {discontinuous.parts}; choose fewer parts"
        )
    if (gap := max(after[0] - before[1] for before, after in pairwise(parts))) > discontinuous.gap:
        limit = f"this model finds gaps of up to {discontinuous.gap}"
        return f"has a gap of {gap} words, and {limit}; choose parts with a narrower gap"
    if (later := max(end - start for start, end in parts[1:])) > discontinuous.later_width:
        limit = f"this model finds up to {discontinuous.later_width} there"
        return f"has {later} words in a later part, and {limit}; choose a shorter later part"
    return ""

"""Limits on the mentions that a model finds, contiguous and discontinuous."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from hyperspan.structures.mentions import AnyMention, parts_of

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

"""Limits on discontinuous mentions."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from hyperspan.structures.mentions import AnyMention, parts_of


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
        gaps = [second[0] - first[1] for first, second in itertools.pairwise(parts)]
        return (
            len(parts) <= self.parts
            and end - start <= self.width
            and max(gaps, default=0) <= self.gap
            and max((end - start for start, end in later), default=0) <= self.later_width
        )

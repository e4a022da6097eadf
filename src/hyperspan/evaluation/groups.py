"""Groups of mentions that are scored separately: by width, by number of parts, by gap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hyperspan.types import Mention, Sentence

Flags = NDArray[np.bool_]
"""(sentences,): a flag for each."""
WIDTHS = {"1": 1, "2": 2, "3": 3, "4-6": 6, "7-10": 10, ">10": math.inf}
"""Groups of mentions by width, each with its maximum number of words."""
PARTS = {"1": 1, "2": 2, "3": 3, ">3": math.inf}
"""Groups of mentions by their number of parts."""
GAPS = {"1": 1, "2": 2, "3-4": 4, "5-8": 8, ">8": math.inf}
"""Groups of discontinuous mentions by the number of words in their widest gap."""


def width(mention: Mention) -> int:
    """The number of words from the first to the last of a mention."""
    return mention.end - mention.start


def width_group(mention: Mention) -> str:
    """The group of :data:`WIDTHS` that a mention belongs to."""
    return group(WIDTHS, width(mention))


def group(groups: Mapping[str, float], size: int) -> str:
    """The first group that is large enough.

    >>> group(GAPS, 3)
    '3-4'
    """
    return next(name for name, largest in groups.items() if size <= largest)


def has_discontinuous(sentences: Sequence[Sentence]) -> Flags:
    """(sentences,): whether each has a discontinuous mention."""
    return np.array([any(mention.fragments for mention in one.mentions) for one in sentences], dtype=bool)


def discontinuous_only(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with only their discontinuous mentions."""
    return [one.with_mentions(mention for mention in one.mentions if mention.fragments) for one in sentences]

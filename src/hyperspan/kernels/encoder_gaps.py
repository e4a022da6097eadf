"""The extra scores that the fused encoder computes for discontinuous mentions: native/gaps.h. No torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BESIDE = 2
"""The number of words around a gap, one on each side, that its span includes."""


class GapLimits(NamedTuple):
    """The limits of :class:`hyperspan.nn.discontinuous.DiscontinuousScorer`."""

    gap: int
    """g: the maximum number of words of a gap."""
    later_width: int
    """c': the maximum number of words of a later part."""


class PartScores(NamedTuple):
    """The scores of parts and gaps, as in :class:`hyperspan.structures.DiscontinuousScores`; 0 in padding."""

    open: np.ndarray  # (B, n, c, m)
    gap: np.ndarray  # (B, n, g, m); 0 also where no gap is possible: at the first word, and up to the last
    last: np.ndarray  # (B, n, c', m)

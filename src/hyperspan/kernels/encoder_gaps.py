"""What the fused encoder computes for mentions with gaps, beside the scores of chains: native/gaps.h. No torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BESIDE = 2
"""The words beside a gap, one on either side, with which it is a span."""


class GapLimits(NamedTuple):
    """What :class:`hyperspan.models.scorers.discontinuous.DiscontinuousScorer` looks at."""

    gap: int
    """g: the most words of a gap."""
    later_width: int
    """c': the most words of a later part."""


class PartScores(NamedTuple):
    """The scores of parts and gaps, as in :class:`hyperspan.structures.DiscontinuousScores`; 0 in padding."""

    open: np.ndarray  # (B, n, c, m)
    gap: np.ndarray  # (B, n, g, m); 0 also where no gap can be: at the first word, and up to the last
    last: np.ndarray  # (B, n, c', m)

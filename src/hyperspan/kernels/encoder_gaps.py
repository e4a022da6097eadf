"""What the fused encoder computes for mentions with gaps, beside the scores of chains: native/gaps.h. No torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

TANH = np.float32(-2 * 1.4426950408889634)
"""What goes into tanh is scaled by, so that a power of 2 is all that it still needs."""


class GapWeights(NamedTuple):
    """What :class:`hyperspan.models.scorers.discontinuous.DiscontinuousScorer` has beside a segmental scorer; float32."""

    beside: (
        np.ndarray
    )  # (2 * hidden, 2 * units): from the word before a gap and from the one after it to a hidden layer
    beside_bias: np.ndarray  # (2 * units,)
    widths: np.ndarray  # (g, units)
    gaps: np.ndarray  # (units, types)
    bias: np.ndarray  # (types,)
    later_width: int
    """c': the most words of a later part."""

    @property
    def units(self) -> int:
        """Of the hidden layer."""
        return self.widths.shape[1]


class PartScores(NamedTuple):
    """The scores of parts and gaps, as in :class:`hyperspan.structures.DiscontinuousScores`; 0 in padding."""

    open: np.ndarray  # (B, n, c, m)
    gap: np.ndarray  # (B, n, g, m); 0 also where no gap can be: at the first word, and up to the last
    last: np.ndarray  # (B, n, c', m)


class PaddedGaps(NamedTuple):
    """Weights whose hidden layer is filled up to a multiple of the lanes, and all that goes into tanh scaled."""

    from_spans: np.ndarray  # (2, span hidden, padded types' outputs + padded units)
    part_bias: np.ndarray  # (padded types' outputs,); that of gaps is in `widths`
    first: int
    """The first column of the hidden layer in `from_spans`."""
    beside: np.ndarray  # (2 * hidden, 2 * padded units)
    widths: np.ndarray  # (g, padded units), with all biases
    gaps: np.ndarray  # (padded units, types)


def pad_gaps(
    gaps: GapWeights, from_spans: np.ndarray, part_bias: np.ndarray, padded: Callable[[int], int]
) -> PaddedGaps:
    """The weights as the kernels read them; `from_spans` (2, span hidden, outputs) ends with the columns of the hidden layer."""
    units, outputs = gaps.units, len(part_bias) - gaps.units
    first, wide = padded(outputs), padded(units)

    def filled(array: np.ndarray) -> np.ndarray:
        """(…, units) -> (…, padded units)"""
        result = np.zeros((*array.shape[:-1], wide), dtype=np.float32)
        result[..., :units] = array
        return result

    spans = np.zeros((*from_spans.shape[:2], first + wide), dtype=np.float32)
    spans[..., :outputs] = from_spans[..., :outputs]
    spans[..., first:] = filled(from_spans[..., outputs:]) * TANH
    before, after = (filled(side) for side in (gaps.beside[:, :units], gaps.beside[:, units:]))
    biases = part_bias[outputs:] + gaps.beside_bias[:units] + gaps.beside_bias[units:]
    return PaddedGaps(
        *(spans, part_bias[:outputs], first, np.concatenate([before, after], axis=1) * TANH),
        *(filled(gaps.widths + biases) * TANH, filled(gaps.gaps.T).T),
    )

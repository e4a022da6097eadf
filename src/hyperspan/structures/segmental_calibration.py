"""Calibration of a segmental hypergraph by type: another distribution with the same most probable sets. Needs no torch.

The distribution is a product of independent chains, one for each start and type
(:mod:`hyperspan.kernels.chain_reference`). Each type has a *temperature*, which divides all its scores, and a *bias* of
at most 0, which is added to T → I. A temperature keeps the ranking of a chain's alternatives. A bias makes mentions
less probable; where the best alternative of a chain has mentions, the bias removes only part of their lead over having
none (a share `KEPT` remains). So every chain keeps its best alternative, and the most probable set of a sentence stays
the same. Everything else follows from the new scores: marginals are sums over sets, and constraints condition the new
distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hyperspan.kernels.chain_arrays import best_places
from hyperspan.kernels.encode import EncoderWeights, ScoreArrays

KEPT = 0.1
"""The share of a lead that a bias must keep."""


class TypeCalibration:
    """The temperature and the bias of each type, and the bias of discontinuous mentions."""

    def __init__(self, temperatures: Sequence[float], biases: Sequence[float], discontinuous: float = 0.0):
        self.discontinuous = discontinuous
        self.temperatures, self.biases = np.array(temperatures, dtype=np.float64), np.array(biases, dtype=np.float64)
        self._factors, self._biases = (1 / self.temperatures).astype(np.float32), self.biases.astype(np.float32)

    def fold(self, weights: EncoderWeights) -> EncoderWeights:
        """Fold the temperatures into the encoder weights that score I edges, so that dividing costs nothing at
        inference."""
        factors = np.tile(self._factors, len(weights.part_bias) // len(self._factors))
        return weights._replace(from_spans=weights.from_spans * factors, part_bias=weights.part_bias * factors)

    def temper(self, scores: ScoreArrays) -> ScoreArrays:
        """Divide `absent` and `present` by the temperatures; the other scores come from weights that are folded."""
        with np.errstate(all="ignore"):  # padding holds anything
            return scores._replace(absent=scores.absent * self._factors, present=scores.present * self._factors)

    def apply(self, scores: ScoreArrays, lengths: Sequence[int]) -> tuple[ScoreArrays, np.ndarray | None]:
        """The scores of a batch with the biases, in float32, and its best mentions as rows.

        The scores must already be divided by the temperatures.
        """
        with np.errstate(all="ignore"):  # padding holds anything
            leads = np.zeros_like(scores.absent)
            best = best_places(scores, lengths, leads)
            present = scores.present + allowed_bias(self._biases, leads)
        return scores._replace(present=present), best


def chain_leads(chains: ScoreArrays, room: np.ndarray) -> np.ndarray:
    """(chains,): how much more the best alternative with mentions scores than none; `room` counts the words from the
    start on."""
    absent, present, extend, close, branch = chains
    longest = close.copy()  # (chains, c): the score of each longest mention, with the better choice at shorter widths
    with np.errstate(all="ignore"):  # padding holds anything
        going_on = extend + np.maximum(close[:, :-1], 0.0) if branch is None else np.maximum(extend, branch)
        longest[:, 1:] += going_on.cumsum(1)
    longest[np.arange(longest.shape[1]) >= room[:, None]] = -np.inf
    return longest.max(1) + present - absent


def allowed_bias(bias: np.ndarray | float, leads: np.ndarray) -> np.ndarray:
    """(chains,): the part of a bias that does not change the best alternative of a chain.

    >>> allowed_bias(-0.5, np.array([-1.0, 0.1, 2.0])).round(2).tolist()
    [-0.5, -0.09, -0.5]
    """
    return np.where(leads > 0, np.maximum(bias, -(1 - KEPT) * leads), bias)

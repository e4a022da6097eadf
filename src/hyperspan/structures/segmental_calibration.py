"""Calibration of a segmental hypergraph by type: another distribution with the same most probable sets.

The distribution is a product of independent chains, one for each start and type
(:mod:`hyperspan.kernels.chains`). Each type has a *temperature*, which divides all its scores, and a *bias* of
at most 0, which is added to T → I. A temperature keeps the ranking of a chain's alternatives. A bias makes mentions
less probable; where the best alternative of a chain has mentions, the bias removes only part of their lead over having
none (a share `KEPT` remains). So every chain keeps its best alternative, and the most probable set of a sentence stays
the same. Everything else follows from the new scores: marginals are sums over sets, and constraints condition the new
distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from hyperspan.kernels import chains
from hyperspan.kernels.encode import EncoderWeights
from hyperspan.kernels.numbers import placed, to_numpy
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, Values

KEPT = 0.1
"""The share of a lead that a bias must keep."""


AnyScores = TypeVar("AnyScores", bound="EdgeScores[Any] | DiscontinuousScores[Any]")


class TypeCalibration:
    """The temperature and the bias of each type, and the bias of discontinuous mentions."""

    def __init__(self, temperatures: Sequence[float], biases: Sequence[float], discontinuous: float = 0.0):
        self.discontinuous = discontinuous
        self.temperatures, self.biases = np.array(temperatures, dtype=np.float64), np.array(biases, dtype=np.float64)
        self._factors = (1 / self.temperatures).astype(np.float32)

    def fold(self, weights: EncoderWeights) -> EncoderWeights:
        """Fold the temperatures into the encoder weights that score I edges, so that dividing costs nothing at
        inference."""
        factors = np.tile(self._factors, len(weights.part_bias) // len(self._factors))
        return weights._replace(from_spans=weights.from_spans * factors, part_bias=weights.part_bias * factors)

    def temper(self, scores: AnyScores) -> AnyScores:
        """Divide `absent` and `present` by the temperatures; the other scores come from weights that are folded."""
        with np.errstate(all="ignore"):  # padding holds anything
            return scores.changed(absent=scores.absent * self._factors, present=scores.present * self._factors)

    def apply(self, scores: EdgeScores[Values], lengths: Sequence[int]) -> tuple[EdgeScores[Values], np.ndarray | None]:
        """The scores of a batch with the biases, and its best mentions as rows.

        The scores must already be divided by the temperatures.
        """
        with np.errstate(all="ignore"):  # padding holds anything
            leads = np.zeros_like(to_numpy(scores.absent))
            best = chains.best(scores, lengths, leads)
            allowed = allowed_bias(self.biases.astype(leads.dtype), leads)
            return scores.changed(present=scores.present + placed(allowed, scores.present)), best


def allowed_bias(bias: np.ndarray | float, leads: np.ndarray) -> np.ndarray:
    """(chains,): the part of a bias that does not change the best alternative of a chain.

    >>> allowed_bias(-0.5, np.array([-1.0, 0.1, 2.0])).round(2).tolist()
    [-0.5, -0.09, -0.5]
    """
    return np.where(leads > 0, np.maximum(bias, -(1 - KEPT) * leads), bias)

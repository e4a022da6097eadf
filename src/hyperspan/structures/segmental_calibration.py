"""Calibration of a segmental hypergraph by type: another distribution with the same most probable sets. Needs no torch.

The distribution is a product of independent chains, one for each start and type (:mod:`hyperspan.kernels.chain_reference`). Each
type has a *temperature*, which divides all its scores, and a *bias* of at most 0, which is added to T → I. A temperature keeps the
order of what a chain can hold. A bias makes mentions less probable; where the best of a chain has mentions, it takes away at most
a part (`KEPT` is left) of their lead over having none. So every chain keeps its best, and the most probable set of a sentence stays
the same. All else follows from the new scores: marginals are sums over sets, and constraints condition the new distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hyperspan.kernels.chain_arrays import best_places
from hyperspan.kernels.encoder_arrays import ScoreArrays

KEPT = 0.1
"""The share of a lead that a bias leaves."""


class TypeCalibration(NamedTuple):
    """The temperature and the bias of each type."""

    temperatures: np.ndarray  # (m,)
    biases: np.ndarray  # (m,), at most 0

    def apply(self, scores: ScoreArrays, lengths: Sequence[int]) -> ScoreArrays:
        """The calibrated scores of a batch; those given may be overwritten."""
        inverse = (1.0 / self.temperatures).astype(scores.close.dtype)
        with np.errstate(all="ignore"):  # padding holds anything
            for array in scores:
                if array is not None and array.size:
                    rows = array.reshape(len(array), array.shape[1], -1)  # (B, n, widths * m): long rows are quick
                    rows *= np.tile(inverse, rows.shape[2] // len(inverse))
        if not self.biases.any():
            return scores
        best = best_places(scores, lengths)
        present = scores.present + self.biases.astype(scores.close.dtype)
        if best is not None and len(best):
            sentence, start, _, kind = best.T
            chains = ScoreArrays(*(None if array is None else _chains(array, best) for array in scores))
            room = np.array(lengths)[sentence] - start
            allowed = allowed_bias(self.biases[kind], chain_leads(chains, room))
            present[sentence, start, kind] = scores.present[sentence, start, kind] + allowed
        return scores._replace(present=present)


def _chains(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(B, n, …, m) -> (mentions, …): the scores of the chains that mentions are in."""
    sentence, start, _, kind = rows.T
    return array[sentence, start, ..., kind]


def chain_leads(chains: ScoreArrays, room: np.ndarray) -> np.ndarray:
    """(chains,): how much more the best with mentions scores than having none; `room` are the words from the start on."""
    absent, present, extend, close, branch = chains
    with np.errstate(all="ignore"):  # padding holds anything
        going_on = extend + np.maximum(close[:, :-1], 0.0) if branch is None else np.maximum(extend, branch)
        longest = (
            close.copy()
        )  # (chains, c): the score of each longest mention, with the better choice at shorter widths
        longest[:, 1:] += going_on.cumsum(1)
    longest[np.arange(longest.shape[1]) >= room[:, None]] = -np.inf
    return longest.max(1) + present - absent


def allowed_bias(bias: np.ndarray | float, leads: np.ndarray) -> np.ndarray:
    """(chains,): as much of a bias as leaves the best of a chain what it is.

    >>> allowed_bias(-0.5, np.array([-1.0, 0.1, 2.0])).round(2).tolist()
    [-0.5, -0.09, -0.5]
    """
    return np.where(leads > 0, np.maximum(bias, -(1 - KEPT) * leads), bias)

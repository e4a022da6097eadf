"""Calibration of a hypergraph by type: another distribution with the same most probable sets. Needs no torch.

The distribution is a product of independent chains, one for each start and type
(:mod:`hyperspan.kernels.chains`). Each type has a *temperature*, which divides all its scores, and a *bias* of
at most 0, which is added to T → I. A temperature keeps the ranking of a chain's alternatives. A bias makes mentions
less probable; where the best alternative of a chain has mentions, the bias removes only part of their lead over having
none (a share `KEPT` remains). So every chain keeps its best alternative, and the most probable set of a sentence stays
the same. Everything else follows from the new scores: marginals are sums over sets, and constraints condition the new
distribution.

Of discontinuous mentions, the chains are of first parts, and there is one more number: a bias of at most 0 on `open`,
the score of a part that others follow. It makes discontinuous mentions less probable. Where the most probable set has a
first part that others follow, the bias removes only part of the lead of its chain over the best alternative in which
none follow that part (a share `KEPT` remains; several such parts of a chain divide what is removed). Later parts of the
most probable set that others follow get no bias. No other alternative gains, so the most probable set stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from hyperspan.kernels import chains
from hyperspan.kernels.encode import EncoderWeights
from hyperspan.kernels.numbers import is_array, placed, to_numpy
from hyperspan.structures.gaps import Menus
from hyperspan.structures.places import Places
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, Values
from hyperspan.structures.segmental_chains import Chains

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

    def temper(self, scores: AnyScores, *, folded: bool = False) -> AnyScores:
        """Divide scores by the temperatures; with `folded`, only `absent` and `present`, as the other scores come from
        weights that are folded."""
        factors = like(1 / self.temperatures, scores.absent)
        names = ("absent", "present") if folded else tuple(scores.tensors())
        with np.errstate(all="ignore"):  # padding holds anything
            return scores.changed(**{name: getattr(scores, name) * factors for name in names})

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


# -- mentions with gaps ------------------------------------------------------------------------------------------------


def gap_biases(
    calibration: TypeCalibration,
    scores: DiscontinuousScores[np.ndarray],
    menus: Menus,
    first_parts: np.ndarray,
    best: Places,
    lengths: Sequence[int],
) -> tuple[np.ndarray, np.ndarray | None]:
    """The biases of `present` (B, n, m) and of `open` (B, n, c, m), so far as they keep the most probable sets.

    The scores must already be divided by the temperatures; `menus` hold the best weights. `best` are the mentions of
    the most probable sets, and `first_parts` (parts, 4) their first parts.
    """
    bias = calibration.discontinuous
    first = EdgeScores(scores.absent, scores.present, scores.extend, menus.events)
    present = np.broadcast_to(calibration.biases.astype(first.absent.dtype), first.absent.shape).copy()
    opened = np.full_like(scores.open, bias) if bias else None
    if not len(first_parts):
        return present, opened
    numbers = np.ravel_multi_index(tuple(first_parts[:, [0, 1, 3]].T), first.absent.shape)
    chains_there, chain = np.unique(numbers, return_inverse=True)
    sentence, start, kind = np.unravel_index(chains_there, first.absent.shape)
    concerned = Chains.at(first, lengths, (sentence, start, kind))
    leads = concerned.leads()
    longer = [(row[0], row[3], parts) for row, parts in zip(best.rows.tolist(), best.parts, strict=False) if parts]
    if longer and opened is not None:
        continued = {(b, *parts[0], k) for b, k, parts in longer}
        followed = np.array([tuple(row) in continued for row in first_parts.tolist()], dtype=bool)
        chain, width = chain[followed], (first_parts[:, 2] - first_parts[:, 1] - 1)[followed]
        places = sentence[chain], start[chain], width, kind[chain]
        alone = concerned.close[chain]
        alone[np.arange(len(chain)), width] = menus.close[places]
        without = Chains(*(array[chain] for array in concerned)).tied(alone)
        lead = leads[chain] - np.maximum(without.leads(), 0.0)
        values = np.maximum(bias, -(1 - KEPT) * lead / np.bincount(chain)[chain])
        leads = leads + np.bincount(chain, values, len(leads))
        opened[places] = values
        for b, k, parts in longer:  # after first parts, so that no bias wins where a part is both
            for i, j in parts[1:-1]:
                opened[b, i, j - i - 1, k] = 0.0
    present[sentence, start, kind] = allowed_bias(calibration.biases[kind], leads)
    return present, opened


def like(values: np.ndarray, scores: Any) -> Any:
    """Values with the number type of scores and, for tensors, on their device."""
    dtype = scores.dtype if is_array(scores) else to_numpy(scores[:0]).dtype
    return placed(values.astype(dtype, copy=False), scores)

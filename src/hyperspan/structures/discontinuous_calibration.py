"""Calibration of a hypergraph of discontinuous mentions: another distribution with the same most probable sets. Needs
no torch.

It is that of :mod:`hyperspan.structures.segmental_calibration`, over chains of first parts, with one more number: a
bias of at most 0 on `open`, the score of a part that others follow. It makes discontinuous mentions less probable.
Where the most probable set has a first part that others follow, the bias removes only part of the lead of its chain
over the best alternative in which none follow that part (a share `KEPT` remains; several such parts of a chain divide
what is removed). Later parts of the most probable set that others follow get no bias. No other alternative gains, so
the most probable set stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.numbers import placed, to_numpy
from hyperspan.structures.gaps import Menus
from hyperspan.structures.gaps_decoding import best_mentions
from hyperspan.structures.mentions import AnyMention, parts_of
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, Values
from hyperspan.structures.segmental_calibration import KEPT, TypeCalibration, allowed_bias
from hyperspan.structures.segmental_chains import Chains


class BestMentions(NamedTuple):
    """The mentions of the most probable sets of a batch."""

    contiguous: np.ndarray  # (mentions, 4): sentence, start, end, type
    longer: list[tuple[int, AnyMention]]
    """The sentence and the mention."""


class AllowedBiases(NamedTuple):
    """The biases of a calibration, so far as they keep the most probable sets, and these sets."""

    present: np.ndarray  # (B, n, m)
    open: float
    places: tuple[np.ndarray, ...]
    """The few places in `open` (B, n, c, m) that have another bias."""
    values: np.ndarray
    """Their biases."""
    best: BestMentions

    def begun(self, scores: Values) -> Values:
        """(B, n, m): the scores `present` with their biases."""
        return scores + _like(self.present, scores)

    def opened(self, scores: Values) -> Values:
        """(B, n, c, m): the scores `open` with their biases."""
        if not self.open:
            return scores
        found: Any = scores + float(self.open)
        places = tuple(placed(one, scores) for one in self.places)
        found[places] = scores[places] + _like(self.values, scores)
        return found


def _like(values: np.ndarray, scores: Any) -> Any:
    """Values with the number type of scores and, for tensors, on their device."""
    return placed(values.astype(to_numpy(scores[:0]).dtype, copy=False), scores)


def allowed_biases(
    calibration: TypeCalibration,
    scores: DiscontinuousScores[np.ndarray],
    menus: Menus,
    events: np.ndarray,
    lengths: Sequence[int],
) -> AllowedBiases:
    """The biases of a batch whose scores are already divided by the temperatures.

    `menus` hold the best weights; `events` (events, 4) are the first parts of the best mentions.
    """
    best, bias = BestMentions(*best_mentions(menus, events)), calibration.discontinuous
    places, values = np.zeros((4, 0), dtype=np.int64), np.zeros(0)
    first = EdgeScores(scores.absent, scores.present, scores.extend, menus.events)
    present = np.empty_like(first.absent)
    present[:] = calibration.biases
    if not len(events):
        return AllowedBiases(present, bias, tuple(places), values, best)
    numbers = np.ravel_multi_index(tuple(events[:, [0, 1, 3]].T), first.absent.shape)
    chains_there, chain = np.unique(numbers, return_inverse=True)
    sentence, start, kind = np.unravel_index(chains_there, first.absent.shape)
    chains = Chains.at(first, lengths, (sentence, start, kind))
    leads = chains.leads()
    if best.longer and bias:
        followed = _followed(best, events)
        chain, width = chain[followed], (events[:, 2] - events[:, 1] - 1)[followed]
        places = np.stack([sentence[chain], start[chain], width, kind[chain]])
        alone = chains.close[chain]
        alone[np.arange(len(chain)), width] = menus.close[tuple(places)]
        without = Chains(*(array[chain] for array in chains)).tied(alone)
        lead = leads[chain] - np.maximum(without.leads(), 0.0)
        values = np.maximum(bias, -(1 - KEPT) * lead / np.bincount(chain)[chain])
        leads = leads + np.bincount(chain, values, len(leads))
        later = _later(best)  # after first parts, so that no bias wins where a part is both
        places, values = np.concatenate([places, later.T], axis=1), np.append(values, np.zeros(len(later)))
    present[sentence, start, kind] = allowed_bias(calibration.biases[kind], leads)
    return AllowedBiases(present, bias, tuple(places), values, best)


def _followed(best: BestMentions, events: np.ndarray) -> np.ndarray:
    """(events,): whether others follow a first part of the best mentions."""
    found = {(b, *parts_of(mention)[0], mention[2]) for b, mention in best.longer}
    return np.array([tuple(row) in found for row in events.tolist()], dtype=bool)


def _later(best: BestMentions) -> np.ndarray:
    """(parts, 4): the later parts of the best mentions that others follow, as places in `open`."""
    parts = ((b, i, j - i - 1, mention[2]) for b, mention in best.longer for i, j in parts_of(mention)[1:-1])
    return np.array(sorted(parts), dtype=np.int64).reshape(-1, 4)

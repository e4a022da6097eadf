"""A penalty on the expected number of mentions, which keeps a model trained on positives alone from predicting
everything.

If sentences list some mentions and mark none as absent, the likelihood is highest when every mention is certain.
Effland & Collins (2021, *Partially supervised named entity recognition via the expected entity ratio loss*) add a
penalty where the expected number of mentions leaves a range around a known rate. Here that number is exact: the sum of
the marginals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperspan.structures.constraints import PartialMarks, inside
from hyperspan.structures.distribution import Distribution


@dataclass(frozen=True)
class ExpectedRates:
    """The average number of mentions per word of a corpus, by type, and the weight of a model's deviation from it."""

    rates: np.ndarray
    """(m,): mentions per word; NaN where unknown."""
    weight: float
    """The cost of one mention too many or too few, in nats."""

    def penalty(self, distribution: Distribution, marks: PartialMarks) -> Tensor:
        """(B,): the penalty of a batch, divided evenly among its sentences.

        For each type, only sentences with something unknown count, with all their words. A batch of W words is expected
        to have r W mentions of a type with rate r, give or take a standard deviation (Poisson) of √(r W); the excess
        beyond that range is penalised.
        """
        marginals = distribution.marginals  # (B, n, c, m)
        shape = marginals.shape
        unknown = (~marks.known(shape[1], shape[2]) & inside(distribution.lengths, shape)).any((1, 2))  # (B, m)
        counted = unknown & ~np.isnan(self.rates)
        wanted = np.nan_to_num(self.rates) * (counted * np.array(distribution.lengths)[:, None]).sum(0)  # (m,)
        expected = (marginals.sum((1, 2)) * torch.from_numpy(counted).to(marginals.device)).sum(0)  # (m,)
        target, chance = (marginals.new_tensor(values) for values in (wanted, np.sqrt(wanted)))
        total = ((expected - target).abs() - chance).clamp(min=0.0).sum()
        return (self.weight / len(distribution.lengths) * total).expand(len(distribution.lengths))

"""How many mentions unknown text is expected to have: what keeps a model that sees only sure mentions from finding
everything.

If sentences list some mentions and say of no other that it is absent, the likelihood is highest where every mention is
certain. Effland & Collins (2021, *Partially supervised named entity recognition via the expected entity ratio loss*)
add a penalty where the expected number of mentions leaves a range around a known rate. Here that number is exact: the
sum of the marginals.
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
    """The mentions that a word of a corpus has on average, by type, and the weight of a model's distance from them."""

    rates: np.ndarray
    """(m,): mentions a word; NaN where it is not known."""
    weight: float
    """Of a mention too many or too few, in nats."""

    def penalty(self, distribution: Distribution, marks: PartialMarks) -> Tensor:
        """(B,): the penalty of a batch, shared evenly by its sentences.

        Of each type, the sentences count in which something is unknown, with all their words. A batch of W words has r
        W mentions of a type with the rate r, and by chance (Poisson) √(r W) more or fewer; what is beyond is penalised.
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

"""Compare approximations of coupled components, mean field and k-best patterns, with the exact sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperspan.models.coupling import Components
from hyperspan.structures.coupling import FAMILIES, Couplings, patterns

SWEEPS = 30
KEPT = (5, 20)
"""The numbers of most probable patterns before coupling to keep for each component."""


def approximations(found: Sequence[Components], couplings: Couplings, sentences: int) -> dict[str, Any]:
    """In bits per sentence: the gap of mean field's lower bound, and the gold patterns that re-ranking cannot reach."""
    both, balance = (
        torch.tensor([*(table.get(name, 0.0) for name in FAMILIES), 0.0], dtype=torch.float64)
        for table in (couplings.both, couplings.balance)
    )
    mention = torch.tensor(couplings.mention, dtype=torch.float64)
    gap, worst, exact_both, field_both = 0.0, 0.0, 0.0, 0.0
    lost = dict.fromkeys(KEPT, 0)
    components = 0
    for some in found:
        scores = some.scores(both, balance, mention)
        total = scores.logsumexp(1)
        bound, means = mean_field(scores)
        distance = (total - bound) / math.log(2)
        gap, worst, components = gap + float(distance.sum()), max(worst, float(distance.max())), components + len(total)
        exact, field = (_both(values) for values in ((scores - total[:, None]).exp(), _product(means)))
        exact_both, field_both = exact_both + exact, field_both + field
        rank = (some.before > some.before.gather(1, some.gold[:, None])).sum(1)
        for k in KEPT:
            lost[k] += int((rank >= k).sum())
    return {
        "components": components,
        "mean_field_gap_bits": gap / max(sentences, 1),
        "mean_field_worst_bits": worst,
        "both_exact": exact_both,
        "both_mean_field": field_both,
        "gold_patterns_beyond_the_best": {str(k): count for k, count in lost.items()},
    }


def mean_field(scores: Tensor) -> tuple[Tensor, Tensor]:
    """(F,), (F, N): the mean-field lower bound of the log-sum over all patterns, and the mean of each mention.

    Each mention in turn is set to its optimum given the means of all others, until convergence.
    """
    size = scores.shape[1].bit_length() - 1
    bits = torch.from_numpy(np.array(patterns(size)))
    scores = scores.clamp(min=-700.0)
    means = (scores - scores.logsumexp(1, keepdim=True)).exp() @ bits
    means = means.clamp(1e-9, 1 - 1e-9)
    for _ in range(SWEEPS):
        for place in range(size):
            weights = _product(means, but=place) * scores
            inside = bits[:, place].bool()
            means[:, place] = (weights[:, inside].sum(1) - weights[:, ~inside].sum(1)).sigmoid().clamp(1e-9, 1 - 1e-9)
    entropy = -(means * means.log() + (1 - means) * (1 - means).log()).sum(1)
    return (_product(means) * scores).sum(1) + entropy, means


def _product(means: Tensor, but: int | None = None) -> Tensor:
    """(F, 2^N): the probability of each pattern of independent mentions, ignoring the mention `but`, if given."""
    size = means.shape[1]
    bits = torch.from_numpy(np.array(patterns(size)))
    each = torch.where(bits.bool(), means[:, None], 1 - means[:, None])  # (F, 2^N, N)
    if but is not None:
        each[:, :, but] = 1.0
    return each.prod(2)


def _both(probabilities: Tensor) -> float:
    """The expected number of pairs with both mentions present."""
    bits = torch.from_numpy(np.array(patterns(probabilities.shape[1].bit_length() - 1)))
    count = bits.sum(1)
    return float((probabilities * (count * (count - 1) / 2)).sum())

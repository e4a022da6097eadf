"""What models that decide greedily answer: one set of mentions for each sentence, and no others."""

from __future__ import annotations

import torch
from torch import Tensor

from hyperspan.structures.common import check_count
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.mentions import Mention, MentionSet


class GreedySets(Distribution):
    """The mentions that a model found in each sentence, with their probabilities; all other mentions have the probability 0."""

    limits = "it decides step by step, and other decisions are not followed"

    def __init__(
        self,
        found: list[dict[Mention, float]],
        log_probabilities: list[float],
        lengths: list[int],
        types: int,
        device: torch.device,
    ):
        self.found, self.log_probabilities = found, log_probabilities
        self.lengths, self.types, self.device = lengths, types, device

    @property
    def exact_marginals(self) -> bool:
        return False

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability of the mention from i to i + w inclusive of type k; 0 where it was not found."""
        n = max(self.lengths, default=0)
        result = torch.zeros(len(self.lengths), n, max(n, 1), self.types)
        for b, mentions in enumerate(self.found):
            for (start, end, kind), probability in mentions.items():
                result[b, start, end - start - 1, kind] = probability
        return result.to(self.device)

    def argmax(self) -> list[MentionSet]:
        """The mentions that were found."""
        return [frozenset(mentions) for mentions in self.found]

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The one set that was found, with its log-probability."""
        check_count(k)
        return [[pair][:k] for pair in zip(self.argmax(), self.log_probabilities, strict=True)]

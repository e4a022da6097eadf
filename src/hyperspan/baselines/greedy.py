"""The output of greedy models: one set of mentions per sentence, without alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from hyperspan.structures import AnyMention, Distribution, MentionSet, Places, check_count, check_types, fragments_of


class GreedySets(Distribution):
    """The mentions that a model found in each sentence, with their probabilities; all other mentions have probability
    0."""

    limits = "it decides step by step, and other decisions are not followed"

    def __init__(
        self,
        found: Sequence[Mapping[AnyMention, float]],
        log_probabilities: list[float],
        lengths: list[int],
        types: int,
        device: torch.device,
    ):
        self.found, self._log_probabilities = found, log_probabilities
        self.lengths, self.types, self.device = lengths, types, device

    @property
    def log_probabilities(self) -> list[float]:
        """The log-probability of all decisions in each sentence."""
        return self._log_probabilities

    @property
    def exact_marginals(self) -> bool:
        return False

    @property
    def marginals(self) -> Tensor:
        """(B, n, n, m): the probability of the contiguous mention from i to i + w inclusive of type k; 0 if it was not
        found."""
        n = max(self.lengths, default=0)
        result = torch.zeros(len(self.lengths), n, max(n, 1), self.types)
        for b, mentions in enumerate(self.found):
            for mention, probability in mentions.items():
                if not fragments_of(mention):
                    start, end, kind = mention[:3]
                    result[b, start, end - start - 1, kind] = probability
        return result.to(self.device)

    def argmax(self) -> list[MentionSet]:
        """The mentions that were found."""
        return [frozenset(mentions) for mentions in self.found]  # type: ignore[misc]

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The one set that was found, with its log-probability."""
        check_count(k)
        return [[pair][:k] for pair in zip(self.argmax(), self.log_probabilities, strict=True)]

    def restrict(self, types: Sequence[int]) -> GreedySets:
        """The mentions found for some types; the log-probabilities are still those of all types."""
        place = {kind: index for index, kind in enumerate(check_types(types, self.types))}
        found = [
            {(*one[:2], place[one[2]], *one[3:]): value for one, value in mentions.items() if one[2] in place}
            for mentions in self.found
        ]
        return GreedySets(found, self.log_probabilities, self.lengths, len(place), self.device)  # type: ignore[arg-type]

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        every = [
            (sentence, one, mentions[one])
            for sentence, mentions in enumerate(self.found)
            for one in sorted(mentions, key=lambda mention: (mention[:3], fragments_of(mention)))
        ]
        result: list[Places] = []
        for least in wanted:
            kept = [row for row in every if least is None or (row[2] >= least[row[1][2]] and row[2] > 0)]
            rows = np.array([(sentence, *one[:3]) for sentence, one, _ in kept], dtype=np.int64).reshape(-1, 4)
            parts = [fragments_of(one) for _, one, _ in kept]
            values = np.array([value for *_, value in kept], dtype=np.float64)
            result.append(Places(rows, values, parts if any(parts) else ()))
        return result

"""The k best mention sets of independent choices. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from hyperspan.structures.kbest import Alternatives, cheapest_combinations
from hyperspan.structures.mentions import Mention, MentionSet

Mentions = tuple[Mention, ...]


class Choice(NamedTuple):
    """An independent choice: how much more its second best costs than its best, and all its alternatives."""

    first_step: float
    alternatives: Alternatives[Mentions]

    @classmethod
    def of(cls, ranked: Iterator[tuple[float, Mentions]]) -> Choice:
        """The choice among alternatives."""
        found = Alternatives(ranked)
        first, second = found.get(0), found.get(1)
        return cls(np.inf if first is None or second is None else second[0] - first[0], found)


def cheapest_sets(choices: Sequence[Choice], k: int) -> Iterator[tuple[float, MentionSet]]:
    """The k best sets of independent choices as (cost above the best, set), best first."""
    firsts = [(choice.alternatives.get(0) or (0.0, ()))[1] for choice in choices]
    best = frozenset(chain.from_iterable(firsts))
    order = sorted(range(len(choices)), key=lambda index: choices[index].first_step)[: max(k - 1, 0)]
    chosen = [index for index in order if choices[index].first_step < np.inf]
    for cost, changed in islice(cheapest_combinations([choices[index].alternatives for index in chosen]), k):
        dropped = chain.from_iterable(firsts[chosen[place]] for place in changed)
        added = chain.from_iterable(changed.values())
        yield cost, best.difference(dropped).union(added)

"""Distributions by enumeration: what every structure is checked against, and what it cannot get wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from hyperspan.structures import Mention, MentionSet
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from hyperspan.structures.scores import Scores


def all_mentions(n: int, types: int, max_width: int) -> list[Mention]:
    """Every mention that a sentence of n words can hold."""
    return [(i, j, k) for i in range(n) for j in range(i + 1, min(i + max_width, n) + 1) for k in range(types)]


def all_sets(mentions: Iterable[Any]) -> Iterator[Any]:
    pool = list(mentions)
    for size in range(len(pool) + 1):
        yield from map(frozenset, itertools.combinations(pool, size))


def arrays(scores: Scores) -> SimpleNamespace:
    """The scores as float64 arrays, which give single numbers much faster than tensors."""
    return SimpleNamespace(**{name: tensor.double().numpy() for name, tensor in scores.tensors().items()})


def log_sum(values: Iterable[float]) -> float:
    """log of the sum of exp, in plain Python."""
    pool = list(values)
    high = max(pool, default=-math.inf)
    return high if high == -math.inf else high + math.log(math.fsum(math.exp(value - high) for value in pool))


@dataclass(frozen=True)
class BruteForce:
    """A distribution over sets, each with its score: p(set) = exp(score) / sum."""

    scores: dict[MentionSet, float]

    @cached_property
    def log_partition(self) -> float:
        return log_sum(self.scores.values())

    def log_prob(self, mentions: Iterable[Mention]) -> float:
        return self.scores.get(frozenset(mentions), -math.inf) - self.log_partition

    @cached_property
    def probabilities(self) -> dict[MentionSet, float]:
        total = self.log_partition
        return {mentions: math.exp(score - total) for mentions, score in self.scores.items()}

    def marginal(self, mention: Mention) -> float:
        return math.fsum(p for mentions, p in self.probabilities.items() if mention in mentions)

    @property
    def entropy(self) -> float:
        return -math.fsum(p * math.log(p) for p in self.probabilities.values() if p > 0)

    def ranked(self) -> list[tuple[MentionSet, float]]:
        """All possible sets with their log-probabilities, best first."""
        total = self.log_partition
        possible = [(mentions, score - total) for mentions, score in self.scores.items() if score > -math.inf]
        return sorted(possible, key=lambda pair: -pair[1])

    def given(self, require: Iterable[Mention], forbid: Iterable[Mention]) -> BruteForce:
        wanted, unwanted = frozenset(require), frozenset(forbid)
        return BruteForce({s: score for s, score in self.scores.items() if wanted <= s and not unwanted & s})

    def restrict(self, types: Sequence[int]) -> BruteForce:
        """The sets of mentions of these types, each with the sum over the mentions of the others."""
        scores: dict[MentionSet, list[float]] = {}
        for mentions, score in self.scores.items():
            kept: Any = frozenset(
                (start, end, types.index(kind), *parts) for start, end, kind, *parts in mentions if kind in types
            )
            scores.setdefault(kept, []).append(score)
        return BruteForce({mentions: log_sum(values) for mentions, values in scores.items()})

    def expected_f1(self, chosen: MentionSet) -> float:
        def f1(gold: MentionSet) -> float:
            return 2 * len(gold & chosen) / (len(gold) + len(chosen)) if gold or chosen else 1.0

        return math.fsum(p * f1(gold) for gold, p in self.probabilities.items())


@dataclass(frozen=True)
class Explicit:
    """A structure spelled out for one sentence: its hypergraph, its edges' weights, and what a hyperpath means."""

    graph: Hypergraph
    weights: Callable[[Hyperedge], float]
    mentions_of: Callable[[Iterable[Hyperedge]], Any]


def itself(mentions: MentionSet) -> MentionSet:
    return mentions


@dataclass(frozen=True)
class Case:
    """A padded batch of one structure, vectorised, and each of its sentences by enumeration and as a hypergraph."""

    vectorised: Any
    lengths: list[int]
    types: int
    max_width: int
    brute: list[BruteForce]
    explicit: list[Explicit]
    tolerance: float
    meant_by: Callable[[MentionSet], MentionSet] = itself
    """The set whose probability `log_prob` gives; another one where structures are ambiguous."""
    conditions: bool = False
    """Whether it can be conditioned on mentions."""
    independent_types: bool = False
    """Whether its types are independent, so that a restriction to some gives all that the whole does."""
    longer: list[list[Any]] | None = None
    """For each sentence its mentions of several parts, where there are any."""

    def pools(self) -> list[list[Any]]:
        """For each sentence every mention that it can hold."""
        short = [all_mentions(length, self.types, self.max_width) for length in self.lengths]
        return [[*some, *more] for some, more in zip(short, self.longer or [[]] * len(short), strict=True)]

"""Fit on dev how mentions depend on each other: the couplings under which gold sets are most probable.

The model does not change. The fit needs only its components on dev (:mod:`hyperspan.structures.coupling`), the
probability of each pattern before coupling, and the gold pattern. The log-likelihood is a smooth function of two
numbers for each family of pairs, which L-BFGS maximises with a weak prior. Couplings that do not help on held-out
halves of dev are rejected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels import joint
from hyperspan.structures.coupled import Base, CoupledHypergraph, group_numbers, patterns_of_sets
from hyperspan.structures.coupling import FAMILIES, Couplings, PairFactors, pair_factors, patterns
from hyperspan.structures.mentions import Mention

ENOUGH_MENTIONS = 500
"""The minimum number of dev mentions for fitting couplings."""
BOTH_PRIOR, BALANCE_PRIOR = 0.05, 0.5
"""Weights, in bits, of the squares of `both` and of `balance` - 1."""
FIRST_GUESS = -0.1
STEPS = 60
ALL = Couplings(dict.fromkeys(FAMILIES, 0.0), dict.fromkeys(FAMILIES, 1.0))
"""Every family, with the default limits."""


class CoupledBatch(NamedTuple):
    """The base distribution of a batch, its gold sets, and its sentence indices."""

    base: Base
    gold: Sequence[set[Mention]]
    numbers: Sequence[int]


class Components(NamedTuple):
    """Components of N mentions of dev."""

    before: Tensor  # (F, 2^N): the log-probability of each pattern before coupling
    family: Tensor  # (F, pairs): the family of each pair of members; len(FAMILIES) for none
    probability: Tensor  # (F, N)
    gold: Tensor  # (F,): the pattern of gold
    sentence: np.ndarray  # (F,)

    def scores(self, both: Tensor, balance: Tensor, mention: Tensor) -> Tensor:
        """(F, 2^N): the log-probability of each pattern before coupling, plus the couplings: (families + 1,) twice, and
        ()."""
        size = self.probability.shape[1]
        first, second = np.triu_indices(size, 1)
        bits = torch.from_numpy(np.array(patterns(size)))
        potential, share = both[self.family], balance[self.family]
        taken = potential.expm1()
        alone = mention.expand(self.probability.shape)
        for one, other in ((first, second), (second, first)):
            lost = share * torch.log1p(self.probability[:, other] * taken)
            alone = alone.index_add(1, torch.from_numpy(one), -lost)
        return self.before + alone @ bits.T + potential @ (bits[:, first] * bits[:, second]).T

    def gain(self, both: Tensor, balance: Tensor, mention: Tensor) -> Tensor:
        """(F,): the gain in gold log-probability, in bits."""
        scores = self.scores(both, balance, mention)
        after, before = (
            values.gather(1, self.gold[:, None])[:, 0] - values.logsumexp(1) for values in (scores, self.before)
        )
        return (after - before) / math.log(2)

    def of(self, sentences: np.ndarray) -> Components:
        """The components of some sentences, given as booleans (sentences of dev,)."""
        kept = torch.from_numpy(sentences[self.sentence])
        before, family, probability, gold = (tensor[kept] for tensor in self[:4])
        return Components(before, family, probability, gold, self.sentence[kept.numpy()])


@dataclass(frozen=True)
class CouplingFit:
    """The fitted couplings, and their gain on dev, in bits over all gold sets."""

    couplings: Couplings
    gained: float
    """The gain on the sentences they were fitted to."""
    held_out: float
    """The gain on each half of the sentences, with couplings fitted to the other half."""
    pairs: dict[str, int]
    """The number of pairs of each family."""


@torch.no_grad()
def components_of(batches: Iterable[CoupledBatch], limits: Couplings = ALL) -> Iterator[Components]:
    """The components of dev."""
    for base, gold, numbers in batches:
        groups = group_numbers(base)
        found = pair_factors(base.marginals.numpy(force=True), limits, groups)
        nothing = np.zeros(len(FAMILIES))
        coupled = CoupledHypergraph(base._in_float64(), [some.factors(nothing, nothing) for some in found])
        joined = {one.factors.size: one for one in coupled.joined()}
        for some in found:
            one = joined[some.start.shape[1]]
            before = one.patterns(one.rows(joint.log_partition)).cpu()
            before = before - before.logsumexp(1, keepdim=True)
            yield _components(some, before, patterns_of_sets(one.factors, gold), np.array(numbers))


def _components(some: PairFactors, before: Tensor, gold: np.ndarray, numbers: np.ndarray) -> Components:
    first, second = np.triu_indices(some.start.shape[1], 1)
    family = some.family[:, first, second]
    return Components(
        before,
        torch.from_numpy(np.where(family < 0, len(FAMILIES), family)),
        torch.from_numpy(some.probability),
        torch.from_numpy(gold),
        numbers[some.sentence],
    )


def fit_couplings(found: Sequence[Components], sentences: int, limits: Couplings = ALL) -> CouplingFit | None:
    """Fit couplings to the components of a number of sentences; None if they do not help held-out sentences."""
    count = np.zeros(len(FAMILIES) + 1, dtype=np.int64)
    for some in found:
        count += np.bincount(some.family.flatten().numpy(), minlength=len(count))
    even = np.arange(sentences) % 2 == 0
    halves = [_stacked([some.of(half) for some in found]) for half in (even, ~even)]
    whole = _stacked(found)
    held_out = sum(_gain(half, *_fitted(other)) for half, other in (halves, halves[::-1]))
    both, balance, mention = _fitted(whole)
    used = [index for index in range(len(FAMILIES)) if count[index] and limits.coupled[index]]
    if held_out <= 0 or not used:
        return None
    tables = [{FAMILIES[index]: round(float(values[index]), 4) for index in used} for values in (both, balance)]
    chosen = Couplings(tables[0], tables[1], round(float(mention), 4), limits.least, limits.most)
    pairs = {FAMILIES[index]: int(count[index]) for index in used}
    return CouplingFit(chosen, _gain(whole, both, balance, mention), held_out, pairs)


def _stacked(found: Sequence[Components]) -> list[Components]:
    """Concatenate the components of each size."""
    by_size: dict[int, list[Components]] = {}
    for some in found:
        by_size.setdefault(some.probability.shape[1], []).append(some)
    return [_concatenated(some) for some in by_size.values()]


def _concatenated(some: Sequence[Components]) -> Components:
    before, family, probability, gold = (torch.cat(list(column)) for column in list(zip(*some, strict=True))[:4])
    return Components(before, family, probability, gold, np.concatenate([one.sentence for one in some]))


def _gain(found: Sequence[Components], *values: Tensor) -> float:
    return sum(float(some.gain(*values).sum()) for some in found)


def _fitted(found: Sequence[Components]) -> tuple[Tensor, Tensor, Tensor]:
    """The `both` and `balance` of all families (and 0 for none), and the `mention`, that maximise the probability of
    gold."""
    with torch.inference_mode(False), torch.enable_grad():
        both = torch.full((len(FAMILIES),), FIRST_GUESS, dtype=torch.float64, requires_grad=True)
        balance = torch.ones(len(FAMILIES), dtype=torch.float64, requires_grad=True)
        found = [
            some._replace(**{name: getattr(some, name).clone() for name in Components._fields[:4]}) for some in found
        ]
        mention = torch.zeros((), dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([both, balance, mention], max_iter=STEPS, line_search_fn="strong_wolfe")
        none = both.new_zeros(1)

        def loss() -> Tensor:
            optimizer.zero_grad()
            values = torch.cat([both, none]), torch.cat([balance, none]), mention
            prior = BOTH_PRIOR * both.square().sum() + BALANCE_PRIOR * (balance - 1).square().sum()
            total = prior - sum((some.gain(*values).sum() for some in found), none.sum())
            total.backward()
            return total

        optimizer.step(loss)
        return torch.cat([both, none]).detach(), torch.cat([balance, none]).detach(), mention.detach()

"""Pairwise dependence between probable mentions that overlap or touch. Needs no torch.

Two mentions are a *pair* of a *family*: they share a span, an end or a start, nest, cross, or touch; with the same type
or another. Each family has a potential `both`, which is added to the score of a set that has both mentions of a pair.
That alone would change the probability of each mention. So the score of each is corrected by the pair's average effect,
times `balance`, with p the probability of the other mention before coupling:

    both · y_a y_b  -  balance · log(1 + p_b (e^both - 1)) · y_a  -  balance · log(1 + p_a (e^both - 1)) · y_b

Each mention of a component also scores `mention` more, which corrects a base that expects too few or too many mentions.

Only pairs whose mentions are probable enough count: p_a p_b ≥ `least`. Pairs join mentions to components. The most
probable pairs come first, and a pair that would make a component of more than `most` mentions is left out. So the cost
is linear in the number of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hyperspan.structures.mentions import Mention

FAMILIES = (
    "span",
    "end_same",
    "end_other",
    "start_same",
    "start_other",
    "nested_same",
    "nested_other",
    "crossing_same",
    "crossing_other",
    "adjacent_same",
    "adjacent_other",
)
"""The relative positions of two mentions, of the same type or of different types."""
MOST_MENTIONS = 12
"""The largest component that is allowed: 4,096 patterns."""
MOST_POTENTIAL = 1000
"""The largest potential allowed: its exponential dominates everything else."""
_UNITS_APART = 2**40
"""More than the words of any sentence."""


@dataclass(frozen=True)
class Couplings:
    """The potentials of pairs, by family; families that are not given are not coupled.

    >>> Couplings({"span": -4.0}, {"span": 1.5})
    Couplings(both={'span': -4.0}, balance={'span': 1.5}, mention=0.0, least=0.003, most=8)
    """

    both: Mapping[str, float]
    balance: Mapping[str, float]
    mention: float = 0.0
    """Added for each mention of a component."""
    least: float = 0.003
    """The minimum product of the probabilities of a pair's mentions."""
    most: int = 8
    """The largest number of mentions in a component."""

    def __post_init__(self) -> None:
        unknown = sorted({*self.both, *self.balance} - set(FAMILIES))
        if unknown or set(self.both) != set(self.balance):
            raise ValueError(
                f"expected both and balance of the same families of {', '.join(FAMILIES)}, got {dict(self.both)} and {dict(self.balance)}"
            )
        values = (*self.both.values(), *self.balance.values(), self.mention)
        if not all(isinstance(value, int | float) and abs(value) <= MOST_POTENTIAL for value in values):
            raise ValueError(f"expected numbers from {-MOST_POTENTIAL} to {MOST_POTENTIAL} as potentials, got {self}")
        if not (0 < self.least <= 1 and 2 <= self.most <= MOST_MENTIONS):
            raise ValueError(
                f"expected least above 0 and up to 1 and most from 2 to {MOST_MENTIONS}, got {self.least} and {self.most}"
            )

    @property
    def coupled(self) -> np.ndarray:
        """(families,): which families are coupled."""
        return np.array([name in self.both for name in FAMILIES])

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """(families,) each: `both` and `balance`, 0 where they are not given."""
        both, balance = ([table.get(name, 0.0) for name in FAMILIES] for table in (self.both, self.balance))
        return np.array(both), np.array(balance)


class Candidates(NamedTuple):
    """Probable mentions of a batch, by sentence and start."""

    sentence: np.ndarray  # (mentions,)
    start: np.ndarray
    end: np.ndarray
    kind: np.ndarray
    probability: np.ndarray


class PairFactors(NamedTuple):
    """Components of N mentions each, and what couples them."""

    sentence: np.ndarray  # (F,)
    start: np.ndarray  # (F, N)
    end: np.ndarray  # (F, N)
    kind: np.ndarray  # (F, N)
    probability: np.ndarray  # (F, N)
    family: np.ndarray  # (F, N, N): that of each pair, for a before b; -1 for none

    def factors(self, both: np.ndarray, balance: np.ndarray, mention: float = 0.0) -> Factors:
        """The factors of these potentials, (families,) each."""
        size = self.start.shape[1]
        first, second = np.triu_indices(size, 1)
        family = self.family[:, first, second]  # (F, pairs)
        potential = np.where(family < 0, 0.0, both[family])
        taken = np.expm1(potential)
        share = np.where(family < 0, 0.0, balance[family])
        alone = np.full(self.start.shape, mention)
        for pair, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            alone[:, a] -= share[:, pair] * np.log1p(self.probability[:, b] * taken[:, pair])
            alone[:, b] -= share[:, pair] * np.log1p(self.probability[:, a] * taken[:, pair])
        bits = patterns(size)
        table = alone @ bits.T + potential @ (bits[:, first] * bits[:, second]).T
        return Factors(self.sentence, self.start, self.end, self.kind, table)


class Factors(NamedTuple):
    """Components of N mentions each, with a score for each of their 2^N patterns."""

    sentence: np.ndarray  # (F,)
    start: np.ndarray  # (F, N)
    end: np.ndarray  # (F, N)
    kind: np.ndarray  # (F, N)
    table: np.ndarray  # (F, 2^N): bit j of a pattern says whether mention j is in the set

    @property
    def size(self) -> int:
        """N."""
        return self.start.shape[1]

    def select(self, sentences: Sequence[int]) -> Factors:
        """The factors of some sentences, by index; indices may repeat."""
        new, old = np.nonzero(np.array(sentences, dtype=np.int64)[:, None] == self.sentence)
        return Factors(new, *(column[old] for column in self[1:]))


class Units(NamedTuple):
    """The units that contain members of components: all mentions of a type, or group, that begin at a word. They are
    independent before coupling.

    A unit with r members has 2^r *rows*, one for each pattern of its members.
    """

    factor: np.ndarray  # (units,): which component
    sentence: np.ndarray  # (units,)
    start: np.ndarray  # (units,)
    group: np.ndarray  # (units,): the type, or the group of types
    row: np.ndarray  # (units, 2^N): the row of its part of each pattern of the component
    unit_of: np.ndarray  # (rows,)
    member_row: np.ndarray  # (members of rows,): a row, ...
    member_end: np.ndarray  # ... the end of one of its members, ...
    member_kind: np.ndarray  # ... its type, ...
    member_in: np.ndarray  # ... and whether it is in the set


@lru_cache(maxsize=MOST_MENTIONS + 1)
def patterns(size: int) -> np.ndarray:
    """(2^N, N): the bits of each pattern."""
    bits = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.float64)
    bits.flags.writeable = False
    return bits


def units_of(factors: Factors, group_of: np.ndarray) -> Units:
    """The units of components, where `group_of` (types,) is the group of each type."""
    count, size = factors.start.shape
    group = group_of[factors.kind]
    factor = np.repeat(np.arange(count), size)
    keys = np.stack([factor, factors.start.ravel(), group.ravel()], axis=1)
    found, unit = np.unique(keys, axis=0, return_inverse=True)
    unit = unit.reshape(count, size)
    members = np.bincount(unit.ravel(), minlength=len(found))  # r
    place = np.zeros((count, size), dtype=np.int64)  # of each member in its unit
    for later in range(1, size):
        place[:, later] = (unit[:, :later] == unit[:, later : later + 1]).sum(1)
    weights = np.zeros((len(found), size), dtype=np.int64)
    weights[unit.ravel(), np.tile(np.arange(size), count)] = 1 << place.ravel()
    first = np.concatenate([[0], (1 << members).cumsum()])
    row = first[:-1, None] + weights @ patterns(size).T.astype(np.int64)
    unit_of = np.repeat(np.arange(len(found)), 1 << members)
    local = np.arange(first[-1]) - first[unit_of]
    # Each member is in all rows of its unit.
    rows_of_unit = (1 << members)[unit.ravel()]
    member = np.repeat(np.arange(count * size), rows_of_unit)
    before = np.concatenate([[0], rows_of_unit.cumsum()])[:-1]
    member_row = first[unit.ravel()][member] + np.arange(len(member)) - before[member]
    inside = (local[member_row] >> place.ravel()[member] & 1).astype(bool)
    sentence = factors.sentence[found[:, 0]]
    return Units(
        *(found[:, 0], sentence, found[:, 1], found[:, 2], row, unit_of),
        *(member_row, factors.end.ravel()[member], factors.kind.ravel()[member], inside),
    )


def patterns_of_sets(factors: Factors, sets: Sequence[Set[Mention]]) -> np.ndarray:
    """(F,): the pattern that a sentence's set has in each factor."""
    inside = np.array(
        [
            [mention in sets[sentence] for mention in zip(starts, ends, kinds, strict=True)]
            for sentence, starts, ends, kinds in zip(
                *(column.tolist() for column in (factors.sentence, factors.start, factors.end, factors.kind)),
                strict=True,
            )
        ]
    )
    return inside.astype(np.int64) @ (1 << np.arange(factors.size))


def family_of(start: np.ndarray, end: np.ndarray, kind: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(pairs,): the family of each pair (pairs, 2) of mentions, the first of which starts no later; -1 if they do not
    touch.

    >>> starts, ends = np.array([0, 0, 1, 2]), np.array([2, 2, 2, 3])
    >>> found = family_of(starts, ends, np.array([0, 1, 0, 0]), np.array([[0, 1], [0, 2], [1, 2], [2, 3]]))
    >>> [FAMILIES[family] for family in found]
    ['span', 'end_same', 'end_other', 'adjacent_same']
    """
    first, second = pairs.T
    other = (kind[first] != kind[second]).astype(np.int64)
    starts, ends = start[first] == start[second], end[first] == end[second]
    later = start[second] - end[first]
    inner = (start[first] < start[second]) & (end[second] < end[first])
    crossing = (start[first] < start[second]) & (end[first] < end[second]) & (later < 0)
    return np.select(
        [starts & ends, ends, starts, inner, crossing, later == 0],
        [np.zeros_like(other), 1 + other, 3 + other, 5 + other, 7 + other, 9 + other],
        -1,
    )


def probable(marginals: np.ndarray, least: float) -> Candidates:
    """The mentions that may be in pairs; `marginals` is (B, n, c, m)."""
    sentence, start, width, kind = np.nonzero(marginals >= least)
    return Candidates(sentence, start, start + width + 1, kind, marginals[sentence, start, width, kind].astype(float))


def pair_factors(marginals: np.ndarray, couplings: Couplings, group_of: np.ndarray) -> list[PairFactors]:
    """The components of a batch, grouped by size."""
    found = probable(marginals, couplings.least)
    pairs, family = _pairs(found, couplings)
    used = _joined(found, pairs, group_of, couplings.most)
    by_size: dict[int, list[tuple[list[int], list[int]]]] = {}
    for members, some in used:
        by_size.setdefault(len(members), []).append((members, some))
    return [_stacked(found, pairs, family, components) for _, components in sorted(by_size.items())]


def _pairs(found: Candidates, couplings: Couplings) -> tuple[np.ndarray, np.ndarray]:
    """(pairs, 2) places of candidates and (pairs,) families, the most probable pairs first."""
    place = found.sentence.astype(np.int64) * _UNITS_APART
    # Candidates are sorted by start: those that overlap or touch one follow it contiguously.
    last = np.searchsorted(place + found.start, place + found.end, side="right")
    later = np.maximum(last - np.arange(len(last)) - 1, 0)
    first = np.repeat(np.arange(len(last)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(later.cumsum() - later, later)
    product = found.probability[first] * found.probability[second]
    kept = product >= couplings.least
    pairs, product = np.stack([first[kept], second[kept]], axis=1), product[kept]
    family = family_of(found.start, found.end, found.kind, pairs)
    kept = (family >= 0) & couplings.coupled[family]
    order = np.argsort(-product[kept], kind="stable")
    return pairs[kept][order], family[kept][order]


def _joined(
    found: Candidates, pairs: np.ndarray, group_of: np.ndarray, most: int
) -> Iterator[tuple[list[int], list[int]]]:
    """The members and the pairs of each component."""
    starts = np.unique(
        np.stack([found.sentence, found.start, group_of[found.kind]], axis=1), axis=0, return_inverse=True
    )
    unit_of: list[int] = starts[1].ravel().tolist()
    component: dict[int, list[int]] = {}  # of a candidate: its members
    of_unit: dict[int, list[int]] = {}
    used: dict[int, list[int]] = {}  # the pairs of a component, by its identity
    for number, (a, b) in enumerate(pairs.tolist()):
        joined: list[list[int]] = []
        new: list[int] = []
        for one in (a, b):
            members = component.get(one)
            if members is None:
                new.append(one)
                members = of_unit.get(unit_of[one])
            if members is not None and all(members is not other for other in joined):
                joined.append(members)
        if sum(map(len, joined)) + len(new) > most:
            continue
        into = joined[0] if joined else []
        if not joined:
            used[id(into)] = []
        for other in joined[1:]:
            into += other
            used[id(into)] += used.pop(id(other))
            for one in other:
                component[one] = of_unit[unit_of[one]] = into
        into += new
        for one in new:
            component[one] = of_unit[unit_of[one]] = into
        used[id(into)].append(number)
    distinct = {id(members): members for members in component.values()}
    return ((sorted(members), used[name]) for name, members in distinct.items())


def _stacked(
    found: Candidates, pairs: np.ndarray, family: np.ndarray, components: Sequence[tuple[list[int], list[int]]]
) -> PairFactors:
    members = np.array([some for some, _ in components])  # (F, N)
    count, size = members.shape
    table = np.full((count, size, size), -1)
    factor = np.repeat(np.arange(count), [len(some) for _, some in components])
    number = np.array([one for _, some in components for one in some])
    place = np.full(len(found.start), -1)
    place[members.ravel()] = np.tile(np.arange(size), count)
    first, second = place[pairs[number]].T
    table[factor, first, second] = family[number]
    sentence, start, end, kind, probability = (column[members] for column in found)
    return PairFactors(sentence[:, 0], start, end, kind, probability, table)


def couple(marginals: np.ndarray, couplings: Couplings, group_of: np.ndarray) -> list[Factors]:
    """The factors of a batch whose mentions have these probabilities (B, n, c, m) before coupling."""
    both, balance = couplings.values()
    return [some.factors(both, balance, couplings.mention) for some in pair_factors(marginals, couplings, group_of)]


def marginalised(factors: Factors, units: Units, rows: np.ndarray, kinds: Sequence[int]) -> list[Factors]:
    """The factors over only the mentions of some types, each its own unit, with other types summed out.

    `rows` are the log-partitions of all rows. Type k of the result is ``kinds[k]``.
    """
    alone = np.full(len(units.factor), -np.inf)
    np.logaddexp.at(alone, units.unit_of, rows)
    with np.errstate(invalid="ignore"):  # where nothing is possible
        relative = np.nan_to_num(rows - alone[units.unit_of], nan=-np.inf, neginf=-np.inf)  # log-probabilities
    new_kind = np.full(
        max(int(factors.kind.max(initial=0)), *kinds, 0) + 1 if kinds else int(factors.kind.max()) + 1, -1
    )
    new_kind[list(kinds)] = np.arange(len(kinds))
    summed = np.zeros_like(factors.table)
    others = new_kind[units.group] < 0
    np.add.at(summed, units.factor[others], relative[units.row[others]])
    table = factors.table + summed
    kept = new_kind[factors.kind] >= 0  # (F, N)
    found: list[Factors] = []
    for mask in np.unique(kept, axis=0) if len(kept) else ():
        some, places = (kept == mask).all(1), np.flatnonzero(mask)
        if not len(places):
            continue
        own = patterns(factors.size)[:, places].astype(np.int64) @ (1 << np.arange(len(places)))  # (2^N,)
        shrunk = np.full((int(some.sum()), 2 ** len(places)), -np.inf)
        np.logaddexp.at(shrunk.T, own, table[some].T)
        start, end, kind = (column[some][:, places] for column in (factors.start, factors.end, new_kind[factors.kind]))
        found.append(Factors(factors.sentence[some], start, end, kind, shrunk))
    return found

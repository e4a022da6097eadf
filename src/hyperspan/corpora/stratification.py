"""Assign units to parts so that each part gets its share of every label.

Iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011) for units of any size: units with the rarest label are
placed first, each in the part that lacks most of its labels. Then units move, and in small corpora pairs are swapped,
as long as that lowers the error: the sum over parts and labels of the squared relative distance to the share, so that
rare labels count most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from hyperspan.types import Document

MOST_PASSES = 20
"""The maximum number of passes over all units to look for moves that help."""
STARTS, MOST_UNITS = 8, 2_000
"""The number of shuffles tried; the best is kept. Only with at most MOST_UNITS units, since few are hard to balance."""
MOST_SWAPPED = 300
"""With up to this many units, pairs are swapped too."""
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Part:
    """A part of a corpus: a unit that stays whole, or several."""

    documents: list[Document] = field(default_factory=list)
    """Its records, in corpus order."""
    units: int = 1
    """The number of documents kept whole: records of one document count as one."""
    sentences: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    """Mentions by label."""


def stratify(units: Sequence[Part], fractions: Sequence[float], seed: int = 1) -> list[int]:
    """The index of the part of each unit. No part stays empty; there must be at least as many units as parts.

    >>> units = [Part(sentences=1, labels=Counter(["PER"]))] * 8 + [Part(sentences=1, labels=Counter(["GPE"]))] * 2
    >>> parts = stratify(units, [0.5, 0.5])
    >>> parts[:8].count(0), parts[8:].count(0)
    (4, 1)
    """
    starts = STARTS if len(units) <= MOST_UNITS else 1
    shares = [_Shares(units, fractions, Random(f"{seed} {start}")) for start in range(starts)]
    for each in shares:
        each.assign()
    best = min(shares, key=_Shares.error)
    if len(units) <= MOST_SWAPPED:
        best.swap()
    return best.parts


class _Shares:
    """One assignment of units to parts, and its distance from the shares."""

    def __init__(self, units: Sequence[Part], fractions: Sequence[float], random: Random):
        totals, holders = Counter[str](), Counter[str]()
        for unit in units:
            totals.update({label: count for label, count in unit.labels.items() if count})
            holders.update(label for label, count in unit.labels.items() if count)
        self.rarity = {label: (count, label) for label, count in holders.items()}
        row_of = {label: row for row, label in enumerate(sorted(totals), start=1)}
        sentences = sum(max(1, unit.sentences) for unit in units)
        amounts = [sentences, *(totals[label] for label in sorted(totals))]
        weights = [max(1, len(totals)), *(1 for _ in totals)]  # sentences weigh as much as all labels together
        self.units = units
        self.counts = [
            [(0, max(1, unit.sentences)), *((row_of[label], count) for label, count in unit.labels.items() if count)]
            for unit in units
        ]
        self.wanted = [[fraction * amount for amount in amounts] for fraction in fractions]
        self.weights = [
            [weight / (wanted * wanted) for weight, wanted in zip(weights, of_part, strict=True)]
            for of_part in self.wanted
        ]
        self.missing = [list(of_part) for of_part in self.wanted]
        """What each part still lacks of its share; negative if it has too much."""
        self.sizes, self.parts = [0] * len(fractions), [0] * len(units)
        self.random = random

    def assign(self) -> None:
        """Place the units one by one, those with the rarest label first, the largest of these first; then move them."""
        tie = [self.random.random() for _ in self.units]

        def order(unit: int) -> tuple[tuple[int, str], int, float]:
            labels = self.units[unit].labels
            rarest = min((self.rarity[label] for label in labels if label in self.rarity), default=(len(tie), ""))
            return rarest, -labels.get(rarest[1], 0), tie[unit]

        for unit in sorted(range(len(self.units)), key=order):
            self.parts[unit] = self._best(unit)
            self._add(unit, self.parts[unit])
        self._fill_empty()
        self._improve()

    def swap(self) -> None:
        """Swap pairs of units as long as that helps."""
        pairs = list(combinations(range(len(self.units)), 2))
        for _ in range(MOST_PASSES):
            swapped = [pair for pair in pairs if self._swapped(*pair)]
            if not swapped:
                return

    def error(self) -> float:
        """The distance of the parts from their shares."""
        return sum(
            weight * missing * missing
            for weights, of_part in zip(self.weights, self.missing, strict=True)
            for weight, missing in zip(weights, of_part, strict=True)
        )

    def _best(self, unit: int) -> int:
        return min(range(len(self.sizes)), key=lambda part: self._cost(unit, part))

    def _cost(self, unit: int, part: int) -> float:
        """The increase of the error if the unit is added to the part."""
        missing, weights = self.missing[part], self.weights[part]
        return sum(weights[row] * count * (count - 2 * missing[row]) for row, count in self.counts[unit])

    def _add(self, unit: int, part: int, times: int = 1) -> None:
        self.sizes[part] += times
        missing = self.missing[part]
        for row, count in self.counts[unit]:
            missing[row] -= times * count

    def _fill_empty(self) -> None:
        """Give every empty part the unit that costs least."""
        for part in [part for part, size in enumerate(self.sizes) if size == 0]:
            movable = [unit for unit, at in enumerate(self.parts) if self.sizes[at] > 1]
            self._move(min(movable, key=lambda unit: self._change(unit, part)), part)

    def _change(self, unit: int, part: int) -> float:
        """The change of the error if the unit moves; negative if that helps."""
        at = self.parts[unit]
        self._add(unit, at, -1)
        change = self._cost(unit, part) - self._cost(unit, at)
        self._add(unit, at)
        return change

    def _move(self, unit: int, part: int) -> None:
        self._add(unit, self.parts[unit], -1)
        self._add(unit, part)
        self.parts[unit] = part

    def _improve(self) -> None:
        """Move single units as long as that helps."""
        order = list(range(len(self.units)))
        for _ in range(MOST_PASSES):
            self.random.shuffle(order)
            moved = False
            for unit in order:
                if self.sizes[at := self.parts[unit]] == 1:
                    continue
                self._add(unit, at, -1)
                best = self._best(unit)
                better = self._cost(unit, best) < self._cost(unit, at) - LEAST_GAIN
                self.parts[unit] = best if better else at
                self._add(unit, self.parts[unit])
                moved = moved or better
            if not moved:
                return

    def _swapped(self, one: int, other: int) -> bool:
        """Swap two units if that helps; return whether it did."""
        at, there = self.parts[one], self.parts[other]
        if at == there:
            return False
        self._add(one, at, -1)
        self._add(other, there, -1)
        before = self._cost(one, at) + self._cost(other, there)
        helps = self._cost(one, there) + self._cost(other, at) < before - LEAST_GAIN
        if helps:
            self.parts[one], self.parts[other] = there, at
        self._add(one, self.parts[one])
        self._add(other, self.parts[other])
        return helps

"""The alternatives of a factor over a few mentions, best first: its patterns, and the alternatives of its units under
each. Needs no torch."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Protocol

import numpy as np

from hyperspan.structures.choices import Choice, Mentions
from hyperspan.structures.coupling import Factors, Units
from hyperspan.structures.kbest import Alternatives, cheapest_combinations

Unit = Callable[[int, int], Alternatives[Mentions]]
"""The alternatives of a row, which belongs to a word."""


class RowTables(Protocol):
    """The best scores and the alternatives of some rows."""

    @property
    def best_scores(self) -> np.ndarray:
        """(rows,): the best score of each row."""
        ...

    def alternatives(self, row: int, word: int) -> Iterator[tuple[float, Mentions]]:
        """The alternatives of a row, which belongs to a word, as (cost, mentions), cheapest first; cost is minus
        score."""
        ...


Rows = Sequence[tuple[RowTables, np.ndarray]]
"""Tables of some rows each, and the numbers of these rows."""


def factor_choices(factors: Factors, units: Units, tables: Rows) -> Iterator[tuple[int, Choice]]:
    """The sentence and the choice of each factor."""
    where: dict[int, tuple[RowTables, int]] = {}
    known: dict[int, Alternatives[Mentions]] = {}
    best = np.full(len(units.unit_of), -np.inf)
    for table, numbers in tables:
        best[numbers] = table.best_scores
        where |= {number: (table, place) for place, number in enumerate(numbers.tolist())}
    firsts = np.searchsorted(units.factor, np.arange(len(factors.sentence) + 1)).tolist()  # units are sorted by factor
    for factor, sentence in enumerate(factors.sentence.tolist()):
        own = slice(firsts[factor], firsts[factor + 1])
        scores = factors.table[factor] + best[units.row[own]].sum(0)  # (2^N,)
        rows = units.row[own].T.tolist()  # by pattern
        starts = units.start[own].tolist()

        def unit(row: int, start: int) -> Alternatives[Mentions]:
            if row not in known:
                known[row] = Alternatives(where[row][0].alternatives(where[row][1], start))
            return known[row]

        yield sentence, Choice.of(_alternatives(scores, factors.table[factor], rows, starts, unit))


def _alternatives(
    scores: np.ndarray,
    table: np.ndarray,
    rows: Sequence[Sequence[int]],
    starts: Sequence[int],
    unit: Unit,
) -> Iterator[tuple[float, Mentions]]:
    """(cost, mentions), cheapest first; `scores` are the best of each pattern."""
    order = [pattern for pattern in np.argsort(-scores, kind="stable").tolist() if scores[pattern] > -np.inf]
    heap: list[tuple[float, int, Mentions, Iterator[tuple[float, Mentions]]]] = []
    opened = 0
    while heap or opened < len(order):
        # Open a pattern only when nothing already open is cheaper than its best.
        if opened < len(order) and (not heap or -scores[order[opened]] <= heap[0][0]):
            pattern = order[opened]
            _push(heap, opened, _of_pattern(-float(table[pattern]), rows[pattern], starts, unit))
            opened += 1
            continue
        cost, rank, mentions, ranked = heapq.heappop(heap)
        yield cost, mentions
        _push(heap, rank, ranked)


def _push(
    heap: list[tuple[float, int, Mentions, Iterator[tuple[float, Mentions]]]],
    rank: int,
    ranked: Iterator[tuple[float, Mentions]],
) -> None:
    following = next(ranked, None)
    if following is not None:
        heapq.heappush(heap, (following[0], rank, following[1], ranked))


def _of_pattern(
    cost: float, rows: Sequence[int], starts: Sequence[int], unit: Unit
) -> Iterator[tuple[float, Mentions]]:
    """The alternatives of a factor's units in the rows of one pattern."""
    units = [unit(row, start) for row, start in zip(rows, starts, strict=True)]
    first = [unit.get(0) for unit in units]
    best = [found for found in first if found is not None]
    if len(best) < len(units):
        return
    least = cost + sum(found[0] for found in best)
    for more, changed in cheapest_combinations(units):
        taken = (changed.get(number, found[1]) for number, found in enumerate(best))
        yield least + more, tuple(chain.from_iterable(taken))

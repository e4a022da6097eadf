"""The k best of a product of independent choices, found lazily: only the alternatives needed are computed.

Needs no torch.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from hyperspan.structures.mentions import AnyMention

Value = TypeVar("Value", bound=Hashable)


class Alternatives(Generic[Value]):
    """The alternatives of one choice as (cost, value), cheapest first, drawn lazily from an iterator."""

    def __init__(self, ranked: Iterable[tuple[float, Value]]):
        self._ranked = iter(ranked)
        self._seen: list[tuple[float, Value]] = []

    def get(self, rank: int) -> tuple[float, Value] | None:
        """The alternative of this rank (0 is the best), or None when there are fewer."""
        while len(self._seen) <= rank:
            following = next(self._ranked, None)
            if following is None:
                return None
            self._seen.append(following)
        return self._seen[rank]


def cheapest_combinations(choices: Sequence[Alternatives[Value]]) -> Iterator[tuple[float, dict[int, Value]]]:
    """All combinations of one alternative per choice, in order of total cost, lazily.

    Yield the total cost above that of the best combination, and the values of the choices (by index) that do not take
    their best alternative. Each combination comes once, after at most three heap pushes.

    >>> coins = [Alternatives([(0.0, "tail"), (2.0, "head")]), Alternatives([(0.0, "tail"), (1.0, "head")])]
    >>> for cost, changed in cheapest_combinations(coins):
    ...     print(cost, changed)
    0.0 {}
    1.0 {1: 'head'}
    2.0 {0: 'head'}
    3.0 {1: 'head', 0: 'head'}
    """

    def step(index: int, rank: int) -> float | None:
        """The extra cost of taking this rank instead of the best."""
        best, other = choices[index].get(0), choices[index].get(rank)
        return None if best is None or other is None else other[0] - best[0]

    yield 0.0, {}
    first_steps = ((step(index, 1), index) for index in range(len(choices)))
    order = [index for _, index in sorted((cost, index) for cost, index in first_steps if cost is not None)]
    # An entry takes ranks other than 0 at some places of `order`; its successors change only its last place or the
    # one after it. As first steps grow along `order`, no successor is cheaper than its entry.
    heap: list[tuple[float, int, float, tuple[tuple[int, int], ...]]] = []
    pushed = 0

    def push(base: float, kept: tuple[tuple[int, int], ...], place: int, rank: int) -> None:
        nonlocal pushed
        cost = step(order[place], rank) if place < len(order) else None
        if cost is not None:
            pushed += 1
            heapq.heappush(heap, (base + cost, pushed, base, (*kept, (place, rank))))

    push(0.0, (), 0, 1)
    while heap:
        cost, _, base, taken = heapq.heappop(heap)
        changed = {}
        for place, rank in taken:
            alternative = choices[order[place]].get(rank)
            assert alternative is not None  # it was priced when pushed
            changed[order[place]] = alternative[1]
        yield cost, changed
        *kept, (place, rank) = taken
        push(base, tuple(kept), place, rank + 1)
        push(cost, taken, place + 1, 1)
        if rank == 1:
            push(base, tuple(kept), place + 1, 1)


def cheapest_subsets(costs: Sequence[float]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """All subsets of items in order of total cost, lazily, as (cost, indices); the costs must be ascending and at least
    0.

    >>> list(cheapest_subsets([1.0, 3.0]))
    [(0.0, ()), (1.0, (0,)), (3.0, (1,)), (4.0, (0, 1))]
    """
    yield 0.0, ()
    heap: list[tuple[float, float, tuple[int, ...]]] = [(cost, 0.0, (0,)) for cost in costs[:1]]
    while heap:
        cost, before, taken = heapq.heappop(heap)  # before: the cost of all but the last item
        yield cost, taken
        following = taken[-1] + 1
        # Each subset comes once: from the one without its last item, or with the item before.
        if following < len(costs):
            heapq.heappush(heap, (cost + costs[following], cost, (*taken, following)))
            heapq.heappush(heap, (before + costs[following], before, (*taken[:-1], following)))


def in_turn(ways: Sequence[tuple[float, Iterator[tuple[float, Any]]]]) -> Iterator[tuple[float, Any]]:
    """Merge several iterators over (cost, value), each ranked; each comes with the cost of its first alternative,
    cheapest first. None is opened before its first is next.

    >>> list(in_turn([(1.0, iter([(1.0, "a"), (5.0, "b")])), (2.0, iter([(2.0, "c")]))]))
    [(1.0, 'a'), (2.0, 'c'), (5.0, 'b')]
    """
    heap: list[tuple[float, int, Any, Iterator[tuple[float, Any]]]] = []
    opened = 0

    def push(rank: int, alternatives: Iterator[tuple[float, Any]]) -> None:
        found = next(alternatives, None)
        if found is not None:
            heapq.heappush(heap, (found[0], rank, found[1], alternatives))

    while heap or opened < len(ways):
        if opened < len(ways) and (not heap or ways[opened][0] <= heap[0][0]):
            push(opened, ways[opened][1])
            opened += 1
            continue
        cost, rank, value, alternatives = heapq.heappop(heap)
        yield cost, value
        push(rank, alternatives)


Mentions = tuple[AnyMention, ...]


def cheapest_sets(choices: Sequence[Alternatives[Mentions]], k: int) -> Iterator[tuple[float, frozenset[Any]]]:
    """The k best sets of independent choices as (cost above the best, set), best first."""
    firsts = [(choice.get(0) or (0.0, ()))[1] for choice in choices]
    best = frozenset(chain.from_iterable(firsts))
    for cost, changed in islice(cheapest_combinations(choices), k):
        dropped = chain.from_iterable(firsts[place] for place in changed)
        added = chain.from_iterable(changed.values())
        yield cost, best.difference(dropped).union(added)

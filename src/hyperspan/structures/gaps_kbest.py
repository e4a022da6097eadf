"""The alternatives of a chain of discontinuous mentions, best first, found lazily.

A chain has a choice at each width: no first part, or one with the best, the second best, … of what its menus hold. A
menu (:mod:`hyperspan.structures.gaps`) is opened only when its second best is needed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from itertools import count, takewhile
from typing import Any

import numpy as np

from hyperspan.structures.gaps import Menu, Menus
from hyperspan.structures.kbest import Alternatives, Mentions, cheapest_combinations, in_turn
from hyperspan.structures.mentions import AnyMention, Parts, with_parts
from hyperspan.structures.segmental_chains import Chains

Ranked = Iterator[tuple[float, Any]]
"""Alternatives as (cost, value), cheapest first; cost is minus score."""


class Node:
    """A menu, or an event, whose alternatives are found on demand."""

    def __init__(self, ranked: Callable[[], Ranked]):
        self._ranked = ranked
        self._alternatives: Alternatives[Any] | None = None

    @property
    def alternatives(self) -> Alternatives[Any]:
        if self._alternatives is None:  # no cached_property, whose lock a fork may leave locked (Python 3.11)
            self._alternatives = Alternatives(self._ranked())
        return self._alternatives

    def held(self, best: float) -> Ranked:
        """The content of an item that leads here, as (cost, (node, rank)); the best costs `best`."""
        yield best, (self, 0)
        first = self.alternatives.get(0)
        for rank in count(1):
            other = self.alternatives.get(rank)
            if other is None or first is None:
                return
            yield best + other[0] - first[0], (self, rank)


def _with_nothing(cost: float, held: Ranked) -> Ranked:
    """Nothing, or one of some alternatives."""
    merged = heapq.merge([(cost, None)], held, key=lambda pair: pair[0])
    return takewhile(lambda pair: pair[0] < math.inf, merged)


def some_of(menu: Menu, held: Callable[[int, float], Ranked]) -> Ranked:
    """The choices of one or more items, including the required ones, as {item: content}; `held` ranks the content of an
    item, given its cost."""
    items = np.nonzero(menu.items > -np.inf)[0].tolist()
    if not set(np.nonzero(menu.required)[0].tolist()) <= set(items):
        return
    choices: list[Alternatives[Any]] = []
    total = 0.0
    for item in items:
        cost, must = -float(menu.items[item]), bool(menu.required[item])
        choices.append(Alternatives(held(item, cost) if must else _with_nothing(0.0, held(item, cost))))
        total += cost if must else min(cost, 0.0)
    for cost, found in combined(total, choices):
        if found:
            yield cost, {items[place]: value for place, value in found.items()}


class Choices:
    """The menus of one type in a sentence as nodes."""

    def __init__(self, menus: Menus, sentence: int, kind: int):
        self.menus, self.sentence, self.kind = menus, sentence, kind

    def event(self, start: int, width: int) -> Node:
        """The mentions with this first part, as {0: itself, 1: what follows it}."""
        place = self.sentence, start, width, self.kind
        items = np.array([self.menus.close[place], self.menus.more[place]])
        menu = Menu(items, self.menus.required[:, *place])
        done = ((start, start + width + 1),)
        return Node(lambda: some_of(menu, lambda item, cost: self.after(done).held(cost) if item else _itself(cost)))

    def after(self, done: Parts) -> Node:
        """What follows some parts, as {the width of a gap: the part after it}."""

        def held(item: int, cost: float) -> Ranked:
            return self._part(done, done[-1][1] + item + 1).held(cost)

        return Node(lambda: some_of(self.menus.after(self.sentence, self.kind, done), held))

    def _part(self, done: Parts, start: int) -> Node:
        """The parts that begin there, as {item: itself or what follows it}."""

        def held(item: int, cost: float) -> Ranked:
            part, goes_on = self.menus.part_at(start, item)
            return self.after((*done, part)).held(cost) if goes_on else _itself(cost)

        return Node(lambda: some_of(self.menus.part(self.sentence, self.kind, done, start), held))

    def chosen_at(self, start: int, held: dict[int, tuple[Node, int]]) -> Iterator[AnyMention]:
        """The mentions that begin at a word, given the alternative of the event of each width."""
        for width, (node, rank) in held.items():
            yield from self._mentions(start, width, node, rank)

    def _mentions(self, start: int, width: int, node: Node, rank: int) -> Iterator[AnyMention]:
        """The mentions of an alternative of an event."""
        done = ((start, start + width + 1),)
        for item, value in _value(node, rank).items():
            found = self._below(done, *value) if item else [done]
            yield from (with_parts(parts, self.kind) for parts in found)

    def _below(self, done: Parts, node: Node, rank: int) -> Iterator[Parts]:
        for width, (part_node, part_rank) in _value(node, rank).items():
            start = done[-1][1] + width + 1
            for item, value in _value(part_node, part_rank).items():
                part, goes_on = self.menus.part_at(start, item)
                if goes_on:
                    yield from self._below((*done, part), *value)
                else:
                    yield (*done, part)


def _itself(cost: float) -> Ranked:
    yield cost, ()


def _value(node: Node, rank: int) -> dict[int, Any]:
    found = node.alternatives.get(rank)
    assert found is not None  # it was priced when it was chosen
    return found[1]


def combined(cost: float, choices: list[Alternatives[Any]]) -> Ranked:
    """All combinations of one alternative each, as {place: alternative} without Nones; the best costs `cost`."""
    best = [choice.get(0) or (0.0, None) for choice in choices]
    for more, changed in cheapest_combinations(choices):
        taken = {place: changed.get(place, value) for place, (_, value) in enumerate(best)}
        yield cost + more, {place: value for place, value in taken.items() if value is not None}


def chain_alternatives(
    menus: Menus, chains: Chains, row: int, place: tuple[int, int, int], k: int
) -> Iterator[tuple[float, Mentions]]:
    """The alternatives of a chain over first parts as (cost, mentions), the k cheapest first; `chains` has its best
    weights in a row, and `place` is its sentence, start and type."""
    sentence, start, kind = place
    choices, one = Choices(menus, sentence, kind), Chains(*(values[row] for values in chains))
    nodes = [choices.event(start, width) for width in range(len(one.close))]
    longest = one.longest(maximum=True)
    narrower = [
        Alternatives(_with_nothing(-float(without), node.held(-float(score))))
        for without, score, node in zip(one.extend, one.branch, nodes, strict=False)
    ]

    def with_longest(width: int) -> Ranked:
        held = Alternatives(nodes[width].held(-float(one.close[width])))
        return combined(-float(longest[width]), [*narrower[:width], held])

    costs = -np.concatenate([[one.absent], longest])
    order = [way for way in costs.argsort(kind="stable")[:k].tolist() if costs[way] < math.inf]
    ways = [(float(costs[way]), with_longest(way - 1) if way else iter([(float(costs[0]), {})])) for way in order]
    for cost, held in in_turn(ways):
        yield cost, tuple(choices.chosen_at(start, held))

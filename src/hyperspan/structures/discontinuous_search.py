"""The alternatives of a chain of discontinuous mentions, best first, found lazily.

A menu is opened only when its second best is needed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from itertools import count, takewhile
from typing import Any

import numpy as np

from hyperspan.structures.discontinuous_menus import Menu, Menus
from hyperspan.structures.kbest import Alternatives, cheapest_combinations
from hyperspan.structures.mentions import AnyMention, Parts, with_parts

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
        required = np.broadcast_to(self.menus.required, (2, *self.menus.close.shape))[:, *place]
        menu = Menu(np.array([self.menus.close[place], self.menus.more[place]]), required)
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

    def mentions(self, start: int, width: int, node: Node, rank: int) -> Iterator[AnyMention]:
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


def in_turn(ways: list[tuple[float, Ranked]]) -> Ranked:
    """Merge several ranked iterators; each comes with the cost of its first alternative, cheapest first."""
    heap: list[tuple[float, int, Any, Ranked]] = []
    opened = 0

    def push(rank: int, alternatives: Ranked) -> None:
        found = next(alternatives, None)
        if found is not None:
            heapq.heappush(heap, (found[0], rank, found[1], alternatives))

    while heap or opened < len(ways):
        # Open an iterator only when nothing already open is cheaper than its first alternative.
        if opened < len(ways) and (not heap or ways[opened][0] <= heap[0][0]):
            push(opened, ways[opened][1])
            opened += 1
            continue
        cost, rank, value, alternatives = heapq.heappop(heap)
        yield cost, value
        push(rank, alternatives)


def combined(cost: float, choices: list[Alternatives[Any]]) -> Ranked:
    """All combinations of one alternative each, as {place: alternative} without Nones; the best costs `cost`."""
    best = [choice.get(0) or (0.0, None) for choice in choices]
    for more, changed in cheapest_combinations(choices):
        taken = {place: changed.get(place, value) for place, (_, value) in enumerate(best)}
        yield cost + more, {place: value for place, value in taken.items() if value is not None}


def chain_alternatives(
    nodes: list[Node], absent: float, widest: np.ndarray, skip: np.ndarray, take: np.ndarray, stop: np.ndarray, k: int
) -> Ranked:
    """The alternatives of one chain as (cost, {width: (node, rank)}), the k cheapest first.

    `widest` (c,) are the scores by the widest first part; `skip` and `take` (c - 1,) those of continuing without and
    with one of a width, `stop` (c,) those of the last, each with its best content.
    """
    narrower = [
        Alternatives(_with_nothing(-float(without), node.held(-float(score))))
        for without, score, node in zip(skip, take, nodes, strict=False)
    ]

    def with_widest(width: int) -> Ranked:
        return combined(
            -float(widest[width]), [*narrower[:width], Alternatives(nodes[width].held(-float(stop[width])))]
        )

    costs = -np.concatenate([[absent], widest])
    order = [way for way in costs.argsort(kind="stable")[:k].tolist() if costs[way] < math.inf]
    return in_turn([(float(costs[way]), with_widest(way - 1) if way else iter([(-absent, {})])) for way in order])

"""Single hyperpaths of a graph: the best, the k best in order, and samples.

Scores are (scores, B) in float64. Values go up the blocks for all sentences at once; then hyperpaths are read from the
roots down, one by one, as the scores that they take, in pre-order. Needs no torch.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from hyperspan.structures.graphs.packed import Graph

Todo = tuple[int, "Todo"] | None
"""The nodes below which a hyperpath is still to be read: the next one, and the others."""
Fold = Callable[[Any, int], Any]
"""What the ways of nodes come to, (nodes, ways, B) -> (nodes, B), along the axis 1: all of them, or the best."""


class Values:
    """What is below the nodes and edges of a graph, for a batch of sentences.

    >>> from hyperspan.kernels.numbers import highest
    >>> graph = Graph(mention=(2, 1, 1))
    >>> rest = graph.end
    >>> for word in (1, 0):
    ...     rest = graph.add([rest, rest], slots=[graph.nothing, word])
    >>> values = Values(graph.finish(rest), np.array([[2.0], [-1.0]]), highest)
    >>> values.totals.tolist(), values.best(0)
    ([2.0], [0])
    >>> [(float(value), taken) for value, taken in values.ranked(0)]
    [(2.0, [0]), (1.0, [0, 1]), (0.0, []), (-1.0, [1])]
    """

    def __init__(self, graph: Graph, scores: np.ndarray, fold: Fold):
        batch = scores.shape[1]
        self.graph, self.shape = graph, (graph.nodes, batch)
        self._chosen: np.ndarray | None = None
        """(nodes, B): the best edge of each node."""
        self._costs: np.ndarray | None = None
        self.ways = np.concatenate([scores, np.zeros((1, batch))])[graph.taken]
        """(edges, B): each edge with all below it."""
        values = np.zeros((graph.nodes, batch))
        values[graph.nowhere] = -np.inf
        for heads, edges, width, forks, _ in graph.blocks:
            here = self.ways[edges]
            here += values[graph.tails[edges]]
            if forks:
                here += values[graph.others[edges]]
            values[heads] = fold(here.reshape(heads.stop - heads.start, width, batch), 1)
        self.totals = values[graph.roots].sum(0)
        """(B,): whole hyperpaths."""

    def edges(self, sentence: int, node: int) -> tuple[int, np.ndarray]:
        """The first edge of a node, and all of them with what is below."""
        first = self.graph.first.item(node)
        return first, self.ways[first : self.graph.first.item(node + 1), sentence]

    def best(self, sentence: int) -> list[int]:
        """The best hyperpath; ties go to the first edge."""
        return self._slots(self._best_below(sentence, self._todo))

    def samples(self, sentence: int, number: int, numbers: Iterator[float]) -> list[list[int]]:
        """Hyperpaths drawn independently, each choice by one of the numbers between 0 and 1."""
        levels: dict[int, tuple[int, list[float]]] = {}

        def choose(node: int) -> int:
            if node not in levels:
                first, ways = self.edges(sentence, node)
                levels[node] = first, np.exp(ways - ways.max()).cumsum().tolist()
            first, reached = levels[node]
            # The first edge whose sum exceeds the level; one of probability 0 never is.
            level = next(numbers) * reached[-1] if len(reached) > 1 else 0.0
            return first + min(bisect.bisect_right(reached, level), len(reached) - 1)

        return [self._slots(self._follow(self._todo, choose)) for _ in range(number)]

    @property
    def _todo(self) -> Todo:
        todo: Todo = None
        for root in self.graph.roots[::-1].tolist():
            todo = (root, todo)
        return todo

    def _follow(self, todo: Todo, choose: Callable[[int], int]) -> list[PathStep]:
        """The steps of a hyperpath that takes the chosen edge at each node."""
        steps: list[PathStep] = []
        while todo is not None:
            node, todo = todo
            if node != self.graph.end:
                steps.append(PathStep(node, choose(node), todo))
                todo = self._after(steps[-1])
        return steps

    def _after(self, step: PathStep) -> Todo:
        return self.graph.tails.item(step.edge), (self.graph.others.item(step.edge), step.later)

    def _slots(self, steps: list[PathStep]) -> list[int]:
        taken = self.graph.taken[[step.edge for step in steps]]
        return taken[taken != self.graph.nothing].tolist()

    def _best_below(self, sentence: int, todo: Todo) -> list[PathStep]:
        if self._chosen is None:  # no cached_property, whose lock a fork may leave locked (Python 3.11)
            self._chosen = np.zeros(self.shape, dtype=np.int64)
            for heads, edges, width, here in self._by_node():
                self._chosen[heads] = here.argmax(1) + np.arange(edges.start, edges.stop, width)[:, None]
        chosen = self._chosen
        return self._follow(todo, lambda node: chosen.item(node, sentence))

    def _second(self) -> np.ndarray:
        """(nodes, B): how much more the second best edge of a node costs than the best; inf without one."""
        if self._costs is None:
            self._costs = np.full(self.shape, np.inf)
            for heads, _, width, here in self._by_node():
                if width > 1:
                    second, first = np.partition(here, (width - 2, width - 1), axis=1)[:, -2:].swapaxes(0, 1)
                    np.subtract(first, second, out=self._costs[heads], where=second > -np.inf)
        return self._costs

    def _by_node(self) -> Iterator[tuple[slice, slice, int, np.ndarray]]:
        """The nodes of each block, their edges, how many a node has, and these with what is below: (rows, ways, B)."""
        for heads, edges, width, _, _ in self.graph.blocks:
            yield heads, edges, width, self.ways[edges].reshape(heads.stop - heads.start, width, self.shape[1])

    def ranked(self, sentence: int, most: int | None = None) -> Iterator[tuple[float, list[int]]]:
        """The possible hyperpaths of a sentence with their values, the best first, found lazily; the first `most`, or
        all.

        A hyperpath divides those that are left by the first node where they take another edge (Lawler 1972): the best
        of each part is the best hyperpath below that edge.
        """
        top = self.totals.item(sentence)
        if top == -np.inf:
            return
        order, more = count(), self._second()
        heap: list[tuple[float, int, list[PathStep], int, int]] = []

        def found(cost: float, steps: list[PathStep], first: int) -> tuple[float, list[int]]:
            """A hyperpath; others deviate from it at its steps from the `first` one on."""
            costs = cost + more[[step.node for step in steps[first:]], sentence]
            near = np.argsort(costs, kind="stable")[:most]
            for place, reached in zip(near.tolist(), costs[near].tolist(), strict=True):
                if reached < np.inf:
                    heapq.heappush(heap, (reached, next(order), steps, first + place, 1))
            return top - cost, self._slots(steps)

        yield found(0.0, self._best_below(sentence, self._todo), 0)
        while heap:
            cost, _, steps, place, rank = heapq.heappop(heap)
            step = steps[place]
            first, ways = self.edges(sentence, step.node)
            by_cost = np.argsort(-ways, kind="stable")
            if rank + 1 < len(ways) and (dearer := ways[by_cost[rank + 1]]) > -np.inf:
                further = cost + float(ways[by_cost[rank]] - dearer)
                heapq.heappush(heap, (further, next(order), steps, place, rank + 1))
            taken = step._replace(edge=first + int(by_cost[rank]))
            below = self._best_below(sentence, self._after(taken))
            yield found(cost, [*steps[:place], taken, *below], place + 1)


class PathStep(NamedTuple):
    """A node of a hyperpath and the edge that it takes there."""

    node: int
    edge: int
    later: Todo
    """What comes after all that is below the node."""

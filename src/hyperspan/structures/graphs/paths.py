"""Single hyperpaths of a graph: the best, the k best in order, and samples.

Scores are (scores, B) in float64. Values go up the blocks for all sentences at once; then hyperpaths are read from the
roots down, one by one, as the scores that they take, in pre-order. Needs no torch.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hyperspan.structures.graphs.packed import Graph

Fold = Callable[[np.ndarray], np.ndarray]
"""What the ways of nodes come to: (nodes, ways, B) -> (nodes, B)."""


def highest(ways: np.ndarray) -> np.ndarray:
    """The best."""
    return ways.max(1)


def log_sum(ways: np.ndarray) -> np.ndarray:
    """All of them."""
    top = ways.max(1)
    pivot = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(ways - pivot[:, None]).sum(1)) + pivot


class Values:
    """What is below the nodes and edges of a graph, for a batch of sentences.

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
        count = scores.shape[1]
        self.graph = graph
        self.ways = np.concatenate([scores, np.zeros((1, count))])[graph.taken]
        """(edges, B): each edge with all below it."""
        values = np.zeros((graph.nodes, count))
        values[graph.nowhere] = -np.inf
        for heads, edges, width, forks, _ in graph.blocks:
            here = self.ways[edges]
            here += values[graph.tails[edges]]
            if forks:
                here += values[graph.others[edges]]
            values[heads] = fold(here.reshape(heads.stop - heads.start, width, count))
        self.totals = values[graph.roots].sum(0)
        """(B,): whole hyperpaths."""

    def edges(self, sentence: int, node: int) -> tuple[int, np.ndarray]:
        """The first edge of a node, and all of them with what is below."""
        first = self.graph.first.item(node)
        return first, self.ways[first : self.graph.first.item(node + 1), sentence]

    def best(self, sentence: int) -> list[int]:
        """The best hyperpath; ties go to the first edge."""

        def choose(node: int) -> int:
            first, ways = self.edges(sentence, node)
            return first + int(ways.argmax())

        return self._follow(choose)

    def samples(self, sentence: int, count: int, numbers: Iterator[float]) -> list[list[int]]:
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

        return [self._follow(choose) for _ in range(count)]

    def _follow(self, choose: Callable[[int], int]) -> list[int]:
        """The scores of the hyperpath that takes the chosen edge at each node."""
        graph, taken = self.graph, list[int]()
        todo = graph.roots[::-1].tolist()
        while todo:
            node = todo.pop()
            if node == graph.end:
                continue
            edge = choose(node)
            taken.append(graph.taken.item(edge))
            todo.append(graph.others.item(edge))
            todo.append(graph.tails.item(edge))
        return [slot for slot in taken if slot != graph.nothing]

    def ranked(self, sentence: int) -> Iterator[tuple[float, list[int]]]:
        """All possible hyperpaths of a sentence with their values, the best first, found lazily."""
        search = _Search(self, sentence)
        for rank in itertools.count():
            if not search.find(_ROOT, rank):
                return
            yield 0.0 - search.nodes[_ROOT].best[rank].cost, search.read(rank)


_ROOT = -1
"""The node above all roots."""


class _Way(NamedTuple):
    """An edge with a hyperpath below each of its tails, by rank; those that cost less come first."""

    cost: float
    edge: int
    ranks: tuple[int, ...]


@dataclass
class _Node:
    """The best ways of a node, in order, and others among which the next one is."""

    heap: list[_Way]
    best: list[_Way] = field(default_factory=list)
    opened: int = 0
    """How many of the best ones have their successors in the heap: one rank more below one of the tails."""
    seen: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)

    @property
    def is_complete(self) -> bool:
        return not self.heap and self.opened == len(self.best)


class _Search:
    """The k best hyperpaths of a sentence, found lazily (Huang & Chiang 2005, algorithm 3)."""

    def __init__(self, values: Values, sentence: int):
        self.values, self.graph, self.sentence = values, values.graph, sentence
        self.nodes: dict[int, _Node] = {}

    def find(self, node: int, rank: int) -> bool:
        """Find the ways of a node up to a rank; whether there are so many.

        There is no recursion, because hyperpaths are as deep as a sentence is long.
        """
        todo = [(node, rank)]
        while todo:
            number, wanted = todo[-1]
            here = self._node(number)
            if len(here.best) > wanted or here.is_complete:
                todo.pop()
            elif here.opened == len(here.best):
                here.best.append(heapq.heappop(here.heap))
            else:
                todo += self._open(number, here)
        return len(self.nodes[node].best) > rank

    def _node(self, number: int) -> _Node:
        if number not in self.nodes:
            first, ways = self.values.edges(self.sentence, number) if number != _ROOT else (0, self._whole)
            ranks = (0,) * (len(self.graph.roots) if number == _ROOT else 2)
            edges = zip(itertools.count(first), ways.tolist())
            heap = [_Way(-way, edge, ranks) for edge, way in edges if way > -np.inf]
            heapq.heapify(heap)
            self.nodes[number] = _Node(heap)
        return self.nodes[number]

    @property
    def _whole(self) -> np.ndarray:
        return self.values.totals[self.sentence : self.sentence + 1]

    def _tails(self, node: int, edge: int) -> list[int]:
        """The nodes that an edge leads to, the end included."""
        if node == _ROOT:
            return self.graph.roots.tolist()
        return [self.graph.tails.item(edge), self.graph.others.item(edge)]

    def _open(self, number: int, here: _Node) -> list[tuple[int, int]]:
        """Add the successors of the last way found to the heap; or return what has to be found before."""
        way = here.best[here.opened]
        after = [
            (place, tail, rank + 1)
            for place, (tail, rank) in enumerate(zip(self._tails(number, way.edge), way.ranks, strict=True))
            if tail != self.graph.end
        ]
        if unknown := [(tail, rank) for _, tail, rank in after if not self._is_known(tail, rank)]:
            return unknown
        for place, tail, rank in after:
            ranks = (*way.ranks[:place], rank, *way.ranks[place + 1 :])
            ways = self.nodes[tail].best
            if len(ways) > rank and (way.edge, ranks) not in here.seen:
                here.seen.add((way.edge, ranks))
                heapq.heappush(here.heap, _Way(way.cost + ways[rank].cost - ways[rank - 1].cost, way.edge, ranks))
        here.opened += 1
        return []

    def _is_known(self, node: int, rank: int) -> bool:
        here = self.nodes.get(node)
        return here is not None and (len(here.best) > rank or here.is_complete)

    def read(self, rank: int) -> list[int]:
        """The scores that the hyperpath of a rank takes."""
        taken: list[int] = []
        todo = [(_ROOT, rank)]
        while todo:
            node, rank = todo.pop()
            self.find(node, rank)
            way = self.nodes[node].best[rank]
            if node != _ROOT and self.graph.taken.item(way.edge) != self.graph.nothing:
                taken.append(self.graph.taken.item(way.edge))
            below = zip(self._tails(node, way.edge), way.ranks, strict=True)
            todo.extend(reversed([pair for pair in below if pair[0] != self.graph.end]))
        return taken

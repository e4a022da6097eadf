"""Explicit directed hypergraphs, slow and obviously right.

A hyperedge has one head and an ordered tail. A *hyperpath* picks one outgoing hyperedge at the root and, recursively,
at every node of the tail of a picked edge, until only leaves (nodes without outgoing edges) are left; it is written as
the tuple of its edges in pre-order. Every vectorised structure of this package has an explicit hypergraph, and is
tested against the functions below.

>>> edges = [Hyperedge("S", ("A", "B")), Hyperedge("S", ("B",)), Hyperedge("B", ()), Hyperedge("B", ("A",))]
>>> graph = Hypergraph("S", edges)
>>> inside(graph, lambda edge: 0.0, Counting())["S"]
4
>>> len(list(hyperpaths(graph)))
4
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True)
class Hyperedge(Generic[Node]):
    """From one `head` to all nodes of its `tail` at once."""

    head: Node
    tail: tuple[Node, ...]


Hyperpath = tuple[Hyperedge[Node], ...]


class Hypergraph(Generic[Node]):
    """A rooted, acyclic hypergraph; nodes that the root does not reach are left out."""

    def __init__(self, root: Node, edges: Iterable[Hyperedge[Node]]):
        self.root = root
        self._outgoing: dict[Node, list[Hyperedge[Node]]] = {}
        for edge in edges:
            self._outgoing.setdefault(edge.head, []).append(edge)
        self.nodes = self._parents_first()
        """Every node, each before all of its descendants."""
        self.edges = [edge for node in self.nodes for edge in self.outgoing(node)]

    def outgoing(self, node: Node) -> list[Hyperedge[Node]]:
        """The hyperedges with this head, in the order they were given; none for a leaf."""
        return self._outgoing.get(node, [])

    def _parents_first(self) -> list[Node]:
        finished: dict[Node, bool] = {}  # absent: not seen, False: on the stack, True: all descendants done
        order: list[Node] = []
        stack: list[tuple[Node, bool]] = [(self.root, False)]
        while stack:
            node, descendants_done = stack.pop()
            if descendants_done:
                finished[node] = True
                order.append(node)
            elif node not in finished:
                finished[node] = False
                stack.append((node, True))
                stack.extend((child, False) for edge in self.outgoing(node) for child in edge.tail)
            elif not finished[node]:
                raise ValueError(
                    f"node {node!r} is its own descendant; a hypergraph must be acyclic: remove that cycle"
                )
        return order[::-1]


# -- semirings: one dynamic program, many answers ----------------------------------------------------------------------


Element = TypeVar("Element")


class Semiring(Protocol[Element]):
    """What "either" (:meth:`plus`) and "both" (:meth:`times`) mean for the values that :func:`inside` passes up.

    `Counting` counts hyperpaths, `Log` sums exp(score) over them in log space, and `KBest` lists the k best. Minus
    infinity is exact: an impossible edge contributes nothing, whatever its siblings score.
    """

    zero: Element
    """The value of "no way at all"; neutral for :meth:`plus`, absorbing for :meth:`times`."""
    one: Element
    """The value of "nothing left to do"; neutral for :meth:`times`."""

    def plus(self, left: Element, right: Element) -> Element: ...
    def times(self, left: Element, right: Element) -> Element: ...
    def lift(self, edge: Hashable, weight: float) -> Element:
        """The value of one edge whose log-weight is `weight`."""
        ...


class Counting(Semiring[int]):
    """Counts hyperpaths over edges that are possible (log-weight above minus infinity)."""

    zero, one = 0, 1

    def plus(self, left: int, right: int) -> int:
        return left + right

    def times(self, left: int, right: int) -> int:
        return left * right

    def lift(self, edge: Hashable, weight: float) -> int:
        return int(weight > -math.inf)


class Log(Semiring[float]):
    """Sums exp(score) over hyperpaths, in log space."""

    zero, one = -math.inf, 0.0

    def plus(self, left: float, right: float) -> float:
        high, low = max(left, right), min(left, right)
        return high if low == -math.inf else high + math.log1p(math.exp(low - high))

    def times(self, left: float, right: float) -> float:
        return left + right

    def lift(self, edge: Hashable, weight: float) -> float:
        return weight


Scored = tuple[float, tuple[Any, ...]]  # a score and the edges, in pre-order, that earn it


class KBest(Semiring[tuple[Scored, ...]]):
    """The k best hyperpaths with their scores, best first; impossible ones are left out."""

    zero: tuple[Scored, ...] = ()
    one: tuple[Scored, ...] = ((0.0, ()),)

    def __init__(self, k: int):
        self.k = k

    def plus(self, left: tuple[Scored, ...], right: tuple[Scored, ...]) -> tuple[Scored, ...]:
        return tuple(heapq.nlargest(self.k, left + right, key=lambda scored: scored[0]))

    def times(self, left: tuple[Scored, ...], right: tuple[Scored, ...]) -> tuple[Scored, ...]:
        pairs = [(a + b, edges_a + edges_b) for a, edges_a in left for b, edges_b in right]
        return tuple(heapq.nlargest(self.k, pairs, key=lambda scored: scored[0]))

    def lift(self, edge: Hashable, weight: float) -> tuple[Scored, ...]:
        return ((weight, (edge,)),) if weight > -math.inf else ()


# -- what follows from them --------------------------------------------------------------------------------------------


Weights = Callable[[Hyperedge[Any]], float]
"""The log-weight of each hyperedge."""
Marked = Callable[[Iterable[Hyperedge[Node]]], frozenset[Any]]
"""The mentions that hyperedges mark."""


def inside(graph: Hypergraph[Node], weights: Weights, semiring: Semiring[Element]) -> dict[Node, Element]:
    """For each node the sum, over the hyperpaths below it, of the product of their edges' values."""
    value: dict[Node, Element] = {}
    for node in reversed(graph.nodes):
        ways = [
            reduce(semiring.times, (value[child] for child in edge.tail), semiring.lift(edge, weights(edge)))
            for edge in graph.outgoing(node)
        ]
        value[node] = reduce(semiring.plus, ways, semiring.zero) if ways else semiring.one
    return value


def viterbi(graph: Hypergraph, weights: Weights) -> Scored:
    """The best hyperpath: its score and its edges.

    >>> graph = Hypergraph("S", [Hyperedge("S", ("A",)), Hyperedge("S", ("B", "B"))])
    >>> viterbi(graph, lambda edge: float(len(edge.tail)))
    (2.0, (Hyperedge(head='S', tail=('B', 'B')),))
    """
    best = inside(graph, weights, KBest(1))[graph.root]
    if not best:
        raise ValueError("no hyperpath is possible: every one uses an edge of weight -inf")
    return best[0]


def encoding(graph: Hypergraph[Node], mentions: Iterable[Any], marked: Marked[Node]) -> Hyperpath[Node]:
    """The hyperpath that encodes a set of mentions, in a hypergraph where each set has at most one."""
    wanted = set(mentions)

    def weight(edge: Hyperedge[Node]) -> float:
        found = marked((edge,))
        return float(len(found)) if wanted.issuperset(found) else -math.inf

    _, path = viterbi(graph, weight)
    if missing := wanted.difference(marked(path)):
        raise ValueError(
            f"the mentions {sorted(missing)} are not in this hypergraph: their width, span or type is out of range"
        )
    return path


def hyperpaths(graph: Hypergraph[Node]) -> Iterator[Hyperpath[Node]]:
    """All hyperpaths, one by one, whatever their weight."""

    def below(nodes: tuple[Node, ...]) -> Iterator[Hyperpath[Node]]:
        if not nodes:
            yield ()
            return
        first, rest = nodes[0], nodes[1:]
        if not graph.outgoing(first):
            yield from below(rest)
        for edge in graph.outgoing(first):
            for path in below(edge.tail + rest):
                yield (edge, *path)

    return below((graph.root,))

"""Explicit directed hypergraphs, slow and obviously right.

A hyperedge has one head and an ordered tail. A *hyperpath* picks one outgoing hyperedge at the root and, recursively,
at every node of the tail of a picked edge, until only leaves (nodes without outgoing edges) are left; it is written as
the tuple of its edges in pre-order. Every vectorised structure of this package has an explicit hypergraph, and is
tested against the functions below.

>>> edges = [Hyperedge("S", ("A", "B")), Hyperedge("S", ("B",)), Hyperedge("B", ()), Hyperedge("B", ("A",))]
>>> graph = Hypergraph("S", edges)
>>> from hyperspan.structures.graphs.semirings import Counting
>>> inside(graph, lambda edge: 0.0, Counting())["S"]
4
>>> len(list(hyperpaths(graph)))
4
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar

from hyperspan.structures.graphs.semirings import Element, KBest, Scored, Semiring

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

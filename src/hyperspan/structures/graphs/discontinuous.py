"""The explicit hypergraph of discontinuous mentions. Below a part, nodes record all parts before it: nothing is
shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph, Hyperpath, encoding
from hyperspan.structures.mentions import AnyMention, Limits, Parts, with_parts


class DiscontinuousNode(NamedTuple):
    """A node of the explicit hypergraph, counted from 0.

    ``A``: all mentions that start at `start` or later. ``E``: those that start exactly there. ``T``: those of type
    `kind`. ``I``: those whose first part contains word `last`. ``D``: those that begin with `parts`. ``G``: those of
    them that go on, and whose next part starts at `start` or later. ``P``: those whose next part starts at `start` and
    contains word `last`. ``X``: the end of a mention.
    """

    symbol: Literal["A", "E", "T", "I", "D", "G", "P", "X"]
    start: int = -1
    kind: int = -1
    last: int = -1
    parts: Parts = ()


END_OF_MENTION = DiscontinuousNode("X")
Edges = Iterator[Hyperedge[DiscontinuousNode]]


def discontinuous_hypergraph(n: int, types: int, limits: Limits) -> Hypergraph[DiscontinuousNode]:
    """The complete hypergraph of a sentence of `n` words.

    >>> graph = discontinuous_hypergraph(3, 1, Limits(parts=2, width=1, gap=1, later_width=1))
    >>> first = DiscontinuousNode("D", kind=0, parts=((0, 1),))
    >>> [[node.symbol for node in edge.tail] for edge in graph.outgoing(first)]  # a mention, a first part, or both
    [['X'], ['G'], ['X', 'G']]
    """
    edges: list[Hyperedge[DiscontinuousNode]] = []
    for i in range(n):
        later = (DiscontinuousNode("A", i + 1),) if i < n - 1 else ()
        own = DiscontinuousNode("E", i)
        edges.append(Hyperedge(DiscontinuousNode("A", i), (*later, own)))
        edges.append(Hyperedge(own, tuple(DiscontinuousNode("T", i, kind) for kind in range(types))))
        for kind in range(types):
            chain = DiscontinuousNode("T", i, kind)
            edges.append(Hyperedge(chain, (END_OF_MENTION,)))
            if limits.width > 0:
                edges.append(Hyperedge(chain, (DiscontinuousNode("I", i, kind, i),)))
                edges += _part("I", (), i, kind, min(i + limits.width, n), n, limits)
    return Hypergraph(DiscontinuousNode("A", 0), edges)


def _part(symbol: Literal["I", "P"], done: Parts, start: int, kind: int, most: int, n: int, limits: Limits) -> Edges:
    """A part that starts at `start`, and all that follows: it ends after some word, or continues, or both; it ends
    before word `most`."""
    for last in range(start, most):
        parts = (*done, (start, last + 1))
        here = DiscontinuousNode(symbol, start, kind, last, done)
        ended = DiscontinuousNode("D", kind=kind, parts=parts)
        yield from _either(here, ended, DiscontinuousNode(symbol, start, kind, last + 1, done), last + 1 < most)
        begins = range(last + 2, min(last + 1 + limits.gap, n - 1) + 1) if len(parts) < limits.parts else range(0)
        begins = begins if limits.later_width else range(0)
        gap = DiscontinuousNode("G", last + 2, kind, parts=parts)
        yield from _either(ended, END_OF_MENTION, gap, bool(begins))
        for begin in begins:
            gap, following = (DiscontinuousNode("G", word, kind, parts=parts) for word in (begin, begin + 1))
            yield from _either(gap, DiscontinuousNode("P", begin, kind, begin, parts), following, begin + 1 in begins)
            yield from _part("P", parts, begin, kind, min(begin + limits.later_width, n), n, limits)


def _either(head: DiscontinuousNode, one: DiscontinuousNode, other: DiscontinuousNode, both: bool) -> Edges:
    """One of the two, or both; only the first if there are not both."""
    tails = ((one,), (other,), (one, other)) if both else ((one,),)
    return (Hyperedge(head, tail) for tail in tails)


def discontinuous_mentions(path: Iterable[Hyperedge[DiscontinuousNode]]) -> frozenset[AnyMention]:
    """The set of mentions that a hyperpath encodes."""
    return frozenset(
        with_parts(edge.head.parts, edge.head.kind)
        for edge in path
        if edge.head.symbol == "D" and END_OF_MENTION in edge.tail
    )


def discontinuous_hyperpath(
    mentions: Iterable[AnyMention], graph: Hypergraph[DiscontinuousNode]
) -> Hyperpath[DiscontinuousNode]:
    """The one hyperpath that encodes this set of mentions."""
    return encoding(graph, mentions, discontinuous_mentions)

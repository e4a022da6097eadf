"""The segmental hypergraph as an explicit graph, for inspection and for testing the fast version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph, Hyperpath, encoding
from hyperspan.structures.mentions import Mention, MentionSet


class SegmentalNode(NamedTuple):
    """A node of the explicit hypergraph, counted from 0 (the papers count words and types from 1).

    ``A``: all mentions that start at `start` or later. ``E``: those that start exactly there. ``T``: those of type
    `kind`. ``I``: those that also contain word `last`; `start` is -1 where mentions of any start share the node.
    ``X``: the end of a mention.
    """

    symbol: Literal["A", "E", "T", "I", "X"]
    start: int = -1
    kind: int = -1
    last: int = -1


END = SegmentalNode("X")


def segmental_hypergraph(n: int, types: int | Sequence[str], max_width: int | None = None) -> Hypergraph[SegmentalNode]:
    """The complete hypergraph of a sentence of `n` words, with mentions of at most `max_width` words (None: any).

    >>> graph = segmental_hypergraph(2, types=1)
    >>> [[node.symbol for node in edge.tail] for edge in graph.outgoing(SegmentalNode("I", start=0, kind=0, last=0))]
    [['X'], ['I'], ['X', 'I']]
    """
    m, c = types if isinstance(types, int) else len(types), n if max_width is None else max_width
    edges: list[Hyperedge[SegmentalNode]] = []
    for i in range(n):
        edges += upper_edges(i, n, m)
        for k in range(m):
            t = SegmentalNode("T", i, k)
            edges.append(Hyperedge(t, (END,)))
            if c > 0:
                edges.append(Hyperedge(t, (SegmentalNode("I", i, k, i),)))
            last = min(i + c, n) - 1
            for j in range(i, last + 1):
                edges += inner_edges(SegmentalNode("I", i, k, j), last)
    return Hypergraph(SegmentalNode("A", 0), edges)


def upper_edges(i: int, n: int, m: int) -> list[Hyperedge[SegmentalNode]]:
    """The edges from A to the mentions that start at word `i` and those that start later, and from E to its types."""
    e = SegmentalNode("E", i)
    later = (SegmentalNode("A", i + 1),) if i < n - 1 else ()
    types = tuple(SegmentalNode("T", i, k) for k in range(m))
    return [Hyperedge(SegmentalNode("A", i), (*later, e)), Hyperedge(e, types)]


def inner_edges(here: SegmentalNode, last: int) -> list[Hyperedge[SegmentalNode]]:
    """The edges of an I node: to X and, before word `last`, to the next I node, without and with X."""
    following = here._replace(last=here.last + 1)
    longer = [Hyperedge(here, (following,)), Hyperedge(here, (END, following))] if here.last < last else []
    return [Hyperedge(here, (END,)), *longer]


def hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[SegmentalNode]) -> Hyperpath[SegmentalNode]:
    """The one hyperpath of a segmental hypergraph that encodes this set of mentions."""
    return encoding(graph, mentions, mentions_of)


def mentions_of(path: Iterable[Hyperedge[SegmentalNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes, visit by visit: each start with the ends that its visits mark."""
    mentions: set[Mention] = set()
    start = -1
    for edge in path:  # in pre-order, so that I nodes without a start follow the T node of theirs
        node = edge.head
        if node.symbol == "T":
            start = node.start
        elif node.symbol == "I" and END in edge.tail:
            mentions.add((start if node.start < 0 else node.start, node.last + 1, node.kind))
    return frozenset(mentions)

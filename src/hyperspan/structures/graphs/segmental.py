"""The segmental hypergraph spelled out, node by node: for looking at, and for testing what is fast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph, Hyperpath
from hyperspan.structures.scores import Mention, MentionSet


class SegmentalNode(NamedTuple):
    """A node of the explicit hypergraph, counted from 0 (the paper counts words and types from 1).

    ``A``: all mentions that start at `start` or later. ``E``: those that start exactly there. ``T``: those of type
    `kind`. ``I``: those that also contain word `last`. ``X``: the end of a mention.
    """

    symbol: Literal["A", "E", "T", "I", "X"]
    start: int = -1
    kind: int = -1
    last: int = -1


END = SegmentalNode("X")


def segmental_hypergraph(n: int, types: int | Sequence[str], max_width: int | None = None) -> Hypergraph[SegmentalNode]:
    """The complete hypergraph of a sentence of `n` words, mentions of at most `max_width` words (None: of any).

    >>> graph = segmental_hypergraph(2, types=1)
    >>> [[node.symbol for node in edge.tail] for edge in graph.outgoing(SegmentalNode("I", start=0, kind=0, last=0))]
    [['X'], ['I'], ['X', 'I']]
    """
    m = types if isinstance(types, int) else len(types)
    c = n if max_width is None else max_width
    edges: list[Hyperedge[SegmentalNode]] = []
    for i in range(n):
        e = SegmentalNode("E", i)
        later = (SegmentalNode("A", i + 1),) if i < n - 1 else ()
        edges.append(Hyperedge(SegmentalNode("A", i), (*later, e)))
        edges.append(Hyperedge(e, tuple(SegmentalNode("T", i, k) for k in range(m))))
        for k in range(m):
            t = SegmentalNode("T", i, k)
            edges.append(Hyperedge(t, (END,)))
            if c > 0:
                edges.append(Hyperedge(t, (SegmentalNode("I", i, k, i),)))
            last_of_chain = min(i + c, n) - 1
            for j in range(i, last_of_chain + 1):
                here, following = SegmentalNode("I", i, k, j), SegmentalNode("I", i, k, j + 1)
                edges.append(Hyperedge(here, (END,)))
                if j < last_of_chain:
                    edges.append(Hyperedge(here, (following,)))
                    edges.append(Hyperedge(here, (END, following)))
    return Hypergraph(SegmentalNode("A", 0), edges)


def hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[SegmentalNode]) -> Hyperpath[SegmentalNode]:
    """The one hyperpath of a segmental hypergraph that encodes this set of mentions."""
    wanted = set(mentions)
    reach = {(start, kind): max(end for s, end, k in wanted if (s, k) == (start, kind)) for start, _, kind in wanted}
    path: list[Hyperedge[SegmentalNode]] = []
    todo = [graph.root]
    while todo:
        node = todo.pop()
        if not graph.outgoing(node):
            continue
        edge = next((edge for edge in graph.outgoing(node) if _fits(edge, wanted, reach)), None)
        if edge is None:
            raise ValueError(f"the mentions {sorted(wanted)} are not all in this hypergraph: one is too wide for it")
        path.append(edge)
        todo.extend(reversed(edge.tail))
    encoded = mentions_of(path)
    if encoded != wanted:
        raise ValueError(
            f"the mentions {sorted(wanted - encoded)} are not in this hypergraph: a span or a type is out of range"
        )
    return tuple(path)


def _fits(edge: Hyperedge[SegmentalNode], wanted: set[Mention], reach: dict[tuple[int, int], int]) -> bool:
    """Whether the hyperpath of the wanted mentions, once at this edge's head, goes on with this edge."""
    symbol, start, kind, last = edge.head
    if symbol in "AE":
        return True
    if symbol == "T":
        return (edge.tail == (END,)) == ((start, kind) not in reach)
    closes, goes_on = (start, last + 1, kind) in wanted, reach[start, kind] > last + 1
    return (END in edge.tail) == closes and (edge.tail[-1] != END) == goes_on


def mentions_of(path: Iterable[Hyperedge[SegmentalNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes: one for each edge from an I node to X."""
    return frozenset(
        (edge.head.start, edge.head.last + 1, edge.head.kind)
        for edge in path
        if edge.head.symbol == "I" and END in edge.tail
    )


def nodes_of(mention: Mention) -> tuple[SegmentalNode, ...]:
    """The nodes, from the root to X, along which a hyperpath captures one mention."""
    start, end, kind = mention
    down = [SegmentalNode("A", i) for i in range(start + 1)]
    return (
        *down,
        SegmentalNode("E", start),
        SegmentalNode("T", start, kind),
        *(SegmentalNode("I", start, kind, j) for j in range(start, end)),
        END,
    )

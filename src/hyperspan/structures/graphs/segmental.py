"""The segmental and the mention hypergraph as explicit graphs, for inspection and for testing the fast versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph, Hyperpath
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.structures.readings import structure_of


class SegmentalNode(NamedTuple):
    """A node of the explicit hypergraph, counted from 0 (the papers count words and types from 1).

    ``A``: all mentions that start at `start` or later. ``E``: those that start exactly there. ``T``: those of type
    `kind`. ``I``: those that also contain word `last`; in a mention hypergraph for any start, with `start` = -1. ``X``:
    the end of a mention.
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
    return _hypergraph(n, types, n if max_width is None else max_width, shared=False)


def mention_network(n: int, types: int | Sequence[str]) -> Hypergraph[SegmentalNode]:
    """The complete mention hypergraph (Lu & Roth, 2015) of a sentence of `n` words: I nodes have no start.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> paths = list(hyperpaths(mention_network(3, types=1)))
    >>> len(paths), sum(map(is_consistent, paths))  # the other 24 are spurious
    (64, 40)
    """
    return _hypergraph(n, types, n, shared=True)


def _hypergraph(n: int, types: int | Sequence[str], c: int, shared: bool) -> Hypergraph[SegmentalNode]:
    """The hypergraph of mentions of at most `c` words; `shared`: mentions of all starts share their I nodes."""
    m = types if isinstance(types, int) else len(types)
    edges: list[Hyperedge[SegmentalNode]] = []
    for i in range(n):
        e = SegmentalNode("E", i)
        later = (SegmentalNode("A", i + 1),) if i < n - 1 else ()
        edges.append(Hyperedge(SegmentalNode("A", i), (*later, e)))
        edges.append(Hyperedge(e, tuple(SegmentalNode("T", i, k) for k in range(m))))
        last = min(i + c, n) - 1
        for k in range(m):
            t, start = SegmentalNode("T", i, k), -1 if shared else i
            edges.append(Hyperedge(t, (END,)))
            if c > 0:
                edges.append(Hyperedge(t, (SegmentalNode("I", start, k, i),)))
            for j in range(i, (i if shared else last) + 1):  # shared: later words add their own
                here, following = SegmentalNode("I", start, k, j), SegmentalNode("I", start, k, j + 1)
                edges.append(Hyperedge(here, (END,)))
                if j < last:
                    edges += [Hyperedge(here, (following,)), Hyperedge(here, (END, following))]
    return Hypergraph(SegmentalNode("A", 0), edges)


def _walk(
    graph: Hypergraph[SegmentalNode], tail_of: Callable[[SegmentalNode], tuple[SegmentalNode, ...]]
) -> Hyperpath[SegmentalNode]:
    """The hyperpath that takes the edge with this tail at each T and I node; it stops where there is no such edge."""
    path: list[Hyperedge[SegmentalNode]] = []
    todo = [graph.root]
    while todo:
        node = todo.pop()
        for edge in graph.outgoing(node):
            if node.symbol in "AE" or edge.tail == tail_of(node):
                path.append(edge)
                todo.extend(reversed(edge.tail))
    return tuple(path)


def hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[SegmentalNode]) -> Hyperpath[SegmentalNode]:
    """The one hyperpath of a segmental hypergraph that encodes this set of mentions."""
    wanted = set(mentions)
    reach = {(start, kind): max(end for s, end, k in wanted if (s, k) == (start, kind)) for start, _, kind in wanted}

    def tail_of(node: SegmentalNode) -> tuple[SegmentalNode, ...]:
        _, start, kind, last = node
        if node.symbol == "T":
            return (SegmentalNode("I", start, kind, start),) if (start, kind) in reach else (END,)
        closes, goes_on = (start, last + 1, kind) in wanted, reach[start, kind] > last + 1
        return (*[END] * closes, *[SegmentalNode("I", start, kind, last + 1)] * goes_on)

    path = _walk(graph, tail_of)
    if missing := wanted - mentions_of(path):
        raise ValueError(
            f"the mentions {sorted(missing)} are not in this hypergraph: their width, span or type is out of range"
        )
    return path


def consistent_hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[SegmentalNode]) -> Hyperpath[SegmentalNode]:
    """The consistent hyperpath of a mention hypergraph that encodes a set: the one of its structure (Lu & Roth's gold
    network)."""
    structure = structure_of(mentions)

    def tail_of(node: SegmentalNode) -> tuple[SegmentalNode, ...]:
        _, start, kind, last = node
        if node.symbol == "T":
            return (SegmentalNode("I", -1, kind, start),) if (start, kind) in structure.starts else (END,)
        closes, goes_on = (last + 1, kind) in structure.ends, (last + 1, kind) in structure.continues
        return (*[END] * closes, *[SegmentalNode("I", -1, kind, last + 1)] * goes_on)

    return _walk(graph, tail_of)


def is_consistent(path: Iterable[Hyperedge]) -> bool:
    """Whether a hyperpath takes the same hyperedge each time it visits a node. If not, it is spurious."""
    chosen: dict[object, Hyperedge] = {}
    return all(chosen.setdefault(edge.head, edge) == edge for edge in path)


def mentions_of(path: Iterable[Hyperedge[SegmentalNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes, visit by visit: each start with the ends that its visits mark."""
    mentions: set[Mention] = set()
    start = -1
    for edge in path:  # in pre-order, so the I nodes of one start follow its T node directly
        node = edge.head
        if node.symbol == "T":
            start = node.start
        elif node.symbol == "I" and END in edge.tail:
            mentions.add((start, node.last + 1, node.kind))
    return frozenset(mentions)


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

"""The segmental hypergraph with joint types, made explicit for inspection and for testing the fast version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph, Hyperpath, encoding
from hyperspan.structures.mentions import Mention, MentionSet


class JointNode(NamedTuple):
    """A node of the explicit hypergraph.

    ``A``: all mentions that start at `start` or later. ``E``: those that start exactly there. ``T``: those of a group
    of types. ``I``: those that also contain word `last`, where `types` are the types that have one. ``X``: the end of a
    mention of one type.
    """

    symbol: Literal["A", "E", "T", "I", "X"]
    start: int = -1
    types: tuple[int, ...] = ()
    last: int = -1


def _subsets(types: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(types, size) for size in range(len(types) + 1))


def _end(kind: int) -> JointNode:
    return JointNode("X", types=(kind,))


def joint_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None, groups: Sequence[Sequence[int]] | None = None
) -> Hypergraph[JointNode]:
    """The complete hypergraph of a sentence of `n` words; `groups` are the types that interact, by default all in one
    group.

    >>> graph = joint_hypergraph(1, types=2)
    >>> [edge.tail for edge in graph.outgoing(JointNode("I", 0, (0, 1), 0))]  # both types end here
    [(JointNode(symbol='X', start=-1, types=(0,), last=-1), JointNode(symbol='X', start=-1, types=(1,), last=-1))]
    """
    m = types if isinstance(types, int) else len(types)
    together = [tuple(range(m))] if groups is None else [tuple(group) for group in groups]
    c = n if max_width is None else max_width
    edges: list[Hyperedge[JointNode]] = []
    for i in range(n):
        e = JointNode("E", i)
        later = (JointNode("A", i + 1),) if i < n - 1 else ()
        edges.append(Hyperedge(JointNode("A", i), (*later, e)))
        edges.append(Hyperedge(e, tuple(JointNode("T", i, group) for group in together)))
        last = min(i + c, n) - 1
        for group in together:
            for present in _subsets(group) if c > 0 else [()]:
                tail = (JointNode("I", i, present, i),) if present else ()
                edges.append(Hyperedge(JointNode("T", i, group), tail))
                for j in range(i, last + 1) if present else ():
                    edges += _choices(i, j, present, going_on=j < last)
    return Hypergraph(JointNode("A", 0), edges)


def _choices(start: int, last: int, active: tuple[int, ...], *, going_on: bool) -> Iterator[Hyperedge[JointNode]]:
    """All ways in which active types end here, continue, or both."""
    for on in _subsets(active) if going_on else [()]:
        must = [kind for kind in active if kind not in on]
        for more in _subsets(on):
            ends = sorted((*must, *more))
            following = (JointNode("I", start, on, last + 1),) if on else ()
            yield Hyperedge(JointNode("I", start, active, last), (*map(_end, ends), *following))


def joint_mentions(path: Iterable[Hyperedge[JointNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    return frozenset(
        (edge.head.start, edge.head.last + 1, node.types[0])
        for edge in path
        for node in edge.tail
        if node.symbol == "X"
    )


def joint_hyperpath(mentions: Iterable[Mention], graph: Hypergraph[JointNode]) -> Hyperpath[JointNode]:
    """The one hyperpath that encodes this set of mentions."""
    return encoding(graph, mentions, joint_mentions)

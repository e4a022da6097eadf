"""The semi-Markov chain as an explicit hypergraph, for inspection and for testing the fast version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSet


class SuffixNode(NamedTuple):
    """The rest of a sentence from this word on."""

    position: int


class SegmentNode(NamedTuple):
    """A mention."""

    start: int
    end: int
    kind: int


def semi_markov_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None
) -> Hypergraph[SuffixNode | SegmentNode]:
    """The hypergraph of a sentence of `n` words: from a place to the next, or to a segment and the place after it.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> sorted(map(sorted, map(semi_markov_mentions, hyperpaths(semi_markov_hypergraph(2, types=1)))))
    [[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(0, 2, 0)], [(1, 2, 0)]]
    """
    m = types if isinstance(types, int) else len(types)
    c = n if max_width is None else max_width
    edges: list[Hyperedge[SuffixNode | SegmentNode]] = []
    for i in range(n):
        edges.append(Hyperedge(SuffixNode(i), (SuffixNode(i + 1),)))
        for j in range(i + 1, min(i + c, n) + 1):
            edges += [Hyperedge(SuffixNode(i), (SegmentNode(i, j, k), SuffixNode(j))) for k in range(m)]
    return Hypergraph(SuffixNode(0), edges)


def semi_markov_mentions(path: Iterable[Hyperedge[SuffixNode | SegmentNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    segments = [node for edge in path for node in edge.tail if isinstance(node, SegmentNode)]
    return frozenset((start, end, kind) for start, end, kind in segments)

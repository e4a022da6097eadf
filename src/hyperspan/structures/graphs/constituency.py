"""The trees of nested mentions as an explicit hypergraph, for inspection and for testing the fast version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSet


class ConstituencyNode(NamedTuple):
    """A node of the explicit hypergraph; it covers the words from `start` up to `end`, exclusive.

    ``top``: a sequence of words and mentions from the first word on, inside no mention. ``sequence``: one inside a
    mention. ``inner``: a sequence that is not one mention alone. ``mention``: a mention of some type, with what it
    contains. ``type`` (number `kind`), ``word`` and ``outside`` (a word in no mention) are leaves.
    """

    symbol: Literal["top", "sequence", "inner", "mention", "type", "word", "outside"]
    start: int = -1
    end: int = -1
    kind: int = -1


def constituency_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None
) -> Hypergraph[ConstituencyNode]:
    """All sets of nested and disjoint mentions in `n` words, at most one type per span; each set is one hyperpath.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = constituency_hypergraph(3, types=1)  # six spans, and no set with both (0, 2) and (1, 3)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]
    48
    """
    m = types if isinstance(types, int) else len(types)
    c = (n if max_width is None else max_width) if m else 0
    edges: list[Hyperedge[ConstituencyNode]] = []
    for j in range(1, n + 1):
        top = ConstituencyNode("top", 0, j)
        edges.append(Hyperedge(top, (ConstituencyNode("top", 0, j - 1), ConstituencyNode("outside", j - 1, j))))
        for a in range(max(j - c, 0), j):
            mention = ConstituencyNode("mention", a, j)
            edges.append(Hyperedge(top, (ConstituencyNode("top", 0, a), mention)))
            inner = ConstituencyNode("inner", a, j)
            edges.extend(Hyperedge(mention, (ConstituencyNode("type", a, j, k), inner)) for k in range(m))
            edges.extend(_sequences(a, j))
    return Hypergraph(ConstituencyNode("top", 0, n), edges)


def _sequences(i: int, j: int) -> Iterable[Hyperedge[ConstituencyNode]]:
    """The ways to cover [i, j) inside a mention, by their last item."""
    inner, sequence = ConstituencyNode("inner", i, j), ConstituencyNode("sequence", i, j)
    yield Hyperedge(sequence, (inner,))
    yield Hyperedge(sequence, (ConstituencyNode("mention", i, j),))
    yield Hyperedge(inner, (ConstituencyNode("sequence", i, j - 1), ConstituencyNode("word", j - 1, j)))
    for a in range(i + 1, j):
        yield Hyperedge(inner, (ConstituencyNode("sequence", i, a), ConstituencyNode("mention", a, j)))


def constituents_of(path: Iterable[Hyperedge[ConstituencyNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes: one for each type that it visits."""
    leaves = (node for edge in path for node in edge.tail)
    return frozenset((leaf.start, leaf.end, leaf.kind) for leaf in leaves if leaf.symbol == "type")

"""The mention hypergraph and the mention separators spelled out: for looking at, counting, and testing what is fast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph, Hyperpath
from hyperspan.structures.mention_separators import FROM_INSIDE, LABELS, TO_INSIDE, structure_of_labels
from hyperspan.structures.readings import Reading, read, structure_of
from hyperspan.structures.scores import Mention, MentionSet


class MentionNode(NamedTuple):
    """A node of the explicit mention hypergraph, counted from 0 (the papers count words and types from 1).

    ``A``: all mentions that start at `word` or later. ``E``: those that start exactly there. ``T``: those of type `kind`.
    ``I``: those of type `kind` that contain `word`, *wherever they start*. ``X``: the end of a mention.
    """

    symbol: Literal["A", "E", "T", "I", "X"]
    word: int = -1
    kind: int = -1


END = MentionNode("X")


def mention_network(n: int, types: int | Sequence[str]) -> Hypergraph[MentionNode]:
    """The complete mention hypergraph (Lu & Roth, 2015) of a sentence of `n` words.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> paths = list(hyperpaths(mention_network(3, types=1)))
    >>> len(paths), sum(map(is_consistent, paths))  # the other 24 are spurious
    (64, 40)
    """
    m = types if isinstance(types, int) else len(types)
    edges: list[Hyperedge[MentionNode]] = []
    for i in range(n):
        e = MentionNode("E", i)
        later = (MentionNode("A", i + 1),) if i < n - 1 else ()
        edges.append(Hyperedge(MentionNode("A", i), (*later, e)))
        edges.append(Hyperedge(e, tuple(MentionNode("T", i, k) for k in range(m))))
        for k in range(m):
            t, here, following = MentionNode("T", i, k), MentionNode("I", i, k), MentionNode("I", i + 1, k)
            edges += [Hyperedge(t, (END,)), Hyperedge(t, (here,)), Hyperedge(here, (END,))]
            if i < n - 1:
                edges += [Hyperedge(here, (following,)), Hyperedge(here, (END, following))]
    return Hypergraph(MentionNode("A", 0), edges)


def visited_mentions(path: Iterable[Hyperedge[MentionNode]]) -> MentionSet:
    """The mentions of a hyperpath of the mention hypergraph, visit by visit: each start with the ends that its own visits mark."""
    mentions: set[Mention] = set()
    start = -1
    for edge in path:  # in pre-order, so the I nodes of one start follow its T node without a break
        node = edge.head
        if node.symbol == "T":
            start = node.word
        elif node.symbol == "I" and END in edge.tail:
            mentions.add((start, node.word + 1, node.kind))
    return frozenset(mentions)


def is_consistent(path: Iterable[Hyperedge]) -> bool:
    """Whether a hyperpath takes the same hyperedge each time it visits a node. If not, it is spurious."""
    chosen: dict[object, Hyperedge] = {}
    return all(chosen.setdefault(edge.head, edge) == edge for edge in path)


def consistent_hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[MentionNode]) -> Hyperpath[MentionNode]:
    """The consistent hyperpath of a mention hypergraph that encodes a set: the one of its structure (Lu & Roth's gold network)."""
    structure = structure_of(mentions)
    path: list[Hyperedge[MentionNode]] = []
    todo = [graph.root]
    while todo:
        node = todo.pop()
        _, word, kind = node
        ends, goes_on = (word + 1, kind) in structure.ends, (word + 1, kind) in structure.continues
        wanted = {
            "T": (MentionNode("I", word, kind),) if (word, kind) in structure.starts else (END,),
            "I": (*[END] * ends, *[MentionNode("I", word + 1, kind)] * goes_on),
        }
        for edge in graph.outgoing(node):
            if edge.tail == wanted.get(node.symbol, edge.tail):
                path.append(edge)
                todo.extend(reversed(edge.tail))
    return tuple(path)


class SeparatorNode(NamedTuple):
    """A node of the explicit graph of mention separators.

    ``sentence`` is the root. ``I`` and ``O`` stand before a gap: whether the word before it is inside mentions of type
    `kind`. ``label`` is a leaf for each label of a gap: several edges between two nodes differ in it alone.
    """

    symbol: Literal["sentence", "I", "O", "label"]
    gap: int = -1
    kind: int = -1
    label: int = -1


def separators_hypergraph(n: int, types: int | Sequence[str]) -> Hypergraph[SeparatorNode]:
    """The mention separators (Muis & Lu, 2017, edge-based) of a sentence of `n` words as a hypergraph.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = separators_hypergraph(3, types=1)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]  # as many as there are consistent hyperpaths above
    40
    """
    m = types if isinstance(types, int) else len(types)
    root = SeparatorNode("sentence")
    edges = [Hyperedge(root, tuple(SeparatorNode("O", 0, k) for k in range(m)))]
    for k in range(m):
        for gap in range(n + 1):
            for label in range(len(LABELS)):
                head = SeparatorNode("I" if FROM_INSIDE[label] else "O", gap, k)
                leaf = SeparatorNode("label", gap, k, label)
                if gap < n:
                    edges.append(Hyperedge(head, (leaf, SeparatorNode("I" if TO_INSIDE[label] else "O", gap + 1, k))))
                elif not TO_INSIDE[label]:
                    edges.append(Hyperedge(head, (leaf,)))
    return Hypergraph(root, edges)


def separated_mentions(path: Iterable[Hyperedge[SeparatorNode]], reading: Reading = "all") -> MentionSet:
    """The mentions of a hyperpath of the mention separators, under a reading."""
    labels: dict[int, list[int]] = {}  # type -> labels, gap by gap, as a path has them in this order
    for edge in path:
        for node in edge.tail:
            if node.symbol == "label":
                labels.setdefault(node.kind, []).append(node.label)
    return read(structure_of_labels([tuple(labels[kind]) for kind in sorted(labels)]), reading)

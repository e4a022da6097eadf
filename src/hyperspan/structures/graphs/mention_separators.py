"""The mention separators as an explicit graph, for inspection, counting, and testing the fast version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSet
from hyperspan.structures.readings import Reading, read
from hyperspan.structures.separators import FROM_INSIDE, LABELS, TO_INSIDE, structure_of_labels


class SeparatorNode(NamedTuple):
    """A node of the explicit graph of mention separators.

    ``sentence`` is the root. ``I`` and ``O`` stand before a gap: whether the word before it is inside mentions of type
    `kind`. ``label`` is a leaf for each label of a gap: several edges between two nodes differ only in it.
    """

    symbol: Literal["sentence", "I", "O", "label"]
    gap: int = -1
    kind: int = -1
    label: int = -1


def separators_hypergraph(n: int, types: int | Sequence[str]) -> Hypergraph[SeparatorNode]:
    """The mention separators (Muis & Lu, 2017, edge-based) of a sentence of `n` words as a hypergraph.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = separators_hypergraph(3, types=1)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]  # as many as consistent hyperpaths (Lu & Roth)
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
